// The two cards: what the design of a width, or of every stage, gains and costs.

import { at, html, unbroken } from "./svg.js";
import { short, times } from "./format.js";

/** What a card says of a design; the best of one width says nothing about other widths. */
function at_width(about, answer, whole, goal) {
  if (answer === whole || answer.stage_cards) return about;
  const [{ gain }, best] = [answer[goal], whole[goal]];
  if (gain === "baseline-is-best" && best.gain !== gain) return "this is the baseline";
  return about.replace("nothing allowed is", "no design of this width is");
}

/** Counts of the design, and the best ones whose width suits hardware, which a click shows. */
export function show_cards(answer, whole, show) {
  for (const [index, goal] of ["primal", "dual"].entries()) {
    const { question, number, about, name, note } = (answer.stage_cards ?? answer.cards)[index];
    const parts = { question, ratio: number, what: at_width(about, answer, whole, goal), design: name, note };
    for (const [part, words] of Object.entries(parts)) at(`${goal}-${part}`).replaceChildren(...unbroken(words));
    const { parameters, flops, activations } = answer.stages?.[goal] ?? answer[goal];
    const counts = [`${short(parameters)} parameters`, short(flops, "FLOPs"), activations && `${short(activations)} activations`];
    at(`${goal}-counts`).replaceChildren(...unbroken(counts.filter(Boolean).join(", ")));
    const friendly = whole.friendly.filter((other) => other.problem === goal);
    const button = (other) => html("button", { type: "button", class: "quiet", "aria-label": `Show ${other.design}`, onclick: () => show(goal, other.width) },
      `${other.design}: ${times(goal === "primal" ? other.score_ratio : other.cost_ratio)} ×`);
    at(`${goal}-friendly`).replaceChildren(...(friendly.length ? ["Widths that suit hardware: ", ...friendly.map(button)] : []));
  }
}
