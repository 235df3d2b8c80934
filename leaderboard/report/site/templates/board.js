"use strict";
// Sorts, searches and trims the tables of the page, and keeps the view in its address, so that a link restores it.
// Without it the page is complete, in the order of the ranking.
const state = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
function saveState(name, value) {
  if (value) state.set(name, value);
  else state.delete(name);
  history.replaceState(null, "", "#" + (state.size ? "?" + state : ""));
}
const firstTable = document.querySelector("table[data-sortable]");
const stateKey = (table, name) => (table === firstTable ? name : `${table.id}.${name}`);
// A name however it is typed: β-VAE, beta-vae, beta_vae and BetaVAE are one.
const normalised = (text) => text.toLowerCase().replaceAll("β", "beta").replace(/[\s_\p{Pd}]+/gu, "");
const rowsOf = (body) => [...body.rows].filter((row) => !row.classList.contains("group"));

function sorter(table) {
  const heads = [...table.tHead.rows[0].cells];
  const original = new Map([...table.querySelectorAll("tbody tr")].map((row, order) => [row, order]));
  const sort = (column, direction) => {
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", direction);
    const key = (row) => {
      const value = row.cells[column].dataset.value;
      return value === undefined || value === "" ? null : isNaN(value) ? value : Number(value);
    };
    for (const body of table.tBodies) {
      const keyed = rowsOf(body).map((row) => [key(row), original.get(row), row]);
      keyed.sort(([x, a], [y, b]) => {
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return (direction === "ascending" ? order : -order) || a - b;
      });
      body.append(...keyed.map(([, , row]) => row));
    }
    table.classList.add("sorted");
  };
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const natural = head.dataset.first || "descending";
      const opposite = natural === "descending" ? "ascending" : "descending";
      const next = head.getAttribute("aria-sort") === natural ? opposite : natural;
      sort(column, next);
      if (head.dataset.col) saveState(stateKey(table, "sort"), (next === "ascending" ? "" : "-") + head.dataset.col);
    });
  });
  const sortedBy = state.get(stateKey(table, "sort"));
  const column = sortedBy ? heads.findIndex((head) => head.dataset.col === sortedBy.replace(/^-/, "")) : -1;
  if (column >= 0) sort(column, sortedBy.startsWith("-") ? "descending" : "ascending");
}

function controller(controls) {
  const table = document.getElementById(controls.dataset.for);
  const heads = [...table.tHead.rows[0].cells];
  const inputs = [...controls.querySelectorAll("[data-state]")];
  const status = controls.querySelector("[role=status]");
  const value = (name) => controls.querySelector(`[data-state=${name}]`)?.value || "";
  const columns = controls.querySelector(".columns");
  const hidden = new Set((state.get(stateKey(table, "hide")) || "").split(",").filter(Boolean));
  const style = document.head.appendChild(document.createElement("style"));

  const filter = () => {
    let shown = 0, all = 0;
    const query = normalised(value("q"));
    for (const body of table.tBodies) {
      let shownInBody = 0;
      for (const row of rowsOf(body)) {
        all += 1;
        row.hidden = !(
          normalised(row.dataset.text).includes(query) &&
          (!value("supervision") || value("supervision") === body.dataset.category) &&
          (!value("status") || row.dataset.status.split(" ").includes(value("status")))
        );
        shownInBody += !row.hidden;
      }
      body.hidden = shownInBody === 0;
      shown += shownInBody;
    }
    status.textContent = `${shown} of ${all} methods`;
  };
  const trim = () => {
    const family = value("family");
    const isHidden = heads.map((head) => hidden.has(head.dataset.col) || (family && (head.dataset.family ? head.dataset.family !== family : ["mean", "rank"].includes(head.dataset.col))));
    style.textContent = isHidden
      .map((hide, index) => (hide ? `#${CSS.escape(table.id)} tr:not(.group) > :nth-child(${index + 1}) { display: none }` : ""))
      .join("\n");
  };

  for (const head of heads.slice(1)) {
    if (!head.dataset.col) continue;
    const label = columns.lastElementChild.appendChild(document.createElement("label"));
    const box = label.appendChild(document.createElement("input"));
    box.type = "checkbox";
    box.checked = !hidden.has(head.dataset.col);
    label.append(head.textContent.trim().replace(/\s+/g, " "));
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(head.dataset.col);
      else hidden.add(head.dataset.col);
      saveState(stateKey(table, "hide"), [...hidden].join(","));
      trim();
    });
  }
  for (const input of inputs) {
    const name = stateKey(table, input.dataset.state);
    if (state.has(name)) input.value = state.get(name);
    input.addEventListener(input.type === "search" ? "input" : "change", () => {
      saveState(name, input.value);
      filter();
      trim();
    });
  }
  controls.hidden = false;
  filter();
  if (hidden.size || value("family")) trim();
}

document.querySelectorAll("table[data-sortable]").forEach(sorter);
document.querySelectorAll(".controls[data-for]").forEach(controller);
// On a phone, filters and legend are folded, unless a filter is on: the table begins on the first screen.
const wide = matchMedia("(min-width: 40.01rem)");
const fold = () => {
  for (const details of document.querySelectorAll("details.fold")) {
    details.open = wide.matches || [...details.querySelectorAll("[data-state]")].some((input) => input.value);
  }
};
wide.addEventListener("change", fold);
fold();
for (const link of document.querySelectorAll("a.keep")) {
  const address = link.getAttribute("href");
  link.addEventListener("click", () => { link.href = address + (state.size ? "#?" + state : ""); });
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
