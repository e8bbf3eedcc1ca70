//! `streams`, `messages` and `interleave` of a flow.

use super::ScenarioError;
use super::document::Value;
use super::fields::Field;
use super::flow::{Data, MAX_SEGMENTS};
use super::written::Written;
use crate::network::{Messages, Streams, TcpSettings};
use crate::streams::MAX_STREAMS;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_units::{Bytes, Duration};

/// Default number of streams of algorithms that were published with several streams.
const DEFAULT_STREAMS: u32 = 8;
/// An example of messages in the short form.
const EXAMPLE: &str = "20 kB every 10 ms";

impl Data {
    /// The streams of a TCP flow. `own`: a number of streams that overrides the flow's.
    /// `one_stream`: the flow can have one stream only, because it has several routes or sends both
    /// ways.
    pub(super) fn streams_of_tcp(
        &self,
        own: Option<&Written<u32>>,
        settings: &TcpSettings,
        one_stream: bool,
    ) -> Result<Streams, ScenarioError> {
        if let Some(messages) = &self.messages {
            self.check_messages(messages, settings)?;
        }
        let spec = &self.controller.value;
        let streams = Streams {
            count: count(own.or(self.streams.as_ref()), spec, one_stream)?,
            interleave: self.interleave.as_ref().is_none_or(|on| on.value),
            messages: self.messages.as_ref().map(|messages| messages.value),
        };
        match &self.interleave {
            Some(off) if !streams.interleave && streams.messages.is_none() => {
                Err(off.fail("`interleave = false` needs `messages`"))
            }
            _ => Ok(streams),
        }
    }

    /// Refuses several streams and messages of an AATP flow.
    pub(super) fn one_stream_of_aatp(&self) -> Result<(), ScenarioError> {
        let why = || {
            let spec = &self.controller.value;
            format!("`{spec}` runs over AATP, which has one stream of bulk data")
        };
        match (&self.streams, &self.messages) {
            (Some(streams), _) if streams.value > 1 => Err(streams.fail(why())),
            (_, Some(messages)) => Err(messages.fail(why())),
            _ => Ok(()),
        }
    }

    fn check_messages(
        &self,
        written: &Written<Messages>,
        settings: &TcpSettings,
    ) -> Result<(), ScenarioError> {
        if self.size.is_some() {
            return Err(written.fail("cannot be combined with `size`"));
        }
        if let Some(two_way) = self.two_way.as_ref().filter(|two_way| two_way.value) {
            return Err(two_way.fail("cannot be combined with `messages`"));
        }
        let messages = &written.value;
        if messages.min_size.is_zero() {
            return Err(written.fail("a message must have at least 1 B"));
        }
        if messages.every.is_zero() {
            return Err(written.fail("the time between messages must be greater than zero"));
        }
        let all = u64::from(messages.count.unwrap_or(1));
        let segments = messages.max_size.get().div_ceil(settings.mss.get());
        if segments.saturating_mul(all) > MAX_SEGMENTS {
            return Err(written.fail(format!(
                "{all} messages of {} could be more than 2^31 segments of {}",
                messages.max_size, settings.mss
            )));
        }
        Ok(())
    }
}

fn count(
    written: Option<&Written<u32>>,
    controller: &Spec,
    one_stream: bool,
) -> Result<u32, ScenarioError> {
    let Some(count) = written else {
        let several = !one_stream && controller.transport_features().streams;
        return Ok(if several { DEFAULT_STREAMS } else { 1 });
    };
    if !(1..=MAX_STREAMS).contains(&count.value) {
        let found = count.value;
        return Err(count.fail(format!("must be from 1 to {MAX_STREAMS}, not {found}")));
    }
    if one_stream && count.value > 1 {
        return Err(count.fail(
            "a flow with several `routes` or with `two_way` has one stream; omit one of these keys",
        ));
    }
    Ok(count.value)
}

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
