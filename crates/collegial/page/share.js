// Copies and files.

import { frozen, png, save as saveFile } from "./save.js";
import { at, html, svg } from "./svg.js";

/** Says something to everybody, screen readers included. */
export function say(sentence, wrong = false) {
  at("status").textContent = sentence;
  at("status").classList.toggle("wrong", wrong);
}

/** Puts a text on the clipboard. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = html("textarea", { class: "hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`Copied ${what}.`);
}

function save(name, blob) {
  saveFile(name, blob);
  say(`Saved ${name}.`);
}

/** Title and keys in two lines above a picture. */
function heading(figure) {
  const { title, keys = [] } = figure.plotted.spec;
  const ink = getComputedStyle(figure).color;
  const words = { fill: ink, "font-family": "system-ui, sans-serif" };
  const samples = [...figure.querySelectorAll(".keys svg")];
  let x = 0;
  const row = keys.map((key, index) => {
    const sample = svg("g", { transform: `translate(${x} -22)` }, ...frozen(samples[index]).children);
    const text = svg("text", { ...words, x: x + 30, y: -12, "font-size": "12px" }, key.name);
    x += 52 + 6.8 * key.name.length;
    return [sample, text];
  });
  return { lines: keys.length ? 60 : 38, parts: [svg("text", { ...words, x: 0, y: keys.length ? -32 : -10, "font-size": "14px", "font-weight": "600" }, title), row] };
}

/** A picture as a file of its own, with its title, its keys and a background. */
function standalone(figure) {
  const picture = figure.querySelector("svg.plot");
  const clone = frozen(picture);
  const { width, height } = picture.viewBox.baseVal;
  const { lines, parts } = heading(figure);
  const edge = 14;
  const whole = { width: width + 2 * edge, height: height + lines + edge };
  const corner = { x: -edge, y: -lines };
  const background = getComputedStyle(figure).backgroundColor;
  for (const [name, value] of Object.entries({ ...whole, viewBox: `${corner.x} ${corner.y} ${whole.width} ${whole.height}` })) clone.setAttribute(name, value);
  clone.prepend(svg("rect", { ...corner, ...whole, fill: background }));
  clone.append(...parts.flat(Infinity));
  return { text: new XMLSerializer().serializeToString(clone), ...whole };
}

const csv = ({ columns, rows }) => `${[columns, ...rows].map((row) => row.join(",")).join("\n")}\n`;

/** The buttons under a picture; its figure knows the name and the data. */
export function saves(figure) {
  const spec = () => figure.plotted.spec;
  const button = (kind, act) =>
    html("button", { type: "button", onclick: act, "data-save": kind, "aria-label": `Save as ${kind}: ${spec().title}` }, kind);
  return html("div", { class: "saves" },
    spec().data && button("CSV", () => save(`${spec().file}.csv`, new Blob([csv(spec().data)], { type: "text/csv" }))),
    button("SVG", () => save(`${spec().file}.svg`, new Blob([standalone(figure).text], { type: "image/svg+xml" }))),
    button("PNG", async () => {
      const { text, width, height } = standalone(figure);
      try {
        save(`${spec().file}.png`, await png(text, width, height));
      } catch (error) {
        say(error.message, true);
      }
    }));
}
