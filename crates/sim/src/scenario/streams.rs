//! Reads `streams` and `messages` of a flow.

use super::ScenarioError;
use super::document::Value;
use super::fields::Field;
use crate::network::Messages;
use crate::streams::MAX_STREAMS;
use std::str::FromStr;
use whimbrel_units::{Bytes, Duration};

/// An example of messages in the short form.
const EXAMPLE: &str = "20 kB every 10 ms";

/// Reads `streams`.
pub(super) fn read_count(field: &Field<'_>) -> Result<u32, ScenarioError> {
    let count = field.integer(1..=MAX_STREAMS.into())?;
    Ok(u32::try_from(count).unwrap_or(MAX_STREAMS))
}

/// Reads `"20 kB every 10 ms"` or a table.
pub(super) fn read_messages(field: &Field<'_>) -> Result<Messages, ScenarioError> {
    if let Value::Text(text) = field.value() {
        return text.parse().map_err(|why| field.fail(why));
    }
    let fields = field.fields()?;
    fields.only(&["size", "every", "exponential", "count"])?;
    let size = fields.required("size", "\"20 kB\"")?;
    let (min_size, max_size) = sizes(&size.parse::<String>()?).map_err(|why| size.fail(why))?;
    let count = fields.get("count");
    let count = count.map(|field| field.integer(1..=u32::MAX.into()));
    Ok(Messages {
        min_size,
        max_size,
        every: fields.required("every", "\"10 ms\"")?.parse()?,
        exponential: fields
            .get("exponential")
            .map_or(Ok(false), |field| field.switch())?,
        count: count
            .transpose()?
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
    })
}

/// The short form: `20 kB every 10 ms`, `1 kB .. 50 kB every 20 ms`.
impl FromStr for Messages {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (size, every) = text.split_once(" every ").ok_or_else(|| {
            format!(
                "`{text}` does not describe messages; write e.g. `{EXAMPLE}`, or a table with \
                 `size` and `every`"
            )
        })?;
        let (min_size, max_size) = sizes(size)?;
        Ok(Self {
            min_size,
            max_size,
            every: every.parse::<Duration>().map_err(|why| why.to_string())?,
            exponential: false,
            count: None,
        })
    }
}

/// Reads `20 kB` or `1 kB .. 50 kB`.
fn sizes(text: &str) -> Result<(Bytes, Bytes), String> {
    let size = |text: &str| text.parse::<Bytes>().map_err(|why| why.to_string());
    let Some((min, max)) = text.split_once("..") else {
        let size = size(text)?;
        return Ok((size, size));
    };
    let (min, max) = (size(min)?, size(max)?);
    if min > max {
        return Err(format!("the range {min} .. {max} ends before it begins"));
    }
    Ok((min, max))
}
