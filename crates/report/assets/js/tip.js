// The tooltip with exact values.

const tipBox = document.getElementById('tip');

/** Shows the values that were found near a place of the window. */
function showTip(tip, clientX, clientY, theme) {
  const blocks = tip.blocks.map(({ title, rows }) => element(
    'div', { class: 'block' },
    title ? element('p', { class: 'title' }, title) : null,
    element('table', {}, ...rows.map((row) => {
      const cells = [
        element('td', {}, row.style ? swatch(row.style, row.form, theme) : ''), element('td', { class: 'name' }, row.name),
        element('td', { class: 'value' }, row.value ?? ''),
      ];
      if (row.note) cells.push(element('td', { class: 'note' }, row.note));
      return element('tr', {}, ...cells);
    })),
  ));
  tipBox.replaceChildren(...(tip.head ? [element('p', { class: 'head' }, tip.head)] : []), ...blocks);
  tipBox.hidden = false;
  const { width, height } = tipBox.getBoundingClientRect();
  const [w, h] = [document.documentElement.clientWidth, window.innerHeight];
  const left = clientX + 18 + width > w ? clientX - 18 - width : clientX + 18;
  const top = clientY + 14 + height > h ? h - height - 4 : clientY + 14;
  tipBox.style.left = `${Math.max(4, Math.min(left, w - width - 4))}px`;
  tipBox.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  tipBox.hidden = true;
}
