// Which protocols are shown, in every figure of the page.

const filterBox = document.getElementById('filter');

function buildFilter() {
  if (protocols.length < 2) return;
  const theme = themeName();
  const boxes = protocols.map(({ name }) => {
    const box = element('input', { type: 'checkbox', value: name });
    box.checked = !hidden.has(name);
    box.addEventListener('change', () => setHidden(name, !box.checked));
    return element('label', {}, box, swatch(look(name, 0, theme), 'protocol', theme), element('span', {}, short(name, 40)));
  });
  const button = (text, all) => {
    const made = element('button', { type: 'button' }, text);
    made.addEventListener('click', () => setAllHidden(all));
    return made;
  };
  filterBox.replaceChildren(element(
    'fieldset', {}, element('legend', {}, 'Show'), button('all', false), button('none', true), ...boxes,
  ));
  filterBox.hidden = false;
}

function setHidden(name, hide) {
  if (hide) hidden.add(name);
  else hidden.delete(name);
  filtered();
}

function setAllHidden(hide) {
  for (const { name } of protocols) {
    if (hide) hidden.add(name);
    else hidden.delete(name);
  }
  filtered();
}

function filtered() {
  for (const box of filterBox.querySelectorAll('input')) box.checked = !hidden.has(box.value);
  hideTip();
  // Those in view first; the others when they come into view.
  for (const chart of charts.values()) {
    if (!chart.drawn) continue;
    chart.clear();
    if (chart.near) chart.draw();
    else chart.drawnFor = 'stale';
  }
}
