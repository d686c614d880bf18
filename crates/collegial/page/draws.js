// Kernels drawn again and again: two histograms fill side by side.

import { ask } from "./ask.js";
import { at } from "./svg.js";
import { grouped } from "./format.js";
import { kernelRange, kernels } from "./plots.js";

/** Draws at rest, of one step of the play, and of the whole play. */
const [rest, step, most] = [1000, 40, 4000];

/** What is shown, and the play that is on; a play is over when another has this place. */
let shown = null;
let playing = null;

/** Ends the play. */
export function stop() {
  playing = null;
  at("play").textContent = "Play";
  at("play").setAttribute("aria-pressed", false);
}

const asked = (model, request) => ask("kernels", { model, ...request }).catch(() => null);

/** Draws the kernels of the baseline's block and of the design's. */
export async function draw_kernels(models, goal, current) {
  stop();
  const both = [];
  for (const model of models) both.push(await asked(model, { draws: rest }));
  if (!current()) return;
  const found = both.filter(Boolean);
  at("play").disabled = found.length === 0;
  at("played").textContent = "Every draw is another initialisation: the narrower the histogram, the less depends on chance.";
  shown = { models, goal, range: found.length ? kernelRange(found) : { low: 0, high: 2 } };
  kernels(...both, goal, shown.range);
}

/** Starts from nothing; every step asks for a few draws more. */
async function play() {
  const { models, goal, range } = shown;
  const mine = {};
  playing = mine;
  at("play").textContent = "Pause";
  at("play").setAttribute("aria-pressed", true);
  let both = [null, null];
  for (let first = 0; first < most; first += step) {
    const more = [];
    for (const model of models) more.push(await asked(model, { draws: step, first }));
    await new Promise(requestAnimationFrame);
    if (playing !== mine) return;
    both = both.map((before, index) => more[index] && { ...more[index], variance: null, kernels: [...(before?.kernels ?? []), ...more[index].kernels] });
    if (!both.some(Boolean)) break;
    kernels(...both, goal, range);
    at("played").textContent = `${grouped(first + step)} draws of each.`;
  }
  stop();
}

at("play").addEventListener("click", () => (playing ? stop() : shown && play()));
// Nothing is drawn for a page that nobody sees.
document.addEventListener("visibilitychange", () => document.hidden && stop());
addEventListener("pagehide", stop);
