// The page: when figures are drawn, links into folded parts, the theme, printing.

for (const figure of document.querySelectorAll('figure.figure')) charts.set(figure.id, new Chart(figure));

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const chart = charts.get(target.id);
    chart.near = isIntersecting;
    if (isIntersecting && (!chart.drawn || chart.drawnFor === 'stale')) chart.draw();
  }
}, { rootMargin: '900px 0px' });
for (const { element: figure } of charts.values()) observer.observe(figure);

new ResizeObserver(() => {
  if (!printing) redraw();
}).observe(document.getElementById('main'));

/** Opens the folded parts around the target of a link. */
function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
  if (target instanceof HTMLDetailsElement) target.querySelector('summary').focus({ preventScroll: true });
  settle(target);
}

/**
 * Scrolls to an element and keeps it in place while figures above it are drawn and get their height,
 * until the reader scrolls.
 */
function settle(target) {
  let [frames, still, top] = [0, 0, NaN];
  const moved = new AbortController();
  for (const kind of ['wheel', 'pointerdown', 'keydown', 'touchstart']) {
    window.addEventListener(kind, () => moved.abort(), { signal: moved.signal, passive: true });
  }
  const look = () => {
    const now = target.getBoundingClientRect().top;
    still = now === top ? still + 1 : 0;
    frames += 1;
    if (moved.signal.aborted || still > 5 || frames > 120) {
      moved.abort();
      return;
    }
    target.scrollIntoView();
    top = target.getBoundingClientRect().top;
    requestAnimationFrame(look);
  };
  look();
}
window.addEventListener('hashchange', unfold);
if (location.hash) unfold();

const themeButton = document.getElementById('theme');
const THEME_WORDS = { undefined: 'system', light: 'light', dark: 'dark' };
themeButton.hidden = false;
function showTheme() {
  themeButton.textContent = `Theme: ${THEME_WORDS[document.documentElement.dataset.theme]}`;
  if (!filterBox.hidden) buildFilter();
  redraw();
}
themeButton.addEventListener('click', () => {
  const { dataset } = document.documentElement;
  const next = { undefined: 'dark', dark: 'light', light: undefined }[dataset.theme];
  if (next) dataset.theme = next;
  else delete dataset.theme;
  showTheme();
});
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showTheme);

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

/** On paper, all figures are drawn, on white and as wide as the paper. */
function paper(on) {
  if (printing === on) return;
  printing = on;
  if (on) drawAll();
  redraw();
}
window.addEventListener('beforeprint', () => paper(true));
window.addEventListener('afterprint', () => paper(false));
window.matchMedia('print').addEventListener('change', ({ matches }) => paper(matches));

window.addEventListener('scroll', hideTip, { passive: true });
buildFilter();

/** For tests, and for scripts that take pictures out of a page. */
window.whimbrel = Object.freeze({
  /** Draws every figure now. */
  drawAll,
  /** The ids of all figures, in order. */
  figures: () => [...charts.keys()],
  /** A figure as SVG text, on white. */
  svg: (id) => charts.get(id)?.svg() ?? null,
  /** A figure's data as CSV text. */
  csv: (id) => (charts.has(id) ? csvOf(dataOf(charts.get(id).figure.plot)) : null),
});
