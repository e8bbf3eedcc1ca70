// A value over time that is drawn with the pointer or with keys: a row of columns, each a slider.

/** A number with three digits. */
const digits = (value) => String(Number(value.toPrecision(3)));

class Drawing {
  /** `about`: label, unit, lowest and highest value, number of columns; `changed` is called after each change. */
  constructor(place, about, changed) {
    Object.assign(this, about);
    this.changed = changed;
    this.values = Array(this.count).fill(this.initial);
    this.seconds = 30;
    this.id = place.id;
    this.box = element('div', { class: 'drawing', role: 'group', 'aria-labelledby': `${this.id}-label`, 'aria-describedby': `${this.id}-hint` });
    this.columns = this.values.map((_, i) => {
      const column = element('div', { class: 'column', role: 'slider', 'aria-orientation': 'vertical', 'aria-valuemin': this.low, 'aria-valuemax': this.high, tabindex: i ? '-1' : '0' }, element('i'));
      column.addEventListener('keydown', (event) => this.onKey(event, i));
      column.addEventListener('focus', () => { this.columns.forEach((other) => { other.tabIndex = other === column ? 0 : -1; }); });
      return column;
    });
    this.box.append(...this.columns);
    this.top = element('span', { class: 'top-value' });
    place.append(
      element('span', { class: 'label', id: `${this.id}-label` }, `${this.label} over time`),
      element('div', { class: 'drawing-frame' }, this.top, this.box, element('div', { class: 'axis', 'aria-hidden': 'true' }, element('span', {}, '0 s'), (this.end = element('span')))),
      element('p', { class: 'hint', id: `${this.id}-hint` }, 'Draw with the pointer. Keys: left and right choose a place, up and down change it, Shift also what follows.'),
    );
    this.box.addEventListener('pointerdown', (event) => this.onDown(event));
    this.box.addEventListener('pointermove', (event) => { if (this.last !== undefined) this.onDraw(event); });
    for (const kind of ['pointerup', 'pointercancel']) this.box.addEventListener(kind, () => { this.last = undefined; });
    this.show();
  }

  /** Where a value is between the bottom (0) and the top (1); the scale is logarithmic. */
  part(value) {
    return Math.log(Math.max(value, this.low) / this.low) / Math.log(this.high / this.low);
  }

  valueAt(part) {
    return Number(digits(this.low * (this.high / this.low) ** Math.min(1, Math.max(0, part))));
  }

  show(only) {
    this.top.textContent = `${digits(this.high)} ${this.unit}`;
    this.end.textContent = `${digits(this.seconds)} s`;
    this.columns.forEach((column, i) => {
      if (only !== undefined && only !== i) return;
      const value = this.values[i];
      const from = digits((i * this.seconds) / this.count);
      column.firstChild.style.height = `${Math.max(1, 100 * this.part(value))}%`;
      column.setAttribute('aria-label', `${this.label} from ${from} s`);
      column.setAttribute('aria-valuenow', value);
      column.setAttribute('aria-valuetext', `${digits(value)} ${this.unit}`);
      column.title = `from ${from} s: ${digits(value)} ${this.unit}`;
    });
  }

  set(i, value, rest = false) {
    for (let j = i; j < (rest ? this.count : i + 1); j += 1) {
      this.values[j] = value;
      this.show(j);
    }
  }

  at(event) {
    const { left, top, width, height } = this.box.getBoundingClientRect();
    const i = Math.min(this.count - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * this.count)));
    return [i, this.valueAt(1 - (event.clientY - top) / height)];
  }

  onDown(event) {
    if (event.button > 0) return;
    this.box.setPointerCapture(event.pointerId);
    [this.last] = this.at(event);
    this.columns[this.last].focus({ preventScroll: true });
    this.onDraw(event);
    event.preventDefault();
  }

  /** Draws from the last place to this one, so that a fast pointer leaves no gaps. */
  onDraw(event) {
    const [i, value] = this.at(event);
    const [from, to] = [Math.min(i, this.last), Math.max(i, this.last)];
    for (let j = from; j <= to; j += 1) this.set(j, value);
    this.last = i;
    this.changed();
  }

  onKey(event, i) {
    const step = event.key.startsWith('Page') ? 0.2 : 0.04;
    const by = { ArrowUp: step, PageUp: step, ArrowDown: -step, PageDown: -step }[event.key];
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: this.count - 1 }[event.key];
    if (by !== undefined) {
      this.set(i, this.valueAt(this.part(this.values[i]) + by), event.shiftKey);
      this.changed();
    } else if (to !== undefined) {
      this.columns[Math.min(this.count - 1, Math.max(0, to))].focus();
    } else return;
    event.preventDefault();
  }

  /** As the state has it: equal neighbours are one step. */
  get text() {
    const steps = this.values.map((value, i) => [Number(((i * this.seconds) / this.count).toFixed(3)), value]);
    return steps.filter(([, value], i) => !i || value !== this.values[i - 1]).map(([from, value]) => `${from}:${digits(value)}`).join(' ');
  }

  /** Shows steps of a state: each column has the value at its middle. */
  read(text, seconds) {
    this.seconds = seconds;
    const steps = text.split(/\s+/).map((step) => step.split(':').map(Number)).filter(([from, value]) => known(from) && known(value));
    this.values = this.values.map((_, i) => {
      const middle = ((i + 0.5) * seconds) / this.count;
      return steps.findLast(([from]) => from <= middle)?.[1] ?? this.initial;
    });
    this.show();
  }
}
