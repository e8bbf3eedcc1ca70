// A paper's numbers beside ours: a row each, with a hollow mark for the paper's and a filled one for ours.
//
// Rows of very different sizes share no linear axis. Where all numbers are above zero they stand on a logarithmic one, on which
// the same distance is the same ratio; else each row has its own scale, from zero.

/** Numbers that differ by more than this many times are not read off one linear axis. */
const WIDE = 25;

function besidePlot(plot, context) {
  const { width, theme, hidden } = context;
  const colours = THEMES[theme];
  const shapes = new Shapes(theme);
  const cells = [];
  const shown = plot.rows.filter((row) => row.protocol === null || !hidden.has(row.protocol));
  const values = plot.rows.flatMap((row) => [row.paper, row.measured].filter(known));
  const kind = scaleKind(plot, values);
  const scale = scaleOf(plot.value, Math.max(0, ...values.map(Math.abs)));

  const narrow = width < 560;
  const [column, ratios] = [98, width < 760 ? 0 : 64];
  const numbers = narrow ? 2 * 70 : 60 + column + ratios;
  const labels = narrow ? 0 : Math.min(width * 0.4, 16 + Math.max(60, ...plot.rows.map((row) => textWidth(short(row.label, 200), 12) + 16)));
  const left = labels + 14;
  const right = width - numbers - 16;
  const tall = narrow ? 42 : 26;
  const axis = besideAxis(plot, kind, values);
  const at = (value, row) => {
    const share = axis.share(value, row);
    return left + Math.max(-0.03, Math.min(1.03, share)) * (right - left);
  };

  const y0 = context.top + 34;
  const head = { size: 11, fill: colours.soft, align: 'right' };
  const [paperAt, oursAt, ratioAt] = narrow ? [width - 72, width, 0] : [width - ratios - column - 8, width - ratios, ratios && width];
  shapes.mark('circle', left + 5, context.top + 12, 9, colours.ink, true);
  shapes.text('paper', left + 15, context.top + 12, { size: 11, fill: colours.soft });
  shapes.mark('circle', left + 65, context.top + 12, 9, colours.ink);
  shapes.text('ours, ± its standard deviation', left + 75, context.top + 12, { size: 11, fill: colours.soft, width: right - left - 75 });
  shapes.text('paper', paperAt, context.top + 12, head);
  shapes.text('ours', oursAt, context.top + 12, head);
  if (ratioAt) shapes.text('ratio', ratioAt, context.top + 12, head);

  const bottom = y0 + shown.length * tall;
  for (const tick of axis.ticks) {
    // Where labels stand above their rows, no line goes through them.
    for (let row = 0; row < (narrow ? shown.length : 1); row += 1) {
      const [from, to] = narrow ? [y0 + row * tall + 20, y0 + row * tall + tall - 2] : [y0 - 4, bottom];
      shapes.line(at(tick), from, at(tick), to, tick === 0 ? colours.line : colours.grid);
    }
    shapes.text(scale.tick(tick), at(tick), bottom + 14, { size: 12, fill: colours.soft, align: 'center' });
  }
  shown.forEach((row, index) => {
    const middle = y0 + index * tall + (narrow ? 30 : tall / 2);
    const { colour, marker } = row.protocol === null ? { colour: colours.ink, marker: 'circle' } : look(row.protocol, 0, theme);
    if (index) shapes.line(0, y0 + index * tall, width, y0 + index * tall, colours.grid, 0.7);
    shapes.text(row.label, narrow ? 0 : labels - 6, narrow ? middle - 20 : middle, {
      align: narrow ? 'left' : 'right', width: narrow ? width : labels - 6,
    });
    if (kind === 'own') {
      shapes.line(left, middle, right, middle, colours.grid);
      shapes.line(at(0, row), middle - 6, at(0, row), middle + 6, colours.soft);
    }
    const [paper, ours] = [row.paper, row.measured].map((value) => (known(value) && axis.usable(value) ? at(value, row) : null));
    if (paper !== null && ours !== null) shapes.line(paper, middle, ours, middle, colours.soft, 1.2);
    if (ours !== null && known(row.spread) && row.spread > 0) {
      const ends = [row.measured - row.spread, row.measured + row.spread].map((value) => (axis.usable(value) ? at(value, row) : left));
      shapes.line(ends[0], middle, ends[1], middle, colour, 1.8);
      for (const end of ends) shapes.line(end, middle - 4, end, middle + 4, colour, 1.4);
    }
    if (ours !== null) shapes.mark(marker, ours, middle, 11, colour);
    if (paper !== null) shapes.mark(marker, paper, middle, 11, colour, true);
    const spread = known(row.spread) && row.spread > 0 ? ` ± ${number(row.spread / scale.factor, 2)}` : '';
    const text = (value) => (known(value) ? number(value / scale.factor, 3) : '–');
    shapes.text(text(row.paper), paperAt, middle, { size: 12, align: 'right' });
    shapes.text(text(row.measured) + (narrow ? '' : spread), oursAt, middle, { size: 12, align: 'right', width: column });
    const ratio = ratioOf(row);
    if (ratioAt && ratio !== null) shapes.text(`×${number(ratio, 3)}`, ratioAt, middle, { size: 12, align: 'right', fill: colours.soft });
    const full = (value) => (known(value) ? scale.text(value, 5) : 'none');
    const rows = [
      { name: 'paper', value: full(row.paper) },
      { name: 'ours', value: full(row.measured) + spread },
      ...(ratio === null ? [] : [{ name: 'ours ÷ paper', value: number(ratio, 3) }]),
    ];
    cells.push({
      x: 0, y: y0 + index * tall, width, height: tall, row: index, tip: { head: short(row.label, 100), blocks: [{ title: plot.value.label, rows }] },
      said: `${short(row.label, 100)}: ${rows.map(({ name, value }) => `${name} ${value}`).join(', ')}`,
    });
  });
  const note = { log: 'logarithmic: the same distance is the same ratio', own: 'each row on its own scale, from zero' }[kind];
  shapes.text([scale.name, note].filter(Boolean).join('; '), left + (right - left) / 2, bottom + (axis.ticks.length ? 34 : 16), {
    align: 'center', width: narrow ? width : Math.max(right - left, 360),
  });
  const legend = [...new Map(plot.rows.filter((row) => row.protocol !== null).map((row) => [row.protocol, row.protocol])).keys()];
  return {
    ...picture(shapes, bottom + (axis.ticks.length ? 46 : 28), cells),
    legend: legend.length > 1 ? legend.map((protocol) => ({ label: protocol, protocol, form: 'marks', style: look(protocol, 0, theme) })) : [],
  };
}

const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

/** Ours over the paper's, where that says something. */
function ratioOf(row) {
  return known(row.paper) && known(row.measured) && row.paper > 0 && row.measured > 0 ? row.measured / row.paper : null;
}

function scaleKind(plot, values) {
  const sizes = plot.rows.map((row) => Math.max(0, ...[row.paper, row.measured].filter(known).map(Math.abs))).filter((size) => size > 0);
  const wide = sizes.length > 1 && Math.max(...sizes) / Math.min(...sizes) > WIDE;
  if (plot.value.log || wide) return values.every((value) => value > 0) ? 'log' : 'own';
  return 'common';
}

/** Where a value stands between left (0) and right (1), and the ticks. */
function besideAxis(plot, kind, values) {
  const turned = (share) => (plot.value.inverse ? 1 - share : share);
  if (kind === 'own') {
    const ends = (row) => {
      const own = [0, row.paper, row.measured].filter(known);
      const spread = known(row.spread) ? row.spread : 0;
      if (known(row.measured)) own.push(row.measured - spread, row.measured + spread);
      const [low, high] = [Math.min(...own), Math.max(...own)];
      return low === high ? [0, 1] : [low, high];
    };
    const share = (value, row) => {
      const [low, high] = ends(row);
      return turned((value - low) / (high - low));
    };
    return { share, usable: () => true, ticks: [] };
  }
  if (kind === 'log') {
    const [low, high] = [Math.min(...values) / 1.2, Math.max(...values) * 1.2];
    return {
      share: (value) => turned(Math.log(value / low) / Math.log(high / low)),
      usable: (value) => value > 0,
      ticks: logTicks(low, high),
    };
  }
  const all = [0, ...values, ...plot.rows.filter((row) => known(row.spread) && known(row.measured))
    .flatMap((row) => [row.measured - row.spread, row.measured + row.spread])];
  let [low, high] = [Math.min(...all), Math.max(...all)];
  // From zero, unless all lie in a small part far from it.
  if (values.length && Math.min(...values) > 0.85 * high) low = Math.min(...all.slice(1));
  const margin = (high - low) * 0.04 || 1;
  [low, high] = [low < 0 || low > 0 ? low - margin : 0, high + margin];
  return { share: (value) => turned((value - low) / (high - low)), usable: () => true, ticks: ticks(low, high, 5) };
}
