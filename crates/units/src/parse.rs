//! The parser of `number unit`, with errors that give a valid example.

/// Why a written quantity cannot be read. Its text is meant for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(String);

impl ParseError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The word of `known` that is most similar to `word`, if one is similar enough to be what was
/// meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|k| (likeness(word, k), k))
        .filter(|(likeness, _)| *likeness > SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// The `count` words of `known` that are most similar to `word`, the most similar first, however
/// similar they are.
pub fn nearest_few<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let mut all: Vec<(f64, &str)> = known.into_iter().map(|k| (likeness(word, k), k)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(count).map(|(_, k)| k).collect()
}

/// From 0 to 1, whatever the case.
fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(&a.to_lowercase(), &b.to_lowercase())
}

/// A word that is more similar than this is probably meant.
const SIMILAR: f64 = 0.7;

/// Reads `number unit`; `units` has the factor of each unit. `what` and `example` appear in the
/// error: "a rate", "8 Mbit/s". A number without unit is accepted only if `""` is among the units,
/// except zero, which is the same in every unit.
pub(crate) fn quantity(
    text: &str,
    units: &[(&str, f64)],
    what: &str,
    example: &str,
) -> Result<f64, ParseError> {
    let fail = |why: &str| {
        ParseError::new(format!(
            "`{text}` is not {what}: {why}; write e.g. `{example}`"
        ))
    };
    let trimmed = text.trim();
    let (number, unit) = trimmed.split_at(number_length(trimmed));
    let number: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| fail("it must begin with a number"))?;
    if !number.is_finite() {
        return Err(fail("it is too large"));
    }
    if number < 0.0 {
        return Err(fail("it may not be negative"));
    }
    let unit = unit.trim();
    if let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) {
        return Ok(number * factor);
    }
    if unit.is_empty() {
        return if number == 0.0 {
            Ok(0.0)
        } else {
            Err(fail("its unit is missing"))
        };
    }
    let names = || {
        units
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !name.is_empty())
    };
    // `Mb` and `Mb/s` begin `Mbit/s`, although in another case it is nearer to `MB/s`.
    let stem = unit.strip_suffix("/s").unwrap_or(unit);
    let begun = names().find(|name| name.starts_with(stem));
    Err(match begun.or_else(|| nearest(unit, names())) {
        Some(near) => fail(&format!("unknown unit `{unit}`, did you mean `{near}`?")),
        None => fail(&format!(
            "unknown unit `{unit}`, the units are {}",
            names().collect::<Vec<_>>().join(", ")
        )),
    })
}

/// The length of the number that a text begins with, in bytes: `2_000`, `-0.5`, `1e-3`. An `e`
/// without digits behind it begins a unit.
fn number_length(text: &str) -> usize {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".-+_".contains(c));
    let mantissa = text.len() - rest.len();
    let exponent = rest.strip_prefix(['e', 'E']).filter(|_| mantissa > 0);
    let exponent = exponent.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
    let digits = |rest: &str| {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        (behind.len() < rest.len()).then(|| text.len() - behind.len())
    };
    exponent.and_then(digits).unwrap_or(mantissa)
}

/// Rounds a non-negative quantity to an integer.
pub(crate) fn to_integer(value: f64, text: &str, what: &str) -> Result<u64, ParseError> {
    let rounded = value.round();
    // Above 2^53 an f64 cannot represent every integer; 2^53 ns are 104 days.
    if rounded > 9_007_199_254_740_992.0 {
        return Err(ParseError::new(format!("`{text}` is too large for {what}")));
    }
    Ok(rounded as u64)
}

/// Writes `value` with at most `decimals` decimals and no trailing zeros.
pub(crate) fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_words_come_in_order() {
        let known = ["cubic", "sctp", "bic", "vegas"];
        assert_eq!(nearest_few("cubik", known, 1), ["cubic"]);
        assert_eq!(nearest_few("cubik", known, 9).len(), 4);
        assert_eq!(nearest_few("x", [], 3), [""; 0]);
    }

    #[test]
    fn a_number_may_have_an_exponent() {
        let units = [("%", 1.0), ("", 100.0)];
        let read = |text: &str| quantity(text, &units, "a probability", "1 %");
        assert_eq!(read("1e-3"), Ok(0.1));
        assert_eq!(read("2.5E+1 %"), Ok(25.0));
        assert_eq!(read("5e1%"), Ok(50.0));
    }

    #[test]
    fn refusals_name_the_reason() {
        let error = |text: &str| {
            let units = [("%", 1.0), ("", 100.0)];
            quantity(text, &units, "a probability", "1 %")
                .expect_err(text)
                .to_string()
        };
        assert!(error("1e999").contains("it is too large"));
        assert!(error("e5 %").contains("it must begin with a number"));
        assert!(error("1e %").contains("unknown unit `e %`"));
        assert!(error("-1%").contains("it may not be negative"));
        assert!(error("1 eV").contains("unknown unit `eV`"));
    }
}
