//! `aqm` of one direction of a link: active queue management.

use super::ScenarioError;
use super::document::Value;
use super::fields::Field;
use whimbrel_net::{Aqm, AqmSetting, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Rate};

/// Queue management as written, and its place.
#[derive(Debug, Clone)]
pub(super) struct WrittenAqm {
    setting: AqmSetting,
    /// An error at this place, without a reason.
    place: ScenarioError,
}

impl WrittenAqm {
    /// The rate that a policer lets through.
    pub fn policed(&self) -> Option<Rate> {
        match self.setting {
            AqmSetting::Policer { rate, .. } => rate,
            _ => None,
        }
    }

    /// Completes it with defaults for this link: see [`AqmSetting::resolve`].
    pub fn resolve(
        &self,
        service: &ServiceSpec,
        base_rtt: Duration,
        packet: Bytes,
    ) -> Result<Option<Aqm>, ScenarioError> {
        self.setting
            .resolve(service, base_rtt, packet)
            .map_err(|why| self.place.because(why))
    }
}

/// Reads `"red"`, `"red?max_p=0.02"`, or a table with `kind`. `wifi`: a Wi-Fi link can have none.
pub(super) fn read(field: &Field<'_>, wifi: bool) -> Result<WrittenAqm, ScenarioError> {
    let setting = setting(field)?;
    if wifi && setting != AqmSetting::None {
        return Err(field.fail(
            "a Wi-Fi link has DropTail queues; write `aqm` on a link with a `rate`, e.g. the next one",
        ));
    }
    Ok(WrittenAqm {
        setting,
        place: field.fail(""),
    })
}

fn setting(field: &Field<'_>) -> Result<AqmSetting, ScenarioError> {
    let Value::Table(_) = field.value() else {
        return field.parse();
    };
    let fields = field.fields()?;
    let kind = fields.required("kind", "\"red\"")?;
    let mut setting = AqmSetting::of_kind(kind.text()?).map_err(|why| kind.fail(why))?;
    let known: Vec<&str> = ["kind"].iter().chain(setting.keys()).copied().collect();
    fields.only(&known)?;
    for (key, field) in fields.all().filter(|(key, _)| *key != "kind") {
        let text = match field.value() {
            Value::Switch(on) => on.to_string(),
            _ => field.parse()?,
        };
        setting.set(key, &text).map_err(|why| field.fail(why))?;
    }
    Ok(setting)
}
