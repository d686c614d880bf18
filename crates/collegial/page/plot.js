// Plots: axes, marks, a handle to drag, and their files. They follow the room they have and are
// drawn anew while the pointer moves; what they look like is what `crates/report/src/figure` draws:
// the same classes, sizes, axes and order of title, keys, picture, caption.

import { html, svg } from "./svg.js";
import { short, significant } from "./format.js";
import { saves } from "./share.js";

const margin = { top: 30, right: 14, bottom: 44, left: 48 };

/** Of a data point's dot, and of the optimum's and the baseline's. */
export const radius = { point: 4.5, marked: 6.5 };

/** A scale from values to pixels and back. */
function scale({ min, max, log }, from, to) {
  const f = log ? Math.log : (value) => value;
  const inverse = log ? Math.exp : (value) => value;
  const [low, high] = [f(min), f(max)];
  const of = (value) => from + ((f(value) - low) / (high - low || 1)) * (to - from);
  of.invert = (pixel) => inverse(low + ((pixel - from) / (to - from)) * (high - low));
  return of;
}

/** Round values between the ends of an axis: 1, 2 and 5 times powers of ten. */
function ticks({ min, max, log }, room) {
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

/** The digits of a logarithmic axis that have no label. */
function minor({ min, max, log }, major) {
  if (!log || max / min > 1e8) return [];
  const all = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++) {
    for (let digit = 1; digit < 10; digit++) all.push(digit * 10 ** power);
  }
  return all.filter((value) => value >= min && value <= max && !major.some((tick) => Math.abs(tick / value - 1) < 1e-6));
}

const large = 1e5;

const label = (value) => (value >= large ? short(value).replace(/\.?0+(?= )/, "") : Number.isInteger(value) ? String(value) : String(Number(significant(value, 3))));

const path = (points, x, y) =>
  points.map(([px, py], index) => `${index ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");

/** One mark of a plot as an element; its kind says which. */
const marks = {
  line: ({ points, tone, dash, thin }, { x, y }) =>
    svg("path", { d: path(points, x, y), class: `line c-${tone}${dash ? " dashed" : ""}${thin ? " thin" : ""}` }),
  rule: ({ value, tone }, { y, left, right }) =>
    svg("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: `line thin dashed c-${tone}` }),
  flat: ({ low, high, tone }, { x, top, bottom }) =>
    svg("rect", { x: x(low) - 3, width: Math.max(6, x(high) - x(low) + 6), y: top, height: bottom - top, class: `range c-${tone}` }),
  dot: ({ at: [px, py], tone, hollow, title, size = radius.point, name, beside: [across, down] = [0, 0] }, { x, y }) =>
    svg("g", {}, svg("title", {}, title),
      svg("circle", { cx: x(px), cy: y(py), r: size, class: `${hollow ? "hollow" : "point"} c-${tone}` }),
      name && svg("text", { x: x(px) + across, y: y(py) + down, "text-anchor": across < 0 ? "end" : "start", class: "label" }, name)),
  error: ({ at: px, low, high, tone }, { x, y }) =>
    svg("path", { d: [low, high].map((end) => `M${x(px) - 4} ${y(end)}h8`).join("") + `M${x(px)} ${y(low)}V${y(high)}`, class: `bar c-${tone}` }),
  bars: ({ bins, tone }, { x, y, bottom }) =>
    svg("g", { class: `c-${tone}` }, bins.map(([low, high, count]) =>
      svg("rect", { x: x(low), width: Math.max(0, x(high) - x(low)), y: y(count), height: Math.max(0, bottom - y(count)), class: "column" }))),
  spread: ({ low, high, value, tone, title }, { x, y }) =>
    svg("g", { class: `c-${tone}` },
      svg("line", { x1: x(low), x2: x(high), y1: y(value), y2: y(value), class: "line" }),
      [low, high].map((end) => svg("line", { x1: x(end), x2: x(end), y1: y(value) - 5, y2: y(value) + 5, class: "line" })),
      svg("title", {}, title)),
};

/** Lines at the ticks, under the data; and the axes with their ticks and names, over it. */
function axes({ x: xAxis, y: yAxis }, { x, y, left, right, top, bottom }) {
  const across = ticks(xAxis, Math.floor((right - left) / (xAxis.max >= large ? 64 : 40)));
  const up = yAxis.hidden ? [] : ticks(yAxis, Math.floor((bottom - top) / 36));
  const grid = [...across.map((value) => `M${x(value)} ${top}V${bottom}`), ...up.map((value) => `M${left} ${y(value)}H${right}`)];
  const strokes = [
    yAxis.hidden ? `M${left} ${bottom}H${right}` : `M${left} ${top}V${bottom}H${right}`,
    ...across.map((value) => `M${x(value)} ${bottom}v5`), ...minor(xAxis, across).map((value) => `M${x(value)} ${bottom}v3`),
    ...up.map((value) => `M${left} ${y(value)}h-5`), ...(yAxis.hidden ? [] : minor(yAxis, up)).map((value) => `M${left} ${y(value)}h-3`),
  ];
  return {
    under: [svg("path", { d: grid.join(""), class: "grid" })],
    over: [
      svg("path", { d: strokes.join(""), class: "axis" }),
      across.map((value) => svg("text", { x: x(value), y: bottom + 19, "text-anchor": "middle", class: "tick" }, label(value))),
      up.map((value) => svg("text", { x: left - 8, y: y(value) + 4.5, "text-anchor": "end", class: "tick" }, label(value))),
      svg("text", { x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle", class: "name" }, xAxis.name),
      yAxis.name && svg("text", { x: 0, y: top - 14, class: "name" }, yAxis.name),
    ].flat().filter(Boolean),
  };
}

/** What the pointer is over: a dot on the curve and its numbers. */
function hovered({ x: value, y: height, tone, text }, { x, y, top, bottom, left, right }) {
  const px = x(value);
  const near = px > (left + right) / 2;
  return svg("g", { class: `c-${tone} hovered` },
    svg("line", { x1: px, x2: px, y1: top, y2: bottom, class: "drop" }),
    svg("circle", { cx: px, cy: y(height), r: radius.point, class: "point" }),
    svg("text", { x: px + (near ? -8 : 8), y: bottom - 8, "text-anchor": near ? "end" : "start", class: "label" }, text));
}

function handle({ x: value, y: height, tone, text }, { x, y, top, bottom, left, right }) {
  const px = x(value);
  const near = px > (left + right) / 2;
  return svg("g", { class: `c-${tone} held` },
    svg("line", { x1: px, x2: px, y1: top, y2: bottom, class: "handle" }),
    svg("circle", { cx: px, cy: y(height), r: 7, class: "grip" }),
    svg("text", { x: px + (near ? -10 : 10), y: top + 12, "text-anchor": near ? "end" : "start", class: "strong label" }, text));
}

/**
 * A figure's room for its picture; read once until it changes, because reading makes the browser lay
 * out the page.
 */
export function widthOf(figure) {
  const { plotted } = figure;
  plotted.width ||= Math.max(240, plotted.picture.clientWidth || figure.clientWidth - 32);
  return plotted.width;
}

/** Draws anew whenever a figure's room changes. */
export function redrawn(figure, draw) {
  new ResizeObserver(() => {
    const before = figure.plotted.width;
    figure.plotted.width = undefined;
    if (widthOf(figure) !== before) draw(figure);
  }).observe(figure);
}

function draw(figure) {
  const { spec, picture } = figure.plotted;
  const width = widthOf(figure);
  const height = spec.height ?? (width < 420 ? 230 : 270);
  const frame = { left: spec.y.hidden ? 14 : margin.left, right: width - margin.right, top: spec.y.name ? margin.top : 14, bottom: height - margin.bottom };
  frame.x = scale(spec.x, frame.left, frame.right);
  frame.y = scale(spec.y, frame.bottom, frame.top);
  figure.plotted.frame = frame;
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("height", height);
  picture.setAttribute("aria-label", spec.alt);
  figure.plotted.hovered = null;
  const { under, over } = axes(spec, frame);
  const parts = [...under, ...spec.marks.map((mark) => marks[mark.kind](mark, frame)), ...over];
  if (spec.handle) parts.push(handle(spec.handle, frame));
  picture.replaceChildren(...parts);
}

/** What a pointer does: pressed, it drags; else it is told the numbers under it. */
function pointed(figure) {
  const { picture } = figure.plotted;
  let from = 0;
  const value = (event) => {
    const { frame } = figure.plotted;
    const box = picture.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
    return frame.x.invert(Math.min(frame.right, Math.max(frame.left, pixel)));
  };
  const hover = (found) => {
    figure.plotted.hovered?.remove();
    figure.plotted.hovered = found ? hovered(found, figure.plotted.frame) : null;
    if (found) picture.append(figure.plotted.hovered);
  };
  picture.addEventListener("pointerdown", (event) => {
    if (!figure.plotted.spec.drag) return;
    picture.setPointerCapture(event.pointerId);
    from = value(event);
    figure.plotted.spec.drag(from, from);
  });
  picture.addEventListener("pointermove", (event) => {
    const { spec } = figure.plotted;
    if (picture.hasPointerCapture(event.pointerId)) spec.drag(value(event), from);
    else hover(spec.hover?.(value(event)));
  });
  picture.addEventListener("pointerleave", () => hover(null));
}

/** The element of a list whose number is nearest to a value on a logarithmic scale. */
export const nearestTo = (list, value, of) => list.reduce((best, one) =>
  (Math.abs(Math.log(of(one) / value)) < Math.abs(Math.log(of(best) / value)) ? one : best), list[0]);

const sample = { line: (key) => svg("line", { x1: 0, x2: 24, y1: 5, y2: 5, class: `line${key.dash ? " dashed" : ""}` }),
  dot: (key) => svg("circle", { cx: 12, cy: 5, r: key.hollow ? radius.marked : radius.point, class: key.hollow ? "hollow" : "point" }),
  range: () => svg("rect", { y: -1, width: 24, height: 12, class: "range" }),
  bar: () => svg("rect", { x: 4, y: 0, width: 16, height: 10, class: "column" }) };

/** Draws a plot into a figure, or draws it anew. */
export function plot(figure, spec) {
  if (!figure.plotted) {
    const picture = svg("svg", { class: "cg plot", role: "img" });
    figure.plotted = { picture, spec };
    redrawn(figure, draw);
    pointed(figure);
  }
  const { picture } = figure.plotted;
  figure.plotted.spec = spec;
  picture.classList.toggle("draggable", Boolean(spec.drag) && !spec.brush);
  picture.classList.toggle("brushed", Boolean(spec.brush));
  // A picture that is being dragged must stay where it is in the document.
  if (picture.parentNode !== figure) {
    figure.replaceChildren(html("b"), html("ul", { class: "keys" }), picture, html("figcaption", {}, html("span"), saves(figure)));
  }
  figure.querySelector("b").textContent = spec.title;
  figure.querySelector("figcaption span").textContent = spec.caption;
  figure.querySelector(".keys").replaceChildren(...spec.keys.map((key) =>
    html("li", {}, svg("svg", { class: `cg c-${key.tone}`, viewBox: "0 0 24 10", "aria-hidden": "true" }, sample[key.kind](key)), key.name)));
  draw(figure);
}

/** Says in a figure why there is nothing to draw. */
export function nothing(figure, title, sentence) {
  figure.replaceChildren(html("b", {}, title), html("figcaption", {}, html("span", {}, sentence)));
}
