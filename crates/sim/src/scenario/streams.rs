//! `streams`, `messages` and `interleave` of a TCP flow.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields};
use super::flow::MOST_SEGMENTS;
use crate::network::{Messages, Streams, TcpSettings};
use crate::streams::MOST_STREAMS;
use whimbrel_cc::Spec;
use whimbrel_units::{Bytes, Duration};

/// Streams of a law that was published with several and is not told how many.
const USUAL_STREAMS: u32 = 8;
/// How messages are written in short.
const EXAMPLE: &str = "20 kB every 10 ms";

/// Reads them; `one_stream`: of this flow there can be one stream only, because it has several routes or sends both ways.
pub(super) fn read(
    fields: &Fields<'_>,
    controller: &Spec,
    settings: &TcpSettings,
    one_stream: bool,
) -> Result<Streams, ScenarioError> {
    let messages = fields.get("messages");
    let messages = messages.map(|field| read_messages(fields, &field, settings));
    let streams = Streams {
        count: count(fields, controller, one_stream)?,
        interleave: fields
            .get("interleave")
            .map_or(Ok(true), |field| field.switch())?,
        messages: messages.transpose()?,
    };
    match fields.get("interleave") {
        Some(field) if !streams.interleave && streams.messages.is_none() => {
            Err(field.fail("only messages can be sent one after the other: write `messages` too"))
        }
        _ => Ok(streams),
    }
}

/// Says that AATP has none of them, if any was written.
pub(super) fn refuse(fields: &Fields<'_>, controller: &Spec) -> Result<(), ScenarioError> {
    let many = fields.get("streams").map(|field| streams(&field));
    let many = many.transpose()?.is_some_and(|count| count > 1);
    let key = if many { "streams" } else { "messages" };
    match fields.get(key) {
        Some(field) if many || key == "messages" => Err(field.fail(format!(
            "`{controller}` is carried by AATP, which has one stream of bulk data"
        ))),
        _ => Ok(()),
    }
}

fn streams(field: &Field<'_>) -> Result<u32, ScenarioError> {
    let count = field.integer(1..=MOST_STREAMS.into())?;
    Ok(u32::try_from(count).unwrap_or(MOST_STREAMS))
}

fn count(fields: &Fields<'_>, controller: &Spec, one_stream: bool) -> Result<u32, ScenarioError> {
    let Some(field) = fields.get("streams") else {
        let several = !one_stream && controller.asks().streams;
        return Ok(if several { USUAL_STREAMS } else { 1 });
    };
    let count = streams(&field)?;
    if one_stream && count > 1 {
        return Err(field.fail(
            "a flow with several `routes` or with `two_way` has one stream; leave one of them out",
        ));
    }
    Ok(count)
}

/// `"20 kB every 10 ms"`, or a table.
fn read_messages(
    flow: &Fields<'_>,
    field: &Field<'_>,
    settings: &TcpSettings,
) -> Result<Messages, ScenarioError> {
    if flow.get("size").is_some() {
        return Err(field.fail("a flow has either `size` or `messages`"));
    }
    if let Some(two_way) = flow.get("two_way")
        && two_way.switch()?
    {
        return Err(two_way.fail("a flow with `messages` sends one way only"));
    }
    let messages = match field.value() {
        Value::Text(text) => in_short(field, text)?,
        _ => table(field)?,
    };
    if messages.least.is_zero() {
        return Err(field.fail("a message has at least one byte"));
    }
    if messages.every.is_zero() {
        return Err(field.fail("the time from one message to the next must not be zero"));
    }
    let all = u64::from(messages.count.unwrap_or(1));
    let segments = messages.greatest.get().div_ceil(settings.mss.get());
    if segments.saturating_mul(all) > MOST_SEGMENTS {
        return Err(field.fail(format!(
            "{all} messages of {} could be more than 2^31 segments of {}",
            messages.greatest, settings.mss
        )));
    }
    Ok(messages)
}

fn in_short(field: &Field<'_>, text: &str) -> Result<Messages, ScenarioError> {
    let Some((size, every)) = text.split_once(" every ") else {
        return Err(field.fail(format!(
            "`{text}` are no messages; write e.g. `{EXAMPLE}`, or a table with `size` and `every`"
        )));
    };
    let (least, greatest) = sizes(field, size)?;
    Ok(Messages {
        least,
        greatest,
        every: every.parse::<Duration>().map_err(|why| field.fail(why))?,
        exponential: false,
        count: None,
    })
}

fn table(field: &Field<'_>) -> Result<Messages, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&["size", "every", "exponential", "count"])?;
    let size = fields.required("size", "\"20 kB\"")?;
    let (least, greatest) = sizes(&size, &size.parse::<String>()?)?;
    let count = fields.get("count");
    let count = count.map(|field| field.integer(1..=u32::MAX.into()));
    Ok(Messages {
        least,
        greatest,
        every: fields.required("every", "\"10 ms\"")?.parse()?,
        exponential: fields
            .get("exponential")
            .map_or(Ok(false), |field| field.switch())?,
        count: count
            .transpose()?
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
    })
}

/// `"20 kB"`, or `"1 kB .. 50 kB"`.
fn sizes(field: &Field<'_>, text: &str) -> Result<(Bytes, Bytes), ScenarioError> {
    let size = |text: &str| text.parse::<Bytes>().map_err(|why| field.fail(why));
    let Some((least, greatest)) = text.split_once("..") else {
        let size = size(text)?;
        return Ok((size, size));
    };
    let (least, greatest) = (size(least)?, size(greatest)?);
    if least > greatest {
        return Err(field.fail(format!(
            "the sizes from {least} to {greatest} end before they begin"
        )));
    }
    Ok((least, greatest))
}
