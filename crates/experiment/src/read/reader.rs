//! What rows and figures read alike: measures, periods, and points of the sweep.

use crate::measure::{Measure, Period};
use crate::selection::Selection;
use whimbrel_sim::scenario::document::Value;
use whimbrel_sim::scenario::fields::{Field, Fields, unknown};
use whimbrel_sim::scenario::{Point, Scenario, ScenarioError};
use whimbrel_units::{Duration, Time};

/// Reads the table `[experiment]` of a scenario.
pub(super) struct Reader<'a> {
    pub(super) fields: &'a Fields<'a>,
    pub(super) scenario: &'a Scenario,
}

impl Reader<'_> {
    /// The measure under this key, or else the experiment's, and the period of the run.
    pub(super) fn measure(
        &self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Result<(Measure, Option<Period>), ScenarioError> {
        let named = fields
            .get(key)
            .or(self.fields.get("measure"))
            .ok_or_else(|| {
                fields.fail(format!(
                    "`{key}` is missing, and so is `measure` under [experiment]; \
                 write e.g. `{key} = \"total goodput\"`"
                ))
            })?;
        let measure: Measure = named
            .text()?
            .parse()
            .map_err(|why: String| named.fail(why))?;
        let period = self.period(fields, measure)?;
        let sampled = |point: &Point| point.sample().is_some();
        if measure.needs_samples(period) && !self.scenario.points().iter().all(sampled) {
            return Err(
                named.fail("needs samples; set their interval under [run]: `sample = \"100 ms\"`")
            );
        }
        Ok((measure, period))
    }

    /// The period that `from` and `to` give.
    fn period(
        &self,
        fields: &Fields<'_>,
        measure: Measure,
    ) -> Result<Option<Period>, ScenarioError> {
        let (from, to) = (fields.get("from"), fields.get("to"));
        let Some(either) = from.as_ref().or(to.as_ref()) else {
            return Ok(None);
        };
        measure.check_period().map_err(|why| either.fail(why))?;
        let points = self.scenario.points().iter();
        let end = points.map(Point::duration).min().unwrap_or_default();
        let at = |field: Option<&Field<'_>>, otherwise| match field {
            None => Ok(otherwise),
            Some(field) => match field.parse::<Duration>()? {
                at if at > end => Err(field.fail(format!("is after the end of the run at {end}"))),
                at => Ok(at),
            },
        };
        let period = Period {
            from: Time::ZERO + at(from.as_ref(), Duration::ZERO)?,
            to: Time::ZERO + at(to.as_ref(), end)?,
        };
        if period.length().is_zero() {
            return Err(either.fail("`to` must be after `from`"));
        }
        Ok(Some(period))
    }

    /// The points that a table `where` selects; all points without one.
    pub(super) fn selection(&self, field: Option<Field<'_>>) -> Result<Selection, ScenarioError> {
        let Some(field) = field else {
            return Ok(Selection::default());
        };
        field
            .fields()?
            .all()
            .map(|(key, field)| self.choice(key, &field))
            .collect::<Result<_, _>>()
            .map(Selection::new)
    }

    /// A key of the sweep and the values chosen for it.
    pub(super) fn choice(
        &self,
        key: &str,
        field: &Field<'_>,
    ) -> Result<(String, Vec<String>), ScenarioError> {
        let key = self.known_key(field, key)?;
        let values: Vec<String> = match field.value() {
            Value::List(items) => items.iter().map(|item| item.value.to_string()).collect(),
            other => vec![other.to_string()],
        };
        for value in &values {
            self.known_value(field, &key, value)?;
        }
        Ok((key, values))
    }

    /// The flows that `flows` chooses, by their controller or name.
    pub(super) fn flows(&self, fields: &Fields<'_>) -> Result<Option<String>, ScenarioError> {
        let Some(field) = fields.get("flows") else {
            return Ok(None);
        };
        let text = field.text()?;
        let mut known: Vec<String> = Vec::new();
        for flow in self.scenario.points().iter().flat_map(Point::flows) {
            // Datagrams without a name are called so.
            let controller = flow.controller.unwrap_or_else(|| "udp".to_owned());
            let name = flow.name.map(str::to_owned);
            for name in name.into_iter().chain([controller]) {
                if name == text {
                    return Ok(Some(name));
                }
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        let known = known.iter().map(String::as_str);
        Err(field.fail(unknown("flow or controller of a flow", text, known)))
    }

    /// Checks that a key belongs to the sweep.
    pub(super) fn known_key(&self, field: &Field<'_>, key: &str) -> Result<String, ScenarioError> {
        let parameters = self
            .scenario
            .points()
            .first()
            .map_or(&[][..], |point| point.parameters());
        let known = parameters.iter().map(|p| p.key.as_str());
        if known.clone().any(|k| k == key) {
            return Ok(key.to_owned());
        }
        Err(field.fail(unknown("key of the sweep", key, known)))
    }

    /// Checks that a key of the sweep has a value.
    pub(super) fn known_value(
        &self,
        field: &Field<'_>,
        key: &str,
        value: &str,
    ) -> Result<(), ScenarioError> {
        let known = self.values(key);
        if known.iter().any(|v| v == value) {
            return Ok(());
        }
        let what = format!("value of `{key}` in the sweep");
        Err(field.fail(unknown(&what, value, known.iter().map(String::as_str))))
    }

    /// The values of a key in the sweep, in order.
    pub(super) fn values(&self, key: &str) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for parameter in self
            .scenario
            .points()
            .iter()
            .flat_map(|point| point.parameters())
        {
            let value = parameter.value.to_string();
            if parameter.key == key && !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}
