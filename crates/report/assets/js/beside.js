// A paper's numbers and ours: a row each, with a hollow mark for the paper's number and a filled
// one for ours.
//
// Rows of very different sizes share no linear axis. Where all numbers are above zero they share a
// logarithmic one, on which the same distance is the same ratio. Otherwise neighbours of like size
// and sign share an axis; if that would make many axes, each row has its own scale from zero.

/** Numbers whose ratio is larger cannot be read off one linear axis. */
const WIDE = 25;
/** With more axes, each row has its own scale. */
const MOST_AXES = 4;

const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

function besidePlot(plot, context) {
  const { width, theme, hidden } = context;
  const colours = THEMES[theme];
  const shapes = new Shapes(theme);
  const cells = [];
  /** Width of the sign of right and wrong. */
  const sign = 14;
  const scale = scaleOf(plot.value, Math.max(0, ...plot.rows.flatMap(valuesOf).map(Math.abs)));

  const narrow = width < 560;
  const [column, ratios] = [98, width < 760 ? 0 : 64];
  const numbers = narrow ? 2 * 70 : 60 + column + ratios;
  const labels = narrow ? 0 : Math.min(width * 0.4, 16 + Math.max(60, ...plot.rows.map((row) => textWidth(short(row.label, 200), 12) + 16)));
  const left = labels + 14;
  const right = width - numbers - 16;
  const tall = narrow ? 42 : 26;

  const head = { size: 11, fill: colours.soft, align: 'right' };
  const [paperAt, oursAt, ratioAt] = narrow ? [width - 72, width, 0] : [width - ratios - column - 8, width - ratios, ratios && width];
  shapes.mark('circle', left + 5, context.top + 12, 9, colours.ink, true);
  shapes.text('paper', left + 15, context.top + 12, { size: 11, fill: colours.soft });
  shapes.mark('circle', left + 65, context.top + 12, 9, colours.ink);
  shapes.text('ours ± standard deviation', left + 75, context.top + 12, { size: 11, fill: colours.soft, width: right - left - 75 });
  shapes.text('paper', paperAt, context.top + 12, head);
  shapes.text('ours', oursAt - sign, context.top + 12, head);
  if (ratioAt) shapes.text('ratio', ratioAt, context.top + 12, head);

  let y = context.top + 34;
  const { kind, groups } = scalesOf(plot);
  for (const group of groups) {
    const shown = group.filter((row) => row.protocol === null || !hidden.has(row.protocol));
    if (!shown.length) continue;
    const axis = besideAxis(plot, kind, group);
    const bottom = y + shown.length * tall;
    const at = (value, row) => left + Math.max(-0.03, Math.min(1.03, axis.share(value, row))) * (right - left);
    for (const tick of axis.ticks) {
      // On a narrow page labels are above their rows; grid lines leave them out.
      for (let row = 0; row < (narrow ? shown.length : 1); row += 1) {
        const [from, to] = narrow ? [y + row * tall + 20, y + row * tall + tall - 2] : [y - 4, bottom];
        shapes.line(at(tick), from, at(tick), to, tick === 0 ? colours.line : colours.grid);
      }
      shapes.text(scale.tick(tick), at(tick), bottom + 14, { size: 12, fill: colours.soft, align: 'center' });
    }
    shown.forEach((row, index) => {
      const top = y + index * tall;
      const middle = top + (narrow ? 30 : tall / 2);
      const { colour, marker } = row.protocol === null ? { colour: colours.ink, marker: 'circle' } : look(row.protocol, 0, theme);
      if (index) shapes.line(0, top, width, top, colours.grid, 0.7);
      if (expects(row) && kind !== 'own') {
        // An open end extends to the edge, as does one that the axis does not have.
        const edges = plot.value.inverse ? [right, left] : [left, right];
        const ends = row.expected.map((value, i) => (known(value) && axis.usable(value) ? at(value, row) : edges[i]));
        const from = Math.min(...ends);
        shapes.rect(from, middle - 10, Math.max(2, Math.max(...ends) - from), 20, { fill: colours.band });
      }
      shapes.text(row.label, narrow ? 0 : labels - 6, narrow ? middle - 20 : middle, {
        align: narrow ? 'left' : 'right', width: narrow ? width : labels - 6,
      });
      if (kind === 'own') {
        shapes.line(left, middle, right, middle, colours.grid);
        shapes.line(at(0, row), middle - 6, at(0, row), middle + 6, colours.soft);
      }
      const [paper, ours] = [row.paper, row.measured].map((value) => (known(value) && axis.usable(value) ? at(value, row) : null));
      if (paper !== null && ours !== null) shapes.line(paper, middle, ours, middle, colours.soft, 1.2);
      if (ours !== null && row.spread > 0) {
        const ends = [row.measured - row.spread, row.measured + row.spread].map((value) => (axis.usable(value) ? at(value, row) : left));
        shapes.line(ends[0], middle, ends[1], middle, colour, 1.8);
        for (const end of ends) shapes.line(end, middle - 4, end, middle + 4, colour, 1.4);
      }
      if (ours !== null) shapes.mark(marker, ours, middle, 11, colour);
      if (paper !== null) shapes.mark(marker, paper, middle, 11, colour, true);
      const spread = row.spread > 0 ? ` ± ${number(row.spread / scale.factor, 2)}` : '';
      const text = (value) => (known(value) ? number(value / scale.factor, 3) : '–');
      shapes.text(text(row.paper), paperAt, middle, { size: 12, align: 'right' });
      shapes.text(text(row.measured) + (narrow ? '' : spread), oursAt - sign, middle, { size: 12, align: 'right', width: column - sign });
      const verdict = verdictOf(row);
      if (verdict) shapes.text(verdict.sign, oursAt, middle, { size: 12, align: 'right', bold: true, fill: colours[verdict.colour] });
      const ratio = ratioOf(row);
      if (ratioAt && ratio !== null) shapes.text(`×${number(ratio, 3)}`, ratioAt, middle, { size: 12, align: 'right', fill: colours.soft });
      const full = (value) => (known(value) ? scale.text(value, 5) : 'none');
      const rows = [
        { name: 'paper', value: full(row.paper) },
        { name: 'ours', value: full(row.measured) + spread },
        ...(ratio === null ? [] : [{ name: 'ours ÷ paper', value: number(ratio, 3) }]),
        ...(verdict ? [{ name: 'expected', value: expectedText(row, scale) }, { name: 'verdict', value: verdict.word }] : []),
      ];
      cells.push({
        x: 0, y: top, width, height: tall, row: `${y}/${index}`,
        tip: { head: short(row.label, 100), blocks: [{ title: short(plot.value.label, 60), rows }] },
        said: `${short(row.label, 100)}: ${rows.map(({ name, value }) => `${name} ${value}`).join(', ')}`,
      });
    });
    y = bottom + (axis.ticks.length ? 36 : 4);
  }
  const note = { log: 'logarithmic: the same distance is the same ratio', own: 'each row on its own scale, from zero' }[kind];
  const under = [scale.name, note].filter(Boolean).join('; ');
  if (under) shapes.text(under, left + (right - left) / 2, y + 2, { align: 'center', width: narrow ? width : Math.max(right - left, 360) });
  const protocols = [...new Set(plot.rows.map((row) => row.protocol).filter((protocol) => protocol !== null))];
  return {
    ...picture(shapes, y + (under ? 16 : 0), cells),
    legend: protocols.length > 1 ? protocols.map((protocol) => ({ label: protocol, protocol, form: 'marks', style: look(protocol, 0, theme) })) : [],
  };
}

const valuesOf = (row) => [row.paper, row.measured].filter(known);
const sizeOf = (row) => Math.max(0, ...valuesOf(row).map(Math.abs));

/** Whether something is expected of our number. */
const expects = (row) => (row.expected ?? []).some(known);

/** Whether our number is as expected, as a sign and a word; null if nothing is expected. */
function verdictOf(row) {
  if (!expects(row)) return null;
  if (row.right === true) return { sign: '✓', word: 'right', colour: 'right' };
  if (row.right === false) return { sign: '✗', word: 'wrong', colour: 'wrong' };
  return { sign: '?', word: 'more seeds must decide', colour: 'soft' };
}

/** What is expected, in words. */
function expectedText(row, scale) {
  const [least, most] = row.expected.map((value) => (known(value) ? scale.text(value, 4) : null));
  if (least === null) return `at most ${most}`;
  return most === null ? `at least ${least}` : `${least} to ${most}`;
}

/** Our number over the paper's; null unless both are above zero. */
function ratioOf(row) {
  return row.paper > 0 && row.measured > 0 ? row.measured / row.paper : null;
}

/** The kind of axis, and the groups of rows that share one. */
function scalesOf({ rows, value }) {
  const wide = (some) => {
    const sizes = some.map(sizeOf).filter((size) => size > 0);
    return sizes.length > 1 && Math.max(...sizes) / Math.min(...sizes) > WIDE;
  };
  if (!value.log && !wide(rows)) return { kind: 'common', groups: [rows] };
  if (rows.flatMap(valuesOf).every((v) => v > 0)) return { kind: 'log', groups: [rows] };
  const groups = [];
  for (const row of rows) {
    const last = groups[groups.length - 1];
    const below = (some) => some.flatMap(valuesOf).some((v) => v < 0);
    if (last && below(last) === below([row]) && !wide([...last, row])) last.push(row);
    else groups.push([row]);
  }
  return groups.length <= MOST_AXES ? { kind: 'common', groups } : { kind: 'own', groups: [rows] };
}

/** The values of a row and the ends of its error bar. */
function reachOf(row) {
  const spread = known(row.spread) ? row.spread : 0;
  return [...valuesOf(row), ...(known(row.measured) ? [row.measured - spread, row.measured + spread] : [])];
}

/** The place of a value between left (0) and right (1), and the ticks. */
function besideAxis(plot, kind, rows) {
  const turned = (share) => (plot.value.inverse ? 1 - share : share);
  if (kind === 'own') {
    const share = (value, row) => {
      const reach = [0, ...reachOf(row)];
      const [low, high] = [Math.min(...reach), Math.max(...reach)];
      return turned(low === high ? 0 : (value - low) / (high - low));
    };
    return { share, usable: () => true, ticks: [] };
  }
  const values = rows.flatMap(valuesOf);
  if (!values.length) return { share: () => 0, usable: () => false, ticks: [] };
  if (kind === 'log') {
    const [low, high] = [Math.min(...values) / 1.2, Math.max(...values) * 1.2];
    return {
      share: (value) => turned(Math.log(value / low) / Math.log(high / low)),
      usable: (value) => value > 0,
      ticks: logTicks(low, high),
    };
  }
  const reach = rows.flatMap(reachOf);
  // From zero, unless all values lie in a small part far from it.
  const near = Math.min(...values) > 0.85 * Math.max(...values) && Math.min(...values) > 0 && Math.max(...values) > Math.min(...values);
  const [least, most] = [Math.min(...reach), Math.max(...reach)];
  const [from, to] = near ? [least, most] : [Math.min(0, least), Math.max(0, most)];
  const margin = (to - from) * 0.04 || 1;
  const low = from === 0 ? 0 : from - margin;
  const high = to === 0 ? 0 : to + margin;
  return { share: (value) => turned((value - low) / (high - low || 1)), usable: () => true, ticks: ticks(low, high, 7) };
}
