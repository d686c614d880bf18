// The plots.

import { at } from "./svg.js";
import { nearestTo, nothing, plot, radius } from "./plot.js";
import { fewer, grouped, percent, short, significant, times, units } from "./format.js";

/** The ends of some positive numbers, with room around them. */
function ends(values, room = 1.15) {
  const good = values.filter((value) => value > 0 && Number.isFinite(value));
  return { min: Math.min(...good) / room, max: Math.max(...good) * room };
}

/** The axis of widths, with a twenty-fifth of its length left over at both ends. */
function widths(curve) {
  const [low, high] = [curve[0].width, Math.max(curve.at(-1).width, curve[0].width + 1)];
  const room = (high / low) ** 0.04;
  return { name: "width n of a member", log: true, min: low / room, max: high * room };
}

/** Where a width is on the axis of its curve, from 0 to 1: the slider has the same scale. */
export function placeOf(curve, width) {
  const { min, max } = widths(curve);
  return Math.log(width / min) / Math.log(max / min);
}

/** The width at a place of that axis. */
export function widthAt(curve, place) {
  const { min, max } = widths(curve);
  return min * (max / min) ** place;
}

/** The points of a curve, with widths that need not be whole where it bends most. */
function smooth({ curve, fine = [] }, key) {
  const last = fine.at(-1)?.width ?? 0;
  return [...fine.filter((point) => point[key] > 0), ...curve.filter((point) => point.width > last)].map((point) => [point.width, point[key]]);
}

function designDots(answer, problem, value, tone, text) {
  const optimum = answer[problem];
  const others = answer.nearby.filter((other) => other.problem === problem);
  return [...others, optimum].map((design) => ({
    kind: "dot", at: [design.width, value(design)], tone, size: design === optimum ? radius.marked : radius.point, title: text(design),
  }));
}

/** Both objectives over the width, with the handle at the picked one and, where stages have designs of
 * their own, lines at what these have. */
export function objectives(answer, picked, stages, drag) {
  const { curve, flat } = answer;
  const unit = units[answer.cost];
  const base = answer.baseline_width;
  const region = flat ? [{ kind: "flat", low: flat.low, high: flat.high, tone: "base" }] : [];
  // Beside the dot where its curve is not.
  const baseline = (value, [narrow, wide], best) => (base ? [{ kind: "dot", at: [base, value], tone: "base", hollow: true, size: radius.marked,
    name: picked !== base && answer.baseline_design, beside: base < best.width ? narrow : wide, title: `${answer.baseline}, the baseline` }] : []);
  const nearest = curve.reduce((best, point) => (Math.abs(point.width - picked) < Math.abs(best.width - picked) ? point : best), curve[0]);
  const fitting = curve.filter((point) => point.primal_multiplicity > 0 && point.primal_objective > 0);
  const label = (design) => `${design.design}: ${times(design.score_ratio)} times less variance, ${percent(1 / design.cost_ratio)} of the ${unit}`;
  const shaded = flat ? [{ kind: "range", tone: "base", name: `within ${percent(flat.tolerance)}` }] : [];
  const data = {
    columns: ["width", "cost_of_member", "variance", "primal_multiplicity", "primal_objective", "dual_multiplicity", "efficiency"],
    rows: curve.map((point) => [point.width, point.cost_of_member, point.variance, point.primal_multiplicity, point.primal_objective, point.dual_multiplicity, point.efficiency]),
  };
  const own = (value, tone) => (stages ? [{ kind: "rule", value, tone }] : []);
  const owns = (tone) => (stages ? [{ kind: "line", dash: true, tone, name: "designs of the stages" }] : []);
  const told = (key, tone, text) => (value) => {
    const point = nearestTo(key === "efficiency" ? curve : fitting, value, ({ width }) => width);
    return point && { x: point.width, y: point[key], tone, text: `n = ${point.width}: ${text(point)}` };
  };
  const dots = designDots(answer, "primal", (design) => design.score, "cost", label);
  plot(at("primal-plot"), {
    title: "Kernel variance at the same cost",
    caption: "Lower is better. As many members as the budget pays for.",
    file: `${answer.baseline}-same-cost`,
    alt: `Kernel variance at the baseline's cost over the width of a member; lowest near width ${answer.primal.width}.`,
    x: widths(curve),
    y: { name: "mean kernel variance of the blocks", log: true, ...ends([...fitting.map((point) => point.primal_objective), answer.baseline_score, stages?.primal.score], 1.2) },
    marks: [
      ...region, ...own(stages?.primal.score, "cost"),
      { kind: "rule", value: answer.baseline_score, tone: "base" },
      { kind: "line", points: smooth({ curve: fitting, fine: answer.fine }, "primal_objective"), tone: "cost" },
      ...dots, ...baseline(answer.baseline_score, [[6, -10], [-8, -8]], answer.primal),
    ],
    handle: { x: nearest.width, y: Math.max(nearest.primal_objective, 0) || answer.baseline_score, tone: "cost", text: `n = ${nearest.width}` },
    keys: [...shaded, ...owns("cost"), { kind: "line", tone: "cost", name: "real-valued m" }, { kind: "dot", tone: "cost", name: "whole members" }, { kind: "dot", tone: "base", hollow: true, name: "baseline" }],
    hover: told("primal_objective", "cost", (point) => `variance ${significant(point.primal_objective)}, m = ${significant(point.primal_multiplicity)}`),
    data, drag,
  });
  plot(at("dual-plot"), {
    title: `Times ${fewer(answer.cost)} at the same variance`,
    caption: "Higher is better. As few members as reach the baseline's variance.",
    file: `${answer.baseline}-same-variance`,
    alt: `Baseline's ${unit} over those of a design of the same variance, over the width of a member; highest near width ${answer.dual.width}.`,
    x: widths(curve),
    y: { name: `the baseline's ${unit} over the design's`, min: 0, max: 1.12 * Math.max(1, stages?.dual.cost_ratio ?? 1, ...curve.map((point) => point.efficiency)) },
    marks: [
      ...region, ...own(stages?.dual.cost_ratio, "variance"),
      { kind: "rule", value: 1, tone: "base" },
      { kind: "line", points: smooth(answer, "efficiency"), tone: "variance" },
      ...designDots(answer, "dual", (design) => design.cost_ratio, "variance", label), ...baseline(1, [[-8, -8], [-8, 17]], answer.dual),
    ],
    handle: { x: nearest.width, y: nearest.efficiency, tone: "variance", text: `n = ${nearest.width}` },
    keys: [...shaded, ...owns("variance"), { kind: "line", tone: "variance", name: "real-valued m" }, { kind: "dot", tone: "variance", name: "whole members" }, { kind: "dot", tone: "base", hollow: true, name: "baseline" }],
    hover: told("efficiency", "variance", (point) => `${times(point.efficiency)} times ${fewer(answer.cost).split(" ")[0]}, m = ${significant(point.dual_multiplicity)}`),
    data, drag,
  });
}

const waysTitle = "Variance of one member, three ways";

/** Exact, law and drawn variances of a member of the analysed block over each other. */
export function ways({ exact, law, measured }, picked) {
  const any = exact ?? law ?? measured;
  if (!any) return nothing(at("ways-plot"), waysTitle, "No variance to show.");
  const drawn = (measured?.curve ?? []).map((point) => ({
    at: point.width, value: point.variance,
    low: point.primal_objective_ci[0] * point.primal_multiplicity, high: point.primal_objective_ci[1] * point.primal_multiplicity,
  }));
  const line = (answer) => (answer ? smooth(answer, "variance") : []);
  const all = [...line(exact), ...line(law)].map(([, value]) => value).concat(drawn.map((point) => point.value));
  const curves = [exact, law, measured].filter(Boolean).map((answer) => answer.curve);
  const low = Math.min(...curves.map((curve) => curve[0].width));
  const high = Math.max(...curves.map((curve) => curve.at(-1).width));
  const at_ = (answer) => answer?.curve.find((point) => point.width === picked)?.variance;
  const [e, l] = [at_(exact), at_(law)];
  const gap = e && l ? ` At width ${picked}: exactly ${significant(e)}, by the law ${significant(l)} (${l >= e ? "+" : ""}${(100 * (l / e - 1)).toFixed(1)} %).` : "";
  plot(at("ways-plot"), {
    title: waysTitle,
    caption: `The first stage's block, or the whole module, at white inputs.${gap}`,
    file: `${any.baseline}-variance-of-a-member`,
    alt: `Variance of one member's kernel over its width: exact${law ? `, by the law with alpha ${significant(law.alpha)}` : ""}${measured ? ", and drawn" : ""}.`,
    x: widths([{ width: low }, { width: high }]),
    y: { name: "kernel variance of a member", log: true, ...ends(all, 1.3) },
    marks: [
      exact && { kind: "line", points: line(exact), tone: "cost" },
      law && { kind: "line", points: line(law), tone: "law", dash: true },
      ...drawn.map((point) => ({ kind: "error", ...point, tone: "drawn" })),
      ...drawn.map((point) => ({ kind: "dot", at: [point.at, point.value], tone: "drawn", title: `width ${point.at}: ${significant(point.value)}, drawn` })),
    ].filter(Boolean),
    keys: [
      exact && { kind: "line", tone: "cost", name: "exact" },
      law && { kind: "line", tone: "law", dash: true, name: `law, alpha = ${significant(law.alpha)}` },
      measured && { kind: "dot", tone: "drawn", name: "drawn, 95 %" },
    ].filter(Boolean),
    hover: (value) => {
      const point = nearestTo(any.curve, value, ({ width }) => width);
      return { x: point.width, y: point.variance, tone: any === law ? "law" : "cost", text: `n = ${point.width}: ${significant(point.variance)}` };
    },
    data: {
      columns: ["width", "exact", "law", "drawn", "drawn_low", "drawn_high"],
      rows: [...new Set(curves.flat().map((point) => point.width))].sort((a, b) => a - b).map((width) => {
        const found = drawn.find((point) => point.at === width);
        const of = (answer) => answer?.curve.find((point) => point.width === width)?.variance ?? "";
        return [width, of(exact), of(law), found?.value ?? "", found?.low ?? "", found?.high ?? ""];
      }),
    },
  });
}

const kernelsTitle = "Kernels drawn at random";

function histogram(values, low, high, count) {
  const bins = Array.from({ length: count }, (_, index) => [low + ((high - low) * index) / count, low + ((high - low) * (index + 1)) / count, 0]);
  for (const value of values) {
    const index = Math.floor(((value - low) / (high - low)) * count);
    if (index >= 0 && index < count) bins[index][2] += 1 / values.length;
  }
  return bins;
}

/** Says what is about to be drawn. */
export function drawing() {
  nothing(at("ways-plot"), waysTitle, "Computing …");
  for (const place of ["kernels-plot", "design-kernels-plot"]) nothing(at(place), kernelsTitle, "Drawing …");
}

/** The range that drawn kernels are shown over, the same for both networks. */
export function kernelRange(both) {
  const sorted = both.flatMap((drawn) => drawn.kernels).sort((a, b) => a - b);
  return { low: Math.max(0, sorted[Math.floor(0.002 * sorted.length)] * 0.95), high: sorted[Math.floor(0.998 * (sorted.length - 1))] * 1.05 };
}

/** Drawn kernels of the baseline's block and of the design's, side by side on the same axes. */
export function kernels(baseline, design, goal, range) {
  const both = [[at("kernels-plot"), baseline, "base"], [at("design-kernels-plot"), design, goal === "primal" ? "cost" : "variance"]];
  const bins = both.map(([, drawn]) => drawn && histogram(drawn.kernels, range.low, range.high, 40));
  const top = Math.max(...bins.filter(Boolean).flat().map(([, , share]) => share), 0.01);
  for (const [index, [figure, drawn, tone]] of both.entries()) {
    if (!drawn) nothing(figure, kernelsTitle, "No kernels to show.");
    else one(figure, drawn, tone, bins[index], top, range);
  }
}

function one(figure, drawn, tone, bins, top, { low, high }) {
  const exact = drawn.exact_variance;
  const deviation = Math.sqrt(exact ?? drawn.variance);
  const said = drawn.variance === null ? "" : ` Variance ${significant(drawn.variance)} ± ${significant(drawn.standard_error, 2)}.`;
  plot(figure, {
    title: `${kernelsTitle}: ${drawn.module}`,
    caption: `The first stage's block at one input, ${grouped(drawn.kernels.length)} draws.${said}${exact === null ? "" : ` Exactly ${significant(exact)}: the bar is one standard deviation.`}`,
    file: `${drawn.module}-kernels`,
    alt: `Histogram of ${drawn.kernels.length} drawn kernels of ${drawn.module} over their mean.${said}`,
    x: { name: "kernel over its mean", min: low, max: high },
    y: { hidden: true, min: 0, max: top * 1.2 },
    marks: [{ kind: "bars", bins, tone }, { kind: "spread", low: Math.max(low, 1 - deviation), high: Math.min(high, 1 + deviation), value: top * 1.1, tone,
      title: `${drawn.module}: mean 1, standard deviation ${significant(deviation)}${exact === null ? ", drawn" : ", exact"}` }],
    keys: [{ kind: "bar", tone, name: drawn.module }],
    hover: (value) => {
      const [from, to, share] = bins.find(([, end]) => value <= end) ?? bins.at(-1);
      return { x: (from + to) / 2, y: share, tone, text: `${significant(from)} to ${significant(to)}: ${percent(share)} of the draws` };
    },
    data: { columns: ["module", "kernel_over_mean"], rows: drawn.kernels.map((kernel) => [drawn.module, kernel]) },
  });
}

/** What a design of the front costs; its time is a share of the baseline's. */
export const prices = { params: (row) => row.parameters, flops: (row) => row.flops, activations: (row) => row.activations, time: (row) => row.time_share };

/** Variance over a cost; `chosen` are the rows in the brushed range, which `brush` is told of. */
export function front(answer, cost, rows, chosen, brush) {
  const price = prices[cost];
  const told = (row) => `${row.design}: ${cost === "time" ? `time ${price(row).toFixed(3)}` : short(price(row), cost === "flops" ? "FLOPs" : "")}, ${times(row.score_ratio)} times less variance`;
  const tone = (row) => (row.primal ? "cost" : row.dual ? "variance" : "other");
  const base = { params: answer.baseline_parameters, flops: answer.baseline_flops, activations: answer.baseline_activations, time: 1 }[cost];
  const dot = (row) => ({
    kind: "dot", at: [price(row), row.score], tone: tone(row), hollow: !chosen.includes(row), size: row.primal || row.dual ? radius.marked : radius.point, title: told(row),
    name: (row.primal || row.dual) && String(row.design), beside: row.primal ? [-10, 16] : [10, -4],
  });
  const line = rows.filter((row) => row.fronts.includes(cost));
  const range = chosen.length < rows.length && chosen.length > 0;
  plot(at("pareto-plot"), {
    title: `Variance against ${units[cost]}`,
    caption: "Lower and further left is better. Both best designs are marked.",
    file: `${answer.baseline}-pareto-${cost}`,
    alt: `${rows.length} designs that nothing beats in both variance and ${units[cost]}, the best at the same cost ${answer.primal.design} and at the same variance ${answer.dual.design}.`,
    x: { name: cost === "time" ? "time, the baseline's being 1" : units[cost], log: true, ...ends([...rows.map(price), base], 1.08) },
    y: { name: "mean kernel variance of the blocks", log: true, ...ends([...rows.map((row) => row.score), answer.baseline_score], 1.15) },
    marks: [
      ...(range ? [{ kind: "flat", low: price(chosen[0]), high: price(chosen.at(-1)), tone: "base" }] : []),
      { kind: "line", points: line.map((row) => [price(row), row.score]), tone: "other", thin: true },
      { kind: "dot", at: [base, answer.baseline_score], tone: "base", hollow: true, size: radius.marked, title: `${answer.baseline}, the baseline`, name: "baseline", beside: [-10, -8] },
      ...rows.map(dot),
    ],
    keys: [{ kind: "dot", tone: "other", name: "nothing beats it" }, { kind: "dot", tone: "cost", name: "best at the same cost" }, { kind: "dot", tone: "variance", name: "best at the same variance" }],
    hover: (value) => {
      const row = nearestTo(rows, value, price);
      return { x: price(row), y: row.score, tone: tone(row), text: told(row) };
    },
    data: {
      columns: ["design", "parameters", "flops", "activations", ...(answer.timings ? ["time_share"] : []), "variance"],
      rows: rows.map((row) => [row.design, row.parameters, row.flops, row.activations, ...(answer.timings ? [row.time_share] : []), row.score]),
    },
    drag: (value, from) => brush(Math.min(value, from), Math.max(value, from)), brush: true,
  });
}
