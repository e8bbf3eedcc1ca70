//! Reads `[[experiment.figure]]`.

use super::reader::Reader;
use crate::drawing::{Drawing, Kind, Of, Quantity};
use whimbrel_report::figures::{Delays, Look};
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::fields::{Field, Fields, unknown};

const DISTRIBUTIONS: [(&str, Of); 4] = [
    ("rtt", Of::Delays(Delays::Rtt)),
    ("delay", Of::Delays(Delays::OneWay)),
    ("message latency", Of::Delays(Delays::Messages)),
    ("flows", Of::Flows),
];

/// All kinds of figures, with the keys that each may have besides [`COMMON`].
const KINDS: [(&str, &[&str]); 8] = [
    ("lines", &["x", "y", "series", "flows", "from", "to"]),
    ("time", &["show", "flows"]),
    ("tradeoff", &[]),
    ("heat", &["x", "rows", "y", "series", "flows", "from", "to"]),
    ("cdf", &["x", "flows"]),
    ("sequence", &["flows"]),
    ("shares", &[]),
    ("confusion", &[]),
];
const COMMON: [&str; 3] = ["title", "kind", "where"];

impl Reader<'_> {
    /// Reads all `[[experiment.figure]]`.
    pub(super) fn drawings(&self) -> Result<Vec<Drawing>, ScenarioError> {
        let Some(all) = self.fields.get("figure") else {
            return Ok(Vec::new());
        };
        let figures = all.list()?;
        figures
            .iter()
            .map(|field| self.drawing(&field.fields()?))
            .collect()
    }

    fn drawing(&self, fields: &Fields<'_>) -> Result<Drawing, ScenarioError> {
        let kind = fields.required("kind", "\"lines\"")?;
        let name = kind.text()?;
        let names = KINDS.iter().map(|(name, _)| *name);
        let Some((_, keys)) = KINDS.iter().find(|(known, _)| *known == name) else {
            return Err(kind.fail(unknown("kind of figure", name, names)));
        };
        let known: Vec<&str> = COMMON.iter().chain(*keys).copied().collect();
        fields.only(&known)?;
        let title = fields.required("title", "\"Goodput over loss\"")?;
        let at = self.selection(fields.get("where"))?;
        if !self
            .scenario
            .points()
            .iter()
            .any(|p| at.takes(p.parameters()))
        {
            return Err(fields.fail("`where` selects no point of the sweep"));
        }
        let kind = match name {
            "lines" => Kind::Lines {
                x: self.key(fields, "x")?,
                y: self.quantity(fields)?,
            },
            "heat" => Kind::Heat {
                x: self.key(fields, "x")?,
                rows: self.key(fields, "rows")?,
                y: self.quantity(fields)?,
            },
            "time" => Kind::Time(looks(fields)?, self.flows(fields)?),
            "tradeoff" => Kind::Tradeoff,
            "cdf" => Kind::Cdf(distribution(fields)?, self.flows(fields)?),
            "sequence" => Kind::Sequence(self.flows(fields)?),
            "shares" => Kind::Shares,
            _ => Kind::Confusion,
        };
        Ok(Drawing {
            title: title.text()?.to_owned(),
            kind,
            at,
        })
    }

    fn key(&self, fields: &Fields<'_>, name: &str) -> Result<String, ScenarioError> {
        let field = fields.required(name, "\"link.L.loss\"")?;
        self.known_key(&field, field.text()?)
    }

    fn quantity(&self, fields: &Fields<'_>) -> Result<Quantity, ScenarioError> {
        let (measure, period) = self.measure(fields, "y")?;
        let series = match fields.get("series") {
            Some(field) => Some(self.known_key(&field, field.text()?)?),
            None => None,
        };
        Ok(Quantity {
            measure,
            period,
            flows: self.flows(fields)?,
            // Controllers are the series by default.
            series: series.filter(|key| key != "flow.controller"),
        })
    }
}

fn looks(fields: &Fields<'_>) -> Result<Vec<Look>, ScenarioError> {
    let Some(field) = fields.get("show") else {
        return Ok(Look::USUAL.to_vec());
    };
    let names = Look::ALL.iter().map(|(name, _)| *name);
    let one = |field: &Field<'_>| {
        let text = field.text()?;
        let found = Look::ALL.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, look)| *look)
            .ok_or_else(|| field.fail(unknown("panel", text, names.clone())))
    };
    let all = field.list()?;
    if all.is_empty() {
        return Err(field.fail("needs at least one panel, e.g. `show = [\"cwnd\", \"queue\"]`"));
    }
    all.iter().map(one).collect()
}

fn distribution(fields: &Fields<'_>) -> Result<Of, ScenarioError> {
    let field = fields.required("x", "\"rtt\"")?;
    let text = field.text()?;
    let names = DISTRIBUTIONS.iter().map(|(name, _)| *name);
    let found = DISTRIBUTIONS.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, of)| *of)
        .ok_or_else(|| field.fail(unknown("distribution", text, names)))
}
