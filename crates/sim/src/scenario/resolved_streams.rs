//! The streams of a flow: what `streams`, `messages` and `interleave` mean together.

use super::ScenarioError;
use super::flow::{Data, MAX_SEGMENTS};
use super::written::Written;
use crate::network::{Messages, Streams, TcpSettings};
use crate::streams::MAX_STREAMS;
use whimbrel_cc::Spec;

/// Default number of streams of algorithms that were published with several streams.
const DEFAULT_STREAMS: u32 = 8;

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
