// Pictures of rectangles, lines, marks and texts, for plots without curves. ECharts draws them.

/** Collects the shapes of a picture. */
class Shapes {
  constructor(theme) {
    this.colours = THEMES[theme];
    this.elements = [];
  }

  rect(x, y, width, height, style, radius = 0) {
    this.elements.push({ type: 'rect', silent: true, shape: { x, y, width, height, r: radius }, style });
  }

  line(x1, y1, x2, y2, stroke, lineWidth = 1, lineDash = undefined) {
    this.elements.push({ type: 'line', silent: true, shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth, lineDash } });
  }

  lines(points, stroke, lineWidth = 1, lineDash = undefined) {
    if (points.length > 1) this.elements.push({ type: 'polyline', silent: true, shape: { points }, style: { stroke, lineWidth, lineDash, fill: 'none' } });
  }

  polygon(points, fill) {
    this.elements.push({ type: 'polygon', silent: true, shape: { points }, style: { fill, stroke: 'none' } });
  }

  text(text, x, y, options = {}) {
    const { size = 12, align = 'left', vertical = 'middle', fill = this.colours.ink, bold = false, rotation = 0, width } = options;
    const shown = width ? fitted(text, width, size) : text;
    this.elements.push({
      type: 'text', silent: true, x, y, rotation,
      style: { text: shown, x: 0, y: 0, fill, font: `${bold ? '600 ' : ''}${size}px ${FONT}`, align, verticalAlign: vertical },
    });
  }

  /** A mark of `size` pixels around a place; a hollow one is an outline. */
  mark(marker, x, y, size, colour, hollow = false) {
    const style = hollow
      ? { fill: this.colours.page, stroke: colour, lineWidth: 1.6, strokeNoScale: true }
      : { fill: colour, stroke: 'none' };
    this.elements.push({
      type: 'path', silent: true, shape: { pathData: MARKERS[marker] }, x, y, scaleX: size / 2, scaleY: size / 2, style,
    });
  }
}

/** The text, cut to a width of `width` pixels. */
function fitted(text, width, size) {
  let shown = short(text, 200);
  if (textWidth(shown, size) <= width) return shown;
  let [low, high] = [0, shown.length];
  const characters = [...shown];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(`${characters.slice(0, middle).join('')}…`, size) <= width) low = middle;
    else high = middle - 1;
  }
  shown = characters.slice(0, low).join('');
  return low ? `${shown}…` : '';
}

/**
 * A picture of shapes as a drawing for a chart. `cells` are the places where the pointer and the arrow
 * keys find values.
 */
function picture(shapes, height, cells) {
  return {
    height,
    option: {
      animation: false,
      series: [{
        type: 'custom', coordinateSystem: 'none', silent: true, animation: false, data: [0],
        renderItem: () => ({ type: 'group', children: shapes.elements }),
      }],
    },
    find(x, y) {
      const cell = cells.find((c) => x >= c.x && x < c.x + c.width && y >= c.y && y < c.y + c.height);
      return cell ? { tip: cell.tip, rings: [{ box: cell }], link: cell.link } : null;
    },
    walk: groupBy(cells, (cell) => cell.row).map(([, row]) => row.map((cell) => ({
      text: cell.said, at: () => ({ tip: cell.tip, rings: [{ box: cell }], link: cell.link, x: cell.x + cell.width / 2, y: cell.y + cell.height / 2 }),
    }))),
  };
}

function groupBy(list, keyOf) {
  const groups = new Map();
  for (const item of list) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return [...groups];
}
