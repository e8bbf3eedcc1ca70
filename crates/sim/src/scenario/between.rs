//! `between` of a link: the two nodes of a topology that it connects.

use super::ScenarioError;
use super::fields::Field;

/// A value of `between`, for errors.
pub(super) const EXAMPLE: &str = "[\"ship\", \"shore\"]";
/// The longest name of a node, as of a host (RFC 1123 section 2.1).
const LONGEST_NAME: usize = 63;

/// Reads `between`: the names of two nodes.
pub(super) fn read_between(field: &Field<'_>) -> Result<[String; 2], ScenarioError> {
    let (first, second) = field.pair(EXAMPLE)?;
    let (first, second) = (node(&first)?, node(&second)?);
    match first == second {
        true => Err(field.fail(format!(
            "must name two different nodes, not `{first}` twice"
        ))),
        false => Ok([first, second]),
    }
}

fn node(field: &Field<'_>) -> Result<String, ScenarioError> {
    let name = field.text()?;
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins && name.len() <= LONGEST_NAME && name.chars().all(good) {
        return Ok(name.to_owned());
    }
    Err(field.fail(format!(
        "`{name}` is not a name of a node: write a lower-case letter, then such letters, digits and \
         hyphens, at most {LONGEST_NAME} in all"
    )))
}
