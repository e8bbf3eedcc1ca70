//! `streams`, `messages` and `interleave` of a TCP flow.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields};
use super::flow::MAX_SEGMENTS;
use crate::network::{Messages, Streams, TcpSettings};
use crate::streams::MAX_STREAMS;
use whimbrel_cc::Spec;
use whimbrel_units::{Bytes, Duration};

/// Default number of streams of algorithms that were published with several streams.
const DEFAULT_STREAMS: u32 = 8;
/// An example of messages in the short form.
const EXAMPLE: &str = "20 kB every 10 ms";

/// Reads the keys. `with`: a number of streams that overrides the flow's. `one_stream`: the flow can
/// have one stream only, because it has several routes or sends both ways.
pub(super) fn read(
    fields: &Fields<'_>,
    with: Option<Field<'_>>,
    controller: &Spec,
    settings: &TcpSettings,
    one_stream: bool,
) -> Result<Streams, ScenarioError> {
    let messages = fields.get("messages");
    let messages = messages.map(|field| read_messages(fields, &field, settings));
    let streams = Streams {
        count: count(with.or(fields.get("streams")), controller, one_stream)?,
        interleave: fields
            .get("interleave")
            .map_or(Ok(true), |field| field.switch())?,
        messages: messages.transpose()?,
    };
    match fields.get("interleave") {
        Some(field) if !streams.interleave && streams.messages.is_none() => {
            Err(field.fail("`interleave = false` needs `messages`"))
        }
        _ => Ok(streams),
    }
}

/// The error for an AATP flow with several streams or with messages.
pub(super) fn refuse(fields: &Fields<'_>, controller: &Spec) -> Result<(), ScenarioError> {
    let many = fields.get("streams").map(|field| streams(&field));
    let many = many.transpose()?.is_some_and(|count| count > 1);
    let key = if many { "streams" } else { "messages" };
    match fields.get(key) {
        Some(field) if many || key == "messages" => Err(field.fail(format!(
            "`{controller}` runs over AATP, which has one stream of bulk data"
        ))),
        _ => Ok(()),
    }
}

fn streams(field: &Field<'_>) -> Result<u32, ScenarioError> {
    let count = field.integer(1..=MAX_STREAMS.into())?;
    Ok(u32::try_from(count).unwrap_or(MAX_STREAMS))
}

fn count(
    written: Option<Field<'_>>,
    controller: &Spec,
    one_stream: bool,
) -> Result<u32, ScenarioError> {
    let Some(field) = written else {
        let several = !one_stream && controller.transport_features().streams;
        return Ok(if several { DEFAULT_STREAMS } else { 1 });
    };
    let count = streams(&field)?;
    if one_stream && count > 1 {
        return Err(field.fail(
            "a flow with several `routes` or with `two_way` has one stream; omit one of these keys",
        ));
    }
    Ok(count)
}

/// Reads `"20 kB every 10 ms"` or a table.
fn read_messages(
    flow: &Fields<'_>,
    field: &Field<'_>,
    settings: &TcpSettings,
) -> Result<Messages, ScenarioError> {
    if flow.get("size").is_some() {
        return Err(field.fail("cannot be combined with `size`"));
    }
    if let Some(two_way) = flow.get("two_way")
        && two_way.switch()?
    {
        return Err(two_way.fail("cannot be combined with `messages`"));
    }
    let messages = match field.value() {
        Value::Text(text) => in_short(field, text)?,
        _ => table(field)?,
    };
    if messages.min_size.is_zero() {
        return Err(field.fail("a message must have at least 1 B"));
    }
    if messages.every.is_zero() {
        return Err(field.fail("the time between messages must be greater than zero"));
    }
    let all = u64::from(messages.count.unwrap_or(1));
    let segments = messages.max_size.get().div_ceil(settings.mss.get());
    if segments.saturating_mul(all) > MAX_SEGMENTS {
        return Err(field.fail(format!(
            "{all} messages of {} could be more than 2^31 segments of {}",
            messages.max_size, settings.mss
        )));
    }
    Ok(messages)
}

fn in_short(field: &Field<'_>, text: &str) -> Result<Messages, ScenarioError> {
    let Some((size, every)) = text.split_once(" every ") else {
        return Err(field.fail(format!(
            "`{text}` does not describe messages; write e.g. `{EXAMPLE}`, or a table with `size` and `every`"
        )));
    };
    let (min_size, max_size) = sizes(field, size)?;
    Ok(Messages {
        min_size,
        max_size,
        every: every.parse::<Duration>().map_err(|why| field.fail(why))?,
        exponential: false,
        count: None,
    })
}

fn table(field: &Field<'_>) -> Result<Messages, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&["size", "every", "exponential", "count"])?;
    let size = fields.required("size", "\"20 kB\"")?;
    let (min_size, max_size) = sizes(&size, &size.parse::<String>()?)?;
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

/// Reads `"20 kB"` or `"1 kB .. 50 kB"`.
fn sizes(field: &Field<'_>, text: &str) -> Result<(Bytes, Bytes), ScenarioError> {
    let size = |text: &str| text.parse::<Bytes>().map_err(|why| field.fail(why));
    let Some((min, max)) = text.split_once("..") else {
        let size = size(text)?;
        return Ok((size, size));
    };
    let (min, max) = (size(min)?, size(max)?);
    if min > max {
        return Err(field.fail(format!("the range {min} .. {max} ends before it begins")));
    }
    Ok((min, max))
}
