//! Decisions on losses against the truth: a matrix for each protocol, with counts and the part of
//! each row.

use super::Area;
use super::canvas::{Anchor, Canvas, Fill, Font, LINE, Part, Stroke, fitted, of};
use super::looks::Looks;
use super::scale::{grouped, percent};
use crate::figure::Matrix;
use crate::style::Colour;

/// A cell, the names left of it and the gap between matrices, pixels.
const CELL: [f64; 2] = [92.0, 44.0];
const LABELS: f64 = 84.0;
const GAP: f64 = 28.0;
/// Above the cells, and height of the row of spurious decisions.
const HEAD: f64 = 58.0;
const SPURIOUS: f64 = 26.0;
/// Below them, with the Brier score.
const SCORE: f64 = 24.0;
const SMALL: f64 = 11.0;
/// Right and wrong decisions.
const RIGHT: Colour = Colour([0x2f, 0x86, 0xc1]);
const WRONG: Colour = Colour([0xe0, 0x80, 0x2a]);

/// Draws the matrices; returns the height.
pub(super) fn draw(canvas: &mut Canvas, looks: &Looks, area: Area, matrices: &[Matrix]) -> f64 {
    let block = LABELS + 2.0 * CELL[0] + GAP;
    let beside = (((area.width + GAP) / block) as usize).max(1);
    let tall = HEAD + 2.0 * CELL[1] + SPURIOUS + SCORE;
    for (i, matrix) in matrices.iter().enumerate() {
        let left = area.left + (i % beside) as f64 * block + LABELS;
        let top = area.top + (i / beside) as f64 * tall + HEAD;
        let look = looks.of(Some(&matrix.protocol), 0);
        let title = [left - LABELS, top - 46.0];
        canvas.part(Part::Item, &of(Some(&matrix.protocol)), |canvas| {
            let mark = [title[0] + 6.0, title[1]];
            canvas.mark(look.marker, mark, 9.0, look.colour, false);
            let label = fitted(&matrix.label, block - GAP - 20.0, 12.0);
            canvas.text(&label, [title[0] + 18.0, title[1]], Font::new(12.0).bold());
            one(canvas, matrix, i, [left, top]);
        });
    }
    matrices.len().div_ceil(beside) as f64 * tall
}

/// Draws the `n`th matrix.
fn one(canvas: &mut Canvas, matrix: &Matrix, n: usize, [left, top]: [f64; 2]) {
    let [width, height] = CELL;
    let middle = Font::soft(SMALL, Anchor::Middle);
    let end = Font::soft(SMALL, Anchor::End);
    canvas.text("loss by", [left - 8.0, top - 12.0], end);
    canvas.text("classified as", [left + width, top - 26.0], middle);
    canvas.text("congestion", [left + width / 2.0, top - 11.0], middle);
    canvas.text("random", [left + 1.5 * width, top - 11.0], middle);
    let rows = [
        (
            "congestion",
            [matrix.congestion_as_congestion, matrix.congestion_as_random],
        ),
        (
            "random",
            [matrix.random_as_congestion, matrix.random_as_random],
        ),
    ];
    for (row, (truth, counts)) in rows.into_iter().enumerate() {
        let y = top + row as f64 * height;
        canvas.text(truth, [left - 8.0, y + height / 2.0], end);
        let sum = counts[0] + counts[1];
        for (column, count) in counts.into_iter().enumerate() {
            let x = left + column as f64 * width;
            let part = (sum > 0).then(|| count as f64 / sum as f64);
            let fill = Fill {
                colour: if row == column { RIGHT } else { WRONG },
                opacity: 0.06 + 0.6 * part.unwrap_or(0.0),
            };
            let size = [width - 1.0, height - 1.0];
            let centre = x + width / 2.0;
            let number = grouped(&count.to_string());
            let percent = part.map_or("none".to_owned(), |part| percent(100.0 * part));
            let cause = ["loss to congestion", "random loss"][row];
            let taken = ["congestion", "random"][column];
            let tip = format!(
                "{}\n{cause}, classified as {taken}\nepisodes\t{number}\nof this row\t{percent}",
                matrix.label
            );
            let at = format!("{n}/{row}");
            canvas.part(Part::Cell, &[("tip", &tip), ("row", &at)], |canvas| {
                let border = Stroke::solid(LINE, 1.0);
                canvas.rect([x + 0.5, y + 0.5], size, Some(fill), Some(border));
                let bold = Font::new(13.0).bold().anchored(Anchor::Middle);
                canvas.text(&number, [centre, y + height / 2.0 - 8.0], bold);
                let font = Font::new(SMALL).anchored(Anchor::Middle);
                canvas.text(&percent, [centre, y + height / 2.0 + 9.0], font);
            });
        }
    }
    let y = top + 2.0 * height;
    canvas.text("no loss", [left - 8.0, y + SPURIOUS / 2.0], end);
    let size = [2.0 * width - 1.0, SPURIOUS - 1.0];
    let count = grouped(&matrix.spurious.to_string());
    let tip = format!("{}\nno loss\nepisodes\t{count}", matrix.label);
    let at = format!("{n}/2");
    canvas.part(Part::Cell, &[("tip", &tip), ("row", &at)], |canvas| {
        let border = Stroke::solid(LINE, 1.0);
        canvas.rect([left + 0.5, y + 0.5], size, None, Some(border));
        let font = Font::new(12.0).anchored(Anchor::Middle);
        canvas.text(&count, [left + width, y + SPURIOUS / 2.0], font);
    });
    if let Some(brier) = matrix.brier {
        let at = [left + width, y + SPURIOUS + SCORE / 2.0];
        canvas.text(&format!("Brier score {brier:.3}"), at, middle);
    }
}
