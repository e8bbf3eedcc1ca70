//! Reading `[experiment]`.

use crate::drawing::Drawing;
use crate::library::{Library, missing_traces, with_stand_ins};
use crate::{Measure, Window};
use std::path::PathBuf;
use whimbrel_sim::scenario::document::{Document, Value};
use whimbrel_sim::scenario::fields::{Field, Fields, unknown};
use whimbrel_sim::scenario::{Parameter, Point, Scenario, ScenarioError, Setting};
use whimbrel_units::{Duration, Probability, Time};

const KEYS: [&str; 10] = [
    "paper",
    "place",
    "claim",
    "note",
    "measure",
    "tolerance",
    "scenario",
    "row",
    "order",
    "figure",
];
const ROW_KEYS: [&str; 12] = [
    "label",
    "where",
    "over",
    "each",
    "paper",
    "measure",
    "flows",
    "from",
    "to",
    "tolerance",
    "above",
    "below",
];
const ORDER_KEYS: [&str; 8] = [
    "key",
    "greatest_first",
    "where",
    "each",
    "measure",
    "flows",
    "from",
    "to",
];

/// An experiment of a paper.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// `PAPER/NAME`, from where its file lies.
    pub id: String,
    /// The paper, in one line.
    pub paper: String,
    /// Where in the paper: figure or table, and section.
    pub place: String,
    /// What the paper claims, in one sentence.
    pub claim: String,
    /// How open points of the paper were read.
    pub note: Option<String>,
    /// What is measured.
    pub rows: Vec<RowSpec>,
    /// The figures that its author asked for.
    pub drawings: Vec<Drawing>,
    /// Id of the file that its scenario is in, its own or another: experiments with the same can be judged by the same
    /// runs.
    pub scenario_id: String,
    /// The recorded traces that its scenario names and that are not on this machine. While one is
    /// missing, the experiment cannot run.
    pub missing_traces: Vec<PathBuf>,
    pub(crate) document: Document,
}

/// One number of the paper, or one that its claim is judged by.
#[derive(Debug, Clone)]
pub struct RowSpec {
    /// What people read.
    pub label: String,
    /// What is measured.
    pub measure: Measure,
    /// Of which flows, by controller or name; of all when `None`.
    pub flows: Option<String>,
    /// In which part of the run; over all of it when `None`.
    pub window: Option<Window>,
    /// At which points of the sweep.
    pub at: Selection,
    /// The gain in % over these points; the value itself when `None`.
    pub over: Option<Selection>,
    /// The paper's number, in the row's unit.
    pub paper: Option<f64>,
    /// How far from the paper's number is still right, as a share of it.
    pub tolerance: f64,
    /// It must be greater than this.
    pub above: Option<f64>,
    /// It must be less than this.
    pub below: Option<f64>,
}

/// Points of a sweep: for each key any of these values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(Vec<(String, Vec<String>)>);

impl Selection {
    /// Whether a point is among them.
    pub fn takes(&self, parameters: &[Parameter]) -> bool {
        self.0.iter().all(|(key, values)| {
            parameters
                .iter()
                .any(|p| p.key == *key && values.contains(&p.value.to_string()))
        })
    }

    /// Whether nothing was said.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key that all have, if one was said.
    pub(crate) fn only(&self, key: &str) -> Option<&str> {
        let (_, values) = self.0.iter().find(|(k, _)| k == key)?;
        match values.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// These points, but with this value of a key.
    fn with(&self, key: &str, value: &str) -> Self {
        let mut all = self.0.clone();
        all.retain(|(k, _)| k != key);
        all.push((key.to_owned(), vec![value.to_owned()]));
        Self(all)
    }
}

impl Experiment {
    /// Whether a file holds an experiment: it has a table `[experiment]`.
    pub fn is_one(document: &Document) -> bool {
        matches!(&document.root.value, Value::Table(root) if root.get("experiment").is_some())
    }

    /// Reads one file of a library, whose id is `id`.
    ///
    /// # Errors
    /// The first thing that is wrong, with file, line, key and the nearest right word; the scenario is checked too.
    pub fn read(id: &str, own: Document, library: &Library) -> Result<Self, ScenarioError> {
        let root = Fields::new(&own.root, "")?;
        let fields = root.required("experiment", "{ paper = … }")?.fields()?;
        fields.only(&KEYS)?;
        let (scenario_id, document) = match fields.get("scenario") {
            None => (id.to_owned(), own.clone()),
            Some(field) => library.document(id, &field)?,
        };
        let missing_traces = missing_traces(&document);
        let readable = if missing_traces.is_empty() {
            document.clone()
        } else {
            with_stand_ins(document.clone())
        };
        let scenario = Scenario::from_document(readable, &[])?;
        let reader = Reader {
            fields: &fields,
            scenario: &scenario,
        };
        let (rows, drawings) = (reader.rows()?, reader.drawings()?);
        let text = |key, example| fields.required(key, example)?.text().map(str::to_owned);
        Ok(Self {
            id: id.to_owned(),
            paper: text("paper", "\"Author, title, venue, year\"")?,
            place: text("place", "\"Fig 3.5, section 3.2.1.1\"")?,
            claim: text("claim", "\"What the paper says, in one sentence\"")?,
            note: fields
                .get("note")
                .map(|field| field.text().map(str::to_owned))
                .transpose()?,
            rows,
            drawings,
            scenario_id,
            missing_traces,
            document,
        })
    }

    /// Its scenario, with `settings` over what the file says.
    ///
    /// # Errors
    /// If a setting is wrong, or a trace is missing.
    pub fn scenario(&self, settings: &[Setting]) -> Result<Scenario, ScenarioError> {
        Scenario::from_document(self.document.clone(), settings)
    }
}

/// Reads `[experiment]` of a scenario.
pub(crate) struct Reader<'a> {
    pub(crate) fields: &'a Fields<'a>,
    pub(crate) scenario: &'a Scenario,
}

impl Reader<'_> {
    fn rows(&self) -> Result<Vec<RowSpec>, ScenarioError> {
        let mut rows = Vec::new();
        for (key, keys) in [("row", &ROW_KEYS[..]), ("order", &ORDER_KEYS[..])] {
            let Some(all) = self.fields.get(key) else {
                continue;
            };
            for field in all.list()? {
                let fields = field.fields()?;
                fields.only(keys)?;
                rows.extend(if key == "row" {
                    self.row(&fields)?
                } else {
                    self.order(&fields)?
                });
            }
        }
        if rows
            .iter()
            .all(|row| row.paper.is_none() && row.above.is_none() && row.below.is_none())
        {
            return Err(self.fields.fail(
                "nothing here can be judged: give a row the paper's number (`paper = 46`) or a bound (`above = 0`), \
                 or write [[experiment.order]]",
            ));
        }
        Ok(rows)
    }

    /// One `[[experiment.row]]`: one row, or one for each value of `each` or `over`.
    fn row(&self, fields: &Fields<'_>) -> Result<Vec<RowSpec>, ScenarioError> {
        let label = fields.required("label", "\"CERL over NewReno\"")?.text()?;
        let at = self.selection(fields.get("where"))?;
        let number = |key| fields.get(key).map(|field| field.number()).transpose();
        let (above, below) = (number("above")?, number("below")?);
        let base = RowSpec {
            label: label.to_owned(),
            above,
            below,
            ..self.base(fields)?
        };
        let mut rows = Vec::new();
        for (label, at) in self.each(fields, &base.label, &at)? {
            let row = RowSpec {
                label,
                at: at.clone(),
                ..base.clone()
            };
            match fields.get("over") {
                None => rows.push(row),
                Some(over) => {
                    let (key, values) = self.over(&over)?;
                    for value in values {
                        let label = row.label.replace("{over}", &value);
                        rows.push(RowSpec {
                            label,
                            over: Some(at.with(&key, &value)),
                            ..row.clone()
                        });
                    }
                }
            }
        }
        let Some(field) = fields.get("paper") else {
            return Ok(rows);
        };
        let numbers: Vec<f64> = match field.value() {
            Value::List(_) => field
                .list()?
                .iter()
                .map(Field::number)
                .collect::<Result<_, _>>()?,
            _ => vec![field.number()?],
        };
        if numbers.len() != rows.len() {
            let (numbers, rows) = (numbers.len(), rows.len());
            return Err(field.fail(format!(
                "there are {numbers} of the paper's numbers for {rows} rows"
            )));
        }
        for (row, number) in rows.iter_mut().zip(numbers) {
            row.paper = Some(number);
        }
        Ok(rows)
    }

    /// One `[[experiment.order]]`: a row for each neighbouring pair.
    fn order(&self, fields: &Fields<'_>) -> Result<Vec<RowSpec>, ScenarioError> {
        let key = fields.required("key", "\"flow.controller\"")?;
        let order = fields.required("greatest_first", "[\"cerl\", \"newreno\"]")?;
        let values: Vec<&str> = order
            .list()?
            .iter()
            .map(Field::text)
            .collect::<Result<_, _>>()?;
        if values.len() < 2 {
            return Err(order.fail("an order needs at least two values"));
        }
        let key_name = self.known_key(&key, key.text()?)?;
        for value in &values {
            self.known_value(&order, &key_name, value)?;
        }
        let base = RowSpec {
            above: Some(0.0),
            ..self.base(fields)?
        };
        let mut rows = Vec::new();
        for (suffix, at) in self.each(fields, "", &self.selection(fields.get("where"))?)? {
            for pair in values.windows(2) {
                rows.push(RowSpec {
                    label: format!("{} over {}{suffix}", pair[0], pair[1]),
                    at: at.with(&key_name, pair[0]),
                    over: Some(at.with(&key_name, pair[1])),
                    ..base.clone()
                });
            }
        }
        Ok(rows)
    }

    /// What a row says of itself, or the experiment for all.
    fn base(&self, fields: &Fields<'_>) -> Result<RowSpec, ScenarioError> {
        let (measure, window) = self.measure(fields, "measure")?;
        let tolerance = fields.get("tolerance").or(self.fields.get("tolerance"));
        let tolerance: Probability =
            tolerance.map_or(Ok(Probability::ZERO), |field| field.parse())?;
        Ok(RowSpec {
            label: String::new(),
            measure,
            flows: fields
                .get("flows")
                .map(|field| field.text().map(str::to_owned))
                .transpose()?,
            window,
            at: Selection::default(),
            over: None,
            paper: None,
            tolerance: tolerance.get(),
            above: None,
            below: None,
        })
    }

    /// The measure under this key, or else the experiment's, and in which part of the run.
    pub(crate) fn measure(
        &self,
        fields: &Fields<'_>,
        key: &str,
    ) -> Result<(Measure, Option<Window>), ScenarioError> {
        let named = fields.get(key).or(self.fields.get("measure")).ok_or_else(|| {
            fields.fail(format!(
                "`{key}` is missing here and `measure` under [experiment]; write e.g. `{key} = \"total goodput\"`"
            ))
        })?;
        let measure: Measure = named
            .text()?
            .parse()
            .map_err(|why: String| named.fail(why))?;
        let window = self.window(fields, measure)?;
        let sampled = |point: &Point| point.sample().is_some();
        if measure.needs_samples(window) && !self.scenario.points().iter().all(sampled) {
            return Err(named
                .fail("is taken from samples; say how often under [run]: `sample = \"100 ms\"`"));
        }
        Ok((measure, window))
    }

    /// `from` and `to`.
    fn window(
        &self,
        fields: &Fields<'_>,
        measure: Measure,
    ) -> Result<Option<Window>, ScenarioError> {
        let (from, to) = (fields.get("from"), fields.get("to"));
        let Some(either) = from.as_ref().or(to.as_ref()) else {
            return Ok(None);
        };
        measure.in_window().map_err(|why| either.fail(why))?;
        let points = self.scenario.points().iter();
        let end = points.map(Point::duration).min().unwrap_or_default();
        let at = |field: Option<&Field<'_>>, otherwise| match field {
            None => Ok(otherwise),
            Some(field) => match field.parse::<Duration>()? {
                at if at > end => Err(field.fail(format!("is after the end of the run at {end}"))),
                at => Ok(at),
            },
        };
        let window = Window {
            from: Time::ZERO + at(from.as_ref(), Duration::ZERO)?,
            to: Time::ZERO + at(to.as_ref(), end)?,
        };
        if window.length().is_zero() {
            return Err(either.fail("`to` must be after `from`"));
        }
        Ok(Some(window))
    }

    /// The rows that `each` asks for: label and points.
    fn each(
        &self,
        fields: &Fields<'_>,
        label: &str,
        at: &Selection,
    ) -> Result<Vec<(String, Selection)>, ScenarioError> {
        let Some(field) = fields.get("each") else {
            return Ok(vec![(label.to_owned(), at.clone())]);
        };
        let key = self.known_key(&field, field.text()?)?;
        let chosen =
            at.0.iter()
                .find(|(k, _)| *k == key)
                .map(|(_, values)| values.clone());
        let placeholder = format!("{{{key}}}");
        let labelled = |value: &String| {
            let label = if label.contains(&placeholder) {
                label.replace(&placeholder, value)
            } else {
                format!(
                    "{label}, {} {value}",
                    key.rsplit('.').next().unwrap_or(&key)
                )
            };
            (label, at.with(&key, value))
        };
        Ok(chosen
            .unwrap_or_else(|| self.values(&key))
            .iter()
            .map(labelled)
            .collect())
    }

    pub(crate) fn selection(&self, field: Option<Field<'_>>) -> Result<Selection, ScenarioError> {
        let Some(field) = field else {
            return Ok(Selection::default());
        };
        field
            .fields()?
            .all()
            .map(|(key, field)| self.choice(key, &field))
            .collect::<Result<_, _>>()
            .map(Selection)
    }

    fn over(&self, field: &Field<'_>) -> Result<(String, Vec<String>), ScenarioError> {
        let fields = field.fields()?;
        let mut all = fields.all();
        match (all.next(), all.next()) {
            (Some((key, field)), None) => self.choice(key, &field),
            _ => Err(field.fail(
                "must have one key; write e.g. `over = { \"flow.controller\" = \"newreno\" }`",
            )),
        }
    }

    fn choice(&self, key: &str, field: &Field<'_>) -> Result<(String, Vec<String>), ScenarioError> {
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

    pub(crate) fn known_key(&self, field: &Field<'_>, key: &str) -> Result<String, ScenarioError> {
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

    fn known_value(&self, field: &Field<'_>, key: &str, value: &str) -> Result<(), ScenarioError> {
        let known = self.values(key);
        if known.iter().any(|v| v == value) {
            return Ok(());
        }
        let what = format!("value of `{key}` in the sweep");
        Err(field.fail(unknown(&what, value, known.iter().map(String::as_str))))
    }

    /// The values of a key in the sweep, in order.
    fn values(&self, key: &str) -> Vec<String> {
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
