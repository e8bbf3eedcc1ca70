// One figure: values under the pointer and by keys, zoom, hidden and highlighted protocols, saving.

/** Hidden protocols of the whole page. */
const hidden = new Set();
const figures = new Map();
const tipBox = document.getElementById('tip');
const announcer = document.getElementById('announce');
/** The tip shows at most this many values. */
const MOST_READ = 24;
/** The pointer finds marks within this distance, in pixels of the picture. */
const REACH = 24;
const SVG = 'http://www.w3.org/2000/svg';

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

class Figure {
  constructor(element) {
    this.element = element;
    this.title = element.querySelector('h2, h3').firstChild.textContent.trim();
    this.chart = element.querySelector('.chart');
    const { same } = this.chart.dataset;
    if (same) this.chart.replaceChildren(...figures.get(same).svgs.map((svg) => svg.cloneNode(true)));
    this.svgs = [...this.chart.querySelectorAll('svg')];
    this.all = { x: [0, 1], y: [0, 1] };
    this.view = this.all;
    this.at = [0, -1];
    this.buildFoot();
    const on = (kind, act, options) => this.chart.addEventListener(kind, act, options);
    on('keydown', (event) => this.onKey(event));
    on('blur', () => this.clear());
    on('pointerdown', (event) => this.onDown(event));
    on('pointermove', (event) => this.onMove(event));
    on('pointerup', (event) => this.onUp(event));
    on('pointerleave', () => this.clear());
    on('pointercancel', () => { this.drag = null; this.clear(); });
    on('click', (event) => this.onClick(event));
    on('dblclick', () => this.zoom(this.all));
    on('wheel', (event) => this.onWheel(event), { passive: false });
  }

  /** Its data, read when it is needed. A plot that several figures share is on the page once. */
  get plot() {
    const { same } = this.chart.dataset;
    this.data ??= same ? figures.get(same).plot : JSON.parse(this.element.querySelector('script').textContent).plot;
    return this.data;
  }

  /** The picture that has room. */
  get svg() {
    return this.svgs.find((svg) => svg.getClientRects().length) ?? this.svgs[0];
  }

  /** Lines are read together at the pointer's place on the common axis; marks alone, the nearest first. */
  get along() {
    return this.plot.panels.some(({ series }) => series.some(({ form }) => form !== 'marks' && form !== 'outline'));
  }

  buildFoot() {
    const button = (text, act) => {
      const made = element('button', { type: 'button' }, text);
      made.addEventListener('click', act);
      return made;
    };
    this.reset = button('Reset zoom', () => this.zoom(this.all));
    this.reset.hidden = true;
    const name = this.element.id.replaceAll('/', '-');
    const save = button('Save SVG', () => download(`${name}.svg`, 'image/svg+xml', this.saved()));
    const csv = button('Save CSV', () => download(`${name}.csv`, 'text/csv', csvOf(dataOf(this.plot))));
    const data = element('details', { class: 'numbers' }, element('summary', {}, 'Data'));
    data.addEventListener('toggle', () => {
      if (data.open && data.childElementCount === 1) data.append(tableOf(this.title, dataOf(this.plot)));
    });
    this.element.append(element('div', { class: 'figure-foot' }, element('div', { class: 'figure-tools' }, this.reset, save, csv), data));
  }

  /** The panels of a picture: axes, frame, and those series of the data that are shown. */
  panels(svg = this.svg) {
    const made = (group) => {
      const panel = JSON.parse(group.dataset.panel);
      const [data] = group.getElementsByClassName('data');
      return { ...panel, group, data, series: this.plot.panels[panel.panel].series, kept: {} };
    };
    svg.panels ??= [...svg.querySelectorAll('.panel')].map(made);
    return svg.panels;
  }

  shown({ series, only }) {
    const list = only ?? series.map((_, s) => s);
    return list.map((s) => series[s]).filter(({ protocol, form, points }) => !hidden.has(protocol) && form !== 'outline' && points.length);
  }

  /** Where a point is in the picture. */
  place({ frame: [left, top, width, height], x, y }, [px, py]) {
    const { x: [a, b], y: [c, d] } = this.view;
    return [left + (width * (partOf(x, px) - a)) / (b - a), top + height * (1 - (partOf(y, py) - c) / (d - c))];
  }

  /** The pointer in pixels of the picture, and the panel there. */
  pointer({ clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    const inside = ({ frame: [left, top, width, height] }) => x >= left - 1 && x <= left + width + 1 && y >= top - 1 && y <= top + height + 1;
    return { x, y, panel: this.plot.kind === 'panels' ? this.panels().find(inside) : undefined };
  }

  // Reading.

  onMove(event) {
    if (this.drag) return this.onDrag(event);
    const cell = event.target.closest('.cell');
    const { x, y, panel } = this.pointer(event);
    this.clear();
    if (cell) this.showCell(cell, event.clientX, event.clientY);
    else if (panel) this.showAt(panel, x, y, event);
    return undefined;
  }

  /** All series at the pointer's place on the common axis, or the marks that are nearest. */
  showAt(panel, x, y, { clientX, clientY }) {
    const [left, , width] = panel.frame;
    const [a, b] = this.view.x;
    const at = valueAt(panel.x, a + ((x - left) / width) * (b - a));
    const near = (px, py) => Math.hypot(px - x, py - y);
    if (!this.along) {
      const points = this.shown(panel).flatMap((series) => series.points.map((point, i) => ({ series, i, place: this.place(panel, point) })));
      const all = points.filter(({ place }) => near(...place) <= REACH).sort((p, q) => near(...p.place) - near(...q.place));
      const found = all.filter(({ place: [px, py] }) => Math.hypot(px - all[0].place[0], py - all[0].place[1]) < 4).slice(0, 8);
      if (found.length) this.show(found.map(({ series, i }) => this.pointTip(panel, series, i)).join('\n'), found, clientX, clientY);
      return;
    }
    const blocks = this.panels().map((each) => {
      const found = this.shown(each).map((series) => {
        const i = series.form === 'steps' || series.form === 'shade' ? inForce(series.points, at) : nearest(series.points, at);
        return { series, i, place: i < 0 ? null : this.place(each, series.points[i]) };
      });
      const reached = ({ series, place }) => place && (series.form !== 'marks' || Math.abs(place[0] - x) <= REACH / 2);
      return { each, found: found.filter(reached) };
    });
    const many = blocks.reduce((sum, { found }) => sum + found.length, 0) > MOST_READ;
    const listed = blocks.filter(({ each, found }) => found.length && (each === panel || (!many && !each.only)));
    const lines = listed.flatMap(({ each, found }) => [
      each.y.label, ...found.slice(0, MOST_READ).map(({ series, i }) => this.row(each, series, i)),
      ...(found.length > MOST_READ ? [`and ${found.length - MOST_READ} more`] : []),
    ]);
    const rings = listed.flatMap(({ found }) => found.filter(({ series: { form } }) => !['shade', 'steps', 'stack'].includes(form)));
    for (const { frame: [, top, , height] } of listed.map(({ each }) => each)) {
      this.over().append(shape('path', { d: `M${x} ${top}v${height}`, class: 'pointer' }));
    }
    this.show([`${panel.x.label}: ${valueText({ ...panel.x }, Number(at.toPrecision(4)))}`, ...lines].join('\n'), rings, clientX, clientY);
  }

  /** A series' value with its note, as a row of a tip: name, value, note, colour. */
  row({ y, group, series: all }, series, i) {
    const drawn = group.querySelector(`.series[data-s="${all.indexOf(series)}"] > *`);
    const { stroke, fill } = drawn ? getComputedStyle(drawn) : {};
    const colour = stroke === 'none' || series.form === 'stack' ? fill : stroke;
    const spread = series.spread?.[i];
    const value = valueText(y, series.points[i][1]) + (spread ? ` ± ${number(spread / y.factor, 3)}` : '');
    return `${short(series.label, 50)}\t${value}\t${short(series.notes?.[i] ?? '', 120)}\t${colour ?? ''}`;
  }

  pointTip(panel, series, i) {
    const [, value, note, colour] = this.row(panel, series, i).split('\t');
    return [`${short(series.label, 50)}\t${note}\t\t${colour}`, `${panel.y.label}\t${value}`, `${panel.x.label}\t${valueText(panel.x, series.points[i][0])}`].join('\n');
  }

  showCell(cell, clientX, clientY) {
    const { tip, link } = cell.dataset;
    this.link = link && document.getElementById(link) ? link : null;
    cell.classList.add('at');
    this.show(this.link ? `${tip}\nclick: curves` : tip, [], clientX, clientY);
  }

  /** Shows the lines of a tip (cells are separated by tabs), and rings around places. */
  show(text, rings, clientX, clientY) {
    const row = (line) => {
      const [name, ...rest] = line.split('\t');
      if (!rest.length) return element('tr', {}, element('td', { colspan: 3, class: 'title' }, name));
      const cells = [name, ...rest.slice(0, 2)].map((cell, i) => element('td', { class: ['name', 'value', 'note'][i] }, cell));
      if (rest[2]) cells[0].prepend(element('i', { style: `background:${rest[2]}` }));
      return element('tr', {}, ...cells);
    };
    tipBox.replaceChildren(element('table', {}, ...text.split('\n').map(row)));
    tipBox.hidden = false;
    const { width, height } = tipBox.getBoundingClientRect();
    const left = clientX + 18 + width > document.documentElement.clientWidth ? clientX - 18 - width : clientX + 18;
    tipBox.style.left = `${Math.max(4, left)}px`;
    tipBox.style.top = `${Math.max(4, Math.min(clientY + 14, window.innerHeight - height - 4))}px`;
    // A value that cannot be drawn, such as zero on a logarithmic axis, has a tip and no ring.
    const drawn = rings.filter(({ place }) => place.every(Number.isFinite));
    for (const { place } of drawn) this.over().append(shape('circle', { cx: place[0], cy: place[1], r: 4.5 }));
  }

  /** What is drawn over the picture. */
  over() {
    const { svg } = this;
    if (!svg.over?.isConnected) svg.append(svg.over = shape('g', { class: 'over' }));
    return svg.over;
  }

  clear() {
    tipBox.hidden = true;
    this.link = null;
    for (const svg of this.svgs) svg.over?.remove();
    this.chart.querySelector('.cell.at')?.classList.remove('at');
  }

  /** Rows of values for the arrow keys; each value has a text and shows itself. */
  walk() {
    const box = () => this.svg.getScreenCTM();
    const toWindow = ([x, y]) => { const { x: px, y: py } = new DOMPoint(x, y).matrixTransform(box()); return [px, py]; };
    if (this.plot.kind === 'panels') {
      return this.panels().flatMap((panel) => this.shown(panel).map((series) => series.points.map((point, i) => ({
        text: () => {
          const [name, value, note] = this.row(panel, series, i).split('\t');
          return `${name}: ${panel.y.label} ${value} at ${panel.x.label} ${valueText(panel.x, point[0])}${note && `, ${note}`}`;
        },
        show: () => {
          const [a, b] = this.view.x;
          const part = partOf(panel.x, point[0]);
          if (part < a || part > b) this.zoom({ ...this.view, x: moved(this.view.x, part - (a + b) / 2) });
          const place = this.place(panel, point);
          this.show(this.pointTip(panel, series, i), [{ place }], ...toWindow(place));
        },
      }))));
    }
    const rows = new Map();
    for (const cell of this.svg.querySelectorAll('.item:not(.off) .cell')) rows.set(cell.dataset.row, [...(rows.get(cell.dataset.row) ?? []), cell]);
    return [...rows.values()].map((cells) => cells.map((cell) => ({
      text: () => cell.dataset.tip.replaceAll('\t', ' ').replace('\n', ': ').replaceAll('\n', ', '),
      show: () => { const { left, top, width, height } = cell.getBoundingClientRect(); this.showCell(cell, left + width / 2, top + height / 2); },
    })));
  }

  onKey(event) {
    if (event.key === 'Escape') this.clear();
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'Enter') { this.onClick(event); return; }
    const walk = this.walk();
    if (!walk.length) return;
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowRight: [0, step], ArrowLeft: [0, -step], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
    const move = moves[event.key];
    const zoom = { '+': 0.7, '-': 1 / 0.7, 0: Infinity }[event.key];
    if (!move && !zoom) return;
    event.preventDefault();
    if (zoom) { this.zoomBy(zoom); return; }
    const within = (value, length) => Math.max(0, Math.min(value, length - 1));
    const row = within(this.at[1] < 0 ? 0 : this.at[0] + move[0], walk.length);
    this.at = [row, within(this.at[1] < 0 ? 0 : this.at[1] + move[1], walk[row].length)];
    const item = walk[row][this.at[1]];
    this.clear();
    item.show();
    announcer.textContent = item.text();
  }

  // Zooming.

  onDown(event) {
    const { x, y, panel } = this.pointer(event);
    if (!panel || event.pointerType !== 'mouse' || event.button !== 0) return;
    this.drag = { x, y, panel, view: this.view, pan: event.shiftKey };
    this.chart.setPointerCapture(event.pointerId);
  }

  /** From where the pointer went down to where it is, in parts of the panel's axes. */
  dragged(event) {
    const { x, y, panel: { frame: [left, top, width, height] } } = this.drag;
    const to = this.pointer(event);
    const within = (part) => Math.max(0, Math.min(1, part));
    return { x: [x, to.x].map((at) => within((at - left) / width)), y: [y, to.y].map((at) => within(1 - (at - top) / height)) };
  }

  onDrag(event) {
    const { view, pan, panel: { frame: [left, top, width, height] } } = this.drag;
    const to = this.dragged(event);
    this.clear();
    if (pan) {
      const by = (axis) => (to[axis][0] - to[axis][1]) * (view[axis][1] - view[axis][0]);
      this.zoom({ x: moved(view.x, by('x')), y: moved(view.y, by('y')) });
      return;
    }
    const [x, y] = [[...to.x].sort(), this.along ? [0, 1] : [...to.y].sort()].map((ends) => ends.sort((p, q) => p - q));
    this.over().append(shape('rect', {
      class: 'selection', x: left + width * x[0], width: width * (x[1] - x[0]), y: top + height * (1 - y[1]), height: height * (y[1] - y[0]),
    }));
  }

  onUp(event) {
    if (!this.drag) return;
    const { view, pan } = this.drag;
    const to = this.dragged(event);
    this.drag = null;
    this.clear();
    if (pan) return;
    const part = ([a, b], ends) => ends.sort((p, q) => p - q).map((end) => a + end * (b - a));
    if (Math.abs(to.x[1] - to.x[0]) > 0.01) this.zoom({ x: part(view.x, to.x), y: this.along ? view.y : part(view.y, to.y) });
  }

  onWheel(event) {
    const { x, y, panel } = this.pointer(event);
    if (!panel || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const [left, top, width, height] = panel.frame;
    this.clear();
    this.zoomBy(1.002 ** event.deltaY, [(x - left) / width, 1 - (y - top) / height]);
  }

  /** Shows `factor` times as much, around a place in parts of the panel. */
  zoomBy(factor, [px, py] = [0.5, 0.5]) {
    const by = ([a, b], part) => {
      const at = a + part * (b - a);
      const span = Math.min(1, (b - a) * factor);
      return moved([at - part * span, at + (1 - part) * span], 0);
    };
    this.zoom({ x: by(this.view.x, px), y: this.along ? this.view.y : by(this.view.y, py) });
  }

  /** Shows these parts of the axes. */
  zoom(view) {
    if (this.plot.kind !== 'panels' || view.x[1] - view.x[0] < 1e-4 || view.y[1] - view.y[0] < 1e-4) return;
    this.view = view;
    const zoomed = [...view.x, ...view.y].some((end, i) => Math.abs(end - i % 2) > 1e-9);
    this.reset.hidden = !zoomed;
    for (const svg of this.svgs) {
      svg.classList.toggle('zoomed', zoomed);
      for (const panel of this.panels(svg)) this.zoomPanel(panel);
    }
  }

  zoomPanel({ data, frame: [left, top, width, height], group, x, y, counts, kept }) {
    const { x: [a, b], y: [c, d] } = this.view;
    const [kx, ky] = [1 / (b - a), 1 / (d - c)];
    const bottom = top + height;
    data.setAttribute('transform', `matrix(${kx} 0 0 ${ky} ${left - kx * (left + a * width)} ${bottom - ky * (bottom - c * height)})`);
    if (!kept.clip) {
      // A clip has the coordinates of what it clips, so the group that moves is within another.
      const id = `clip-${Math.random().toString(36).slice(2)}`;
      kept.clip = shape('clipPath', { id });
      kept.clip.append(shape('rect', { x: left, y: top, width, height: height + 1 }));
      const around = shape('g', { 'clip-path': `url(#${id})` });
      data.replaceWith(kept.clip, around);
      around.append(data);
    }
    for (const mark of data.querySelectorAll('path[transform]')) {
      mark.whole ??= /^translate\((\S+) (\S+)\) scale\(([^ )]+)\)$/.exec(mark.getAttribute('transform'));
      const [, mx, my, size] = mark.whole;
      mark.setAttribute('transform', `translate(${mx} ${my}) scale(${size / kx} ${size / ky})`);
    }
    const axes = [[x, 'ticks x', counts[0], this.view.x], [y, 'ticks y', counts[1], this.view.y]];
    for (const [axis, name, count, ends] of axes) {
      const [tickGroup] = group.getElementsByClassName(name);
      kept[name] ??= [...tickGroup.children];
      const [first] = kept[name];
      if (!first) continue;
      const [low, high] = ends.map((end) => valueAt(axis, end)).sort((p, q) => p - q);
      let last = -Infinity;
      const made = (axis.log ? logTicks(low, high) : ticks(low, high, count)).map((value) => {
        const tick = first.cloneNode(true);
        const [px, py] = this.place({ frame: [left, top, width, height], x, y }, name === 'ticks x' ? [value, 1] : [1, value]);
        tick.setAttribute('transform', name === 'ticks x' ? `translate(${px} ${bottom})` : `translate(${left} ${py})`);
        const text = tick.querySelector('text');
        if (text) text.textContent = number(value / axis.factor);
        const wide = text ? 3.5 * text.textContent.length : 0;
        if (name === 'ticks x' && Math.abs(px - last) < 2 * wide + 4) text?.remove();
        else last = px;
        return tick;
      });
      const whole = ends[0] === 0 && ends[1] === 1;
      tickGroup.replaceChildren(...(whole ? kept[name] : made));
    }
  }

  // Choosing and saving.

  onClick(event) {
    const key = event.target.closest('.key[data-p]');
    if (key) setHidden([key.dataset.p], !hidden.has(key.dataset.p));
    else if (this.link) window.location.hash = this.link;
  }

  /** The picture with its title on white, without what is hidden. */
  saved() {
    const svg = this.svgs[0].cloneNode(true);
    const [width, height] = ['width', 'height'].map((side) => Number(svg.getAttribute(side)));
    for (const gone of svg.querySelectorAll('.off, .over')) gone.remove();
    for (const [name, value] of [['xmlns', SVG], ['width', width + 40], ['height', height + 70], ['viewBox', `-20 -50 ${width + 40} ${height + 70}`]]) svg.setAttribute(name, value);
    svg.setAttribute('font-family', 'system-ui, sans-serif');
    svg.removeAttribute('class');
    const title = shape('text', { x: 0, y: -18, 'font-size': 17, 'font-weight': 600, fill: '#1d2329' });
    title.textContent = short(this.title, 100);
    svg.prepend(shape('rect', { x: -20, y: -50, width: width + 40, height: height + 70, fill: '#ffffff' }), title);
    return new XMLSerializer().serializeToString(svg);
  }
}

/** Where a value is between the left or lower end of an axis and the other, 0 to 1. */
function partOf({ low, high, log, inverse }, value) {
  const part = log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
  return inverse ? 1 - part : part;
}

function valueAt({ low, high, log, inverse }, place) {
  const part = inverse ? 1 - place : place;
  return log ? low * (high / low) ** part : low + part * (high - low);
}

/** A part of an axis, moved but within the axis. */
function moved([a, b], by) {
  const shift = Math.max(-a, Math.min(by, 1 - b));
  return [a + shift, b + shift];
}

/** The point nearest to `x`. */
function nearest(points, x) {
  return points.reduce((best, [at], i) => (Math.abs(at - x) < Math.abs(points[best][0] - x) ? i : best), 0);
}

/** The last point that is not after `x`: its value holds until the next one; -1 before the first. */
function inForce(points, x) {
  return points.findLastIndex(([at]) => at <= x);
}
