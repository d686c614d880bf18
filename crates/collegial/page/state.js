// What is shown, kept in the address behind the token: #TOKEN&model=resnext29-1x128d&cost=flops.

const defaults = { model: "", cost: "params", rule: "under", multiple: "1", inputs: "network", stages: "one", goal: "primal", width: "", design: "" };

const [token, ...rest] = location.hash.replace(/^#/, "").split("&");
const given = new URLSearchParams(rest.join("&"));

export { token };

/** The current state; `set` changes it. */
export const state = { ...defaults };
for (const key of Object.keys(defaults)) if (given.has(key)) state[key] = given.get(key);

/** A table of times, as CSV, and its file's name; no address holds it, nor that they are the cost. */
export const table = { name: "", text: "" };

/** The address of the current state. */
export function address() {
  const pairs = Object.entries(state).filter(([key, value]) => value !== defaults[key] && value !== "" && value !== "time");
  const query = new URLSearchParams(pairs).toString();
  return `${location.origin}${location.pathname}#${token}${query ? `&${query}` : ""}`;
}

/** Changes some of the state, and the address with it. */
export function set(changes) {
  Object.assign(state, changes);
  history.replaceState(null, "", address());
}

/** The fields of a search that the state stands for. */
export function settings() {
  return {
    model: state.model,
    cost: state.cost,
    // Named only where it is not the program's own: some networks have no designs, and so no rule.
    rule: state.rule === defaults.rule ? null : state.rule,
    multiple_of: Number(state.multiple),
    block_inputs: state.inputs,
    ...(state.cost === "time" && table.text ? { times: table.text } : {}),
  };
}
