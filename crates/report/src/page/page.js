// What a page does beyond being read: its tables sort, its figures are saved as SVG and PNG, and a
// range of a figure filters the table under it.

for (const table of document.querySelectorAll("main table")) sortable(table);

for (const figure of document.querySelectorAll("figure[data-file]")) {
  const shown = () => [...figure.querySelectorAll("svg.cg")].find((drawing) => drawing.getBoundingClientRect().width > 0);
  const text = () => new XMLSerializer().serializeToString(frozen(shown()));
  const button = (kind, make) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = kind;
    made.dataset.save = kind;
    made.addEventListener("click", async () => save(`${figure.dataset.file}.${kind.toLowerCase()}`, await make()));
    return made;
  };
  figure.querySelector(".saves").append(
    button("SVG", () => new Blob([text()], { type: "image/svg+xml" })),
    button("PNG", () => png(text(), shown().viewBox.baseVal.width, shown().viewBox.baseVal.height)));
}

for (const section of document.querySelectorAll("section")) {
  const table = section.querySelector("figure.table");
  const rows = [...(table?.querySelectorAll("tbody tr") ?? [])];
  const nameOf = (row) => row.cells[0].textContent.trim();
  const names = new Set(rows.map(nameOf));
  // A point's title begins with the name that its row has.
  const points = [...section.querySelectorAll("figure[data-file] svg.cg g > title")]
    .map((title) => ({ point: title.parentNode, name: title.textContent.split(": ")[0] })).filter(({ name }) => names.has(name));
  if (!points.length) continue;
  const said = document.createElement("span");
  said.role = "status";
  table.querySelector("figcaption > span").append(" ", said);
  const keep = (kept) => {
    for (const row of rows) row.hidden = kept !== null && !kept.has(nameOf(row));
    for (const { point, name } of points) point.style.opacity = kept === null || kept.has(name) ? "" : ".25";
    said.textContent = kept === null ? "Drag over a figure: the table shows the designs of that range."
      : `Shown: ${kept.size} of ${rows.length} designs. A click on a figure shows all.`;
  };
  keep(null);
  for (const plot of new Set(points.map(({ point }) => point.closest(".plot")))) {
    let from = null;
    const brush = ({ clientX }) => {
      const inside = ({ point }) => {
        const { left, right } = point.getBoundingClientRect();
        return right > left && left + right >= 2 * Math.min(from, clientX) && left + right <= 2 * Math.max(from, clientX);
      };
      const kept = new Set(points.filter(({ point }) => plot.contains(point)).filter(inside).map(({ name }) => name));
      keep(Math.abs(clientX - from) > 3 && kept.size ? kept : null);
    };
    plot.classList.add("brushed");
    plot.addEventListener("pointerdown", (event) => {
      from = event.clientX;
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", (event) => from !== null && brush(event));
    plot.addEventListener("pointerup", (event) => { if (from !== null) brush(event); from = null; });
    plot.addEventListener("pointercancel", () => { from = null; });
  }
}
