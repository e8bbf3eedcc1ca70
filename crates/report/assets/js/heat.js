// Heat maps: a number over two axes, a map for each protocol, side by side with one scale of
// colours.

/**
 * Viridis (S. van der Walt, N. Smith, 2015): even steps to the eye, for any kind of colour vision and in
 * grey.
 */
const VIRIDIS = ['#440154', '#482475', '#414487', '#355f8d', '#2a788e', '#21918c', '#22a884', '#44bf70', '#7ad151', '#bddf26', '#fde725'];
const CHANNELS = VIRIDIS.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));

/** The colour of a part of the scale, 0 to 1, and a colour for text on it. */
function viridis(share) {
  const at = Math.max(0, Math.min(1, share)) * (CHANNELS.length - 1);
  const low = Math.min(Math.floor(at), CHANNELS.length - 2);
  const rgb = CHANNELS[low].map((channel, i) => Math.round(channel + (CHANNELS[low + 1][i] - channel) * (at - low)));
  return { fill: `rgb(${rgb.join(',')})`, ink: share > 0.55 ? '#10151a' : '#ffffff' };
}

function heatPlot(plot, context) {
  const { width, theme, hidden } = context;
  const colours = THEMES[theme];
  const shapes = new Shapes(theme);
  const cells = [];
  const columns = plot.x.values.length;
  const rows = plot.y.values.length;
  const maps = plot.maps.filter((map) => map.protocol === null || !hidden.has(map.protocol));

  // One scale for all maps, hidden ones included.
  let [low, high] = [Infinity, -Infinity];
  const usable = (value) => Number.isFinite(value) && (!plot.value.log || value > 0);
  for (const value of plot.maps.flatMap((map) => map.cells)) {
    if (value !== null && usable(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  if (!(low <= high)) [low, high] = [0, 1];
  const scale = scaleOf(plot.value, Math.max(Math.abs(low), Math.abs(high)));
  const share = (value) => {
    if (low === high) return 0.5;
    return plot.value.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  };

  let y = context.top + 6;
  const bar = 180;
  for (let i = 0; i < 60; i += 1) {
    const at = plot.value.inverse ? 1 - i / 59 : i / 59;
    shapes.rect((i * bar) / 60, y, bar / 60 + 0.5, 12, { fill: viridis(at).fill });
  }
  const [first, last] = plot.value.inverse ? [high, low] : [low, high];
  shapes.text(number(first / scale.factor, 3), 0, y + 24, { fill: colours.soft });
  shapes.text(number(last / scale.factor, 3), bar, y + 24, { fill: colours.soft, align: 'right' });
  shapes.text(scale.name, bar + 12, y + 6, { width: Math.max(60, width - bar - 12) });
  y += 48;

  const labels = Math.min(120, 12 + Math.max(0, ...plot.y.values.map((value) => textWidth(short(value, 20), 11))));
  const widest = Math.max(0, ...plot.x.values.map((value) => textWidth(short(value, 20), 11)));
  // As many maps side by side as have room for cells that can be read.
  const beside = Math.max(1, Math.min(maps.length, Math.floor((width + 24) / (labels + 24 + columns * 34))));
  const room = (width - 24 * (beside - 1)) / beside - labels - 2;
  // Wide enough for the names below, where there is room.
  const size = Math.max(6, Math.min(Math.max(62, Math.min(widest + 8, 96)), room / Math.max(1, columns)));
  const tall = Math.max(16, Math.min(32, size));
  const turned = widest > size - 4;
  const under = turned ? Math.min(90, widest * 0.72 + 18) : 20;
  const block = 40 + rows * tall + under + 26;
  maps.forEach((map, index) => {
    const x0 = (index % beside) * (labels + columns * size + 24) + labels;
    const y0 = y + Math.floor(index / beside) * block + 34;
    const { colour } = look(map.protocol, 0, theme);
    if (map.protocol !== null) shapes.mark(look(map.protocol, 0, theme).marker, x0 + 5, y0 - 24, 9, colour);
    shapes.text(map.label, x0 + (map.protocol === null ? 0 : 16), y0 - 24, { bold: true, width: columns * size - 16 });
    shapes.text(plot.y.label, x0 - 6, y0 - 8, { fill: colours.soft, size: 11, align: 'right', width: labels });
    plot.y.values.forEach((value, row) => {
      shapes.text(value, x0 - 6, y0 + (rows - 1 - row + 0.5) * tall, { size: 11, fill: colours.soft, align: 'right', width: labels - 6 });
    });
    const skip = Math.ceil((turned ? 14 : 1) / size);
    plot.x.values.forEach((value, column) => {
      if (column % skip) return;
      const at = x0 + (column + 0.5) * size;
      const options = turned ? { align: 'right', vertical: 'top', rotation: Math.PI / 4 } : { align: 'center', vertical: 'top' };
      shapes.text(short(value, 20), at + (turned ? 4 : 0), y0 + rows * tall + 5, { size: 11, fill: colours.soft, ...options });
    });
    shapes.text(plot.x.label, x0 + (columns * size) / 2, y0 + rows * tall + under + 10, { size: 11, fill: colours.soft, align: 'center', width: columns * size });
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const value = map.cells[row * columns + column] ?? null;
        const box = { x: x0 + column * size, y: y0 + (rows - 1 - row) * tall, width: size, height: tall };
        const known = value !== null && usable(value);
        const { fill, ink } = known ? viridis(share(value)) : { fill: 'none', ink: colours.soft };
        shapes.rect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1, { fill, stroke: known ? 'none' : colours.line, lineWidth: 0.6 });
        const text = value === null ? '–' : number(value / scale.factor, 3);
        if (textWidth(text, 11) <= size - 4) shapes.text(text, box.x + size / 2, box.y + tall / 2, { size: 11, fill: ink, align: 'center' });
        const where = `${plot.x.label} ${short(plot.x.values[column] ?? '', 40)}, ${plot.y.label} ${short(plot.y.values[row] ?? '', 40)}`;
        const what = value === null ? 'not measured' : scale.text(value, 5);
        // A page may have a section about each column, such as the curves of a point.
        const section = `point/${plot.x.values[column] ?? ''}`;
        const link = document.getElementById(section) ? section : null;
        cells.push({
          ...box, link, row: `${index}/${row}`, said: `${short(map.label, 50)}: ${where}: ${what}`,
          tip: { head: short(map.label, 60), blocks: [{ title: where, rows: [{ name: short(plot.value.label, 50), value: what }] }, ...(link ? [{ title: 'click: curves', rows: [] }] : [])] },
        });
      }
    }
  });
  return { ...picture(shapes, y + Math.ceil(maps.length / beside) * block, cells), legend: [] };
}
