//! The algorithms, loss classifiers and layers that there are.

mod text;

use serde_json::{Value, json};
use whimbrel_cc::Spec;
use whimbrel_cc::registry::{self, ClassifierEntry, Code, Domain, Entry, LayerEntry, Parameter};

/// Entries of the registry, in its order.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Algorithms.
    pub controllers: Vec<&'static Entry>,
    /// Loss classifiers.
    pub classifiers: Vec<&'static ClassifierEntry>,
    /// Layers.
    pub layers: Vec<&'static LayerEntry>,
}

impl Catalog {
    /// All entries.
    pub fn all() -> Self {
        Self {
            controllers: registry::controllers(),
            classifiers: registry::CLASSIFIERS.to_vec(),
            layers: registry::LAYERS.to_vec(),
        }
    }

    /// The entries with this name: an algorithm, a classifier, a layer, or several in
    /// `cubic+cerl`.
    ///
    /// # Errors
    /// If there is none; the text has the nearest name.
    pub fn of_name(name: &str) -> Result<Self, String> {
        let alone = registry::CLASSIFIERS.iter().find(|e| e.name == name);
        let layer = registry::LAYERS.iter().find(|e| e.name == name);
        match (name.parse::<Spec>(), alone, layer) {
            (Ok(spec), _, _) => Ok(Self {
                controllers: vec![spec.entry()],
                classifiers: spec.classifier().into_iter().collect(),
                layers: spec.layer().into_iter().collect(),
            }),
            (Err(error), None, None) => Err(error.to_string()),
            (Err(_), classifier, layer) => Ok(Self {
                controllers: Vec::new(),
                classifiers: classifier.copied().into_iter().collect(),
                layers: layer.copied().into_iter().collect(),
            }),
        }
    }

    /// A list of objects, with the files of the code, and their texts if those are wanted.
    pub fn json(&self, with_text: bool) -> Vec<Value> {
        let controllers = self.controllers.iter();
        let controllers = controllers.map(|e| (controller_json(e), e.code));
        let classifiers = self.classifiers.iter();
        let layers = self.layers.iter();
        let all = controllers
            .chain(classifiers.map(|e| (classifier_json(e), e.code)))
            .chain(layers.map(|e| (layer_json(e), e.code)));
        let with_code = |(mut entry, code): (Value, &[Code])| {
            let file = |file: &Code| match with_text {
                true => json!({ "path": file.path, "text": file.text }),
                false => json!({ "path": file.path }),
            };
            entry["code"] = code.iter().map(file).collect();
            entry
        };
        all.map(with_code).collect()
    }
}

fn controller_json(entry: &Entry) -> Value {
    let carried_by = match entry.is_fed_bursts() {
        false => json!(["tcp", "quic", "linux"]),
        true => json!(["aatp", "quic"]),
    };
    json!({
        "name": entry.name,
        "kind": "controller",
        "summary": entry.summary,
        "citation": entry.citation,
        "carried_by": carried_by,
        "parameters": parameters_json(entry.parameters),
    })
}

fn classifier_json(entry: &ClassifierEntry) -> Value {
    json!({
        "name": entry.name,
        "kind": "discriminator",
        "summary": entry.summary,
        "citation": entry.citation,
        "parameters": parameters_json(entry.parameters),
    })
}

fn layer_json(entry: &LayerEntry) -> Value {
    json!({
        "name": entry.name,
        "kind": "layer",
        "summary": entry.summary,
        "citation": entry.citation,
        "parameters": parameters_json(entry.parameters),
    })
}

fn parameters_json(parameters: &[Parameter]) -> Vec<Value> {
    parameters.iter().map(parameter_json).collect()
}

fn parameter_json(parameter: &Parameter) -> Value {
    let (default, range) = match &parameter.domain {
        Domain::Number { default, range } => (json!(default), json!([range.0, range.1])),
        Domain::Switch(on) => (json!(on), Value::Null),
        Domain::Text(text) => (json!(text.as_str()), Value::Null),
    };
    json!({ "name": parameter.name, "default": default, "range": range, "meaning": parameter.meaning })
}
