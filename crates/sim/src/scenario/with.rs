//! `with` of a flow: settings that go with one controller.
//!
//! `with = { sctp = { receive_window = "65536 B", streams = 1 } }` in a `[[flow]]` whose controller
//! a sweep chooses: where it is `sctp`, these settings override the flow's own. So protocols with
//! different transports can be compared in one sweep.

use super::ScenarioError;
use super::fields::{Field, Fields};
use super::settings::{self, Settings};
use whimbrel_cc::Spec;

/// The number of streams, which is not one of the [`Settings`].
const STREAMS: &str = "streams";

/// The settings of a flow with those of its controller.
pub(super) struct With<'a> {
    pub settings: Settings,
    /// `streams` as written for the controller.
    pub streams: Option<Field<'a>>,
}

/// Reads `with`. `settings` are the flow's own; those of other controllers are only checked.
pub(super) fn read<'a>(
    fields: &Fields<'a>,
    controller: &Spec,
    settings: Settings,
) -> Result<With<'a>, ScenarioError> {
    let mut with = With {
        settings,
        streams: None,
    };
    let Some(all) = fields.get("with") else {
        return Ok(with);
    };
    let known: Vec<&str> = settings::keys().chain([STREAMS]).collect();
    let written = controller.to_string();
    let name = written.split('?').next().unwrap_or_default();
    for (key, field) in all.fields()?.all() {
        key.parse::<Spec>().map_err(|error| field.fail(error))?;
        let own = field.fields()?;
        own.only(&known)?;
        let read = settings::read(&own, settings)?;
        if key == name {
            with = With {
                settings: read,
                streams: own.get(STREAMS),
            };
        }
    }
    Ok(with)
}
