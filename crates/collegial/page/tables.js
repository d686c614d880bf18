// Tables: designs, stages, layers.

import { sortable } from "./sort.js";
import { at, html } from "./svg.js";
import { fewer, grouped, percent, significant, times, units } from "./format.js";

function table(caption, columns, rows) {
  const head = html("tr", {}, columns.map(([name, kind]) => html("th", { scope: "col", class: kind }, name)));
  const made = html("table", {}, caption && html("caption", {}, caption), html("thead", {}, head), html("tbody", {}, rows));
  sortable(made);
  return made;
}

const row = (cells, kind) => html("tr", { class: kind }, cells.map((cell) => html("td", {}, cell)));

const saving = (cost) => `${units[cost]}: times ${fewer(cost).split(" ")[0]}`;

/** Both optima and their neighbours; a click shows a design. */
export function designs(answer, show) {
  const base = row(["baseline", answer.baseline_design ?? answer.baseline, grouped(answer.baseline_parameters), grouped(answer.baseline_flops), significant(answer.baseline_score), "1.00", "1.00"]);
  const line = (problem, name) => (design) => row([
    name(design),
    html("button", { type: "button", "aria-label": `Show ${design.design}`, onclick: () => show(problem, design.width) }, String(design.design)),
    grouped(design.parameters), grouped(design.flops), significant(design.score), times(design.score_ratio), times(design.cost_ratio),
  ], design === answer[problem] ? "optimum" : "");
  const group = (problem, title) => {
    const others = answer.nearby.filter((other) => other.problem === problem);
    const all = [answer[problem], ...others];
    return all.map(line(problem, (design) => (design === answer[problem] ? title : `${percent(design.distance)} off`)));
  };
  const columns = ["question", "design", "parameters", "FLOPs", "variance", "variance: times less", saving(answer.cost)];
  at("designs").replaceChildren(table("", columns.map((name) => [name]), [base, ...group("primal", "same cost"), ...group("dual", "same variance")]));
}

/** Designs of the front; a click shows one. */
export function fronts(answer, rows, show) {
  const timed = Boolean(answer.timings);
  const columns = ["design", "parameters", "FLOPs", "activations", ...(timed ? ["time share"] : []), "variance", "variance: times less", saving(answer.cost), "best at"];
  const line = (one) => row([
    html("button", { type: "button", "aria-label": `Show ${one.design}`, onclick: () => show(one) }, String(one.design)),
    grouped(one.parameters), grouped(one.flops), grouped(one.activations), ...(timed ? [one.time_share.toFixed(3)] : []), significant(one.score), times(one.score_ratio), times(one.cost_ratio),
    [one.primal && "same cost", one.dual && "same variance"].filter(Boolean).join(", "),
  ], one.primal || one.dual ? "optimum" : "");
  at("pareto-table").replaceChildren(table("", columns.map((name) => [name]), rows.map(line)));
}

/** The best designs with one per stage, where the answer has them; a click shows them. */
export function stages(answer, cost, show) {
  const place = at("stages");
  const found = answer?.stages;
  if (!found) return place.replaceChildren();
  const line = (problem, title) => {
    const best = found[problem];
    const design = best.designs.join("-");
    return row([title, html("button", { type: "button", "aria-label": `Show ${design}`, onclick: () => show(problem, design) }, best.designs.join(", ")),
      grouped(best.parameters), grouped(best.flops), significant(best.score), times(best.score_ratio), times(best.cost_ratio), percent(best.gap)]);
  };
  const columns = ["question", "designs of the stages", "parameters", "FLOPs", "variance", "variance: times less", saving(cost), "at most off"];
  return place.replaceChildren(html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "A design per stage" },
    table("A design per stage", columns.map((name) => [name]), [line("primal", "same cost"), line("dual", "same variance")])));
}

/** What splitting each kind of layer is a question of, and the head widths that were compared. */
export function verdicts(answer) {
  at("judged").hidden = !answer;
  if (!answer) return at("verdicts").replaceChildren();
  const said = answer.sentences.map((sentence) => html("p", {}, sentence.includes(answer.evidence)
    ? html("a", { href: "evidence.md" }, sentence.replace(answer.evidence, "").replace(/:\s*$/, "")) : sentence));
  const heads = answer.verdicts.flatMap(({ stage, heads }) => heads.map((head) => row([
    String(stage), String(head.layer), head.correlation.toFixed(3), `${head.heads}x${head.width}`, significant(head.variance), significant(head.standard_error, 2)])));
  const columns = ["stage", "layer", "token correlation", "heads x width", "kernel variance", "standard error"];
  const compared = heads.length > 0 && html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Head widths" },
    table("Head widths at equal total width", columns.map((name) => [name]), heads));
  return at("verdicts").replaceChildren(...[...said, compared].filter(Boolean));
}

/** Counts of every layer, before and after; of one network where both are the same. */
export function layers(before, after) {
  const later = new Map(after.layers.map((layer) => [layer.name, layer]));
  const columns = [["kind", (layer) => layer.kind], ["output", (layer) => layer.output.join("x")], ["parameters", (layer) => grouped(layer.parameters)], ["FLOPs", (layer) => grouped(layer.flops)]];
  const both = before.model !== after.model;
  const pair = (of, layer, other) => (both ? [of(layer), other ? of(other) : ""] : [of(layer)]);
  const rows = before.layers.map((layer) => row([layer.name, ...columns.flatMap(([, of]) => pair(of, layer, later.get(layer.name)))]));
  const total = columns.flatMap(([name, of]) => (["parameters", "FLOPs"].includes(name) ? pair(of, before, after) : both ? ["", ""] : [""]));
  const head = ["layer", ...columns.flatMap(([name]) => (both ? [name, "after"] : [name]))];
  const caption = both ? `${before.model} and ${after.model}` : before.model;
  at("layer-table").replaceChildren(table(caption, head.map((name) => [name]), [row(["in all", ...total], "optimum"), ...rows]));
}
