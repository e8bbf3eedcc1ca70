// One figure: drawn when it comes near the view and when something changes, read by pointer and
// keys, saved to a file.

const PLOTS = { panels: panelsPlot, heat: heatPlot, confusion: confusionPlot, beside: besidePlot };
/** Hidden protocols of the whole page. */
const hidden = new Set();
const charts = new Map();
const announcer = document.getElementById('announce');
/** Width of figures on paper in pixels: A4 without its margins. */
const PAPER = 680;

class Chart {
  constructor(figure) {
    this.element = figure;
    this.body = figure.querySelector('.body');
    this.drawn = false;
    this.at = [0, 0];
  }

  /** Its data. A plot that several figures share is on the page once. */
  get figure() {
    if (!this.read) {
      const { same, ...own } = JSON.parse(this.element.querySelector('script').textContent);
      this.read = same ? { ...own, plot: charts.get(same).figure.plot } : own;
    }
    return this.read;
  }

  get title() {
    return this.figure.title;
  }

  /** Makes the elements around the picture, once. */
  build() {
    const { figure } = this;
    this.legend = element('ul', { class: 'legend', 'aria-label': `Legend of ${short(figure.title, 80)}` });
    this.canvas = element('div', {
      class: 'chart', role: 'img', tabindex: 0, 'aria-keyshortcuts': 'ArrowLeft ArrowRight ArrowUp ArrowDown Home End',
      'aria-label': `${short(figure.title, 200)}. ${short(figure.caption, 400)} ${wordsOf(figure.plot)}. Arrow keys read the values.`,
    });
    this.reset = element('button', { type: 'button', hidden: true }, 'Reset zoom');
    const save = element('button', { type: 'button' }, 'Save SVG');
    const csv = element('button', { type: 'button' }, 'Save CSV');
    const data = element('details', { class: 'numbers' }, element('summary', {}, 'Data'));
    this.reset.addEventListener('click', () => this.resetZoom());
    save.addEventListener('click', () => download(`${this.fileName}.svg`, 'image/svg+xml', this.svg()));
    csv.addEventListener('click', () => download(`${this.fileName}.csv`, 'text/csv', csvOf(dataOf(figure.plot))));
    data.addEventListener('toggle', () => {
      if (data.open && data.childElementCount === 1) data.append(tableOf(figure.title, dataOf(figure.plot)));
    });
    const tools = element('div', { class: 'figure-tools' }, this.reset, save, csv);
    this.body.replaceChildren(this.legend, this.canvas);
    this.element.append(element('div', { class: 'figure-foot' }, tools, data));
    this.body.style.minHeight = '';
    this.canvas.addEventListener('keydown', (event) => this.onKey(event));
    this.canvas.addEventListener('blur', () => this.clear());
    this.canvas.addEventListener('pointermove', (event) => this.onPointer(event));
    this.canvas.addEventListener('pointerdown', (event) => this.onPointer(event));
    this.canvas.addEventListener('click', (event) => this.onClick(event));
    this.canvas.addEventListener('pointerleave', () => this.clear());
    this.canvas.addEventListener('dblclick', () => this.resetZoom());
  }

  get fileName() {
    return this.element.id.replaceAll('/', '-');
  }

  /** The drawing, for a width and a theme. */
  plan(context) {
    const { plot } = this.figure;
    return PLOTS[plot.kind](plot, { top: 0, hidden, ...context });
  }

  draw(width = widthOfFigures()) {
    if (!this.drawn) this.build();
    this.drawn = true;
    const theme = themeName();
    const print = printing;
    this.drawnFor = `${width} ${theme} ${print}`;
    this.theme = theme;
    this.made = this.plan({ width, theme, print });
    this.canvas.style.height = `${this.made.height}px`;
    const size = { width, height: this.made.height };
    if (this.chart) this.chart.resize(size);
    else this.start(size);
    this.chart.setOption(this.made.option, { replaceMerge: ['series'] });
    this.armed = false;
    if (this.made.zoom) this.retick();
    this.showLegend(theme);
  }

  start(size) {
    this.chart = echarts.init(this.canvas, null, { renderer: 'svg', ...size });
    this.chart.on('datazoom', () => this.retick());
    const svg = this.canvas.querySelector('svg');
    svg?.setAttribute('aria-hidden', 'true');
  }

  /** A drag with a mouse selects the part to zoom into; a finger scrolls the page. */
  armZoom({ pointerType }) {
    if (this.armed || !this.made.zoom || pointerType !== 'mouse') return;
    this.armed = true;
    this.chart.dispatchAction({ type: 'takeGlobalCursor', key: 'dataZoomSelect', dataZoomSelectActive: true });
  }

  /** Ticks for the part that is in view; the reset button, unless all is in view. */
  retick() {
    const zooms = this.chart.getOption().dataZoom ?? [];
    const zoomed = zooms.some(({ start, end }) => start > 0.01 || end < 99.99);
    this.reset.hidden = !zoomed;
    if (!zoomed && !this.zoomed) return;
    this.zoomed = zoomed;
    const model = this.chart.getModel();
    const extent = (name, index) => {
      const { scale } = model.getComponent(name, index).axis;
      return scale.getExtent();
    };
    const count = this.figure.plot.panels.length;
    const bounds = { x: extent('xAxis', 0), y: Array.from({ length: count }, (_, i) => extent('yAxis', i)) };
    this.chart.setOption(this.made.ticksFor(bounds));
  }

  resetZoom() {
    if (!this.made?.zoom) return;
    this.zoomed = false;
    this.chart.clear();
    this.draw();
  }

  showLegend(theme) {
    const entry = ({ label, protocol, form, style }) => {
      // On paper, lines have marks, which tell them apart without colours.
      const sample = printing && (form === 'line' || form === 'steps') ? 'protocol' : form;
      const made = element('li', {}, swatch(style, sample, theme), ` ${short(label, 60)}`);
      if (protocol !== null && hidden.has(protocol)) made.hidden = true;
      if (protocol !== null) {
        made.dataset.protocol = protocol;
        // A shortcut for the mouse; with keys, use the filter.
        made.addEventListener('click', () => setHidden([protocol], true));
        made.title = 'Click hides it on this page';
      }
      return made;
    };
    this.legend.replaceChildren(...this.made.legend.map(entry));
    this.legend.hidden = this.made.legend.length === 0;
  }

  onPointer(event) {
    if (!this.made) return;
    this.armZoom(event);
    const box = this.canvas.getBoundingClientRect();
    const found = this.made.find(event.clientX - box.left, event.clientY - box.top, this.chart);
    if (found) this.show(found, event.clientX, event.clientY);
    else this.clear();
  }

  /** Goes to the section about what is below the pointer, if there is one. */
  onClick(event) {
    const box = this.canvas.getBoundingClientRect();
    const found = this.made?.find(event.clientX - box.left, event.clientY - box.top, this.chart);
    if (found?.link) window.location.hash = found.link;
  }

  show({ tip, rings }, clientX, clientY) {
    showTip(tip, clientX, clientY, this.theme);
    this.clearRings();
    const colours = THEMES[this.theme];
    this.rings = rings.map(({ at, box, colour }) => (box
      ? new echarts.graphic.Rect({ silent: true, z: 100, shape: box, style: { fill: null, stroke: colours.ink, lineWidth: 2 } })
      : new echarts.graphic.Circle({
        silent: true, z: 100, shape: { cx: at[0], cy: at[1], r: 4.5 }, style: { fill: colours.page, stroke: colour, lineWidth: 2 },
      })));
    for (const ring of this.rings) this.chart.getZr().add(ring);
  }

  clearRings() {
    for (const ring of this.rings ?? []) this.chart.getZr().remove(ring);
    this.rings = [];
  }

  clear() {
    hideTip();
    this.clearRings();
  }

  onKey(event) {
    const { walk } = this.made;
    if (event.key === 'Escape') this.clear();
    if (!walk.length || event.ctrlKey || event.altKey || event.metaKey) return;
    let [row, place] = this.at;
    row = Math.min(row, walk.length - 1);
    const last = walk[row].length - 1;
    const first = !this.walked;
    if (event.key === 'Enter' && !first) {
      const { link } = walk[row][Math.min(place, last)].at(this.chart);
      if (link) window.location.hash = link;
      return;
    }
    if (event.key === 'ArrowRight') place = first ? 0 : place + (event.shiftKey ? 10 : 1);
    else if (event.key === 'ArrowLeft') place -= event.shiftKey ? 10 : 1;
    else if (event.key === 'ArrowDown') row = first ? 0 : Math.min(row + 1, walk.length - 1);
    else if (event.key === 'ArrowUp') row = Math.max(row - 1, 0);
    else if (event.key === 'Home') place = 0;
    else if (event.key === 'End') place = last;
    else return;
    event.preventDefault();
    this.walked = true;
    place = Math.max(0, Math.min(place, walk[row].length - 1));
    this.at = [row, place];
    const item = walk[row][place];
    const found = item.at(this.chart);
    const box = this.canvas.getBoundingClientRect();
    this.show(found, box.left + found.x, box.top + found.y);
    announcer.textContent = item.text;
  }

  /** The figure as a picture with title and legend, on white. */
  svg(width = 900) {
    const theme = 'light';
    const head = new Shapes(theme);
    head.text(this.title, 0, 14, { size: 17, bold: true, width });
    const first = this.plan({ width, theme, print: true, still: true });
    let [x, y] = [0, 42];
    for (const { label, protocol, form, style } of first.legend) {
      if (protocol !== null && hidden.has(protocol)) continue;
      const text = short(label, 60);
      const wide = 34 + textWidth(text, 12) + 20;
      if (x > 0 && x + wide > width) [x, y] = [0, y + 20];
      legendSign(head, x, y, style, form);
      head.text(text, x + 34, y);
      x += wide;
    }
    const top = y + (x > 0 ? 18 : -8);
    const made = this.plan({ width, theme, print: true, still: true, top });
    const margin = 16;
    const picture = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height: made.height + 8 });
    const title = {
      type: 'custom', coordinateSystem: 'none', silent: true, data: [0], renderItem: () => ({ type: 'group', children: head.elements }),
    };
    picture.setOption({ ...made.option, series: [...made.option.series, title] });
    const text = picture.renderToSVGString();
    picture.dispose();
    const [w, h] = [width + 2 * margin, made.height + 8 + 2 * margin];
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">`
      + `<rect width="${w}" height="${h}" fill="#ffffff"/><g transform="translate(${margin} ${margin})">${text}</g></svg>\n`;
  }
}

/** A legend's sample in such a picture. */
function legendSign(shapes, x, y, style, form) {
  const { shade, shadeEdge } = THEMES.light;
  if (form === 'shade') shapes.rect(x, y - 5, 26, 10, { fill: shade, stroke: shadeEdge });
  else if (form === 'stack') shapes.rect(x, y - 5, 26, 10, { fill: style.colour, opacity: 0.75 });
  else if (form === 'outline') shapes.rect(x, y - 5, 26, 10, { fill: style.colour, opacity: 0.3 }, 5);
  else if (form !== 'marks') {
    const dash = dashOf(style, form);
    shapes.line(x, y, x + 26, y, style.colour, form === 'dashed' ? 1.5 : 2, dash === 'solid' ? undefined : dash);
  }
  if (form === 'marks' || form === 'marked-line' || form === 'line' || form === 'steps') shapes.mark(style.marker, x + 13, y, 8, style.colour);
}

/** Saves a file that was made in the page. */
function download(name, type, text) {
  const link = element('a', { href: URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

let printing = false;

/**
 * The width of all figures, which are in one column. Reading it makes the browser lay out the page, so
 * callers read it once for many figures.
 */
function widthOfFigures() {
  if (printing) return PAPER;
  const [first] = charts.values();
  return Math.max(260, Math.floor(first.body.clientWidth));
}

/** Draws again what is drawn already, if width, theme or medium changed. */
function redraw() {
  if (!charts.size) return;
  const [theme, width] = [themeName(), widthOfFigures()];
  for (const chart of charts.values()) {
    if (chart.drawn && chart.drawnFor !== `${width} ${theme} ${printing}`) chart.draw(width);
  }
}

function drawAll() {
  if (!charts.size) return;
  const width = widthOfFigures();
  for (const chart of charts.values()) if (!chart.drawn) chart.draw(width);
}
