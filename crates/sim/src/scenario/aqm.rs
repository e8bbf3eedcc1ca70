//! `aqm` of one direction of a link: active queue management.

use super::ScenarioError;
use super::document::Value;
use super::fields::Field;
use whimbrel_net::AqmSetting;

/// Reads `"red"`, `"red?max_p=0.02"`, or a table with `kind`.
pub(super) fn read(field: &Field<'_>) -> Result<AqmSetting, ScenarioError> {
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
