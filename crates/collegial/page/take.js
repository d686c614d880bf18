// Lines with which the shown design is used, each with a button that copies it.

import { at, html, unbroken } from "./svg.js";
import { copy } from "./share.js";
import { percent, short, times } from "./format.js";

const titles = { command: "Export it", search: "This search", link: "Link to this page" };

/** What the design gains and costs, and how to have it. */
export function show_lines(taken, search, address) {
  const { model, parameters, flops, score_ratio: ratio, parameter_share, flop_share, activation_share } = taken;
  const shares = `${percent(parameter_share)} of the parameters (${short(parameters)}), ${percent(flop_share)} of the FLOPs (${short(flops, "FLOPs")}) and ${percent(activation_share)} of the activations`;
  at("taken").replaceChildren(...unbroken(`${model}: ${ratio === null ? "" : `${times(ratio)} times less mean kernel variance than the baseline, with `}${shares}.`));
  const named = (name) => taken.lines.filter((line) => line.name === name).map(({ text }) => ({ name, id: name === "command" ? "export" : name.replace(".", "-"), text }));
  const lines = [
    ...named("command"), ...named("torchvision"), ...named("timm"), ...named("collegial.torch"),
    { name: "search", id: "command", text: search }, { name: "link", id: "link", text: address },
  ];
  const said = { search: "the command", link: "the address" };
  at("lines").replaceChildren(...lines.flatMap(({ name, id, text }) => [
    html("dt", {}, titles[name] ?? name),
    html("dd", {}, html("pre", { class: "command", id, tabindex: "0" }, text),
      html("button", { type: "button", class: "quiet", id: `copy-${id}`, "aria-label": `Copy: ${titles[name] ?? name}`, onclick: () => copy(text, said[name] ?? `the line for ${name}`) }, "Copy")),
  ]));
}
