// Tables that sort.

function sortable(table) {
  const body = table.tBodies[0];
  const first = Array.from(body.rows);
  for (const head of table.querySelectorAll("th[data-sortable]")) {
    const button = make("button", { type: "button", title: "Sort by this column" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortBy(table, first, head));
  }
}

// On paper nothing can be unfolded.
function unfoldOnPaper() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
}

function sortBy(table, first, head) {
  const place = head.cellIndex;
  const before = head.getAttribute("aria-sort");
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  const body = table.tBodies[0];
  // Large numbers first, names from a to z; then the other way; then as it was.
  const isNumber = head.classList.contains("number");
  const order = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
  const next = before === null ? order[0] : before === order[0] ? order[1] : null;
  if (next === null) {
    body.append(...first);
    return;
  }
  head.setAttribute("aria-sort", next);
  const sign = next === "ascending" ? 1 : -1;
  const rows = first.map((row) => [sortKey(row.cells[place], isNumber), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  });
  body.append(...rows.map(([, row]) => row));
}

function sortKey(cell, isNumber) {
  const text = cell.dataset.key ?? cell.textContent.trim();
  if (text === "") return null;
  if (!isNumber) return text;
  const value = Number(text.replace("\u2212", "-").replaceAll(",", ""));
  return Number.isNaN(value) ? null : value;
}
