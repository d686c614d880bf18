// Elements by name, attributes and children.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
  return element;
}

/** An element of SVG. */
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/** An element of HTML. */
export const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** Words as nodes whose numbers stay on a line with their units: "99.8 %", "25.6 M". */
export const unbroken = (words) => words.split(/(\d[\d.,]* (?:%|[kMGT]\w*(?: parameters| activations)?))/)
  .map((part, index) => (index % 2 ? html("span", { class: "number" }, part) : part)).filter(Boolean);

/** The element with an id. */
export const at = (id) => document.getElementById(id);
