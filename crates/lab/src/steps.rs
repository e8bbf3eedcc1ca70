//! Values that were drawn over time, as the state of the page has them: `0:20 5:2.5` is 20 from 0 s
//! and 2.5 from 5 s.

use std::fmt::Write;
use whimbrel_units::{Duration, Time};

/// Maximum number of steps: a state must fit into a link.
pub const MOST: usize = 240;
/// Times are whole multiples of this, so that a link stays short.
const MILLISECOND: f64 = 1e-3;
/// The latest begin of a step in seconds: 34 years, as in a recorded rate. A run is shorter.
const LATEST: f64 = (1_u64 << 40) as f64 / 1e3;

/// A step: its begin in seconds, and the value from then on in the unit of its field.
pub type Step = (f64, f64);

/// Reads steps. Their values are within `range`, in `unit`.
///
/// # Errors
/// What is wrong, with the step.
pub fn parse(text: &str, range: (f64, f64), unit: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for word in text.split_whitespace() {
        let malformed = || format!("`{word}` is not a step; write e.g. `5:20`: 20 {unit} from 5 s");
        let (from, value) = word.split_once(':').ok_or_else(malformed)?;
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
        let (from, value) = number(from).zip(number(value)).ok_or_else(malformed)?;
        if value < range.0 || value > range.1 {
            return Err(format!(
                "{value} {unit} at {from} s is not within {} to {} {unit}",
                range.0, range.1
            ));
        }
        if from > LATEST {
            return Err(format!("the step at {from} s is later than any run"));
        }
        let last = steps.last().map(|(last, _)| *last);
        match last {
            None if from != 0.0 => return Err("the first step must begin at 0 s".to_owned()),
            Some(last) if from < last + MILLISECOND => {
                return Err(format!(
                    "the step at {from} s must be behind that at {last} s"
                ));
            }
            _ => steps.push((from, value)),
        }
        if steps.len() > MOST {
            return Err(format!("at most {MOST} steps are possible"));
        }
    }
    if steps.is_empty() {
        return Err("needs at least one step, e.g. `0:20`".to_owned());
    }
    Ok(steps)
}

/// Prints steps, as [`parse`] reads them.
pub fn print(steps: impl IntoIterator<Item = Step>) -> String {
    let mut text = String::new();
    for (from, value) in steps {
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}{from}:{value}");
    }
    text
}

/// The instant of a step.
pub fn instant(seconds: f64) -> Time {
    Time::ZERO + Duration::from_millis((seconds / MILLISECOND).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_and_printed() {
        let steps = parse("0:20 5:2.5 7.25:20", (0.1, 100.0), "Mbit/s").expect("steps");
        assert_eq!(steps, [(0.0, 20.0), (5.0, 2.5), (7.25, 20.0)]);
        assert_eq!(print(steps), "0:20 5:2.5 7.25:20");
        assert_eq!(instant(7.25), Time::ZERO + Duration::from_millis(7250));
    }

    #[test]
    fn wrong_steps_say_why() {
        let of = |text: &str| parse(text, (1.0, 100.0), "Mbit/s").expect_err(text);
        assert!(of("").contains("at least one"));
        assert!(of("1:5").contains("begin at 0 s"));
        assert!(of("0:5 x").contains("`x` is not a step"));
        assert!(of("0:NaN").contains("not a step"));
        assert!(of("0:0.5").contains("not within 1 to 100"));
        assert!(of("0:5 3:6 3:7").contains("must be behind"));
        for late in ["1e13", "1e300"] {
            assert!(of(&format!("0:5 {late}:5")).contains("later than any run"));
        }
        instant(LATEST);
        let many: String = (0..=MOST).map(|i| format!("{i}:5 ")).collect();
        assert!(of(&many).contains("at most 240"));
    }
}
