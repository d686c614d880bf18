// What a page does beyond being read: its tables sort, its figures are saved as SVG and PNG.

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
