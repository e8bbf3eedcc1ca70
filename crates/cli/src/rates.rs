//! Rates on the command line.

use whimbrel_units::Rate;

/// Reads a maximum rate.
pub fn bandwidth(text: &str) -> Result<Rate, String> {
    rate_above_zero(text, "must be above 0; omit --bwlimit for no limit")
}

/// Reads a rate; `zero` says what is wrong with none.
pub fn rate_above_zero(text: &str, zero: &str) -> Result<Rate, String> {
    match text.parse::<Rate>().map_err(|error| error.to_string())? {
        Rate::ZERO => Err(zero.to_owned()),
        rate => Ok(rate),
    }
}
