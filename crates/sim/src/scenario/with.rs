//! `with` of a flow: settings that go with one controller.
//!
//! `with = { sctp = { receive_window = "65536 B", streams = 1 } }` in a `[[flow]]` whose controller
//! a sweep chooses: where it is `sctp`, these settings override the flow's own. So protocols with
//! different transports can be compared in one sweep.

use super::ScenarioError;
use super::fields::Fields;
use super::settings::{self, Settings};
use super::streams;
use super::written::Written;
use whimbrel_cc::Spec;

/// The number of streams, which is not one of the [`Settings`].
const STREAMS: &str = "streams";

/// The settings that go with one controller.
#[derive(Debug, Clone)]
pub struct With {
    /// The controller, without parameters.
    pub controller: String,
    /// The flow's settings while it has this controller.
    pub settings: Settings,
    /// The number of its streams then; `None`: the flow's.
    pub streams: Option<Written<u32>>,
}

/// Reads `with`. `settings` are the flow's own.
pub(super) fn read(fields: &Fields<'_>, settings: Settings) -> Result<Vec<With>, ScenarioError> {
    let Some(all) = fields.get("with") else {
        return Ok(Vec::new());
    };
    let known: Vec<&str> = settings::keys().chain([STREAMS]).collect();
    let one = |(key, field): (&str, super::fields::Field<'_>)| {
        key.parse::<Spec>().map_err(|error| field.fail(error))?;
        let own = field.fields()?;
        own.only(&known)?;
        Ok(With {
            controller: key.to_owned(),
            settings: settings::read(&own, settings)?,
            streams: own.read(STREAMS, streams::read_count)?,
        })
    };
    all.fields()?.all().map(one).collect()
}
