// The page: what is asked when something changes, and where the answers go.

import { RequestError, ask, start } from "./ask.js";
import { address, set, settings, state, table, token } from "./state.js";
import { at, html, unbroken } from "./svg.js";
import { fewer, percent, short, times, units } from "./format.js";
import { drawing, objectives, placeOf, ways, widthAt } from "./plots.js";
import { designs, layers, stages, verdicts } from "./tables.js";
import { copy, say } from "./share.js";
import { show_cards } from "./cards.js";
import { show_front } from "./front.js";
import { draw_kernels, stop } from "./draws.js";
import { show_lines } from "./take.js";
import { diagram } from "./diagram.js";
import { picker } from "./picker.js";

/** What the last answers were. */
const now = { search: null, stages: null, baseline: null, shown: null, stage: 0, picked: 0 };

/** How many answers are waited for; the page says whether there are any. */
let awaited = 0;
function waitFor(more) {
  awaited += more;
  at("results").setAttribute("aria-busy", awaited > 0);
}

/** Only the latest of several answers is shown. */
function latest() {
  let count = 0;
  return async (work) => {
    const mine = ++count;
    const current = () => mine === count;
    waitFor(1);
    try {
      await work(current);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (current()) say(error.message, true);
    } finally {
      waitFor(-1);
    }
  };
}
const [searching, staging, comparing, picking, sampling] = Array.from({ length: 5 }, latest);

/** Everything, after the baseline or a setting has changed. */
function update() {
  show_settings();
  return searching(async (current) => {
    // The picked width is asked for at once with the rest; `pick` finds the answer there.
    const widths = state.width ? [ask("search", { ...settings(), widths: state.width })] : [];
    let [baseline, search] = await Promise.allSettled([ask("network", { model: state.model }), ask("search", settings()), ...widths]);
    if (!current()) return;
    if (baseline.status === "rejected") throw baseline.reason;
    // Layers that get verdicts have no settings.
    if (baseline.value.judged && search.status === "rejected") [search] = await Promise.allSettled([ask("search", { model: state.model })]);
    if (!current()) return;
    const judged = search.value?.verdicts ? search.value : null;
    now.baseline = baseline.value;
    at("baseline-name").textContent = now.baseline.model;
    at("baseline-counts").textContent = `${short(now.baseline.parameters)} parameters, ${short(now.baseline.flops, "FLOPs")}`;
    document.title = `${now.baseline.model} · collegial`;
    document.body.classList.toggle("unsearched", Boolean(judged) || search.status === "rejected");
    document.body.classList.toggle("judged", Boolean(judged));
    verdicts(judged);
    if (judged || search.status === "rejected") {
      stop();
      // What is still computed for the last baseline is not shown.
      for (const asked of [staging, comparing, picking, sampling]) asked(async () => {});
      Object.assign(now, { search: null, shown: null });
      at("layers").open = true;
      show_layers();
      if (judged) return say("");
      throw search.reason;
    }
    Object.assign(now, { search: search.value, stages: null });
    say("");
    for (const input of document.querySelectorAll("input[name=stages]")) input.disabled = now.baseline.blocks.length < 2 || state.cost === "time";
    show_answers();
    show_stages();
    show_extras();
    pick(state.width);
  });
}

function show_settings() {
  at("cost-time").hidden = !table.text;
  for (const key of ["cost", "rule", "inputs", "stages"]) {
    for (const input of document.querySelectorAll(`input[name=${key}]`)) input.checked = input.value === state[key];
  }
  document.querySelector("select[name=multiple]").value = state.multiple;
  for (const input of document.querySelectorAll("input[name=goal]")) input.checked = input.value === state.goal;
}

function show_answers() {
  const { search } = now;
  show_cards(search, search, show_friendly);
  const { flat } = search;
  at("flat").textContent = flat && flat.low < flat.high ? `Shaded: widths ${flat.low} to ${flat.high} are within ${percent(flat.tolerance)} of the best. Pick what your hardware likes.` : "";
  // What others' trainings say stands under the cards.
  const { sentence = "" } = search.evidence ?? {};
  at("evidence").hidden = !sentence;
  at("evidence-said").replaceChildren(...unbroken(sentence));
  const further = search.sentences.filter((other) => !sentence || !other.startsWith(sentence.slice(0, -1)));
  at("reading").replaceChildren(...unbroken(further.join(" ")));
  designs(search, show_friendly);
  show_front(search, ({ design }) => { set({ design: String(design) }); pick(state.width); });
}

/** A design of another width, as a table or a card names it. */
function show_friendly(goal, width) {
  set({ goal });
  move(width);
}

/** One design per stage, where it was asked for. */
function show_stages() {
  return staging(async (current) => {
    if (state.stages === "one" || now.baseline.blocks.length < 2) return stages(null);
    const { rule, multiple_of, ...asked } = settings();
    const { cost } = state;
    const [answer] = await Promise.allSettled([ask("search", { ...asked, per_stage: true, free_widths: state.stages === "free" })]);
    if (!current()) return undefined;
    stages(answer.value, cost, (goal, design) => { set({ goal, design }); show_settings(); pick(state.width); });
    if (answer.status === "rejected") throw answer.reason;
    now.stages = answer.value.stages ? answer.value : null;
    return pick(state.width);
  });
}

const nearest = (width) => {
  const { curve, primal, dual } = now.search;
  const wanted = Number(width) || (state.goal === "primal" ? primal : dual).width;
  return curve.reduce((best, point, index) => (Math.abs(point.width - wanted) < Math.abs(curve[best].width - wanted) ? index : best), 0);
};

/** Shows the designs of another width, which all stages then share; without one those of the best. */
function move(width) {
  set({ design: "", stages: "one" });
  now.stages = null;
  stages(null);
  show_settings();
  return pick(width);
}

/** Shows the designs of a width, or those that the stages were given. */
function pick(width) {
  if (!now.search) return undefined;
  const index = nearest(width);
  const picked = now.search.curve[index].width;
  const best = state.goal === "primal" ? now.search.primal.width : now.search.dual.width;
  set({ width: picked === best ? "" : String(picked) });
  now.picked = picked;
  at("width").value = Math.round(1000 * placeOf(now.search.curve, picked));
  stop();
  objectives(now.search, picked, now.stages?.stages, (value) => move(Math.exp(closest(Math.log(value)))));
  at("best").disabled = picked === best;
  return picking(async (current) => {
    // The whole search knows the design of its best width.
    const found = picked === best ? now.search : await ask("search", { ...settings(), widths: String(picked) });
    if (!current()) return;
    // Cards follow the width; at rest each has the best of its own.
    show_cards(now.stages ?? found, now.search, show_friendly);
    const of_stages = now.stages?.stages[state.goal].designs.join("-");
    const design = state.design || of_stages || String(found[state.goal].design);
    const says = (answer) => (state.goal === "primal" ? `${times(answer.score_ratio)} × less variance` : `${times(answer.cost_ratio)} × ${fewer(found.cost)}`);
    // As the cards: the designs of the stages, where they have some of their own.
    const told = now.stages ? `${of_stages}: ${says(now.stages.stages[state.goal])}` : `${found[state.goal].design}: ${says(found[state.goal])}`;
    at("width-value").textContent = told;
    at("width").setAttribute("aria-valuetext", now.stages ? told : `width ${picked}, ${told}`);
    const asked = { model: state.model, design };
    const [shown, taken] = await Promise.all([ask("network", asked), ask("take", { ...asked, block_inputs: state.inputs })]);
    if (!current()) return;
    now.shown = { design, network: shown };
    const share = share_of(design, shown);
    const of_it = share === undefined ? "its time is not known" : `${percent(share)} of the baseline's ${units[state.cost]}`;
    at("shown").replaceChildren(...unbroken(`${shown.model}: ${short(shown.parameters)} parameters, ${short(shown.flops, "FLOPs")}, ${of_it}.`));
    show_lines(taken, command(), address());
    show_stage_choice();
    show_block();
    show_layers();
    show_kernels();
    show_ways();
  });
}

/** Counts of every layer, where they are looked at: the table is long. */
function show_layers() {
  if (at("layers").open && now.baseline) layers(now.baseline, now.shown?.network ?? now.baseline);
}

/** What a design costs as a share of the baseline's cost; of time only what was given is known. */
function share_of(design, shown) {
  const key = { params: "parameters", flops: "flops", activations: "activations" }[state.cost];
  if (key) return shown[key] / now.baseline[key];
  if (design === now.search.baseline_design) return 1;
  return now.search.timings.designs.find((timed) => timed.design === design)?.ratio;
}

/** The logarithm of the width on the curve that is closest on its axis. */
function closest(value) {
  const logs = now.search.curve.map((point) => Math.log(point.width));
  return logs.reduce((best, log) => (Math.abs(log - value) < Math.abs(best - value) ? log : best), logs[0]);
}

function show_stage_choice() {
  const all = [...new Set(now.baseline.blocks.map((block) => block.stage))];
  if (!all.includes(now.stage)) now.stage = all[0] ?? 0;
  at("stage").hidden = all.length < 2;
  if (at("stage").childElementCount === all.length) return;
  at("stage").replaceChildren(...all.map((stage) => html("label", {},
    html("input", { type: "radio", name: "stage", value: stage, checked: stage === now.stage, onchange: () => { now.stage = stage; show_block(); } }),
    `stage ${stage + 1}`)));
}

function show_block() {
  const before = now.search.baseline_design ?? now.baseline.model;
  diagram({ network: now.baseline, title: `Before: ${before}` },
    { network: now.shown.network, title: `After: ${now.shown.design}`, tone: state.goal === "primal" ? "cost" : "variance" }, now.stage);
}

/** Ten widths or so, evenly apart on a logarithmic axis. */
function sparse(curve) {
  const [low, high] = [curve[0].width, curve.at(-1).width];
  const wanted = Array.from({ length: 10 }, (_, index) => Math.round(low * (high / low) ** (index / 9)));
  return [...new Set(wanted)].filter((width) => width > 1 || high < 8).join(",");
}

const extras = {};

/** The variance of a member three ways; the exact one first, draws when they are done. */
function show_extras() {
  const model = now.baseline.analysed;
  if (extras.model === model) return undefined;
  Object.assign(extras, { model, exact: null, law: null, measured: null });
  const questions = {
    exact: () => ({ model }),
    measured: () => ({ model, paper: true, variance: "measured", widths: sparse((extras.exact ?? now.search).curve), precision: 0.03 }),
    law: () => ({ model, paper: true, variance: "law" }),
  };
  return comparing(async (current) => {
    for (const [way, request] of Object.entries(questions)) {
      const answer = await ask("search", request()).catch(() => null);
      if (!current()) return;
      extras[way] = answer;
      show_ways();
    }
  });
}

function show_ways() {
  if (now.search) ways(extras, now.picked);
}

/** Histograms follow when the width rests. */
function show_kernels() {
  return sampling(async (current) => {
    await new Promise((resolve) => setTimeout(resolve, 120));
    if (current()) await draw_kernels([state.model, now.shown.network.toml], state.goal, current);
  });
}

/** The command that gives the same answer. */
function command() {
  const named = now.baseline?.named !== false;
  // Designs of stages are asked for without rule, multiple and width.
  const alike = state.stages === "one";
  const flags = [
    state.cost !== "params" && `--cost ${state.cost}`,
    state.inputs !== "network" && `--block-inputs ${state.inputs}`,
    state.cost === "time" && `--timings ${/^[\w.-]+$/.test(table.name) ? table.name : `'${table.name.replaceAll("'", "'\\''")}'`}`,
    alike && state.rule !== "under" && `--rule ${state.rule}`,
    alike && state.multiple !== "1" && `--multiple-of ${state.multiple}`,
    alike && state.width && `--widths ${state.width}`,
    !alike && "--per-stage",
    state.stages === "free" && "--free-widths",
  ];
  return ["collegial search", named ? now.baseline.model : `${now.baseline.model}.toml`, ...flags].filter(Boolean).join(" ");
}

/** The times in a file are a cost from now on, unless the program refuses them. */
async function timed(file) {
  const text = await file.text();
  const { timings } = await ask("search", { ...settings(), cost: "time", times: text });
  Object.assign(table, { name: file.name, text });
  set({ cost: "time", stages: "one", width: "", design: "" });
  await update();
  const { length } = timings.designs;
  say(`${file.name} has the ${length === 1 ? "time of 1 design" : `times of ${length} designs`}.`);
}

/** Times are those of one baseline. */
function forget(model) {
  if (model === state.model) return;
  table.text = "";
  if (state.cost === "time") set({ cost: "params" });
}

function listen() {
  at("settings").addEventListener("change", ({ target }) => {
    // Times are those of one design for all stages.
    set({ [target.name]: target.value, design: "", ...(target.value === "time" ? { stages: "one" } : {}) });
    update();
  });
  at("settings").addEventListener("submit", (event) => event.preventDefault());
  for (const input of document.querySelectorAll("input[name=goal]")) {
    input.addEventListener("change", () => { set({ goal: input.value, design: "" }); pick(""); });
  }
  at("width").addEventListener("input", ({ target }) => now.search && move(Math.exp(closest(Math.log(widthAt(now.search.curve, target.value / 1000))))));
  // The slider's scale is the curve's; keys go from one width to the next.
  at("width").addEventListener("keydown", (event) => {
    const last = (now.search?.curve.length ?? 0) - 1;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -last, End: last };
    if (!now.search || !(event.key in steps)) return;
    event.preventDefault();
    move(now.search.curve[Math.min(last, Math.max(0, nearest(now.picked) + steps[event.key]))].width);
  });
  at("best").addEventListener("click", () => move(""));
  at("layers").addEventListener("toggle", show_layers);
  at("own-design").addEventListener("submit", (event) => {
    event.preventDefault();
    set({ design: at("own").value.trim() });
    pick(state.width);
  });
  // On a phone the settings are folded, so that the first number is on the first screen.
  const narrow = matchMedia("(max-width: 46rem)");
  const fold = () => { at("controls").open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  at("copy-toml").addEventListener("click", () => copy(now.shown.network.toml, `the spec of ${now.shown.network.model}`));
  at("copy-pytorch").addEventListener("click", async () => {
    try {
      await copy(await ask("pytorch", { model: state.model, design: now.shown.design }), `the PyTorch script of ${now.shown.network.model}`);
    } catch (error) {
      say(error.message, true);
    }
  });
  at("skip").addEventListener("click", (event) => { event.preventDefault(); at("answers").focus(); });
  // Another address in the same tab.
  addEventListener("hashchange", () => location.reload());
}

drawing();
listen();
picker((model) => { forget(model); set({ model, width: "", design: "" }); now.stage = 0; at("stage").replaceChildren(); return update(); }, () => state.model, timed);
try {
  if (!state.model) set({ model: (await start()).model ?? "resnext29-1x128d" });
  await update();
} catch (error) {
  say(token || !(error instanceof RequestError) ? error.message : "Open the address that `collegial explore` printed, with all that follows the #.", true);
  if (!(error instanceof RequestError)) throw error;
}
