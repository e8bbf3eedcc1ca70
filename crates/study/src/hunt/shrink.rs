//! From a path that shows a weakness to the simplest one that still does: fewer features, plain
//! values, round numbers.

use super::space::Case;
use crate::{Error, Observer};

/// The part of a weakness, 1 less the ratio, that a simpler path must keep.
const KEPT: f64 = 0.75;

/// The highest ratio that a simpler path may have.
pub fn limit(ratio: f64) -> f64 {
    1.0 - KEPT * (1.0 - ratio)
}

/// Tries simpler paths one after the other and keeps each whose ratio is within the limit.
/// `ratio` measures a path.
///
/// # Errors
/// Those of `ratio`.
pub fn shrink(
    case: &Case,
    limit: f64,
    ratio: impl Fn(&Case) -> Result<f64, Error>,
    observer: &dyn Observer,
) -> Result<Case, Error> {
    let mut simplest = case.clone();
    let steps = 4 * case.values.len();
    observer.begin(steps as f64, "simplifying");
    // Without a feature at all; with its plain value; with one digit; with two.
    for change in [without, plain, one_digit, two_digits] {
        for knob in 0..case.values.len() {
            let mut simpler = simplest.clone();
            let changed = change(&mut simpler, knob);
            if changed && ratio(&simpler)? <= limit {
                simplest = simpler;
            }
        }
    }
    Ok(simplest)
}

fn without(case: &mut Case, knob: usize) -> bool {
    let optional = case.family.knobs[knob].optional;
    optional && case.values[knob].take().is_some()
}

fn plain(case: &mut Case, knob: usize) -> bool {
    let plain = case.family.knobs[knob].plain;
    match &mut case.values[knob] {
        Some(value) if *value != plain => {
            *value = plain;
            true
        }
        _ => false,
    }
}

fn one_digit(case: &mut Case, knob: usize) -> bool {
    digits(case, knob, 1)
}

fn two_digits(case: &mut Case, knob: usize) -> bool {
    digits(case, knob, 2)
}

fn digits(case: &mut Case, knob: usize, digits: i32) -> bool {
    let round = |value: f64| case.family.knobs[knob].with_digits(value, digits);
    match case.values[knob].and_then(round) {
        Some(value) => {
            case.values[knob] = Some(value);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use crate::hunt::Family;

    #[test]
    fn what_does_not_matter_goes_and_what_does_stays() {
        let family = Family::named("bottleneck").expect("a family");
        let case = Case::at(family, &[0.62; 8]);
        assert_eq!(case.features(), 8);
        // Only loss above 0.1 % and a buffer below 2 BDP matter.
        let weak = |case: &Case| {
            let lossy = case.get("loss").is_some_and(|loss| loss > 0.1);
            Ok(if lossy && case.of("buffer") < 2.0 {
                0.3
            } else {
                1.0
            })
        };
        let simplest = shrink(&case, 0.5, weak, &Unobserved).expect("measured");
        assert_eq!(
            simplest.words(),
            "rate 10 Mbit/s, RTT 50 ms, buffer 1 BDP, loss 1 %"
        );
    }

    #[test]
    fn numbers_that_matter_get_few_digits() {
        let family = Family::named("bottleneck").expect("a family");
        let mut case = Case::at(family, &[0.62; 8]);
        case.values[1] = Some(123.0);
        let weak = |case: &Case| Ok(if case.of("RTT") > 110.0 { 0.3 } else { 1.0 });
        let simplest = shrink(&case, 0.5, weak, &Unobserved).expect("measured");
        assert_eq!(simplest.get("RTT"), Some(120.0));
        assert_eq!(simplest.features(), 3);
    }

    #[test]
    fn three_quarters_of_a_weakness_stay() {
        assert!((limit(0.2) - 0.4).abs() < 1e-12);
    }
}
