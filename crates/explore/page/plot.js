// Plots: axes, marks, a handle to drag, and their files.

import { html, svg } from "./svg.js";
import { significant } from "./format.js";
import { saves } from "./share.js";

const margin = { top: 14, right: 14, bottom: 40, left: 52 };

/** A scale from values to pixels and back. */
function scale({ min, max, log }, from, to) {
  const f = log ? Math.log : (value) => value;
  const inverse = log ? Math.exp : (value) => value;
  const [low, high] = [f(min), f(max)];
  const of = (value) => from + ((f(value) - low) / (high - low || 1)) * (to - from);
  of.invert = (pixel) => inverse(low + ((pixel - from) / (to - from)) * (high - low));
  return of;
}

/** Round values between the ends of an axis: powers of two for widths, else 1, 2 and 5 times powers of ten. */
function ticks({ min, max, log, base }, room) {
  if (log && base === 2) {
    const all = [];
    for (let value = 1; value <= max; value *= 2) if (value >= min) all.push(value);
    const step = Math.ceil(all.length / Math.max(2, room));
    return all.filter((_, index) => (all.length - 1 - index) % step === 0);
  }
  if (log) {
    for (const steps of [[1, 2, 5], [1, 3], [1]]) {
      const all = [];
      for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++) {
        for (const step of steps) {
          const value = step * 10 ** power;
          if (value >= min * 0.999 && value <= max * 1.001) all.push(value);
        }
      }
      if (all.length <= room && all.length > 1) return all;
    }
    const [low, high] = [Math.ceil(Math.log10(min)), Math.floor(Math.log10(max))];
    const step = Math.max(1, Math.ceil((high - low + 1) / room));
    const decades = [];
    for (let power = low; power <= high; power += step) decades.push(10 ** power);
    if (decades.length > 1) return decades;
  }
  const rough = (max - min) / Math.max(2, room);
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * size).find((value) => value >= rough);
  const all = [];
  for (let index = Math.ceil(min / step - 1e-9); index * step <= max * (1 + 1e-9); index++) all.push(index * step);
  return all;
}

const label = (value) => (Number.isInteger(value) ? String(value) : String(Number(significant(value, 3))));

const path = (points, x, y) =>
  points.map(([px, py], index) => `${index ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");

/** One mark of a plot as an element; its kind says which. */
const marks = {
  line: ({ points, tone, dash, thin }, { x, y }) =>
    svg("path", { d: path(points, x, y), class: `line c-${tone}${dash ? " dash" : ""}${thin ? " thin" : ""}` }),
  rule: ({ value, tone, name }, { y, left, right }) =>
    svg("g", {}, svg("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: `line thin dash c-${tone}` }),
      name && svg("text", { x: right - 2, y: y(value) - 5, "text-anchor": "end", class: "halo" }, name)),
  flat: ({ low, high, tone }, { x, top, bottom }) =>
    svg("rect", { x: x(low) - 3, width: Math.max(6, x(high) - x(low) + 6), y: top, height: bottom - top, class: `flat c-${tone}` }),
  dot: ({ at: [px, py], tone, hollow, title, size = 4.5 }, { x, y }) =>
    svg("circle", { cx: x(px), cy: y(py), r: size, class: `${hollow ? "hollow" : "dot"} c-${tone}` }, title && svg("title", {}, title)),
  error: ({ at: px, low, high, tone }, { x, y }) =>
    svg("line", { x1: x(px), x2: x(px), y1: y(low), y2: y(high), class: `error c-${tone}` }),
  bars: ({ bins, tone }, { x, y, bottom }) =>
    svg("g", { class: `c-${tone}` }, bins.map(([low, high, count]) =>
      svg("rect", { x: x(low), width: Math.max(0, x(high) - x(low)), y: y(count), height: Math.max(0, bottom - y(count)), class: "bar" }))),
  spread: ({ low, high, value, tone, title }, { x, y }) =>
    svg("g", { class: `c-${tone}` },
      svg("line", { x1: x(low), x2: x(high), y1: y(value), y2: y(value), class: "line" }),
      [low, high].map((end) => svg("line", { x1: x(end), x2: x(end), y1: y(value) - 5, y2: y(value) + 5, class: "line" })),
      svg("title", {}, title)),
};

function axes({ x: xAxis, y: yAxis }, { x, y, left, right, top, bottom }) {
  const across = ticks(xAxis, Math.floor((right - left) / 44)).map((value) => svg("g", {},
    svg("line", { x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4, class: "axis" }),
    svg("text", { x: x(value), y: bottom + 17, "text-anchor": "middle" }, label(value))));
  const up = yAxis.hidden ? [] : ticks(yAxis, Math.floor((bottom - top) / 36)).map((value) => svg("g", {},
    svg("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "grid" }),
    svg("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, label(value))));
  return [
    ...up,
    svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }),
    ...across,
    svg("text", { x: (left + right) / 2, y: bottom + 35, "text-anchor": "middle" }, xAxis.name),
  ];
}

function handle({ x: value, y: height, tone, text }, { x, y, top, bottom, left, right }) {
  const px = x(value);
  const near = px > (left + right) / 2;
  return svg("g", { class: `c-${tone} held` },
    svg("line", { x1: px, x2: px, y1: top, y2: bottom, class: "handle" }),
    svg("circle", { cx: px, cy: y(height), r: 7, class: "grip" }),
    svg("text", { x: px + (near ? -10 : 10), y: top + 11, "text-anchor": near ? "end" : "start", class: "strong halo" }, text));
}

function draw(figure) {
  const { spec, picture } = figure.plotted;
  const width = Math.max(240, picture.clientWidth || figure.clientWidth - 32);
  const height = spec.height ?? (width < 420 ? 230 : 270);
  const frame = { left: spec.y.hidden ? 14 : margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom };
  frame.x = scale(spec.x, frame.left, frame.right);
  frame.y = scale(spec.y, frame.bottom, frame.top);
  figure.plotted.frame = frame;
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("height", height);
  picture.setAttribute("aria-label", spec.alt);
  const parts = [...axes(spec, frame), ...spec.marks.map((mark) => marks[mark.kind](mark, frame))];
  if (spec.handle) parts.push(handle(spec.handle, frame));
  picture.replaceChildren(...parts);
}

function draggable(figure) {
  const { picture } = figure.plotted;
  const move = (event) => {
    const { spec, frame } = figure.plotted;
    const box = picture.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    spec.drag?.(frame.x.invert(Math.min(frame.right, Math.max(frame.left, pixel))));
  };
  picture.addEventListener("pointerdown", (event) => {
    if (!figure.plotted.spec.drag) return;
    picture.setPointerCapture(event.pointerId);
    move(event);
  });
  picture.addEventListener("pointermove", (event) => picture.hasPointerCapture(event.pointerId) && move(event));
}

const sample = { line: (key) => svg("line", { x1: 0, x2: 24, y1: 5, y2: 5, class: `line${key.dash ? " dash" : ""}` }),
  dot: (key) => svg("circle", { cx: 12, cy: 5, r: 4.5, class: key.hollow ? "hollow" : "dot" }),
  bar: () => svg("rect", { x: 4, y: 0, width: 16, height: 10, class: "bar" }) };

/** Draws a plot into a figure, or draws it anew. */
export function plot(figure, spec) {
  if (!figure.plotted) {
    const picture = svg("svg", { class: "plot", role: "img" });
    figure.plotted = { picture, spec };
    new ResizeObserver(() => draw(figure)).observe(figure);
    draggable(figure);
  }
  const { picture } = figure.plotted;
  figure.plotted.spec = spec;
  picture.classList.toggle("draggable", Boolean(spec.drag));
  // A picture that is being dragged must stay where it is in the document.
  if (picture.parentNode !== figure) {
    figure.replaceChildren(html("figcaption"), picture, html("div", { class: "under" }, html("ul", { class: "keys" }), saves(figure)));
  }
  figure.querySelector("figcaption").replaceChildren(html("b", {}, spec.title), html("span", {}, spec.caption));
  figure.querySelector(".keys").replaceChildren(...spec.keys.map((key) =>
    html("li", {}, svg("svg", { class: `c-${key.tone}`, viewBox: "0 0 24 10", "aria-hidden": "true" }, sample[key.kind](key)), key.name)));
  draw(figure);
}

/** Says in a figure why there is nothing to draw. */
export function nothing(figure, title, sentence) {
  figure.replaceChildren(html("figcaption", {}, html("b", {}, title), html("span", {}, sentence)));
}
