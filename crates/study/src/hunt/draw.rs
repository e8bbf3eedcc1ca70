//! Paths drawn evenly from the ranges of the families: what a ranking over a family needs, where a
//! search would give only the worst.

use super::families::chosen;
use super::optimizer::Optimizer;
use super::search::seed_of_family;
use super::space::Case;
use crate::Error;
use whimbrel_rank::MatrixPoint;

/// Draws `count` points of each of these families; empty: of all. Places within a range are equally
/// likely, on the scale of the range. A hunt with the same seed tries the same paths first. The
/// names are the family's with a number: `wifi-07`.
///
/// # Errors
/// If a family is unknown.
pub fn draw(families: &[String], count: u32, seed: u64) -> Result<Vec<MatrixPoint>, Error> {
    let digits = count.saturating_sub(1).to_string().len();
    let mut points = Vec::new();
    for family in chosen(families)? {
        let dims = family.knobs.len();
        let places = Optimizer::new(dims, count as usize, seed_of_family(seed, family)).ask();
        for (number, place) in places.iter().enumerate() {
            let id = format!("{}-{number:0digits$}", family.name);
            points.push(Case::at(family, place).point(&id)?);
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(families: &[&str], count: u32, seed: u64) -> Vec<MatrixPoint> {
        let families: Vec<String> = families.iter().map(|name| (*name).to_owned()).collect();
        draw(&families, count, seed).expect("points")
    }

    #[test]
    fn the_seed_decides_whichever_other_families_are_drawn() {
        let texts = |points: &[MatrixPoint]| -> Vec<String> {
            points.iter().map(|point| point.text.clone()).collect()
        };
        let (both, one) = (drawn(&["short", "wifi"], 11, 3), drawn(&["wifi"], 11, 3));
        assert_eq!(texts(&both[11..]), texts(&one));
        assert_eq!(
            (both[0].id.as_str(), one[10].id.as_str()),
            ("short-00", "wifi-10")
        );
        assert_ne!(texts(&one), texts(&drawn(&["wifi"], 11, 4)));
        // Fewer are the beginning of more.
        assert_eq!(texts(&drawn(&["wifi"], 4, 3)), texts(&one[..4]));
    }

    /// With 400 places a quarter of the range has 100, with a standard deviation of 9.
    #[test]
    fn each_quarter_of_a_range_is_equally_likely() {
        let points = drawn(&["bottleneck"], 400, 1);
        let mut quarters = [0; 4];
        for point in &points {
            // From 5 to 500 ms.
            let place = (point.rtt.as_secs_f64() / 0.005).log10() / 2.0;
            quarters[((place * 4.0) as usize).min(3)] += 1;
        }
        assert!(
            quarters.iter().all(|n| (60..140).contains(n)),
            "{quarters:?}"
        );
    }

    #[test]
    fn an_unknown_family_is_an_error_with_the_nearest_name() {
        let error = draw(&["wify".to_owned()], 1, 1).expect_err("unknown");
        assert!(error.to_string().contains("did you mean `wifi`"), "{error}");
    }
}
