//! Reads the table `[experiment]` of a scenario file.

mod drawings;
mod reader;
mod rows;

use crate::experiment::Experiment;
use crate::traces::{missing_traces, with_stand_ins};
use reader::Reader;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::fields::{Field, Fields};
use whimbrel_sim::scenario::{Scenario, ScenarioError};

const KEYS: [&str; 13] = [
    "paper",
    "beyond",
    "place",
    "claim",
    "contradiction",
    "undecidable",
    "note",
    "measure",
    "tolerance",
    "scenario",
    "row",
    "order",
    "figure",
];

/// Reads the experiment `id` from its file. `find` returns the id and the content of the scenario
/// file that the key `scenario` names.
///
/// # Errors
/// The first mistake in the file or its scenario, with file, line, key and the nearest right word.
pub(crate) fn experiment(
    id: &str,
    own: Document,
    find: impl Fn(&Field<'_>) -> Result<(String, Document), ScenarioError>,
) -> Result<Experiment, ScenarioError> {
    let root = Fields::new(&own.root, "")?;
    let fields = root.required("experiment", "{ paper = … }")?.fields()?;
    fields.only(&KEYS)?;
    let (scenario_id, document) = match fields.get("scenario") {
        None => (id.to_owned(), own.clone()),
        Some(field) => find(&field)?,
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
    let optional = |key| {
        let field = fields.get(key);
        field
            .map(|field| field.text().map(str::to_owned))
            .transpose()
    };
    Ok(Experiment {
        id: id.to_owned(),
        paper: text("paper", "\"Author, title, venue, year\"")?,
        beyond: fields
            .get("beyond")
            .map_or(Ok(false), |field| field.switch())?,
        place: text("place", "\"Fig 3.5, section 3.2.1.1\"")?,
        claim: text("claim", "\"What the paper claims, in one sentence\"")?,
        contradiction: optional("contradiction")?,
        undecidable: optional("undecidable")?,
        note: optional("note")?,
        rows,
        drawings,
        scenario_id,
        missing_traces,
        document,
    })
}
