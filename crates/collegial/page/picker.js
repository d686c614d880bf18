// Choosing a baseline: by name, by text, or by a file.

import { ask, drop } from "./ask.js";
import { at, html } from "./svg.js";
import { short } from "./format.js";
import { say } from "./share.js";

/** Makes the dialog work; `use` is given a name or a spec's text, `time` a file with times. */
export function picker(use, current, time) {
  const dialog = at("picker");
  let typed = "";
  const refuse = (error) => { at("picker-error").textContent = error.message; };
  const choose = async (text) => {
    try {
      const network = await ask("network", { model: text });
      use(network.named ? network.model : network.toml);
      dialog.close();
    } catch (error) {
      refuse(error);
    }
  };
  at("baseline").addEventListener("click", async () => {
    at("picker-error").textContent = "";
    const text = current();
    at("name").value = text.includes("\n") ? "" : text;
    if (text.includes("\n")) at("toml").value = text;
    dialog.showModal();
    at("name").select();
    typed = "";
    await list(choose).catch(refuse);
    filter(typed);
  });
  at("use-name").addEventListener("click", () => choose(at("name").value.trim()));
  at("use-toml").addEventListener("click", () => choose(`${at("toml").value.trim()}\n`.replace(/^([^\n]*)\n$/, "$1\n\n")));
  at("name").addEventListener("input", () => { typed = at("name").value.trim().toLowerCase(); filter(typed); });
  at("name").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    choose(at("name").value.trim());
  });
  const take = async (file) => {
    say(`Reading ${file.name} …`);
    try {
      if (/\.csv$/i.test(file.name)) {
        await time(file);
      } else {
        const network = await drop(file);
        use(network.named ? network.model : network.toml);
        say(`${file.name} holds ${network.model}.`);
      }
      dialog.close();
    } catch (error) {
      say(error.message, true);
      refuse(error);
    }
  };
  at("file").addEventListener("change", ({ target }) => {
    if (target.files[0]) take(target.files[0]);
    // The same file again is another choice: it may have changed.
    target.value = "";
  });
  dropping(take);
}

function dropping(take) {
  const zone = at("dropzone");
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    zone.hidden = false;
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) zone.hidden = true; });
  addEventListener("drop", (event) => {
    zone.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
}

async function list(choose) {
  const place = at("families");
  if (place.childElementCount) return;
  const { families, models, aliases } = await ask("models", {});
  const counts = new Map([...models, ...aliases].map((model) => [model.name, model.parameters]));
  const item = (kind) => (name) => html("li", { "data-name": name, class: kind, hidden: kind === "alias" },
    html("button", { type: "button", class: "model", onclick: () => choose(name) }, name, html("small", {}, short(counts.get(name)))));
  const others = (family) => aliases.filter((alias) => alias.family === family.title).map((alias) => alias.name);
  const any = html("button", { type: "button", class: "quiet", id: "use-typed", hidden: true, onclick: () => choose(at("name").value.trim()) });
  place.replaceChildren(...families.map((family) => html("section", {},
    html("h3", {}, family.title), html("p", {}, family.form),
    html("ul", {}, [...family.names.map(item("listed")), ...others(family).map(item("alias"))]))), any);
}

/** Shows the names that contain the text; where none does, a button that uses it: names have forms. */
function filter(text) {
  const items = [...at("families").querySelectorAll("li")];
  if (!items.length) return;
  for (const item of items) item.hidden = !item.dataset.name.includes(text) || (!text && item.className === "alias");
  for (const section of at("families").querySelectorAll("section")) section.hidden = !section.querySelector("li:not([hidden])");
  at("use-typed").hidden = items.some((item) => !item.hidden);
  at("use-typed").textContent = `Use ${at("name").value.trim()}`;
}
