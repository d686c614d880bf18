// The block before and after: channels as bars, weights as what connects them.

import { at, svg } from "./svg.js";
import { nothing, redrawn, widthOf } from "./plot.js";
import { html } from "./svg.js";
import { saves } from "./share.js";
import { grouped } from "./format.js";

/** Groups that are told apart; more would be thinner than a line. */
const mostSlices = 48;

/** Bars and links of a bottleneck block. */
function ofBlock(block) {
  const { inputs, outputs, members, width, kernel, stride } = block;
  const second = block.second_width ?? width;
  const step = stride > 1 ? `, stride ${stride}` : "";
  return {
    bars: [{ total: inputs }, { total: members * width, members, each: width }, { total: members * second, members, each: second }, { total: outputs }],
    links: [{ name: "1x1", groups: 1 }, { name: `${kernel}x${kernel}${step}`, groups: members }, { name: "1x1", groups: 1 }],
  };
}

/** Bars and links of m members of a chain of layers that share input and output. */
function ofChain({ inputs, members, layers }) {
  const linear = layers.filter((layer) => layer.width);
  const last = linear.length - 1;
  return {
    bars: [{ total: inputs }, ...linear.map(({ width }, index) => (index === last ? { total: width } : { total: members * width, members, each: width }))],
    links: linear.map((layer, index) => ({
      name: layer.kernel ? `${layer.kernel}x${layer.kernel}` : linear.length > 4 ? "" : "dense",
      groups: index === 0 || index === last ? 1 : members,
    })),
  };
}

/** What is drawn of a network at a stage. */
function shape(network, stage) {
  if (network.blocks.length) return ofBlock(network.blocks.find((block) => block.stage === stage) ?? network.blocks[0]);
  return network.chain && ofChain(network.chain);
}

function link({ groups }, from, to) {
  const slices = Math.min(groups, mostSlices);
  const gap = slices > 1 ? 0.16 : 0;
  const slice = (bar, index, edge) => bar.top + (bar.size * (index + (edge ? 1 - gap / 2 : gap / 2))) / slices;
  return Array.from({ length: slices }, (_, index) => svg("path", {
    d: `M${from.right} ${slice(from, index, false)}L${to.left} ${slice(to, index, false)}L${to.left} ${slice(to, index, true)}L${from.right} ${slice(from, index, true)}Z`,
    class: "weights",
  }));
}

function panel({ bars, links }, { x, y, width, height, most, tone, title }) {
  const thick = 9;
  const step = (width - thick) / (bars.length - 1);
  const placed = bars.map((bar, index) => {
    const size = Math.max(2, (height * bar.total) / most);
    const left = x + index * step;
    return { ...bar, left, right: left + thick, size, top: y + (height - size) / 2 };
  });
  const name = (bar) => (bar.members > 1 ? `${bar.members} x ${bar.each}` : grouped(bar.total));
  const anchor = (index) => (index === 0 ? "start" : index === bars.length - 1 ? "end" : "middle");
  const middle = (bar, index) => (index === 0 ? bar.left : index === bars.length - 1 ? bar.right : (bar.left + bar.right) / 2);
  const crowded = step < 62;
  return svg("g", { class: `c-${tone}` },
    svg("text", { x, y: y - 44, class: "strong" }, title),
    links.map((one, index) => link(one, placed[index], placed[index + 1])),
    placed.map((bar) => svg("rect", { x: bar.left, y: bar.top, width: thick, height: bar.size, rx: 2, class: "channels" })),
    links.map((one, index) => {
      const centre = (placed[index].right + placed[index + 1].left) / 2;
      const groups = one.groups > 1 && !crowded ? `${one.groups} groups` : "";
      return [svg("text", { x: centre, y: y - 22, "text-anchor": "middle" }, one.name), groups && svg("text", { x: centre, y: y - 8, "text-anchor": "middle" }, groups)];
    }),
    placed.map((bar, index) => (crowded && index % 2 ? null
      : svg("text", { x: middle(bar, index), y: y + height + 18, "text-anchor": anchor(index) }, name(bar)))));
}

const words = ({ bars, links }) =>
  bars.map((bar, index) => `${grouped(bar.total)} channels${links[index] ? `, ${links[index].name}${links[index].groups > 1 ? ` in ${links[index].groups} groups` : ""}` : ""}`).join(", ");

function draw(figure) {
  const { picture, before, after } = figure.plotted;
  const room = widthOf(figure);
  const beside = room > 620;
  const height = 170;
  const width = beside ? (room - 60) / 2 : room - 8;
  const most = Math.max(...[...before.shape.bars, ...after.shape.bars].map((bar) => bar.total));
  const place = (index) => ({ x: beside ? 2 + index * (width + 56) : 2, y: 60 + (beside ? 0 : index * (height + 102)), width, height, most });
  const total = beside ? height + 88 : 2 * height + 190;
  picture.setAttribute("viewBox", `0 0 ${room} ${total}`);
  picture.setAttribute("height", total);
  picture.replaceChildren(
    panel(before.shape, { ...place(0), tone: "base", title: before.title }),
    panel(after.shape, { ...place(1), tone: after.tone, title: after.title }));
}

/** Draws the block of a stage in both networks. */
export function diagram(before, after, stage) {
  const figure = at("diagram");
  const shapes = [before, after].map(({ network }) => network && shape(network, stage));
  if (!shapes[0] || !shapes[1]) return nothing(figure, "The block", "There is no block to draw.");
  if (!figure.plotted) {
    figure.plotted = { picture: svg("svg", { class: "cg plot", role: "img" }) };
    redrawn(figure, (shown) => shown.plotted.before && draw(shown));
  }
  const { picture } = figure.plotted;
  Object.assign(figure.plotted, {
    before: { ...before, shape: shapes[0] }, after: { ...after, shape: shapes[1] },
    spec: { title: "The block", file: `${after.network.model}-block` },
  });
  picture.setAttribute("aria-label", `Before: ${words(shapes[0])}. After: ${words(shapes[1])}.`);
  if (picture.parentNode !== figure) figure.replaceChildren(picture, html("figcaption", {}, html("span"), saves(figure)));
  draw(figure);
}
