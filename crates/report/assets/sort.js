// Tables whose headings sort them: of the pages of reports, and of the site.

/** What a cell is sorted by: its number, if it begins with one, otherwise its text. */
const sortKey = (row, at) => {
  const text = row.cells[at]?.textContent.trim() ?? '';
  const number = Number.parseFloat(text.replace('−', '-'));
  return Number.isNaN(number) ? text : number;
};

/** Negative if `a` stands before `b`. Texts stand behind numbers in both directions. */
const sortOrder = (a, b, descends) => {
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  const order = typeof a === 'number' ? a - b : a.localeCompare(b, undefined, { numeric: true });
  return descends ? -order : order;
};

/** Sorts by a column: numbers with the largest first, texts from A; once more, the other way. */
function sortTable(table, at) {
  const rows = [...table.tBodies[0].rows];
  const heading = table.tHead.rows[0].cells[at];
  const numbers = rows.some((row) => typeof sortKey(row, at) === 'number');
  const before = heading.getAttribute('aria-sort');
  const descends = before ? before === 'ascending' : numbers;
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute('aria-sort');
  heading.setAttribute('aria-sort', descends ? 'descending' : 'ascending');
  rows.sort((a, b) => sortOrder(sortKey(a, at), sortKey(b, at), descends));
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll('table:not(.verdicts)')) {
  const heads = table.tHead?.rows.length === 1 ? [...table.tHead.rows[0].cells] : [];
  const rows = table.tBodies.length === 1 ? [...table.tBodies[0].rows] : [];
  const plain = rows.length > 2 && rows.every((row) => row.cells.length === heads.length);
  if (!plain || rows.some((row) => [...row.cells].some((cell) => cell.colSpan > 1))) continue;
  for (const [at, head] of heads.entries()) {
    if (!head.textContent.trim()) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    button.append(...head.childNodes);
    button.addEventListener('click', () => sortTable(table, at));
    head.append(button);
  }
}
