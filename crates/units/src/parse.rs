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
        .map(|k| {
            (
                strsim::jaro_winkler(&word.to_lowercase(), &k.to_lowercase()),
                k,
            )
        })
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

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
    let digits = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let number: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| fail("it must begin with a number"))?;
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
    Err(match nearest(unit, names()) {
        Some(near) => fail(&format!("unknown unit `{unit}`, did you mean `{near}`?")),
        None => fail(&format!(
            "unknown unit `{unit}`, the units are {}",
            names().collect::<Vec<_>>().join(", ")
        )),
    })
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
