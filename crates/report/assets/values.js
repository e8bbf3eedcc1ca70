// Numbers and ticks, as `svg/scale.rs` writes them; a figure's data as a table and as CSV.

const THIN = '\u202f';
const known = (value) => Number.isFinite(value);

/** A number with at most `digits` significant digits, its whole part not rounded. */
function number(value, digits = 5) {
  if (!known(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  if (size >= 1e7 || size < 1e-5) {
    const [mantissa, exponent] = size.toExponential(digits - 1).split('e').map(Number);
    const ten = `10${[...String(exponent)].map((c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('')}`;
    return sign + (mantissa === 1 ? ten : `${mantissa}×${ten}`);
  }
  const [whole, part] = String(size >= 10 ** digits ? Math.round(size) : Number(size.toPrecision(digits))).split('.');
  return sign + (whole.length > 4 ? grouped(whole) : whole) + (part ? `.${part}` : '');
}

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, THIN);
/** A value of an axis with its unit. */
const valueText = ({ factor, unit }, value) => number(value / factor) + (unit === '%' ? `${THIN}%` : unit && ` ${unit}`);
const short = (text, most = 60) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Round numbers from `low` to `high`, about `count` of them. */
function ticks(low, high, count) {
  const power = 10 ** Math.floor(Math.log10((high - low) / count));
  const step = power * ([1, 2, 5].find((f) => f * power >= ((high - low) / count) * 0.999999) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && found.length < 100; i += 1) found.push(i * step);
  return found;
}

/** Powers of ten in a range, and round numbers between them where there is room. */
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const factors = [[4, [1]], [2.2, [1, 3]], [0.7, [1, 2, 5]]].find(([least]) => decades > least)?.[1];
  if (!factors) return ticks(low, high, 5).filter((tick) => tick > 0);
  const found = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += Math.max(1, Math.ceil(decades / 10))) {
    found.push(...factors.map((factor) => factor * 10 ** e));
  }
  return found.filter((tick) => tick >= low * 0.999999 && tick <= high * 1.000001);
}

/** An element with attributes and children; text is never parsed as HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const unitOf = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);
const VERDICTS = { true: 'right', false: 'wrong', null: 'more seeds must decide' };

/** Columns and rows of a figure's data, in the units of the report; columns of numbers begin with `#`. */
function dataOf(plot) {
  if (plot.kind === 'panels') {
    const all = plot.panels.flatMap((panel) => panel.series.map((series) => ({ y: unitOf(panel.y), series })));
    const one = plot.panels.length === 1;
    const [spread, notes] = ['spread', 'notes'].map((key) => all.some(({ series }) => series[key]?.length));
    return [
      [...(one ? [] : ['panel']), 'series', `#${unitOf(plot.x)}`, `#${one ? all[0]?.y ?? '' : 'value'}`, ...(spread ? ['#±'] : []), ...(notes ? ['note'] : [])],
      all.flatMap(({ y, series }) => series.points.map(([px, py], i) => [
        ...(one ? [] : [y]), series.label, px, py, ...(spread ? [series.spread?.[i] ?? ''] : []), ...(notes ? [series.notes?.[i] ?? ''] : []),
      ])),
    ];
  }
  if (plot.kind === 'heat') {
    const { x, y, value, maps } = plot;
    return [['map', x.label, y.label, `#${unitOf(value)}`], maps.flatMap((map) => map.cells.map((cell, i) => [
      map.label, x.values[i % x.values.length] ?? '', y.values[Math.floor(i / x.values.length)] ?? '', cell ?? '',
    ]))];
  }
  if (plot.kind === 'confusion') {
    const keys = ['congestion_as_congestion', 'congestion_as_random', 'random_as_congestion', 'random_as_random'];
    const words = keys.map((key) => `#${key.replace('_as_', ', classified as ')}`);
    return [['protocol', ...words, '#no loss'], plot.matrices.map((m) => [m.label, ...keys.map((key) => m[key]), m.spurious])];
  }
  const expects = ({ expected }) => (expected ?? []).some(known);
  const verdicts = plot.rows.some(expects);
  const unit = unitOf(plot.value);
  return [
    ['what', 'protocol', `#paper, ${unit}`, `#ours, ${unit}`, '#±', ...(verdicts ? ['verdict'] : [])],
    plot.rows.map((row) => [
      row.label, row.protocol ?? '', row.paper ?? '', row.measured ?? '', row.spread ?? '',
      ...(verdicts ? [expects(row) ? VERDICTS[row.right ?? null] : ''] : []),
    ]),
  ];
}

/** CSV as in RFC 4180. */
function csvOf([columns, rows]) {
  const field = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return [columns.map((name) => name.replace(/^#/, '')), ...rows].map((line) => `${line.map(field).join(',')}\r\n`).join('');
}

/** The table, with its first rows only if there are many; the CSV file has all. */
function tableOf(title, [columns, rows], most = 500) {
  const cell = (value, i) => {
    const text = typeof value === 'number' ? String(value).replace('-', '−') : value;
    return i === 0 ? element('th', { scope: 'row' }, text) : element('td', columns[i][0] === '#' ? { class: 'number' } : {}, text);
  };
  const head = columns.map((name) => element('th', { scope: 'col', ...(name[0] === '#' && { class: 'number' }) }, name.replace(/^#/, '')));
  const cut = rows.length > most ? `: the first ${most} of ${grouped(rows.length)} rows; the CSV file has all` : '';
  return element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Data of ${title}` }, element(
    'table', { class: 'data' }, element('caption', {}, element('span', {}, title + cut)),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...rows.slice(0, most).map((row) => element('tr', {}, ...row.map(cell)))),
  ));
}

/** Saves a file that was made in the page. */
function download(name, type, text) {
  const link = element('a', { href: URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
