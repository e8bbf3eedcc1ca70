//! What tests of several modules use. The scenarios beside this file are also those of the command's
//! tests.

use crate::Observer;
use serde_json::Value;
use std::sync::Mutex;

/// Keeps notes.
#[derive(Default)]
pub(crate) struct Notes(pub Mutex<Vec<String>>);

impl Observer for Notes {
    fn note(&self, text: &str) {
        self.0.lock().expect("no panic").push(text.to_owned());
    }
}

/// The number at a JSON pointer.
pub(crate) fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number {path} in {value}"))
}

/// A list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}
