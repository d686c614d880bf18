// The four plots.

import { at } from "./svg.js";
import { nothing, plot, radius } from "./plot.js";
import { grouped, percent, significant, times, units } from "./format.js";

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

function designDots(answer, problem, value, tone, text) {
  const optimum = answer[problem];
  const others = answer.nearby.filter((other) => other.problem === problem);
  return [...others, optimum].map((design) => ({
    kind: "dot", at: [design.width, value(design)], tone, size: design === optimum ? radius.marked : radius.point, title: text(design),
  }));
}

/** Both objectives over the width, with the handle at the picked one. */
export function objectives(answer, picked, drag) {
  const { curve, flat } = answer;
  const unit = units[answer.cost];
  const base = Number(answer.baseline_design?.match(/x(\d+)/)?.[1]);
  const region = flat ? [{ kind: "flat", low: flat.low, high: flat.high, tone: "base" }] : [];
  // Beside the dot where its curve is not.
  const baseline = (value, [narrow, wide], best) => (base ? [{ kind: "dot", at: [base, value], tone: "base", hollow: true, size: radius.marked,
    name: answer.baseline_design, beside: base < best.width ? narrow : wide, title: `${answer.baseline}, the baseline` }] : []);
  const nearest = curve.reduce((best, point) => (Math.abs(point.width - picked) < Math.abs(best.width - picked) ? point : best), curve[0]);
  const fitting = curve.filter((point) => point.primal_multiplicity > 0 && point.primal_objective > 0);
  const label = (design) => `${design.design}: ${times(design.score_ratio)} times less variance, ${percent(1 / design.cost_ratio)} of the ${unit}`;
  const shaded = flat ? [{ kind: "range", tone: "base", name: `within ${percent(flat.tolerance)}` }] : [];
  const data = {
    columns: ["width", "cost_of_member", "variance", "primal_multiplicity", "primal_objective", "dual_multiplicity", "efficiency"],
    rows: curve.map((point) => [point.width, point.cost_of_member, point.variance, point.primal_multiplicity, point.primal_objective, point.dual_multiplicity, point.efficiency]),
  };
  const dots = designDots(answer, "primal", (design) => design.score, "cost", label);
  plot(at("primal-plot"), {
    title: "Kernel variance at the same cost",
    caption: "Lower is better. As many members as the budget pays for.",
    file: `${answer.baseline}-same-cost`,
    alt: `Kernel variance at the baseline's cost over the width of a member; lowest near width ${answer.primal.width}.`,
    x: widths(curve),
    y: { name: "mean kernel variance of the blocks", log: true, ...ends([...fitting.map((point) => point.primal_objective), answer.baseline_score], 1.2) },
    marks: [
      ...region,
      { kind: "rule", value: answer.baseline_score, tone: "base" },
      { kind: "line", points: fitting.map((point) => [point.width, point.primal_objective]), tone: "cost" },
      ...dots, ...baseline(answer.baseline_score, [[6, -10], [-8, -8]], answer.primal),
    ],
    handle: { x: nearest.width, y: Math.max(nearest.primal_objective, 0) || answer.baseline_score, tone: "cost", text: `n = ${nearest.width}` },
    keys: [...shaded, { kind: "line", tone: "cost", name: "real-valued m" }, { kind: "dot", tone: "cost", name: "whole members" }, { kind: "dot", tone: "base", hollow: true, name: "baseline" }],
    data, drag,
  });
  plot(at("dual-plot"), {
    title: `Times fewer ${unit} at the same variance`,
    caption: "Higher is better. As few members as reach the baseline's variance.",
    file: `${answer.baseline}-same-variance`,
    alt: `Baseline's ${unit} over those of a design of the same variance, over the width of a member; highest near width ${answer.dual.width}.`,
    x: widths(curve),
    y: { name: `the baseline's ${unit} over the design's`, min: 0, max: 1.12 * Math.max(1, ...curve.map((point) => point.efficiency)) },
    marks: [
      ...region,
      { kind: "rule", value: 1, tone: "base" },
      { kind: "line", points: curve.map((point) => [point.width, point.efficiency]), tone: "variance" },
      ...designDots(answer, "dual", (design) => design.cost_ratio, "variance", label), ...baseline(1, [[-8, -8], [-8, 17]], answer.dual),
    ],
    handle: { x: nearest.width, y: nearest.efficiency, tone: "variance", text: `n = ${nearest.width}` },
    keys: [...shaded, { kind: "line", tone: "variance", name: "real-valued m" }, { kind: "dot", tone: "variance", name: "whole members" }, { kind: "dot", tone: "base", hollow: true, name: "baseline" }],
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
  const line = (answer) => (answer?.curve ?? []).map((point) => [point.width, point.variance]);
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
  nothing(at("kernels-plot"), kernelsTitle, "Drawing …");
}

/** Drawn kernels of the baseline's block and the design's, with their exact standard deviations. */
export function kernels(baseline, design, goal) {
  if (!baseline) return nothing(at("kernels-plot"), kernelsTitle, "No kernels to show.");
  const tone = goal === "primal" ? "cost" : "variance";
  const both = [{ drawn: baseline, tone: "base" }, design && { drawn: design, tone }].filter(Boolean);
  const sorted = both.flatMap(({ drawn }) => drawn.kernels).sort((a, b) => a - b);
  const low = Math.max(0, sorted[Math.floor(0.002 * sorted.length)] * 0.95);
  const high = sorted[Math.floor(0.998 * (sorted.length - 1))] * 1.05;
  const bins = both.map(({ drawn }) => histogram(drawn.kernels, low, high, 48));
  const top = Math.max(...bins.flat().map(([, , share]) => share));
  const spread = ({ drawn, tone: color }, index) => {
    const exact = drawn.exact_variance;
    const deviation = Math.sqrt(exact ?? drawn.variance);
    return { kind: "spread", low: Math.max(low, 1 - deviation), high: Math.min(high, 1 + deviation), value: top * (1.07 + 0.09 * index), tone: color,
      title: `${drawn.module}: mean 1, standard deviation ${significant(deviation)}${exact === null ? ", drawn" : ", exact"}` };
  };
  const said = both.map(({ drawn }) => `${drawn.module} ${significant(drawn.variance)} ± ${significant(drawn.standard_error, 2)}${drawn.exact_variance === null ? "" : ` (exactly ${significant(drawn.exact_variance)})`}`);
  plot(at("kernels-plot"), {
    title: kernelsTitle,
    caption: `The first stage's block at one input, over ${grouped(baseline.kernels.length)} draws; bars: one exact standard deviation. Variance: ${said.join(", ")}.`,
    file: `${baseline.module}-kernels`,
    alt: `Histograms of drawn kernels over their mean. Variance: ${said.join(", ")}.`,
    x: { name: "kernel over its mean", min: low, max: high },
    y: { hidden: true, min: 0, max: top * 1.25 },
    marks: [...both.map((one, index) => ({ kind: "bars", bins: bins[index], tone: one.tone })), ...both.map(spread)],
    keys: both.map(({ drawn, tone: color }) => ({ kind: "bar", tone: color, name: drawn.module })),
    data: { columns: ["module", "kernel_over_mean"], rows: both.flatMap(({ drawn }) => drawn.kernels.map((kernel) => [drawn.module, kernel])) },
  });
}
