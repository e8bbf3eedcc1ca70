// The lab's page: its state is the text behind the `#`; each change runs the simulator again.

const $ = (id) => document.getElementById(id);
/** The name of this page, so that a newer request stops the older one. */
const pageName = crypto.randomUUID();
/** After this many milliseconds without a further change the simulator runs. */
const PAUSE = 60;
const TYPE = 'application/x-whimbrel-lab';

const RATES = { 'bit/s': 1e-6, 'kbit/s': 1e-3, 'Mbit/s': 1, 'Gbit/s': 1e3 };
const TIMES = { us: 1e-3, 'µs': 1e-3, ms: 1, s: 1e3, min: 6e4 };
/** Sliders: the values of their ends in `unit`; `units`: what else a text may have. `log` sliders may begin with `zero`. */
const SLIDERS = {
  rate: { label: 'Rate', low: 0.1, high: 1000, unit: 'Mbit/s', units: RATES, log: true, hint: 'of the bottleneck' },
  rtt: { label: 'RTT', low: 1, high: 2000, unit: 'ms', units: TIMES, log: true, hint: 'without queueing' },
  loss: { label: 'Random loss', low: 0.001, high: 20, unit: '%', units: { '%': 1 }, log: true, zero: true, hint: 'of data packets' },
  queue: { label: 'Buffer', low: 0.02, high: 20, unit: 'bdp', units: { bdp: 1 }, log: true, hint: 'bdp: rate × RTT; or packets, kB' },
  fades: { label: 'Fades', low: 0, high: 30, unit: '', units: { '': 1 }, hint: 'at random times; nothing arrives' },
  fade: { label: 'Length of a fade', low: 50, high: 5000, unit: 'ms', units: TIMES, log: true, hint: 'both directions' },
  flows: { label: 'Flows of the algorithm', low: 1, high: 20, unit: '', units: { '': 1 }, hint: '' },
  duration: { label: 'Duration', low: 2, high: 120, unit: 's', units: { ms: 1e-3, s: 1, min: 60 }, log: true, hint: 'simulated time' },
  seed: { label: 'Seed', low: 1, high: 50, unit: '', units: { '': 1 }, hint: 'another one draws other losses' },
};
const TEXTS = {
  silence: { label: 'Way back silent', hint: 'acknowledgments are lost, e.g. 10 s .. 12 s', placeholder: 'never' },
  back: { label: 'Rate of the way back', hint: 'e.g. 500 kbit/s; empty: the same', placeholder: 'the same' },
};
const POSITIONS = 400;

let about;
let state = {};
let request;
let timer;
let scene;
const fields = new Map();
const drawings = {};

const milliseconds = (text) => numberOf(text, TIMES);

/** The number of a text in the unit whose factor is 1, or undefined. */
function numberOf(text, units) {
  const [, value, unit] = /^\s*([\d.]+)\s*(\S*)\s*$/.exec(text) ?? [];
  return unit in units && known(Number(value)) ? Number(value) * units[unit] : undefined;
}

/** What a state's text says, with defaults for what it leaves out. */
const parsed = (text) => ({ ...about.defaults, ...Object.fromEntries(new URLSearchParams(text)) });

/** The text of a link for the state: what has its default is left out. */
function printed() {
  const changed = Object.entries(state).filter(([key, value]) => value !== about.defaults[key]);
  return new URLSearchParams(changed).toString();
}

// Fields.

/** A field with its label, and the place of its error. */
function fieldOf(place, key, { label, hint }, ...inputs) {
  const error = element('p', { class: 'error', id: `${key}-error`, role: 'alert' });
  error.hidden = true;
  place.classList.add('field');
  place.dataset.field = key;
  const text = element('label', { for: key }, label);
  if (hint) text.append(' ', element('span', { class: 'hint' }, hint));
  place.append(element('div', { class: 'row' }, text, inputs[0]), ...inputs.slice(1), error);
}

function buildSlider(place) {
  const key = place.dataset.slider;
  const about_it = SLIDERS[key];
  const { low, high, unit, units, log, zero, label } = about_it;
  const box = element('input', { type: 'text', id: key, class: 'value', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': `${key}-error` });
  const whole = !log;
  const slider = element('input', { type: 'range', id: `${key}-slider`, min: whole ? low : 0, max: whole ? high : POSITIONS, step: 1, 'aria-label': `${label}, slider` });
  const valueAt = (position) => {
    if (whole) return position;
    if (zero && position === 0) return 0;
    return Number((low * (high / low) ** (position / POSITIONS)).toPrecision(2));
  };
  const positionOf = (value) => {
    if (whole) return value;
    return value < low ? 0 : Math.round((POSITIONS * Math.log(value / low)) / Math.log(high / low));
  };
  const textOf = (value) => (unit ? `${value} ${unit}` : String(value));
  slider.addEventListener('input', () => change(key, textOf(valueAt(Number(slider.value)))));
  box.addEventListener('change', () => change(key, box.value.trim()));
  fieldOf(place, key, about_it, box, slider);
  fields.set(key, (text) => {
    if (box.value !== text) box.value = text;
    const value = numberOf(text, units);
    if (value !== undefined && text !== textOf(valueAt(Number(slider.value)))) slider.value = positionOf(value);
    slider.setAttribute('aria-valuetext', text);
  });
}

function buildText(place) {
  const key = place.dataset.text;
  const box = element('input', { type: 'text', id: key, class: 'value wide', autocomplete: 'off', spellcheck: 'false', placeholder: TEXTS[key].placeholder, 'aria-describedby': `${key}-error` });
  box.addEventListener('change', () => change(key, box.value.trim()));
  fieldOf(place, key, TEXTS[key], box);
  fields.set(key, (text) => { box.value = text; });
}

const errorOf = (field) => {
  const place = document.querySelector(`[data-field="${CSS.escape(field)}"]`);
  if (!place || !field) return $('general-error');
  let error = place.querySelector('.error');
  if (!error) {
    error = element('p', { class: 'error', id: `${field}-error`, role: 'alert' });
    place.append(error);
  }
  return error;
};

function clearErrors() {
  for (const error of document.querySelectorAll('.error')) error.hidden = true;
  for (const input of document.querySelectorAll('[aria-invalid]')) input.removeAttribute('aria-invalid');
}

function showError({ field, why }) {
  const error = errorOf(field);
  error.textContent = error === $('general-error') && field ? `${field}: ${why}` : why;
  error.hidden = false;
  const place = error.closest('.field');
  place?.querySelector('input:not([type=range]), select')?.setAttribute('aria-invalid', 'true');
  const folded = error.closest('details');
  if (folded) folded.open = true;
}

// Modes: constant, drawn or recorded.

const modeOf = (of) => document.querySelector(`input[name="${of}-mode"]:checked`).value;

function showModes() {
  for (const part of document.querySelectorAll('[data-mode]')) {
    const [of, mode] = part.dataset.mode.split(':');
    part.hidden = modeOf(of) !== mode;
  }
}

const KEYS_OF = { rate: { drawn: 'rates', recorded: 'trace' }, rtt: { drawn: 'rtts' } };

/** The mode that a state is in. */
function setMode(of) {
  const modes = Object.entries(KEYS_OF[of]).reverse();
  const mode = modes.find(([, key]) => state[key])?.[0] ?? 'constant';
  document.querySelector(`input[name="${of}-mode"][value="${mode}"]`).checked = true;
}

function onMode({ target }) {
  const of = target.name.replace('-mode', '');
  if (target.name === `${of}-mode`) {
    for (const key of Object.values(KEYS_OF[of])) state[key] = '';
    const drawing = drawings[`${of}s`];
    if (target.value === 'drawn') {
      // Begins where the slider is.
      const value = of === 'rate' ? numberOf(state.rate, RATES) : milliseconds(state.rtt);
      if (!drawing.drawn && value !== undefined) drawing.read(`0:${value}`, seconds());
      state[`${of}s`] = drawing.text;
    }
    if (target.value === 'recorded') state.trace = $('trace-name').dataset.name ?? '';
    showModes();
    changed();
  }
}

const seconds = () => (milliseconds(state.duration) ?? 30_000) / 1000;

async function upload() {
  const [file] = $('trace-file').files;
  if (!file) return;
  const answer = await post(`trace?name=${encodeURIComponent(file.name)}`, file);
  if (!answer) return;
  const { name, mean_bps: mean, period_s: period } = await answer.json();
  const place = $('trace-name');
  place.dataset.name = name;
  place.textContent = `${name}: ${number(mean / 1e6, 3)} Mbit/s on average, ${number(period, 3)} s long; it repeats.`;
  change('trace', name);
}

// Algorithms.

const chosen = () => state.algorithms.split(',').filter(Boolean);

function choose(name, on) {
  const others = chosen().filter((other) => other !== name);
  if (on && others.length >= about.most_algorithms) {
    showError({ field: 'algorithms', why: `at most ${about.most_algorithms} algorithms are possible` });
    return;
  }
  change('algorithms', [...others, ...(on ? [name] : [])].join(','));
}

const swatches = new Map();

function showAlgorithms() {
  const all = chosen();
  $('chosen').replaceChildren(...all.map((name) => {
    const remove = element('button', { type: 'button', 'aria-label': `Remove ${name}` }, '×');
    remove.addEventListener('click', () => {
      choose(name, false);
      $('find').focus();
    });
    const summary = about.algorithms.find((one) => one.name === name)?.summary ?? '';
    const sample = element('span', { class: 'sample' });
    sample.innerHTML = swatches.get(name) ?? '';
    return element('li', { title: summary }, sample, element('span', {}, name), remove);
  }));
  for (const box of $('catalog').querySelectorAll('input')) box.checked = all.includes(box.value);
}

function buildCatalog() {
  $('catalog').replaceChildren(...about.algorithms.map(({ name, summary }) => {
    const box = element('input', { type: 'checkbox', value: name, id: `algorithm-${name}`, 'aria-describedby': `about-${name}` });
    return element('div', { class: 'entry' }, box, element('label', { for: box.id }, name), element('span', { class: 'hint', id: `about-${name}` }, summary));
  }));
  $('catalog').addEventListener('change', ({ target }) => choose(target.value, target.checked));
  const find = $('find');
  find.addEventListener('input', () => {
    const words = find.value.toLowerCase().split(/\s+/);
    for (const entry of $('catalog').children) entry.hidden = !words.every((word) => entry.textContent.toLowerCase().includes(word));
  });
  find.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    const visible = [...$('catalog').children].filter((entry) => !entry.hidden);
    const name = visible.length === 1 ? visible[0].querySelector('input').value : find.value.trim();
    if (!name) return;
    find.value = '';
    find.dispatchEvent(new Event('input'));
    choose(name, true);
  });
  $('neighbour').append(...about.algorithms.map(({ name }) => element('option', {}, name)));
  const neighbours = () => change('neighbours', $('neighbour').value && ($('neighbour').value.includes(',') ? $('neighbour').value : `${$('neighbour').value}:${$('neighbour-count').value}`));
  $('neighbour').addEventListener('change', neighbours);
  $('neighbour-count').addEventListener('change', neighbours);
}

function showNeighbours() {
  const { neighbours } = state;
  const [name, count] = neighbours.includes(',') ? [neighbours, '1'] : neighbours.split(':');
  if (![...$('neighbour').options].some(({ value }) => value === name)) $('neighbour').append(element('option', {}, name));
  $('neighbour').value = name;
  $('neighbour-count').value = count ?? '1';
  $('neighbour-count').disabled = !name;
}

// The state.

/** Shows the whole state in the fields. */
function showState() {
  for (const [key, show] of fields) show(state[key]);
  setMode('rate');
  setMode('rtt');
  showModes();
  for (const [key, drawing] of Object.entries(drawings)) {
    if (state[key]) drawing.read(state[key], seconds());
    drawing.drawn = Boolean(state[key]);
  }
  if (state.trace && $('trace-name').dataset.name !== state.trace) {
    $('trace-name').dataset.name = state.trace;
    $('trace-name').textContent = state.trace;
  }
  $('transport').value = state.transport;
  $('fading').open ||= state.fades !== '0' || Boolean(state.silence || state.back);
  showAlgorithms();
  showNeighbours();
}

function change(key, value) {
  if (state[key] === value) return;
  state[key] = value;
  fields.get(key)?.(value);
  if (key === 'algorithms') showAlgorithms();
  if (key === 'neighbours') showNeighbours();
  if (key === 'duration') {
    for (const [of, drawing] of Object.entries(drawings)) {
      drawing.seconds = seconds();
      drawing.show();
      if (state[of]) state[of] = drawing.text;
    }
  }
  changed();
}

/** Writes the link, and runs soon. */
function changed() {
  const text = printed();
  history.replaceState(null, '', text ? `#${text}` : location.pathname);
  clearTimeout(timer);
  $('results').setAttribute('aria-busy', 'true');
  timer = setTimeout(run, PAUSE);
}

/** Takes the state of the link. */
function load(text) {
  state = parsed(text);
  showState();
  changed();
}

// Requests.

async function post(what, body, signal) {
  clearErrors();
  let answer;
  try {
    answer = await fetch(what, { method: 'POST', headers: { 'content-type': TYPE }, body, signal });
  } catch (error) {
    if (error.name !== 'AbortError') showError({ field: '', why: 'The lab does not answer: `whimbrel lab` has ended. Start it again and open the address that it prints.' });
    return null;
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  try {
    showError(JSON.parse(text));
  } catch {
    showError({ field: '', why: text.trim() });
  }
  return null;
}

async function run() {
  request?.abort();
  const own = new AbortController();
  request = own;
  const answer = await post(`run?page=${pageName}`, printed(), own.signal);
  if (request !== own) return;
  if (!answer) {
    $('results').setAttribute('aria-busy', 'false');
    return;
  }
  const view = new View();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      for (const line of lines) if (request === own) view.on(JSON.parse(line));
    }
  } catch (error) {
    if (error.name === 'AbortError') return;
    throw error;
  }
  if (request === own) $('results').setAttribute('aria-busy', 'false');
}

// Results.

const rateText = (bps) => {
  const [size, unit] = bps >= 1e9 ? [1e9, 'Gbit/s'] : bps >= 1e6 ? [1e6, 'Mbit/s'] : [1e3, 'kbit/s'];
  const value = bps / size;
  return `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${unit}`;
};
const msText = (s) => `${(s * 1e3).toFixed(s < 0.01 ? 1 : 0)} ms`;
const percent = (part, decimals = 0) => `${(part * 100).toFixed(decimals)} %`;

/** Columns of the table: name, text of a run's numbers, and whether any run needs it. */
const COLUMNS = [
  ['goodput', (n) => rateText(n.goodput_bps), () => true],
  ['of the link', (n) => (n.utilization === null ? '–' : percent(n.utilization)), (n) => n.utilization !== null],
  ['neighbours', (n) => rateText(n.neighbours_bps), (n) => n.neighbours_bps !== null],
  ['fairness', (n) => n.jain.toFixed(2), (n) => n.jain !== null],
  ['queue delay', (n) => msText(n.queue_delay_s), () => true],
  ['RTT, 95 %', (n) => (n.rtt_p95_s === null ? '–' : msText(n.rtt_p95_s)), () => true],
  ['lost', (n) => percent(n.loss, 2), () => true],
  ['timeouts', (n) => String(n.timeouts), (n) => n.timeouts > 0],
  ['right on losses', (n) => (n.accuracy === null ? '–' : percent(n.accuracy)), (n) => n.accuracy !== null],
  ['path changes', (n) => (n.path_changes === null ? '–' : String(n.path_changes)), (n) => n.path_changes !== null],
];

/** The results of one request, as they arrive. Those of the last one stay until they are replaced. */
class View {
  on(event) {
    this[{ begin: 'begin', row: 'row', pictures: 'pictures', end: 'end', stopped: 'stopped' }[event.kind]](event);
  }

  begin({ title, algorithms, swatches: samples, capacity }) {
    this.algorithms = algorithms;
    this.capacity = capacity;
    this.rows = new Map();
    this.shown = new Set();
    algorithms.forEach((name, i) => swatches.set(name, samples[i]));
    $('title').textContent = title;
    showAlgorithms();
    this.progress();
  }

  progress() {
    $('progress').textContent = this.rows.size < this.algorithms.length ? `${this.rows.size} of ${this.algorithms.length} runs are done.` : '';
  }

  row({ index, numbers }) {
    this.rows.set(index, numbers);
    this.table();
    this.progress();
  }

  /** The table: the fastest first. */
  table() {
    const all = [...this.rows].sort(([, a], [, b]) => b.goodput_bps - a.goodput_bps);
    const columns = COLUMNS.filter(([, , needed]) => all.some(([, numbers]) => needed(numbers)));
    const head = columns.map(([name]) => element('th', { scope: 'col', class: 'number' }, name));
    const most = Math.max(this.capacity ?? 0, ...all.map(([, { goodput_bps: own }]) => own), 1);
    $('table').tHead.replaceChildren(element('tr', {}, element('th', { scope: 'col' }, 'algorithm'), element('th', { scope: 'col' }, element('span', { class: 'hidden' }, 'share of the link as a bar')), ...head));
    $('table').tBodies[0].replaceChildren(...all.map(([index, numbers]) => {
      const name = this.algorithms[index];
      const sample = element('span', { class: 'sample' });
      sample.innerHTML = swatches.get(name) ?? '';
      // Its colours are those of a picture, on the dark page too.
      const track = shape('svg', { class: 'swatch track', viewBox: '0 0 100 10', preserveAspectRatio: 'none' });
      const own = (100 * numbers.goodput_bps) / most;
      const colour = sample.querySelector('[stroke]')?.getAttribute('stroke') ?? 'currentColor';
      track.append(shape('rect', { width: own, height: 10, fill: colour }));
      if (numbers.neighbours_bps) track.append(shape('rect', { class: 'others', x: own, width: (100 * numbers.neighbours_bps) / most, height: 10 }));
      const bar = element('td', { class: 'bar', 'aria-hidden': 'true' });
      bar.append(track);
      const cells = columns.map(([, text]) => element('td', { class: 'number' }, text(numbers)));
      const row = element('tr', {}, element('th', { scope: 'row', class: 'short' }, sample, name), bar, ...cells);
      row.dataset.p = name;
      return row;
    }));
  }

  pictures({ figures: pictures, dark }) {
    this.dark(dark);
    for (const { figure, svg, words } of pictures) {
      this.shown.add(figure.id);
      const chart = element('div', { class: 'chart', role: 'img', tabindex: '0', 'aria-keyshortcuts': 'ArrowLeft ArrowRight ArrowUp ArrowDown Home End + - 0', 'aria-label': `${figure.title}. ${figure.caption} ${words}. Arrow keys read the values.` });
      // Drawn by the server, which escapes every name.
      chart.innerHTML = svg;
      const data = element('script', { type: 'application/json' }, JSON.stringify(figure));
      const made = element('figure', { class: 'figure', id: figure.id }, element('h2', {}, figure.title), chart, element('figcaption', {}, figure.caption), data);
      const old = $(figure.id);
      const focused = old?.querySelector('.chart') === document.activeElement;
      const open = old?.querySelector('details.numbers')?.open;
      if (old) old.replaceWith(made);
      else $('figures').append(made);
      figures.set(figure.id, new Figure(made));
      if (open) made.querySelector('details.numbers').open = true;
      if (focused) chart.focus({ preventScroll: true });
    }
    setHidden([...hidden], true);
  }

  /** Colours of the dark page; those of earlier pictures stay. */
  dark([bySystem, byReader]) {
    const rules = new Set(View.rules);
    for (const rule of bySystem.split('\n').filter(Boolean)) rules.add(`@media screen and (prefers-color-scheme: dark) {${rule}}`);
    for (const rule of byReader.split('\n').filter(Boolean)) rules.add(`@media screen {${rule}}`);
    View.rules = rules;
    $('dark').textContent = [...rules].join('\n');
  }

  /** Removes the figures of earlier requests, and puts the others in order. */
  clear() {
    for (const figure of [...$('figures').children]) {
      if (this.shown.has(figure.id)) continue;
      figures.delete(figure.id);
      figure.remove();
    }
    const place = (id) => (id.startsWith('time-') ? Number(id.slice(5)) : 1000);
    const ordered = [...this.shown].sort((a, b) => place(a) - place(b));
    if (ordered.some((id, i) => $('figures').children[i]?.id !== id)) $('figures').append(...ordered.map($));
  }

  end({ summary, took_ms: took }) {
    this.clear();
    $('summary').textContent = summary;
    $('strip').textContent = summary;
    $('progress').textContent = `${this.algorithms.length} runs in ${took} ms.`;
  }

  stopped({ why }) {
    this.clear();
    showError({ field: '', why });
    $('summary').textContent = why;
  }
}

function setHidden(names, hide) {
  for (const name of names) hidden[hide ? 'add' : 'delete'](name);
  for (const part of document.querySelectorAll('.chart [data-p]')) part.classList.toggle('off', hidden.has(part.dataset.p));
}

/** The algorithm under the pointer, in the table or a legend, stands out in all figures. */
document.addEventListener('pointerover', ({ target }) => {
  const name = target.closest?.('tr[data-p], .key[data-p]')?.dataset.p;
  if (name === document.lit) return;
  document.lit = name;
  for (const part of document.querySelectorAll('.chart .lit, .chart svg.lit')) part.classList.remove('lit');
  if (name === undefined) return;
  for (const part of document.querySelectorAll(`.chart [data-p="${CSS.escape(name)}"]`)) {
    part.classList.add('lit');
    part.closest('svg').classList.add('lit');
  }
});

// The tour.

function show(index, focus = true) {
  scene = index;
  const { title, text, state: of, try_this: next } = about.scenes[index];
  $('scene-title').textContent = `${index + 1}. ${title}`;
  $('scene-text').textContent = text;
  $('scene-try').textContent = next;
  $('scene').hidden = false;
  $('previous').disabled = index === 0;
  $('next').textContent = index + 1 < about.scenes.length ? 'Next scene' : 'End of the tour';
  [...$('scenes').querySelectorAll('button')].forEach((button, i) => {
    if (i === index) button.setAttribute('aria-current', 'step');
    else button.removeAttribute('aria-current');
  });
  if (focus) $('scene-title').focus({ preventScroll: true });
  load(of);
}

function leave() {
  $('scene').hidden = true;
  for (const button of $('scenes').querySelectorAll('button')) button.removeAttribute('aria-current');
  scene = undefined;
}

function buildTour() {
  $('scenes').replaceChildren(...about.scenes.map(({ title }, i) => {
    const button = element('button', { type: 'button' }, element('span', { class: 'count', 'aria-hidden': 'true' }, String(i + 1)), element('span', {}, title));
    button.addEventListener('click', () => show(i));
    return element('li', {}, button);
  }));
  $('previous').addEventListener('click', () => show(scene - 1));
  $('next').addEventListener('click', () => (scene + 1 < about.scenes.length ? show(scene + 1) : leave()));
  $('leave').addEventListener('click', leave);
}

// Links and files.

const say = (text) => {
  $('announce').textContent = text;
  $('progress').textContent = text;
};

async function copy() {
  try {
    await navigator.clipboard.writeText(location.href);
    say('The link is copied. It works while this lab runs; `whimbrel lab LINK` opens it in another.');
  } catch {
    say(`The link: ${location.href}`);
  }
}

async function save() {
  const answer = await post('scenario', printed());
  if (!answer) return;
  download('lab.toml', 'application/toml', await answer.text());
  say(`The scenario is saved: run it with whimbrel sim lab.toml.${state.trace ? ` Keep ${state.trace} beside it.` : ''}`);
}

async function openFile() {
  const [file] = $('open-file').files;
  $('open-file').value = '';
  const answer = file && (await post('open', file));
  if (answer) load((await answer.json()).state);
}

const THEMES = { undefined: 'dark', dark: 'light', light: undefined };
$('theme').addEventListener('click', () => {
  const { dataset } = document.documentElement;
  const next = THEMES[dataset.theme];
  if (next) dataset.theme = next;
  else delete dataset.theme;
  $('theme').textContent = `Theme: ${next ?? 'system'}`;
});
// The hash belongs to the state.
$('skip').addEventListener('click', (event) => {
  event.preventDefault();
  $('results').focus();
});

async function begin() {
  about = await (await fetch('about')).json();
  document.querySelectorAll('[data-slider]').forEach(buildSlider);
  document.querySelectorAll('[data-text]').forEach(buildText);
  const drawing = (key, label, unit, low, high, initial) => {
    drawings[key] = new Drawing($(`draw-${key}`), { label, unit, low, high, initial, count: 30 }, () => {
      drawings[key].drawn = true;
      change(key, drawings[key].text);
    });
  };
  drawing('rates', 'Rate', 'Mbit/s', 0.1, 100, 20);
  drawing('rtts', 'RTT', 'ms', 5, 1000, 100);
  buildCatalog();
  buildTour();
  $('controls').addEventListener('submit', (event) => event.preventDefault());
  $('controls').addEventListener('change', ({ target }) => { if (target.type === 'radio') onMode({ target }); });
  $('trace-file').addEventListener('change', upload);
  $('transport').addEventListener('change', () => change('transport', $('transport').value));
  $('copy').addEventListener('click', copy);
  $('save').addEventListener('click', save);
  $('open').addEventListener('click', () => $('open-file').click());
  $('open-file').addEventListener('change', openFile);
  $('reset').addEventListener('click', () => { leave(); load(''); });
  window.addEventListener('hashchange', () => load(location.hash.slice(1)));
  window.addEventListener('scroll', () => { tipBox.hidden = true; }, { passive: true });
  // The strip repeats the summary while that is out of sight.
  new IntersectionObserver(([{ isIntersecting }]) => $('strip').classList.toggle('away', isIntersecting)).observe($('summary'));
  load(location.hash.slice(1));
}

/** For tests. */
window.whimbrel = Object.freeze({
  state: () => ({ ...state }),
  busy: () => $('results').getAttribute('aria-busy') === 'true',
  figures: () => [...$('figures').children].map(({ id }) => id),
});

begin();
