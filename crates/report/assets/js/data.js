// A figure's data as a table, as CSV and as text.

/** A table shows at most this many rows; the CSV file has all. */
const MOST_ROWS = 500;

const unitOf = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);
const column = (name, isNumber = false) => ({ name, isNumber });

/** Columns and rows of a figure's data, in the units of the report. */
function dataOf(plot) {
  return {
    panels: ({ x, panels }) => {
      const all = panels.flatMap((panel) => panel.series.map((series) => ({ panel, series })));
      const spread = all.some(({ series }) => series.spread?.length);
      const notes = all.some(({ series }) => series.notes?.length);
      const one = panels.length === 1;
      return {
        columns: [
          ...(one ? [] : [column('panel')]), column('series'), column(unitOf(x), true), column(one ? unitOf(panels[0].y) : 'value', true),
          ...(spread ? [column('±', true)] : []), ...(notes ? [column('note')] : []),
        ],
        rows: all.flatMap(({ panel, series }) => series.points.map(([px, py], i) => [
          ...(one ? [] : [unitOf(panel.y)]), series.label, px, py,
          ...(spread ? [series.spread?.[i] ?? ''] : []), ...(notes ? [series.notes?.[i] ?? ''] : []),
        ])),
      };
    },
    heat: ({ x, y, value, maps }) => ({
      columns: [column('map'), column(x.label), column(y.label), column(unitOf(value), true)],
      rows: maps.flatMap((map) => map.cells.map((cell, i) => [
        map.label, x.values[i % x.values.length] ?? '', y.values[Math.floor(i / x.values.length)] ?? '', cell ?? '',
      ])),
    }),
    confusion: ({ matrices }) => ({
      columns: [
        column('protocol'), column('congestion, classified as congestion', true), column('congestion, classified as random', true),
        column('random, classified as congestion', true), column('random, classified as random', true), column('no loss', true),
      ],
      rows: matrices.map((m) => [
        m.label, m.congestion_as_congestion, m.congestion_as_random, m.random_as_congestion, m.random_as_random, m.spurious,
      ]),
    }),
    beside: ({ value, rows }) => {
      const verdicts = rows.some(expects);
      return {
        columns: [
          column('what'), column('protocol'), column(`paper, ${unitOf(value)}`, true), column(`ours, ${unitOf(value)}`, true), column('±', true),
          ...(verdicts ? [column('verdict')] : []),
        ],
        rows: rows.map((row) => [
          row.label, row.protocol ?? '', row.paper ?? '', row.measured ?? '', row.spread ?? '',
          ...(verdicts ? [verdictOf(row)?.word ?? ''] : []),
        ]),
      };
    },
  }[plot.kind](plot);
}

/** CSV as in RFC 4180. */
function csvOf({ columns, rows }) {
  const field = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const line = (values) => `${values.map((value) => field(String(value))).join(',')}\r\n`;
  return line(columns.map(({ name }) => name)) + rows.map(line).join('');
}

/** The table, with its first rows only if there are many. */
function tableOf(title, { columns, rows }) {
  const cut = rows.length > MOST_ROWS;
  const caption = cut ? `${title}: the first ${MOST_ROWS} of ${grouped(rows.length)} rows; the CSV file has all` : title;
  const number = (value) => (typeof value === 'number' ? String(value).replace('-', '−') : value);
  const line = (values) => element('tr', {}, ...values.map((value, i) => {
    if (i === 0) return element('th', { scope: 'row' }, String(value));
    return element('td', columns[i].isNumber ? { class: 'number' } : {}, number(value));
  }));
  return element(
    'div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Data of ${title}` },
    element(
      'table', { class: 'data' },
      element('caption', {}, caption),
      element('thead', {}, element('tr', {}, ...columns.map(({ name, isNumber }) => element('th', isNumber ? { scope: 'col', class: 'number' } : { scope: 'col' }, name)))),
      element('tbody', {}, ...rows.slice(0, MOST_ROWS).map(line)),
    ),
  );
}

/** The figure as text: each series with its range. */
function wordsOf(plot) {
  const range = (values, text) => {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) if (known(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    if (!(low <= high)) return 'nothing';
    return low === high ? text(low) : `${text(low)} to ${text(high)}`;
  };
  const greatest = (values) => values.reduce((most, value) => (known(value) ? Math.max(most, Math.abs(value)) : most), 0);
  const list = {
    panels: ({ panels }) => panels.flatMap(({ y, series }) => {
      const scale = scaleOf(y, greatest(series.flatMap(({ points }) => points.map(([, py]) => py))));
      return series.map(({ label, points }) => `${short(label, 50)}, ${short(y.label, 50)} ${range(points.map(([, py]) => py), scale.text)}`);
    }),
    heat: ({ value, maps }) => maps.map(({ label, cells }) => `${short(label, 50)} ${range(cells, scaleOf(value, greatest(cells)).text)}`),
    confusion: ({ matrices }) => matrices.map((m) => (
      `${short(m.label, 50)}: of ${m.congestion_as_congestion + m.congestion_as_random} losses to congestion ${m.congestion_as_congestion} classified as such, `
      + `of ${m.random_as_congestion + m.random_as_random} random ones ${m.random_as_random}`
    )),
    beside: ({ value, rows }) => {
      const scale = scaleOf(value, greatest(rows.flatMap((row) => [row.paper, row.measured])));
      return rows.map((row) => `${short(row.label, 80)}: paper ${known(row.paper) ? scale.text(row.paper) : 'none'}, ours ${known(row.measured) ? scale.text(row.measured) : 'none'}`);
    },
  }[plot.kind](plot);
  const most = 24;
  return list.slice(0, most).join('; ') + (list.length > most ? `; and ${list.length - most} more` : '');
}
