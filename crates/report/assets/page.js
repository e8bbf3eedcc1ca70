// The page: the filter, links into folded parts, the theme.

for (const figure of document.querySelectorAll('figure.figure')) figures.set(figure.id, new Figure(figure));

const filterBox = document.getElementById('filter');
const boxes = [...document.querySelectorAll('#filter input')];
/** The names that a box switches: its own, or those of the variants after it. */
const namesOf = (box) => (box.dataset.p === undefined ? [...box.closest('label').nextElementSibling.querySelectorAll('input')] : [box]).map(({ dataset }) => dataset.p);

function setHidden(names, hide) {
  for (const name of names) hidden[hide ? 'add' : 'delete'](name);
  for (const part of document.querySelectorAll('.chart [data-p]')) part.classList.toggle('off', hidden.has(part.dataset.p));
  for (const box of boxes) {
    const all = namesOf(box);
    const shown = all.filter((name) => !hidden.has(name)).length;
    box.checked = shown > 0;
    box.indeterminate = shown > 0 && shown < all.length;
  }
  for (const figure of figures.values()) figure.clear();
}

if (filterBox) {
  filterBox.hidden = false;
  filterBox.addEventListener('change', ({ target }) => setHidden(namesOf(target), !target.checked));
  filterBox.addEventListener('click', ({ target }) => {
    if (target.type === 'button') setHidden(boxes.flatMap(namesOf), target.value === 'none');
  });
}

/** The protocol under the pointer, in a legend or in the filter, stands out in all figures near it. */
document.addEventListener('pointerover', ({ target }) => {
  const name = target.closest?.('.key[data-p]')?.dataset.p ?? target.closest?.('#filter label')?.querySelector('input').dataset.p;
  if (name === document.lit) return;
  document.lit = name;
  for (const svg of document.querySelectorAll('svg.lit')) svg.classList.remove('lit');
  for (const part of document.querySelectorAll('.chart .lit')) part.classList.remove('lit');
  if (name === undefined) return;
  for (const part of document.querySelectorAll(`.chart [data-p="${CSS.escape(name)}"]`)) {
    part.classList.add('lit');
    part.closest('svg').classList.add('lit');
  }
});

/** Opens the folded parts around the target of a link. */
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
  if (target instanceof HTMLDetailsElement) target.querySelector('summary').focus({ preventScroll: true });
  target.scrollIntoView();
}
window.addEventListener('hashchange', unfold);
if (location.hash) unfold();

const themeButton = document.getElementById('theme');
themeButton.hidden = false;
themeButton.addEventListener('click', () => {
  const { dataset } = document.documentElement;
  const next = { undefined: 'dark', dark: 'light', light: undefined }[dataset.theme];
  if (next) dataset.theme = next;
  else delete dataset.theme;
  themeButton.textContent = `Theme: ${next ?? 'system'}`;
});

const contents = document.getElementById('contents');
const contentsButton = document.getElementById('contents-button');
contentsButton.hidden = false;
const openContents = (open) => {
  contents.classList.toggle('open', open);
  contentsButton.setAttribute('aria-expanded', String(open));
};
contentsButton.addEventListener('click', () => openContents(!contents.classList.contains('open')));
contents.addEventListener('click', (event) => {
  if (event.target.closest('a')) openContents(false);
});

window.addEventListener('scroll', () => { tipBox.hidden = true; }, { passive: true });

/** For tests, and for scripts that read a page. */
window.whimbrel = Object.freeze({
  /** The ids of all figures, in order. */
  figures: () => [...figures.keys()],
  /** A figure as SVG text, on white. */
  svg: (id) => figures.get(id)?.saved() ?? null,
  /** A figure's data as CSV text. */
  csv: (id) => (figures.has(id) ? csvOf(dataOf(figures.get(id).plot)) : null),
  /** Where values of a panel's axes are in the window. */
  place(id, panel, values) {
    const figure = figures.get(id);
    const [x, y] = figure.place(figure.panels()[panel], values);
    const at = new DOMPoint(x, y).matrixTransform(figure.svg.getScreenCTM());
    return [at.x, at.y];
  },
});
