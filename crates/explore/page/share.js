// Copies and files.

import { at, html } from "./svg.js";

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

/** A picture as a file of its own: styles become attributes, the background a rectangle. */
function standalone(picture) {
  const clone = picture.cloneNode(true);
  const originals = [picture, ...picture.querySelectorAll("*")];
  const copies = [clone, ...clone.querySelectorAll("*")];
  originals.forEach((original, index) => {
    const style = getComputedStyle(original);
    for (const name of styled) copies[index].setAttribute(name, style.getPropertyValue(name));
    copies[index].removeAttribute("class");
  });
  const { width, height } = picture.viewBox.baseVal;
  clone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  clone.setAttribute("width", width);
  clone.setAttribute("height", height);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const background = getComputedStyle(picture.closest("figure")).backgroundColor;
  for (const [name, value] of Object.entries({ width, height, fill: background })) paper.setAttribute(name, value);
  clone.prepend(paper);
  return { text: new XMLSerializer().serializeToString(clone), width, height };
}

async function png(picture) {
  const { text, width, height } = standalone(picture);
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
  const picture = () => figure.querySelector("svg.plot");
  const button = (kind, act) =>
    html("button", { type: "button", onclick: act, "data-save": kind, "aria-label": `Save as ${kind}: ${spec().title}` }, kind);
  return html("div", { class: "saves" },
    spec().data && button("CSV", () => save(`${spec().file}.csv`, new Blob([csv(spec().data)], { type: "text/csv" }))),
    button("SVG", () => save(`${spec().file}.svg`, new Blob([standalone(picture()).text], { type: "image/svg+xml" }))),
    button("PNG", async () => save(`${spec().file}.png`, await png(picture()))));
}
