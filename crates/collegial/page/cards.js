// The two cards: what the design of a width, or of every stage, gains and costs.

import { at, html } from "./svg.js";
import { short, times } from "./format.js";

/** Counts of the design, and the best ones whose width suits hardware, which a click shows. */
export function show_cards(answer, whole, show) {
  for (const [index, goal] of ["primal", "dual"].entries()) {
    const { question, number, about, name, note } = (answer.stage_cards ?? answer.cards)[index];
    const parts = { question, ratio: number, what: about, design: name, note };
    for (const [part, words] of Object.entries(parts)) at(`${goal}-${part}`).textContent = words;
    const { parameters, flops, activations } = answer.stages?.[goal] ?? answer[goal];
    at(`${goal}-counts`).textContent = [`${short(parameters)} parameters`, short(flops, "FLOPs"), activations && `${short(activations)} activations`].filter(Boolean).join(", ");
    const friendly = whole.friendly.filter((other) => other.problem === goal);
    const button = (other) => html("button", { type: "button", class: "quiet", "aria-label": `Show ${other.design}`, onclick: () => show(goal, other.width) },
      `${other.design}: ${times(goal === "primal" ? other.score_ratio : other.cost_ratio)} ×`);
    at(`${goal}-friendly`).replaceChildren(...(friendly.length ? ["Widths that suit hardware: ", ...friendly.map(button)] : []));
  }
}
