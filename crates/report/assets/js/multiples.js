// Small multiples: of a panel with many lines, a small panel for each line, in its colour, with all
// others in grey behind.

/** Room for ticks at the left and right of a row. */
const SMALL_LEFT = 52;
const SMALL_RIGHT = 14;
/** The minimum width of a small panel, its height, and the height of the name above it. */
const SMALL_WIDTH = 150;
const SMALL_HEIGHT = 84;
const SMALL_HEAD = 22;
const SMALL_GAP = 16;
/** A tip lists at most this many points of a line. */
const SMALL_READ = 8;

/** Whether a panel has too many lines to tell them apart, and nothing but lines and what belongs to them. */
function areMany(panels) {
  const most = Math.max(...panels.map((panel) => panel.series.filter((series) => hasName(series, panel)).length));
  return most > NAMED && panels.every((panel) => panel.series.every(({ form }) => form !== 'stack' && form !== 'outline'));
}

function multiplesPlot(plot, context) {
  const { width, theme, hidden, top } = context;
  const colours = THEMES[theme];
  const shapes = new Shapes(theme);
  const lookOf = seriesLooks(plot.panels);
  const cells = [];
  const x = axisOf(plot.x, plot.panels.flatMap((panel) => panel.series.map((series) => series.points.map(([at]) => at))), true, false);
  const room = width - SMALL_LEFT - SMALL_RIGHT;
  const columns = Math.max(1, Math.floor((room + SMALL_GAP) / (SMALL_WIDTH + SMALL_GAP)));
  const wide = (room + SMALL_GAP) / columns - SMALL_GAP;
  const block = SMALL_HEAD + SMALL_HEIGHT + 10;
  let above = top;
  plot.panels.forEach((panel, index) => {
    const named = panel.series.filter((series) => hasName(series, panel));
    const shown = named.filter((series) => !hidden.has(series.protocol));
    const ys = panel.series.map((series) => series.points.flatMap(([, value], i) => {
      const spread = series.spread?.[i];
      return spread ? [value - spread, value, value + spread] : [value];
    }));
    const y = axisOf(panel.y, ys, true, true);
    shapes.text(y.scale.name, 0, above + 10, { width });
    above += 26;
    shown.forEach((line, i) => {
      const box = { x: SMALL_LEFT + (i % columns) * (wide + SMALL_GAP), y: above + Math.floor(i / columns) * block + SMALL_HEAD, width: wide, height: SMALL_HEIGHT };
      const at = ([px, py]) => [box.x + wide * partOf(x, px), box.y + SMALL_HEIGHT * (1 - partOf(y, py))];
      smallAxes(shapes, colours, box, { x, y, at, left: i % columns === 0, below: i + columns >= shown.length });
      for (const series of panel.series.filter(({ form }) => form === 'shade')) smallShade(shapes, colours, series, box, at);
      for (const other of shown) if (other !== line) shapes.lines(other.points.map(at), colours.line, 0.7);
      const style = lookOf(line, theme);
      for (const own of panel.series.filter((series) => companionOf(series, panel)?.line === line)) smallCompanion(shapes, lookOf(own, theme), own, at);
      const places = line.points.map(at);
      const dash = dashOf(style, line.form);
      shapes.lines(line.form === 'steps' ? stairsOf(places) : places, style.colour, 1.8, dash === 'solid' ? undefined : dash);
      line.points.forEach((point, n) => {
        const spread = line.spread?.[n];
        if (!spread) return;
        const [[px, low], [, high]] = [at([point[0], point[1] - spread]), at([point[0], point[1] + spread])];
        shapes.line(px, low, px, high, style.colour, 1);
      });
      if (line.form === 'marked-line') for (const [px, py] of places) shapes.mark(style.marker, px, py, 6, style.colour);
      shapes.mark(style.marker, box.x + 5, box.y - 11, 8, style.colour);
      shapes.text(line.label, box.x + 14, box.y - 11, { fill: style.colour, width: wide - 14 });
      cells.push(smallCell(line, { ...box, y: box.y - SMALL_HEAD, height: SMALL_HEIGHT + SMALL_HEAD }, { x, y, index, row: Math.floor(i / columns) }));
    });
    above += Math.ceil(shown.length / columns) * block - 10;
    shapes.text(x.scale.name, SMALL_LEFT + room / 2, above + 33, { align: 'center', width: room });
    above += 56;
  });
  return { ...picture(shapes, above, cells), legend: [] };
}

/** Where a value lies between the ends of an axis, 0 to 1. */
function partOf(made, value) {
  const part = made.log
    ? Math.log(Math.max(value, made.low) / made.low) / Math.log(made.high / made.low)
    : (value - made.low) / (made.high - made.low);
  const within = Math.max(0, Math.min(1, part));
  return made.axis.inverse ? 1 - within : within;
}

function smallAxes(shapes, colours, box, { x, y, at, left, below }) {
  const bottom = box.y + box.height;
  const valuesOf = (made) => (made.log ? logTicks(made.low, made.high) : ticks(made.low, made.high, 3));
  for (const value of valuesOf(y)) {
    const [, py] = at([x.low, value]);
    shapes.line(box.x, py, box.x + box.width, py, colours.grid);
    if (left) shapes.text(y.scale.tick(value), box.x - 6, py, { size: 11, fill: colours.soft, align: 'right' });
  }
  for (const value of valuesOf(x)) {
    const [px] = at([value, y.low]);
    shapes.line(px, bottom, px, bottom + 4, colours.line);
    if (below) shapes.text(x.scale.tick(value), px, bottom + 13, { size: 11, fill: colours.soft, align: 'center' });
  }
  shapes.lines([[box.x, box.y], [box.x, bottom], [box.x + box.width, bottom]], colours.line);
}

function smallShade(shapes, colours, series, box, at) {
  const places = stairsOf(series.points.map(at));
  if (places.length < 2) return;
  const bottom = box.y + box.height;
  shapes.polygon([...places, [places[places.length - 1][0], bottom], [places[0][0], bottom]], colours.shade);
}

/** Dashes and marks that belong to a line. */
function smallCompanion(shapes, style, series, at) {
  const places = series.points.map(at);
  if (series.form === 'dashed') shapes.lines(places, style.colour, 1, dashOf(style, 'dashed'));
  else for (const [px, py] of places) shapes.mark(style.marker, px, py, 5, style.colour);
}

/** Level until the next point. */
function stairsOf(places) {
  return places.flatMap(([px, py], i) => (i ? [[px, places[i - 1][1]], [px, py]] : [[px, py]]));
}

/** What the pointer and the arrow keys find at a small panel: the line's values, or some of them. */
function smallCell(line, box, { x, y, index, row }) {
  const step = Math.max(1, Math.ceil(line.points.length / SMALL_READ));
  const some = line.points.filter((_, i) => i % step === 0);
  const rows = some.map(([px, py]) => ({ name: x.scale.text(px, 5), value: y.scale.text(py, 5) }));
  const words = rows.map(({ name, value }) => `${value} at ${name}`).join(', ');
  return {
    ...box, link: null, row: `${index}/${row}`, said: `${short(line.label, 50)}: ${words}`,
    tip: { head: short(line.label, 60), blocks: [{ title: short(y.scale.name, 50), rows }] },
  };
}
