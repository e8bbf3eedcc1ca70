//! Is an algorithm fair? The answer in two sentences, from the points where it shares a link.

use super::Ranking;
use whimbrel_rank::{Aim, Cell, League, Library};

/// Neighbours that keep less are harmed: the least that a score asks for, beside a CUBIC that keeps
/// all.
const KEPT: f64 = 0.8;
/// Shares of a lower index are not equal: the threshold of the time to fair shares.
const EQUAL: f64 = 0.9;

impl Ranking {
    /// Two sentences for each requested algorithm: beside other flows, and among its own kind.
    /// Empty without points where a link is shared.
    pub fn fairness(&self) -> Vec<String> {
        let (library, league) = (&self.library, &self.league);
        let sentences = self.requested.iter().filter_map(|name| {
            let beside = beside(library, &cells(library, league, name, is_share));
            let among = among(library, &cells(library, league, name, is_own));
            let both: Vec<String> = [beside, among].into_iter().flatten().collect();
            (!both.is_empty()).then(|| format!("{name}: {}", both.join(" ")))
        });
        sentences.collect()
    }
}

fn is_share(aim: &Aim) -> bool {
    matches!(aim, Aim::Share { .. })
}

fn is_own(aim: &Aim) -> bool {
    matches!(aim, Aim::Own { .. })
}

/// The cells of an algorithm at the points with such a goal.
fn cells<'a>(
    library: &Library,
    league: &'a League,
    name: &str,
    wanted: fn(&Aim) -> bool,
) -> Vec<&'a Cell> {
    let has_goal = |cell: &Cell| {
        let mut points = library.points.iter();
        points.any(|point| point.id == cell.point && wanted(&point.aim))
    };
    let of_name = league.cells.iter().filter(|cell| cell.controller == name);
    of_name.filter(|cell| has_goal(cell)).collect()
}

/// What it takes beside other flows, and what they keep.
fn beside(library: &Library, cells: &[&Cell]) -> Option<String> {
    let kept: Vec<(f64, &Cell)> = cells
        .iter()
        .filter_map(|cell| Some((cell.kept?, *cell)))
        .collect();
    let (least, worst) = kept.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let share = median(kept.iter().map(|(_, cell)| cell.mean.share))?;
    let keep = median(kept.iter().map(|(kept, _)| *kept))?;
    let harmed = kept.iter().filter(|(kept, _)| *kept < KEPT).count();
    let word = if harmed == 0 { "no harm" } else { "harm" };
    Some(format!(
        "{word} to others: they keep {:.0} % of what they have beside their own kind (median of \
         {}), and less than {:.0} % at {harmed}; it takes {share:.2} of a fair share. \
         Worst: {:.0} % at {}.",
        100.0 * keep,
        points(kept.len()),
        100.0 * KEPT,
        100.0 * least,
        place(library, worst),
    ))
}

/// How it shares among flows of its own kind.
fn among(library: &Library, cells: &[&Cell]) -> Option<String> {
    let jain = |cell: &Cell| cell.mean.jain_in_windows.unwrap_or(cell.mean.jain);
    let worst = cells.iter().min_by(|a, b| jain(a).total_cmp(&jain(b)))?;
    let unequal = cells.iter().filter(|cell| jain(cell) < EQUAL).count();
    Some(format!(
        "Among its own kind Jain's index is {:.2} (median of {}; 1: equal shares), and less \
         than {EQUAL} at {unequal}. Worst: {:.2} at {}.",
        median(cells.iter().copied().map(jain))?,
        points(cells.len()),
        jain(worst),
        place(library, worst),
    ))
}

/// `d06 (1 beside 1 cubic at 50 Mbit/s and 50 ms, buffer 0.1 bdp)`: the claim up to its goal.
fn place(library: &Library, cell: &Cell) -> String {
    let mut points = library.points.iter();
    let claim = points
        .find(|point| point.id == cell.point)
        .map_or("", |point| point.claim.as_str());
    let about = claim
        .split(": ")
        .next()
        .unwrap_or(claim)
        .trim_end_matches('.');
    format!("{} ({about})", cell.point)
}

fn points(count: usize) -> String {
    match count {
        1 => "1 point".to_owned(),
        more => format!("{more} points"),
    }
}

/// The middle value; of an even number, the mean of the two in the middle.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    let upper = *all.get(all.len() / 2)?;
    let lower = *all.get((all.len() - 1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.5));
        assert_eq!(median([].into_iter()), None);
    }
}
