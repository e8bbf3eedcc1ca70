// Decisions on losses against the truth: a matrix for each protocol, with counts and the part of
// each row.

const TRUTHS = [
  ['congestion', 'congestion_as_congestion', 'congestion_as_random'],
  ['random', 'random_as_congestion', 'random_as_random'],
];

function confusionPlot(plot, context) {
  const { width, theme, hidden } = context;
  const colours = THEMES[theme];
  const shapes = new Shapes(theme);
  const cells = [];
  const [cell, tall, labels] = [92, 44, 84];
  const block = labels + 2 * cell + 28;
  const beside = Math.max(1, Math.floor((width + 28) / block));
  const matrices = plot.matrices.filter((matrix) => !hidden.has(matrix.protocol));
  const high = 58 + 2 * tall + 26 + 24;
  // Right decisions are blue and wrong ones orange; row and column say it without colours.
  const [right, wrong] = theme === 'dark' ? ['#4aa3d8', '#e08a3c'] : ['#2f86c1', '#e0802a'];
  matrices.forEach((matrix, index) => {
    const x0 = (index % beside) * block + labels;
    const y0 = context.top + Math.floor(index / beside) * high + 58;
    const { colour, marker } = look(matrix.protocol, 0, theme);
    shapes.mark(marker, x0 - labels + 6, y0 - 46, 9, colour);
    shapes.text(matrix.label, x0 - labels + 18, y0 - 46, { bold: true, width: labels + 2 * cell - 20 });
    shapes.text('loss by', x0 - 8, y0 - 12, { size: 11, fill: colours.soft, align: 'right' });
    shapes.text('classified as', x0 + cell, y0 - 26, { size: 11, fill: colours.soft, align: 'center' });
    shapes.text('congestion', x0 + cell / 2, y0 - 11, { size: 11, fill: colours.soft, align: 'center' });
    shapes.text('random', x0 + 1.5 * cell, y0 - 11, { size: 11, fill: colours.soft, align: 'center' });
    TRUTHS.forEach(([truth, ...keys], row) => {
      const counts = keys.map((key) => matrix[key]);
      const sum = counts[0] + counts[1];
      shapes.text(truth, x0 - 8, y0 + (row + 0.5) * tall, { size: 11, fill: colours.soft, align: 'right' });
      counts.forEach((count, column) => {
        const share = sum ? count / sum : null;
        const good = row === column;
        const box = { x: x0 + column * cell, y: y0 + row * tall, width: cell, height: tall };
        shapes.rect(box.x + 0.5, box.y + 0.5, cell - 1, tall - 1, { fill: good ? right : wrong, opacity: 0.06 + 0.6 * (share ?? 0) });
        shapes.rect(box.x + 0.5, box.y + 0.5, cell - 1, tall - 1, { fill: 'none', stroke: colours.line });
        shapes.text(grouped(count), box.x + cell / 2, box.y + tall / 2 - 8, { align: 'center', bold: true, size: 13 });
        const percent = share === null ? 'none' : `${number(100 * share, 3)}${THIN}%`;
        shapes.text(percent, box.x + cell / 2, box.y + tall / 2 + 9, { align: 'center', size: 11 });
        const taken = column === 0 ? 'congestion' : 'random';
        const said = `${truth === 'random' ? 'random loss' : 'loss to congestion'}, classified as ${taken}`;
        cells.push({
          ...box, row: `${index}/${row}`, said: `${short(matrix.label, 50)}: ${said}: ${count}, ${percent}`,
          tip: { head: short(matrix.label, 60), blocks: [{ title: said, rows: [{ name: 'episodes', value: grouped(count) }, { name: 'of this row', value: percent }] }] },
        });
      });
    });
    const box = { x: x0, y: y0 + 2 * tall, width: 2 * cell, height: 26 };
    shapes.text('no loss', x0 - 8, box.y + 13, { size: 11, fill: colours.soft, align: 'right' });
    shapes.rect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1, { fill: 'none', stroke: colours.line });
    shapes.text(grouped(matrix.spurious), box.x + cell, box.y + 13, { align: 'center' });
    // A page of an older version has no score.
    const score = typeof matrix.brier === 'number' ? `Brier score ${matrix.brier.toFixed(3)}` : '';
    if (score) shapes.text(score, box.x + cell, box.y + 38, { size: 11, fill: colours.soft, align: 'center' });
    cells.push({
      ...box, row: `${index}/2`, said: `${short(matrix.label, 50)}: no loss: ${matrix.spurious}${score && `; ${score}`}`,
      tip: { head: short(matrix.label, 60), blocks: [{ title: 'no loss', rows: [{ name: 'episodes', value: grouped(matrix.spurious) }] }] },
    });
  });
  return { ...picture(shapes, context.top + Math.ceil(matrices.length / beside) * high, cells), legend: [] };
}

/** A count with groups of three digits. */
function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, THIN);
}
