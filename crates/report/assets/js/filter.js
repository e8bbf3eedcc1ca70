// The filter: which protocols the figures of the page show.

const filterBox = document.getElementById('filter');

function buildFilter() {
  if (protocols.length < 2) return;
  const opened = new Set([...filterBox.querySelectorAll('details[open]')].map(({ dataset }) => dataset.algorithm));
  const theme = themeName();
  const button = (text, all) => {
    const made = element('button', { type: 'button' }, text);
    made.addEventListener('click', () => setHidden(protocols.map(({ name }) => name), all));
    return made;
  };
  filterBox.replaceChildren(element(
    'fieldset', {}, element('legend', {}, 'Show'), button('all', false), button('none', true),
    ...groupBy(protocols, ({ algorithm }) => algorithm).flatMap(([algorithm, members]) => {
      if (members.length === 1) return [boxOf(members[0].name, members, theme)];
      // An algorithm with several sets of parameters has one box for all and one for each of them.
      const variants = element(
        'details', { 'data-algorithm': algorithm }, element('summary', { 'aria-label': `${members.length} variants of ${short(algorithm, 40)}` }, String(members.length)),
        ...members.map((member) => boxOf(member.name, [member], theme)),
      );
      variants.open = opened.has(algorithm);
      return [boxOf(`all of ${algorithm}`, members, theme), variants];
    }),
  ));
  filterBox.hidden = false;
  showHidden();
}

/** A checkbox that shows and hides these protocols. */
function boxOf(value, members, theme) {
  const names = members.map(({ name }) => name);
  const box = element('input', { type: 'checkbox', value });
  box.whimbrelNames = names;
  box.addEventListener('change', () => setHidden(names, !box.checked));
  const text = members.length === 1 ? names[0] : members[0].algorithm;
  return element('label', {}, box, swatch(look(names[0], 0, theme), 'protocol', theme), element('span', {}, short(text, 40)));
}

function setHidden(names, hide) {
  for (const name of names) {
    if (hide) hidden.add(name);
    else hidden.delete(name);
  }
  showHidden();
  hideTip();
  // Figures in view are drawn at once; the others when they come into view.
  for (const chart of charts.values()) {
    if (!chart.drawn) continue;
    chart.clear();
    if (chart.near) chart.draw();
    else chart.drawnFor = 'stale';
  }
}

/** Updates the checkboxes. */
function showHidden() {
  for (const box of filterBox.querySelectorAll('input')) {
    const shown = box.whimbrelNames.filter((name) => !hidden.has(name)).length;
    box.checked = shown > 0;
    box.indeterminate = shown > 0 && shown < box.whimbrelNames.length;
  }
}
