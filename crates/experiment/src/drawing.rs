//! `[[experiment.figure]]`: what the paper's figure shows, said by the experiment's author.

use crate::read::{Reader, Selection};
use crate::{Measure, Window};
use whimbrel_report::figures::{Delays, Look};
use whimbrel_sim::scenario::fields::{Field, Fields, unknown};
use whimbrel_sim::scenario::{Point, ScenarioError};

/// A figure that an experiment asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// What stands above it.
    pub title: String,
    /// What it draws.
    pub kind: Kind,
    /// Of which points of the sweep.
    pub at: Selection,
}

/// What a figure draws.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A measure over a key of the sweep, a line for each series.
    Lines {
        /// The key.
        x: String,
        /// The measure.
        y: Quantity,
    },
    /// A measure over two keys of the sweep, a map for each series.
    Heat {
        /// The key from left to right.
        x: String,
        /// The key from bottom to top.
        rows: String,
        /// The measure.
        y: Quantity,
    },
    /// Panels over time.
    Time(Vec<Look>, Flows),
    /// Throughput against delay.
    Tradeoff,
    /// A distribution.
    Cdf(Of, Flows),
    /// Data sent and delivered over time.
    Sequence(Flows),
    /// How flows share a link over time.
    Shares,
    /// Decisions on losses against the truth.
    Confusion,
}

/// Of which flows, by controller or name; of those that are chosen by themselves when `None`.
pub type Flows = Option<String>;

/// What is measured for a figure, and of whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The measure.
    pub measure: Measure,
    /// In which part of the run; over all of it when `None`.
    pub window: Option<Window>,
    /// Of which flows, by controller or name; of all when `None`.
    pub flows: Flows,
    /// The key of the sweep whose values are the series; controllers when `None`.
    pub series: Option<String>,
}

/// What a distribution is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Delays of packets or messages.
    Delays(Delays),
    /// Goodput or completion times of flows: what there is.
    Flows,
}

const DISTRIBUTIONS: [(&str, Of); 4] = [
    ("rtt", Of::Delays(Delays::Rtt)),
    ("delay", Of::Delays(Delays::OneWay)),
    ("message latency", Of::Delays(Delays::Messages)),
    ("flows", Of::Flows),
];

/// All kinds, and the keys that each may have besides `title`, `kind` and `where`.
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

impl Drawing {
    /// Whether it shows what happens over time at this point: the point has to be run with samples.
    pub fn wants(&self, point: &Point) -> bool {
        let over_time = match self.kind {
            Kind::Time(..) | Kind::Sequence(_) | Kind::Shares | Kind::Cdf(Of::Delays(_), _) => true,
            Kind::Lines { .. }
            | Kind::Heat { .. }
            | Kind::Tradeoff
            | Kind::Cdf(Of::Flows, _)
            | Kind::Confusion => false,
        };
        over_time && !self.at.is_everything() && self.at.takes(point.parameters())
    }
}

impl Reader<'_> {
    /// All `[[experiment.figure]]`.
    pub(crate) fn drawings(&self) -> Result<Vec<Drawing>, ScenarioError> {
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
            return Err(fields.fail("no point of the sweep has all of what `where` says"));
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
            "time" => Kind::Time(looks(fields)?, flows(fields)?),
            "tradeoff" => Kind::Tradeoff,
            "cdf" => Kind::Cdf(distribution(fields)?, flows(fields)?),
            "sequence" => Kind::Sequence(flows(fields)?),
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
        let (measure, window) = self.measure(fields, "y")?;
        let series = match fields.get("series") {
            Some(field) => Some(self.known_key(&field, field.text()?)?),
            None => None,
        };
        Ok(Quantity {
            measure,
            window,
            flows: flows(fields)?,
            // That is what nobody needs to say.
            series: series.filter(|key| key != "flow.controller"),
        })
    }
}

fn flows(fields: &Fields<'_>) -> Result<Flows, ScenarioError> {
    let text = |field: Field<'_>| field.text().map(str::to_owned);
    fields.get("flows").map(text).transpose()
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
        return Err(
            field.fail("needs at least one panel; write e.g. `show = [\"cwnd\", \"queue\"]`")
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Library};
    use std::path::Path;
    use whimbrel_sim::scenario::document::Document;

    /// An experiment over loss and controllers, with this figure.
    fn read(figure: &str) -> Result<Experiment, ScenarioError> {
        let text = format!(
            r#"[experiment]
paper = "P"
place = "Q"
claim = "C"
measure = "jain"
[[experiment.row]]
label = "A"
above = 0
[[experiment.figure]]
{figure}
[link.L]
[[flow]]
route = ["L"]
[sweep]
"link.L.loss" = ["0 %", "1 %", "2 %"]
"flow.controller" = ["newreno", "cubic", "cerl"]
"#
        );
        let document = Document::parse(&text, Path::new("a.toml"))?;
        Experiment::read("p/a", document, &Library::Embedded)
    }

    fn kind(figure: &str) -> Kind {
        let experiment = read(&format!("title = \"T\"\n{figure}")).expect("an experiment");
        experiment.drawings[0].kind.clone()
    }

    #[test]
    fn a_figure_is_of_the_experiments_measure_unless_it_says_otherwise() {
        let of = |figure: &str| match kind(figure) {
            Kind::Lines { x, y } => (x, y.measure, y.series),
            other => panic!("{other:?}"),
        };
        let loss = "link.L.loss".to_owned();
        let found = of("kind = \"lines\"\nx = \"link.L.loss\"");
        assert_eq!(found, (loss.clone(), Measure::Jain, None));
        let found = of(
            "kind = \"lines\"\nx = \"link.L.loss\"\ny = \"total goodput\"\nseries = \"flow.controller\"",
        );
        assert_eq!(found, (loss, Measure::TotalGoodput, None));
    }

    #[test]
    fn panels_and_distributions_are_chosen_by_name() {
        let time = kind("kind = \"time\"\nshow = [\"queue\", \"ack spacing\"]");
        assert_eq!(time, Kind::Time(vec![Look::Queue, Look::AckSpacing], None));
        assert_eq!(
            kind("kind = \"time\""),
            Kind::Time(Look::USUAL.to_vec(), None)
        );
        let cdf = kind("kind = \"cdf\"\nx = \"delay\"");
        assert_eq!(cdf, Kind::Cdf(Of::Delays(Delays::OneWay), None));
    }

    #[test]
    fn only_points_that_a_figure_names_are_wanted_over_time() {
        let wanted = |figure: &str| {
            let experiment = read(figure).expect("an experiment");
            let scenario = experiment.scenario(&[]).expect("a scenario");
            let points = scenario.points().iter();
            points.filter(|point| experiment.wants(point)).count()
        };
        assert_eq!(wanted("title = \"T\"\nkind = \"time\""), 0);
        let at =
            "where = { \"link.L.loss\" = \"2 %\", \"flow.controller\" = [\"cerl\", \"cubic\"] }";
        assert_eq!(wanted(&format!("title = \"T\"\nkind = \"time\"\n{at}")), 2);
        assert_eq!(
            wanted(&format!("title = \"T\"\nkind = \"tradeoff\"\n{at}")),
            0
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_the_nearest_word() {
        let refused = |figure: &str| read(figure).expect_err("wrong").to_string();
        let wrong = [
            ("title = \"T\"\nkind = \"line\"", "did you mean `lines`?"),
            (
                "title = \"T\"\nkind = \"time\"\nshows = []",
                "did you mean `show`?",
            ),
            (
                "title = \"T\"\nkind = \"time\"\nshow = [\"cwmd\"]",
                "did you mean `cwnd`?",
            ),
            (
                "title = \"T\"\nkind = \"cdf\"\nx = \"rrt\"",
                "did you mean `rtt`?",
            ),
            (
                "title = \"T\"\nkind = \"lines\"\nx = \"link.L.los\"",
                "did you mean `link.L.loss`?",
            ),
            ("title = \"T\"\nkind = \"lines\"", "x"),
            ("kind = \"tradeoff\"", "title"),
            (
                "title = \"T\"\nkind = \"lines\"\nx = \"link.L.loss\"\ny = \"total goodputs\"",
                "did you mean `total goodput`?",
            ),
            (
                "title = \"T\"\nkind = \"lines\"\nx = \"link.L.loss\"\ny = \"mean cwnd\"",
                "is taken from samples",
            ),
        ];
        for (figure, right) in wrong {
            let error = refused(figure);
            assert!(
                error.contains(right) && error.contains("a.toml:"),
                "{error}"
            );
        }
    }
}
