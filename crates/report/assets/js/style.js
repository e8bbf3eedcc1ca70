// How series look: protocols have their own style, which is data of the page; all others are grey.

const protocols = JSON.parse(document.getElementById('protocols').textContent);
const looksOf = new Map(protocols.map((protocol) => [protocol.name, protocol.looks]));

const THEMES = {
  light: {
    page: '#ffffff', ink: '#1d2329', soft: '#5a646e', line: '#c9d0d6', grid: '#e8ecef', shade: '#eef1f3', shadeEdge: '#aab3bb',
    band: '#e3eee6', right: '#1a7f4b', wrong: '#b3261e',
    greys: ['#3d464e', '#76818b', '#20262c', '#8a949d'],
  },
  dark: {
    page: '#14181d', ink: '#e6eaee', soft: '#a3adb7', line: '#454e57', grid: '#272e35', shade: '#20272e', shadeEdge: '#5b666f',
    band: '#1d3226', right: '#5fd196', wrong: '#ff8a80',
    greys: ['#c3ccd4', '#8b96a0', '#f0f3f5', '#75808a'],
  },
};

/** Shapes in a box from -1 to 1. */
const MARKERS = {
  circle: 'M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z',
  square: 'M-.9 -.9H.9V.9H-.9Z',
  triangle: 'M0 -1L1 .8H-1Z',
  diamond: 'M0 -1L1 0L0 1L-1 0Z',
  'down-triangle': 'M0 1L-1 -.8H1Z',
  plus: 'M-.35 -1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z',
  cross: 'M-.7 -1L0 -.35L.7 -1L1 -.7L.35 0L1 .7L.7 1L0 .35L-.7 1L-1 .7L-.35 0L-1 -.7Z',
  star: 'M0 -1L.26 -.36L.95 -.31L.42 .14L.59 .81L0 .44L-.59 .81L-.42 .14L-.95 -.31L-.26 -.36Z',
};
const GREY_DASHES = [[], [8, 4], [3, 3], [9, 3, 2, 3]];
const MARKER_NAMES = Object.keys(MARKERS);

/** The theme: on paper light, otherwise the chosen one or the system's. */
function themeName() {
  if (window.matchMedia('print').matches) return 'light';
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

/** Marks of events on a line (losses, timeouts), in the order in which a figure has them. */
const EVENTS = ['cross', 'circle', 'triangle', 'diamond', 'star', 'plus', 'square', 'down-triangle'];
const COMPANION_DASHES = [[2, 3], [7, 3, 1, 3], [1, 4], [5, 5]];

/**
 * The line that a series belongs to, and what it adds to it: `cubic, loss` adds `loss` to the line
 * `cubic`. Such a companion has the line's colour; its mark or dash is the same for all lines.
 */
function companionOf(series, panel) {
  if (series.form !== 'marks' && series.form !== 'dashed') return null;
  const lines = panel.series.filter((other) => (
    other.protocol === series.protocol && family(other.form) === 'line' && series.label.startsWith(`${other.label}, `)
  ));
  if (!lines.length) return null;
  const line = lines.reduce((longest, other) => (other.label.length > longest.label.length ? other : longest));
  return { line, what: series.label.slice(line.label.length + 2) };
}

/**
 * The looks of a figure's series. Of one protocol, labels that meet in a panel look different, each the
 * same in all panels.
 */
function seriesLooks(panels) {
  const chosen = new Map();
  const companions = new Map();
  const numbers = { marks: new Map(), dashed: new Map() };
  const key = (series) => JSON.stringify([series.protocol, family(series.form), series.label]);
  for (const panel of panels) {
    const groups = new Map();
    for (const series of panel.series) {
      const companion = companionOf(series, panel);
      if (companion) {
        const known = numbers[series.form];
        if (!known.has(companion.what)) known.set(companion.what, known.size);
        companions.set(series, { ...companion, number: known.get(companion.what) });
        continue;
      }
      const group = JSON.stringify([series.protocol, family(series.form)]);
      groups.set(group, (groups.get(group) ?? new Set()).add(key(series)));
    }
    for (const keys of groups.values()) {
      const taken = new Set([...keys].map((k) => chosen.get(k)).filter((n) => n !== undefined));
      for (const one of keys) {
        if (chosen.has(one)) continue;
        let free = 0;
        while (taken.has(free)) free += 1;
        taken.add(free);
        chosen.set(one, free);
      }
    }
  }
  const lookOf = (series, theme) => {
    const companion = companions.get(series);
    if (!companion) return look(series.protocol, chosen.get(key(series)) ?? 0, theme);
    const { colour } = lookOf(companion.line, theme);
    return {
      colour,
      dash: COMPANION_DASHES[companion.number % COMPANION_DASHES.length],
      marker: EVENTS[companion.number % EVENTS.length],
    };
  };
  lookOf.companion = (series) => companions.get(series)?.what ?? null;
  return lookOf;
}

/** Forms that could be taken for each other. */
function family(form) {
  return { line: 'line', steps: 'line', 'marked-line': 'line', dashed: 'dashed', marks: 'marks' }[form] ?? 'area';
}

/** The `variant`th look of a protocol, or of what belongs to none. */
function look(protocol, variant, theme) {
  const looks = protocol === null || protocol === undefined ? undefined : looksOf.get(protocol);
  if (looks) {
    const { light, dark, dash, marker } = looks[variant % looks.length];
    return { colour: theme === 'dark' ? dark : light, dash, marker };
  }
  const { greys } = THEMES[theme];
  return {
    colour: greys[variant % greys.length],
    dash: GREY_DASHES[variant % GREY_DASHES.length],
    marker: MARKER_NAMES[variant % MARKER_NAMES.length],
  };
}

const symbolOf = (marker) => `path://${MARKERS[marker] ?? MARKERS.circle}`;

/** The lengths of a series' dashes and gaps, or `solid`. */
function dashOf(style, form) {
  if (form === 'dashed') return COMPANION_DASHES.includes(style.dash) ? [...style.dash] : [2, 3];
  return style.dash.length ? [...style.dash] : 'solid';
}

/** A small picture of a line, mark or area, for legends and the filter. */
function swatch(style, form, theme) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const add = (name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    svg.append(made);
  };
  svg.setAttribute('class', 'swatch');
  svg.setAttribute('viewBox', '0 0 28 12');
  svg.setAttribute('width', 28);
  svg.setAttribute('height', 12);
  svg.setAttribute('aria-hidden', 'true');
  const { colour } = style;
  if (form === 'shade') {
    const { shade, shadeEdge } = THEMES[theme];
    add('rect', { x: 1, y: 1, width: 26, height: 10, fill: shade, stroke: shadeEdge });
  } else if (form === 'stack') {
    add('rect', { x: 1, y: 1, width: 26, height: 10, fill: colour, 'fill-opacity': 0.75 });
  } else if (form === 'outline') {
    add('rect', { x: 2, y: 1, width: 24, height: 10, rx: 5, fill: colour, 'fill-opacity': 0.14, stroke: colour });
  } else if (form !== 'marks') {
    const dash = dashOf(style, form);
    const dashes = dash === 'solid' ? {} : { 'stroke-dasharray': dash.join(' ') };
    add('path', { d: 'M1 6H27', stroke: colour, 'stroke-width': form === 'dashed' ? 1.5 : 2, fill: 'none', ...dashes });
  }
  if (form === 'marks' || form === 'marked-line' || form === 'protocol') {
    add('path', { d: MARKERS[style.marker], transform: 'translate(14 6) scale(4.2)', fill: colour });
  }
  return svg;
}
