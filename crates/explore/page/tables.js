// Tables: designs, stages, layers.

import { at, html } from "./svg.js";
import { grouped, percent, significant, times, units } from "./format.js";

function table(caption, columns, rows) {
  const head = html("tr", {}, columns.map(([name, kind]) => html("th", { scope: "col", class: kind }, name)));
  return html("table", {}, caption && html("caption", {}, caption), html("thead", {}, head), html("tbody", {}, rows));
}

const row = (cells, kind) => html("tr", { class: kind }, cells.map((cell) => html("td", {}, cell)));

/** Both optima and their neighbours; a click shows a design. */
export function designs(answer, show) {
  const unit = units[answer.cost];
  const cost = answer.cost === "flops" ? "flops" : "parameters";
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
  const columns = ["", "design", "parameters", "FLOPs", "variance", "variance: times less", `${unit}: times fewer`];
  at("designs").replaceChildren(table("", columns.map((name) => [name]), [base, ...group("primal", "same cost"), ...group("dual", "same variance")]));
  return cost;
}

/** One design per stage, where the answer has them. */
export function stages(answer) {
  const place = at("stages");
  const list = answer?.per_stage;
  if (!list?.length) return place.replaceChildren();
  const keys = Object.keys(list[0]);
  const cell = (value) => (typeof value === "number" && !Number.isInteger(value) ? significant(value) : String(value ?? ""));
  const rows = list.map((stage) => row(keys.map((key) => cell(stage[key]))));
  place.replaceChildren(html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Each stage by itself" },
    table("Each stage by itself", keys.map((key) => [key.replaceAll("_", " ")]), rows)));
}

/** Counts of every layer, before and after. */
export function layers(before, after) {
  const later = new Map(after.layers.map((layer) => [layer.name, layer]));
  const size = (layer) => layer?.output.join("x") ?? "";
  const number = (value) => (value === undefined ? "" : grouped(value));
  const rows = before.layers.map((layer) => {
    const other = later.get(layer.name);
    return row([layer.name, layer.kind, other?.kind ?? "", size(layer), size(other), number(layer.parameters), number(other?.parameters), number(layer.flops), number(other?.flops)]);
  });
  const sum = row(["in all", "", "", "", "", grouped(before.parameters), grouped(after.parameters), grouped(before.flops), grouped(after.flops)], "optimum");
  const columns = ["layer", "before", "after", "output", "after", "parameters", "after", "FLOPs", "after"];
  at("layer-table").replaceChildren(table(`${before.model} and ${after.model}`, columns.map((name) => [name]), [sum, ...rows]));
}
