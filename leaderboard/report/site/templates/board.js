"use strict";
// Sorts and filters the tables of the page. Without it the page is complete, in the order of the ranking.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.tHead.rows[0].cells];
  const original = new Map([...table.querySelectorAll("tbody tr")].map((row, place) => [row, place]));
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const first = head.dataset.first || "descending";
      const other = first === "descending" ? "ascending" : "descending";
      const now = head.getAttribute("aria-sort");
      const next = now === first ? other : first;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", next);
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
        const key = (row) => {
          const value = row.cells[column].dataset.value;
          return value === undefined || value === "" ? null : isNaN(value) ? value : Number(value);
        };
        rows.sort((a, b) => {
          const x = key(a), y = key(b);
          if (x === null || y === null) return (x === null) - (y === null) || original.get(a) - original.get(b);
          const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
          return (next === "ascending" ? order : -order) || original.get(a) - original.get(b);
        });
        body.append(...rows);
      }
    });
  });
}
for (const controls of document.querySelectorAll(".controls[data-for]")) {
  const table = document.getElementById(controls.dataset.for);
  const text = controls.querySelector("input[type=search]");
  const category = controls.querySelector("select[data-category]");
  const score = controls.querySelector("select[data-score]");
  const status = controls.querySelector("[role=status]");
  controls.hidden = false;
  const filter = () => {
    let shown = 0, all = 0;
    const wanted = text.value.trim().toLowerCase();
    for (const body of table.tBodies) {
      let here = 0;
      for (const row of body.rows) {
        if (row.classList.contains("group")) continue;
        all += 1;
        row.hidden = !(row.dataset.text.includes(wanted) && (!category || !category.value || category.value === body.dataset.category));
        here += !row.hidden;
      }
      body.hidden = here === 0;
      shown += here;
    }
    status.textContent = `${shown} of ${all} methods`;
  };
  text.addEventListener("input", filter);
  if (category) category.addEventListener("change", filter);
  if (score) score.addEventListener("change", () => {
    for (const cell of table.querySelectorAll("td[data-scores]")) {
      const value = JSON.parse(cell.dataset.scores)[score.value];
      cell.textContent = value === undefined ? "–" : value.toFixed(3);
      cell.dataset.value = value === undefined ? "" : value;
      cell.style.setProperty("--v", value === undefined ? 0 : Math.max(0, Math.min(1, value)));
    }
  });
  filter();
}
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected: press Ctrl+C";
    }
  });
}
