// Variance against cost: a range of the picture is brushed, and the table has its designs.

import { at, html } from "./svg.js";
import { front, prices } from "./plots.js";
import { fronts } from "./tables.js";
import { units } from "./format.js";

/** Draws the front of an answer; a click on a design shows it. */
export function show_front(answer, show) {
  let [cost, rows, from, to] = ["", [], 0, 0];
  const draw = () => {
    const chosen = rows.slice(from, to + 1);
    front(answer, cost, rows, chosen, brush);
    fronts(answer, chosen, show);
    Object.assign(at("brush-from"), { max: rows.length - 1, value: from });
    Object.assign(at("brush-to"), { max: rows.length - 1, value: to });
    at("brush-all").disabled = chosen.length === rows.length;
  };
  const choose = (first, last) => {
    [from, to] = [Math.max(0, Math.min(first, last)), Math.min(rows.length - 1, Math.max(first, last))];
    draw();
  };
  /** From one value on the axis to another; a click alone chooses all again. */
  function brush(low, high) {
    const inside = rows.flatMap((row, index) => (prices[cost](row) >= low && prices[cost](row) <= high ? [index] : []));
    if (low === high) choose(0, rows.length - 1);
    else if (inside.length) choose(inside[0], inside.at(-1));
  }
  const over = (other) => {
    cost = other;
    rows = answer.pareto.filter((row) => row.fronts.includes(cost) || row.primal || row.dual).sort((a, b) => prices[cost](a) - prices[cost](b));
    choose(0, rows.length - 1);
  };
  const costs = Object.keys(prices).filter((key) => answer.pareto.some((row) => row.fronts.includes(key)));
  const first = costs.includes(answer.cost) ? answer.cost : costs[0];
  at("pareto-cost").replaceChildren(...costs.map((key) => html("label", {},
    html("input", { type: "radio", name: "pareto-cost", value: key, checked: key === first, onchange: () => over(key) }), units[key])));
  at("brush-from").oninput = ({ target }) => choose(Number(target.value), Math.max(to, Number(target.value)));
  at("brush-to").oninput = ({ target }) => choose(Math.min(from, Number(target.value)), Number(target.value));
  at("brush-all").onclick = () => choose(0, rows.length - 1);
  over(first);
}
