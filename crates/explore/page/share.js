// Copies and files.

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
  const link = html("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  say(`Saved ${name}.`);
}

const styled = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap",
  "opacity", "font-size", "font-family", "font-weight", "text-anchor", "paint-order"];

/** A copy whose styles are attributes. */
function frozen(picture) {
  const clone = picture.cloneNode(true);
  const originals = [picture, ...picture.querySelectorAll("*")];
  const copies = [clone, ...clone.querySelectorAll("*")];
  originals.forEach((original, index) => {
    const style = getComputedStyle(original);
    for (const name of styled) copies[index].setAttribute(name, style.getPropertyValue(name));
    copies[index].removeAttribute("class");
  });
  return clone;
}

/** Title and keys in two lines above a picture. */
function heading(figure) {
  const { title, keys = [] } = figure.plotted.spec;
  const ink = getComputedStyle(figure).color;
  const words = { fill: ink, "font-family": "system-ui, sans-serif" };
  const samples = [...figure.querySelectorAll(".keys svg")];
  let x = 10;
  const row = keys.map((key, index) => {
    const sample = svg("g", { transform: `translate(${x} -22)` }, ...frozen(samples[index]).children);
    const text = svg("text", { ...words, x: x + 30, y: -12, "font-size": "12px" }, key.name);
    x += 52 + 6.8 * key.name.length;
    return [sample, text];
  });
  return { lines: keys.length ? 50 : 28, parts: [svg("text", { ...words, x: 10, y: keys.length ? -32 : -10, "font-size": "14px", "font-weight": "600" }, title), row] };
}

/** A picture as a file of its own, with its title, its keys and a background. */
function standalone(figure) {
  const picture = figure.querySelector("svg.plot");
  const clone = frozen(picture);
  const { width, height } = picture.viewBox.baseVal;
  const { lines, parts } = heading(figure);
  const whole = height + lines;
  const background = getComputedStyle(figure).backgroundColor;
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height: whole, viewBox: `0 ${-lines} ${width} ${whole}` })) clone.setAttribute(name, value);
  clone.prepend(svg("rect", { y: -lines, width, height: whole, fill: background }));
  clone.append(...parts.flat(Infinity));
  return { text: new XMLSerializer().serializeToString(clone), width, height: whole };
}

async function png(figure) {
  const { text, width, height } = standalone(figure);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = html("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
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
    button("PNG", async () => save(`${spec().file}.png`, await png(figure))));
}
