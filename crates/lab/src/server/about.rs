//! What the page needs to know before it can show anything: algorithms, scenes, defaults, limits.

use crate::tour::SCENES;
use crate::{State, limits};
use serde_json::{Map, Value, json};
use whimbrel_study::catalog::Catalog;

/// As JSON.
pub fn about() -> Value {
    let catalog = Catalog::all();
    let algorithms: Vec<Value> = catalog
        .controllers
        .iter()
        .map(|entry| json!({ "name": entry.name, "summary": entry.summary }))
        .collect();
    let state = State::default();
    let defaults: Map<String, Value> = state
        .fields()
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    json!({
        "algorithms": algorithms,
        "scenes": SCENES,
        "defaults": defaults,
        "most_algorithms": limits::ALGORITHMS,
    })
}
