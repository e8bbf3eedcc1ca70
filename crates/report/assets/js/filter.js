// Which protocols are shown, in every figure of the page.

const filterBox = document.getElementById('filter');

function buildFilter() {
  if (protocols.length < 2) return;
  const opened = new Set([...filterBox.querySelectorAll('details[open]')].map(({ dataset }) => dataset.law));
  const theme = themeName();
  const button = (text, all) => {
    const made = element('button', { type: 'button' }, text);
    made.addEventListener('click', () => setHidden(protocols.map(({ name }) => name), all));
    return made;
  };
  filterBox.replaceChildren(element(
    'fieldset', {}, element('legend', {}, 'Show'), button('all', false), button('none', true),
    ...groupBy(protocols, ({ law }) => law).flatMap(([law, members]) => {
      if (members.length === 1) return [boxOf(members[0].name, members, theme)];
      // A law with many parameters is one box, and a box for each of them behind it.
      const variants = element(
        'details', { 'data-law': law }, element('summary', { 'aria-label': `${members.length} variants of ${short(law, 40)}` }, String(members.length)),
        ...members.map((member) => boxOf(member.name, [member], theme)),
      );
      variants.open = opened.has(law);
      return [boxOf(`all of ${law}`, members, theme), variants];
    }),
  ));
  filterBox.hidden = false;
  showHidden();
}

/** A box that shows and hides these protocols. */
function boxOf(value, members, theme) {
  const names = members.map(({ name }) => name);
  const box = element('input', { type: 'checkbox', value });
  box.whimbrelNames = names;
  box.addEventListener('change', () => setHidden(names, !box.checked));
  const text = members.length === 1 ? names[0] : members[0].law;
  return element('label', {}, box, swatch(look(names[0], 0, theme), 'protocol', theme), element('span', {}, short(text, 40)));
}

function setHidden(names, hide) {
  for (const name of names) {
    if (hide) hidden.add(name);
    else hidden.delete(name);
  }
  showHidden();
  hideTip();
  // Those in view first; the others when they come into view.
  for (const chart of charts.values()) {
    if (!chart.drawn) continue;
    chart.clear();
    if (chart.near) chart.draw();
    else chart.drawnFor = 'stale';
  }
}

/** The boxes say what is hidden. */
function showHidden() {
  for (const box of filterBox.querySelectorAll('input')) {
    const shown = box.whimbrelNames.filter((name) => !hidden.has(name)).length;
    box.checked = shown > 0;
    box.indeterminate = shown > 0 && shown < box.whimbrelNames.length;
  }
}
