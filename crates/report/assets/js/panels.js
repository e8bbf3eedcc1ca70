// Panels above each other over a common axis: windows over time, goodput over loss, distributions,
// throughput over delay.

const LINES = new Set(['line', 'dashed', 'steps', 'marked-line', 'shade', 'stack']);
/** The tooltip shows at most this many values. */
const MOST_READ = 24;
/** More lines than this have no names at their ends: each has a small panel of its own. */
const NAMED = 8;
/** The pointer finds marks within this distance, in pixels. */
const REACH = 24;

function panelsPlot(whole, context) {
  const plot = drawable(whole);
  if (areMany(plot.panels)) return multiplesPlot(plot, context);
  const { width, theme, hidden, top } = context;
  const colours = THEMES[theme];
  const lookOf = seriesLooks(plot.panels);
  const shown = (series) => series.protocol === null || !hidden.has(series.protocol);
  // Lines are read together at the pointer's place on the common axis; marks alone, the nearest
  // first.
  const overAxis = plot.panels.some((panel) => panel.series.some((series) => LINES.has(series.form)));

  // The axes fit all series, hidden ones too, so they do not change when a series is hidden.
  const xs = plot.panels.flatMap((panel) => panel.series.map((series) => series.points.map(([x]) => x)));
  const marked = plot.panels.every((panel) => panel.series.every(({ form }) => ['marks', 'marked-line', 'outline'].includes(form)));
  const x = axisOf(plot.x, xs, overAxis, marked);
  const left = 70;
  const names = endNames(plot.panels, width);
  const right = names ? names.width + 14 : 22;
  const height = plot.panels.length === 1 ? 260 : plot.panels.length === 2 ? 180 : 140;
  const panels = plot.panels.map((panel, index) => {
    const stacked = stackOf(panel.series.filter((series) => series.form === 'stack'));
    const visible = panel.series.filter(shown);
    const ys = panel.series.map((series) => series.points.flatMap(([, y], i) => {
      const spread = series.spread?.[i];
      return spread ? [y - spread, y, y + spread] : [y];
    }));
    const y = axisOf(panel.y, [...ys, stacked.flatMap(({ band }) => band.map(([, , high]) => high))], true, true);
    return { panel, index, visible, y, top: top + 30 + index * (height + 44), stacked: stackOf(visible.filter((s) => s.form === 'stack')) };
  });
  const total = top + 30 + plot.panels.length * (height + 44) - 44 + 50;

  const text = { color: colours.soft, fontFamily: FONT, fontSize: 12 };
  const axis = (made, more) => ({
    type: made.log ? 'log' : 'value',
    inverse: made.axis.inverse,
    min: made.low,
    max: made.high,
    axisLine: { show: true, onZero: false, lineStyle: { color: colours.line } },
    minorTick: { show: false },
    ...more,
  });
  const labels = (made, low = made.low, high = made.high, count = made.count) => {
    const values = made.log ? logTicks(low, high) : ticks(low, high, count);
    return {
      axisLabel: { ...text, customValues: values, formatter: made.scale.tick, hideOverlap: true, showMinLabel: true, showMaxLabel: true },
      axisTick: { show: true, customValues: values, lineStyle: { color: colours.line } },
    };
  };
  x.count = Math.max(3, Math.min(10, Math.floor((width - left - right) / 80)));
  const option = {
    animation: false,
    textStyle: { fontFamily: FONT },
    grid: panels.map(({ top: y }) => ({ left, right, top: y, height, outerBoundsMode: 'none' })),
    xAxis: panels.map(({ index }) => {
      const last = index === panels.length - 1;
      const { axisLabel, axisTick } = labels(x);
      return axis(x, {
        gridIndex: index,
        name: last ? x.scale.name : '',
        nameLocation: 'middle',
        nameGap: 30,
        nameTextStyle: { ...text, color: colours.ink },
        axisLabel: { ...axisLabel, show: last },
        axisTick,
        splitLine: { show: !overAxis, lineStyle: { color: colours.grid } },
        axisPointer: {
          show: overAxis && !context.still, snap: false, label: { show: false }, triggerEmphasis: false, triggerTooltip: false,
          lineStyle: { color: colours.soft, type: 'solid', width: 1 },
        },
      });
    }),
    yAxis: panels.map(({ index, y }) => axis(y, {
      gridIndex: index,
      name: y.scale.name,
      nameLocation: y.axis.inverse ? 'start' : 'end',
      nameGap: 10,
      nameTextStyle: { ...text, color: colours.ink, align: 'left', padding: [0, 0, 0, 8 - left] },
      ...labels({ ...y, count: height > 170 ? 6 : 4 }),
      splitLine: { show: true, lineStyle: { color: colours.grid } },
      axisPointer: { show: false },
    })),
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    series: panels.flatMap((each) => drawnSeries(each, { lookOf, theme, context, names })),
  };
  if (!context.still) {
    const axes = { filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: 'shift', moveOnMouseWheel: false, preventDefaultMouseMove: false };
    option.dataZoom = [{ type: 'inside', xAxisIndex: panels.map(({ index }) => index), ...axes }];
    if (!overAxis) option.dataZoom.push({ type: 'inside', yAxisIndex: panels.map(({ index }) => index), ...axes });
    option.toolbox = {
      itemSize: 0, showTitle: false, left: 0, top: 0,
      feature: { dataZoom: { filterMode: 'none', xAxisIndex: 'all', yAxisIndex: overAxis ? 'none' : 'all', brushStyle: { color: colours.soft, opacity: 0.15 } } },
    };
  }

  const reader = panelsReader({ panels, x, lookOf, theme, overAxis, height, left, width: width - left - right });
  return {
    height: total,
    option,
    zoom: true,
    find: reader.find,
    walk: reader.walk,
    /** Ticks for the part of the axes that is in view. */
    ticksFor(bounds) {
      const part = (made, [low, high] = [made.low, made.high], count = made.count) => labels(made, low, high, count);
      return {
        xAxis: panels.map(({ index }) => {
          const made = part(x, bounds.x);
          return { ...made, axisLabel: { ...made.axisLabel, show: index === panels.length - 1 } };
        }),
        yAxis: panels.map(({ index, y }) => part({ ...y, count: height > 170 ? 6 : 4 }, bounds.y[index])),
      };
    },
    legend: legendOf(plot.panels, lookOf, theme),
  };
}

/** Whether a line has its name at its end: those of protocols have. */
function hasName(series, panel) {
  const line = ['line', 'steps', 'marked-line'].includes(series.form);
  return line && series.protocol !== null && series.points.length > 1 && companionOf(series, panel) === null;
}

/** The width of names at line ends; null with too many lines, a single one, or no room. */
function endNames(panels, width) {
  const named = panels.map((panel) => panel.series.filter((series) => hasName(series, panel)));
  const most = Math.max(...named.map((list) => list.length));
  if (most < 2 || most > NAMED || width < 560) return null;
  const widest = Math.max(...named.flat().map((series) => textWidth(short(series.label, 60), 12)));
  return { width: Math.min(widest + 2, 0.2 * width) };
}

const drawables = new WeakMap();

/**
 * The plot without points that have no place on its axes: those that are no numbers and, on logarithmic
 * axes, those that are not above zero.
 */
function drawable(plot) {
  if (drawables.has(plot)) return drawables.get(plot);
  const has = (axis, value) => Number.isFinite(value) && Math.abs(value) < 1e100 && (!axis.log || value > 1e-100);
  const panels = plot.panels.map((panel) => ({
    ...panel,
    series: panel.series.map((series) => {
      const kept = series.points.map(([x, y]) => has(plot.x, x) && has(panel.y, y));
      const keep = (list) => list?.filter((_, i) => kept[i]);
      return { ...series, points: keep(series.points), spread: keep(series.spread), notes: keep(series.notes) };
    }),
  }));
  drawables.set(plot, { ...plot, panels });
  return drawables.get(plot);
}

/** An axis with all of these values. */
function axisOf(axis, lists, fromZero, room) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    for (const value of list) {
      // The lower end of an error bar or of a stack may not be above zero.
      if (axis.log && value <= 0) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!(low <= high)) [low, high] = axis.log ? [1, 10] : [0, 1];
  const scale = scaleOf(axis, Math.max(Math.abs(low), Math.abs(high)));
  if (axis.log) {
    const margin = room || !fromZero ? Math.max((high / low) ** 0.06, 1.08) : 1;
    [low, high] = low === high ? [low / 2, high * 2] : [low / margin, high * margin];
    return { axis, log: true, low, high, scale, count: 6 };
  }
  const range = high - low;
  // From zero, unless all values lie in a small part far from it. If that part is very small, from
  // zero again: a larger scale would magnify noise.
  const close = range > 0.02 * high && range < 0.15 * high;
  const zero = fromZero && low >= 0 && !close;
  const from = zero ? 0 : low;
  const span = high - from;
  const margin = span > 0 ? span * (room || !fromZero ? 0.05 : 0) : Math.abs(high) * 0.1 || 1;
  let [least, most] = [zero ? 0 : low - margin, high + margin];
  if (fromZero && low >= 0) least = Math.max(0, least);
  // Up to the next round number if it is near.
  const step = niceStep((most - least) / 5);
  const next = Math.ceil(most / step - 1e-9) * step;
  if (room && next - most < 0.12 * (most - least)) most = next;
  return { axis, log: false, low: least, high: most, scale, count: 6 };
}

/** Areas on top of each other: `[x, low, high]` of each series, at every x that any of them has. */
function stackOf(list) {
  const places = [...new Set(list.flatMap((series) => series.points.map(([x]) => x)))].sort((a, b) => a - b);
  let below = places.map(() => 0);
  return list.map((series) => {
    const band = places.map((x, i) => {
      const value = valueAt(series.points, x);
      return [x, below[i], below[i] + value];
    });
    below = band.map(([, , high]) => high);
    return { series, band };
  });
}

/** A line's height at `x`, 0 where it has none. */
function valueAt(points, x) {
  const after = firstNotBelow(points, x);
  if (after === points.length) return 0;
  const [x1, y1] = points[after];
  if (x1 === x) return y1;
  if (after === 0) return 0;
  const [x0, y0] = points[after - 1];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** The series of a panel for ECharts. */
function drawnSeries({ panel, index, visible, y, stacked }, { lookOf, theme, context, names }) {
  const colours = THEMES[theme];
  const axes = { xAxisIndex: index, yAxisIndex: index, animation: false, silent: true, emphasis: { disabled: true }, clip: true };
  // Areas are behind lines, lines behind marks.
  const order = { shade: 0, stack: 1, outline: 1, dashed: 2, line: 3, steps: 3, 'marked-line': 4, marks: 5 };
  const named = names ? visible.filter((series) => hasName(series, panel)) : [];
  const labels = named.length ? [namesOf(named, axes, (series) => lookOf(series, theme).colour, names.width)] : [];
  return [...visible].sort((a, b) => order[a.form] - order[b.form]).flatMap((series) => {
    const style = lookOf(series, theme);
    const { colour } = style;
    const { points } = series;
    const z = 2 + order[series.form];
    const line = {
      ...axes, type: 'line', z, data: points, symbol: 'none', connectNulls: false,
      lineStyle: { color: colour, width: 1.8, type: dashOf(style, series.form), cap: 'butt', join: 'round' },
      ...(points.length > 5000 ? { sampling: 'minmax' } : {}),
    };
    const drawn = [];
    if (series.form === 'line' || series.form === 'steps' || series.form === 'dashed') {
      if (series.form === 'steps') line.step = 'end';
      if (series.form === 'dashed') line.lineStyle.width = 1.3;
      // A line needs two points; a single one has a mark.
      if (points.length === 1) Object.assign(line, { symbol: symbolOf(style.marker), symbolSize: 7, itemStyle: { color: colour }, showSymbol: true });
      drawn.push(line);
      if (context.print && series.form !== 'dashed') drawn.push(signs(points, style, axes, z));
    } else if (series.form === 'marked-line') {
      drawn.push({ ...line, symbol: symbolOf(style.marker), symbolSize: 8, symbolKeepAspect: true, showSymbol: true, showAllSymbol: true, itemStyle: { color: colour } });
    } else if (series.form === 'marks') {
      drawn.push({
        ...axes, type: 'scatter', z, data: points, symbol: symbolOf(style.marker), symbolKeepAspect: true,
        symbolSize: points.length > 1500 ? 4 : points.length > 200 ? 6 : 9,
        itemStyle: { color: colour, opacity: points.length > 50 ? 0.75 : 0.95 },
      });
    } else if (series.form === 'shade') {
      drawn.push({
        ...line, step: 'end', lineStyle: { color: colours.shadeEdge, width: 1 }, areaStyle: { color: colours.shade, opacity: 1, origin: 'start' },
      });
    } else if (series.form === 'outline') {
      drawn.push(area(points, axes, z, { fill: colour, fillOpacity: 0.13, stroke: colour, lineWidth: 1.3 }));
    } else if (series.form === 'stack') {
      const { band } = stacked.find((each) => each.series === series);
      // A logarithmic axis has no zero to begin from.
      const from = (value) => (y.log ? Math.max(value, y.low) : value);
      const outline = [...band.map(([px, , high]) => [px, from(high)]), ...band.map(([px, low]) => [px, from(low)]).reverse()];
      drawn.push(area(outline, axes, z, { fill: colour, fillOpacity: 0.75, stroke: colours.page, lineWidth: 0.8 }));
    }
    if (series.spread?.length) drawn.push(whiskers(series, axes, z, colour));
    return drawn;
  }).concat(labels);
}

/** The name of each line at its end, in its colour, at a distance from the others. */
function namesOf(named, axes, colourOf, width) {
  const apart = 13;
  return {
    ...axes, type: 'custom', clip: false, z: 9, data: [named[0].points[0]], encode: { x: 0, y: 1 },
    renderItem: (params, api) => {
      const { x, y, width: wide, height } = params.coordSys;
      const ends = named.map((series) => {
        const [px, py] = api.coord(series.points[series.points.length - 1]);
        return { px, py, text: fitted(series.label, width, 12), fill: colourOf(series) };
      });
      // Ends that zooming has moved out of the panel have no name.
      const within = ends.filter(({ px, py }) => px >= x && px <= x + wide + 1 && py >= y - 1 && py <= y + height + 1);
      within.sort((a, b) => a.py - b.py);
      let free = y;
      const children = within.map(({ px, py, text, fill }, i) => {
        // Below the one before, and above the place that those after it need.
        const lowest = y + height - (within.length - 1 - i) * apart;
        const at = Math.max(Math.min(py, lowest), free);
        free = at + apart;
        return { type: 'text', silent: true, style: { text, x: px + 6, y: at, fill, font: `12px ${FONT}`, verticalAlign: 'middle' } };
      });
      return { type: 'group', silent: true, children };
    },
  };
}

/** A few marks along a line, which tell lines apart on paper without colours. */
function signs(points, style, axes, z) {
  const count = 7;
  const chosen = Array.from({ length: count }, (_, i) => points[Math.floor(((i + 0.5) * points.length) / count)]);
  return {
    ...axes, type: 'scatter', z: z + 1, data: points.length > count ? chosen : points, symbol: symbolOf(style.marker), symbolKeepAspect: true,
    symbolSize: 7, itemStyle: { color: style.colour },
  };
}

/** A closed area. */
function area(points, axes, z, style) {
  return {
    ...axes, type: 'custom', z, data: points.length ? [points[0]] : [], encode: { x: 0, y: 1 },
    renderItem: (_, api) => ({ type: 'polygon', silent: true, shape: { points: points.map((point) => api.coord(point)) }, style }),
  };
}

/** Error bars. */
function whiskers(series, axes, z, colour) {
  const data = series.points.map(([px, py], i) => [px, py, series.spread[i]]).filter(([, , spread]) => spread > 0);
  return {
    ...axes, type: 'custom', z, data, encode: { x: 0, y: 1 },
    renderItem: (_, api) => {
      const [px, py, spread] = [api.value(0), api.value(1), api.value(2)];
      const [cx, high] = api.coord([px, py + spread]);
      // A logarithmic axis has no place below zero: the bar extends to the edge of the panel.
      const [, middle] = api.coord([px, py]);
      const [, below] = api.coord([px, py - spread]);
      const low = Number.isFinite(below) ? below : 2 * middle - high;
      const stroke = { stroke: colour, lineWidth: 1.2, fill: null };
      const bar = (x1, y1, x2, y2) => ({ type: 'line', silent: true, shape: { x1, y1, x2, y2 }, style: stroke });
      return { type: 'group', children: [bar(cx, low, cx, high), bar(cx - 3, low, cx + 3, low), bar(cx - 3, high, cx + 3, high)] };
    },
  };
}

/** Each label once; companions of several lines have one entry. */
function legendOf(panels, lookOf, theme) {
  const entries = new Map();
  const together = new Map();
  for (const series of panels.flatMap((panel) => panel.series)) {
    const what = lookOf.companion(series);
    const key = JSON.stringify(what === null ? [series.protocol, series.label] : [series.form, what]);
    const entry = { label: series.label, protocol: series.protocol, form: series.form, style: lookOf(series, theme) };
    const known = (what === null ? entries : together).get(key);
    if (!known) (what === null ? entries : together).set(key, entry);
    else if (what !== null && known.label !== series.label) Object.assign(known, shared(what, known, theme));
    // A line and marks, or marks and their outline, under one label are one entry.
    else if (known.form !== series.form && [known.form, series.form].includes('marks')) {
      known.form = [known.form, series.form].includes('outline') ? 'marks' : 'marked-line';
    }
  }
  return [...entries.values(), ...together.values()];
}

function shared(what, { style }, theme) {
  return { label: what, protocol: null, style: { ...style, colour: THEMES[theme].ink } };
}

/** Finds values under the pointer and steps through them. */
function panelsReader({ panels, x, lookOf, theme, overAxis, height, left, width }) {
  const said = (each, series, i) => {
    const [px, py] = series.points[i];
    const spread = series.spread?.[i];
    const note = series.notes?.[i];
    return {
      x: x.scale.text(px, 5),
      y: each.y.scale.text(py, 5) + (spread ? ` ± ${number(spread / each.y.scale.factor, 3)}` : ''),
      note: note ? short(note, 120) : '',
    };
  };
  const row = (each, series, i) => {
    const { y, note } = said(each, series, i);
    return {
      style: lookOf(series, theme), form: series.form, name: short(series.label, 50), value: y, note,
    };
  };
  const place = (chart, each, series, i) => {
    const [px, py] = series.points[i];
    const stacked = each.stacked.find((s) => s.series === series)?.band.find(([at]) => at === px);
    return chart.convertToPixel({ xAxisIndex: each.index, yAxisIndex: each.index }, [px, stacked ? stacked[2] : py]);
  };
  const inside = (each, px, py) => px >= left - 1 && px <= left + width + 1 && py >= each.top - 1 && py <= each.top + height + 1;

  /** All series at the pointer's place on the common axis. */
  const along = (px, py, chart) => {
    const over = panels.find((each) => inside(each, px, py));
    if (!over) return null;
    const at = chart.convertFromPixel({ xAxisIndex: over.index }, px);
    const reach = Math.abs(chart.convertFromPixel({ xAxisIndex: over.index }, px + REACH / 2) - at);
    const blocks = panels.map((each) => {
      const found = [];
      for (const series of each.visible) {
        if (series.form === 'outline' || !series.points.length) continue;
        const i = series.form === 'steps' || series.form === 'shade' ? inForce(series.points, at) : nearest(series.points, at);
        if (i < 0) continue;
        if (series.form === 'marks' && Math.abs(series.points[i][0] - at) > reach) continue;
        found.push({ series, i });
      }
      return { each, found };
    });
    const many = blocks.reduce((sum, { found }) => sum + found.length, 0) > MOST_READ;
    const listed = many ? blocks.filter(({ each }) => each === over) : blocks;
    const rings = listed.flatMap(({ each, found }) => found.filter(({ series }) => series.form !== 'shade' && series.form !== 'steps')
      .map(({ series, i }) => ({ at: place(chart, each, series, i), colour: lookOf(series, theme).colour })));
    return {
      tip: {
        head: `${short(x.scale.axis.label, 60)}: ${x.scale.text(at, 4)}`,
        blocks: listed.filter(({ found }) => found.length).map(({ each, found }) => ({
          title: each.y.scale.axis.label,
          rows: [
            ...found.slice(0, MOST_READ).map(({ series, i }) => row(each, series, i)),
            ...(found.length > MOST_READ ? [{ name: `and ${found.length - MOST_READ} more` }] : []),
          ],
        })),
      },
      rings,
    };
  };

  /** The nearest mark and those that coincide with it. */
  const near = (px, py, chart) => {
    const over = panels.find((each) => inside(each, px, py));
    if (!over) return null;
    const all = over.visible.filter((series) => series.form !== 'outline').flatMap((series) => series.points.map((_, i) => {
      const at = place(chart, over, series, i);
      return { series, i, at, far: Math.hypot(at[0] - px, at[1] - py) };
    })).filter(({ far }) => far <= REACH).sort((a, b) => a.far - b.far);
    if (!all.length) return null;
    const found = all.filter(({ at }) => Math.hypot(at[0] - all[0].at[0], at[1] - all[0].at[1]) < 4).slice(0, 8);
    return {
      tip: { head: '', blocks: found.map(({ series, i }) => markTip(over, series, i)) },
      rings: found.map(({ series, at }) => ({ at, colour: lookOf(series, theme).colour })),
    };
  };
  const markTip = (each, series, i) => {
    const { x: xs, y: ys, note } = said(each, series, i);
    return {
      title: '',
      rows: [
        { style: lookOf(series, theme), form: series.form, name: short(series.label, 50), value: note },
        { name: short(each.y.scale.axis.label, 50), value: ys },
        { name: short(x.scale.axis.label, 50), value: xs },
      ],
    };
  };

  const walk = panels.flatMap((each) => each.visible.filter((series) => series.form !== 'outline' && series.points.length).map((series) => (
    series.points.map((_, i) => ({
      get text() {
        const { x: xs, y: ys, note } = said(each, series, i);
        return `${short(series.label, 50)}: ${each.y.scale.axis.label} ${ys} at ${x.scale.axis.label} ${xs}${note ? `, ${note}` : ''}`;
      },
      at(chart) {
        const [px, py] = place(chart, each, series, i);
        return { tip: { head: '', blocks: [markTip(each, series, i)] }, rings: [{ at: [px, py], colour: lookOf(series, theme).colour }], x: px, y: py };
      },
    }))
  )));
  return { find: overAxis ? along : near, walk };
}

/** The point nearest to `x`; fast if the points are in order. */
function nearest(points, x) {
  if (!sorted(points)) {
    return points.reduce((best, [at], i) => (Math.abs(at - x) < Math.abs(points[best][0] - x) ? i : best), 0);
  }
  const after = firstNotBelow(points, x);
  if (after === 0) return 0;
  if (after === points.length) return after - 1;
  return points[after][0] - x < x - points[after - 1][0] ? after : after - 1;
}

/** The last point that is not after `x`: its value holds until the next one. */
function inForce(points, x) {
  if (!sorted(points)) return nearest(points, x);
  const after = firstNotBelow(points, x);
  return after < points.length && points[after][0] === x ? after : after - 1;
}

const orders = new WeakMap();
function sorted(points) {
  if (!orders.has(points)) orders.set(points, points.every(([x], i) => i === 0 || points[i - 1][0] <= x));
  return orders.get(points);
}

function firstNotBelow(points, x) {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
