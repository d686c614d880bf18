// Tables that are sorted by a click on a heading.

/** A cell's number ("13,743,646", "99.9 %", "2.62 x"), or null. */
function number(text) {
  const found = text.replaceAll(",", "").match(/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?/i);
  return found ? Number(found[0]) : null;
}

/** Numbers by size, everything else by the alphabet, after the numbers. */
function compare(a, b) {
  const [x, y] = [number(a), number(b)];
  if (x !== null && y !== null) return x - y;
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  return a.localeCompare(b);
}

/** Makes buttons of a table's headings: up, down, and as it was. */
export function sortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.ariaLabel = `Sort by ${button.textContent.trim()}`;
    heading.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort ?? "none"];
      for (const other of headings) other.ariaSort = null;
      heading.ariaSort = next === "none" ? null : next;
      const sign = next === "descending" ? -1 : 1;
      const key = (row) => row.cells[column].textContent.trim();
      body.append(...(next === "none" ? original : [...original].sort((a, b) => sign * compare(key(a), key(b)))));
    });
  });
}
