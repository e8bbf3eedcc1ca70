// Numbers, units and ticks as people read them; `svg/scale.rs` does the same for pictures.

const THIN = '\u202f';
const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/**
 * `value` with at most `digits` significant digits and its digits in groups of three; as a power of ten
 * where it is very large or small.
 */
function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-5) {
    const [digitsPart, exponent] = value.toExponential(digits - 1).split('e');
    const mantissa = String(Number(digitsPart)).replace('-', '−');
    const ten = `10${superscript(Number(exponent))}`;
    return mantissa === '1' ? ten : `${mantissa}×${ten}`;
  }
  // The whole part is not rounded.
  const rounded = size >= 10 ** digits ? Math.round(value) : Number(value.toPrecision(digits));
  const [whole, part] = String(Math.abs(rounded)).split('.');
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
  return (rounded < 0 ? '−' : '') + grouped + (part ? `.${part}` : '');
}

function superscript(exponent) {
  const digits = [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPTS[digit]).join('');
  return (exponent < 0 ? '⁻' : '') + digits;
}

/** Units that take a prefix when numbers are large or small. */
const SCALED = { 'bit/s': 1000, 'B/s': 1000, B: 1000, bit: 1000, Hz: 1000, s: 1 };
const PREFIXES = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
const SMALL = [[1, ''], [1e-3, 'm'], [1e-6, 'µ']];

/** The unit that fits the maximum of an axis, and its size. */
function scaleOf(axis, greatest) {
  const table = SCALED[axis.unit] === 1 ? SMALL : SCALED[axis.unit] ? PREFIXES : [[1, '']];
  const [factor, prefix] = table.find(([size]) => greatest >= size) ?? table[table.length - 1];
  const scaled = { factor, unit: prefix + axis.unit, axis };
  // Only a unit can take a factor; values without a unit stay as they are.
  scaled.name = [short(axis.label, 60), scaled.unit ? `(${short(scaled.unit, 20)})` : ''].join(' ').trim();
  scaled.text = (value, digits) => `${number(value / factor, digits)}${scaled.unit ? `${scaled.unit === '%' ? THIN : ' '}${short(scaled.unit, 20)}` : ''}`;
  scaled.tick = (value) => number(value / factor, 5);
  return scaled;
}

/** The text, cut to `most` characters; tables have the whole text. */
function short(text, most) {
  const characters = text.length > 4 * most ? [...text.slice(0, 4 * most)] : [...text];
  return characters.length > most || text.length > 4 * most ? `${characters.slice(0, most - 1).join('')}…` : text;
}

/** The smallest of 1, 2 and 5 times a power of ten that is not below `step`. */
function niceStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 2, 5, 10].find((f) => f * power >= step * 0.999999) ?? 10;
  return factor * power;
}

/** Round numbers from `low` to `high`, about `count` of them. */
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const step = niceStep((high - low) / Math.max(1, count));
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && found.length < 100; i += 1) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

/** Powers of ten in a range, and round numbers between them where there is room. */
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const factors = decades > 4 ? [1] : decades > 2.2 ? [1, 3] : decades > 0.7 ? [1, 2, 5] : null;
  if (!factors) return ticks(low, high, 5).filter((tick) => tick > 0);
  const found = [];
  const every = Math.max(1, Math.ceil(decades / 10));
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += every) {
    for (const factor of factors) {
      const tick = Number((factor * 10 ** e).toPrecision(12));
      if (tick >= low * 0.999999 && tick <= high * 1.000001) found.push(tick);
    }
  }
  return found;
}

/** An element with attributes and children; text is never parsed as HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const rulers = new Map();

/** The width of a text in pixels. */
function textWidth(text, size = 12) {
  if (!rulers.has(size)) {
    const context = document.createElement('canvas').getContext('2d');
    context.font = `${size}px ${FONT}`;
    rulers.set(size, context);
  }
  return rulers.get(size).measureText(text).width;
}

// In single quotes, because the list is put into attributes.
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
