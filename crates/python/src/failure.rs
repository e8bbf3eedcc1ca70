//! Errors with file, line and key: `whimbrel.WhimbrelError`.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use whimbrel_cli::library::Failure;

/// The exception for a failure.
pub fn raise(py: Python<'_>, failure: &Failure) -> PyErr {
    if failure.stopped {
        return PyKeyboardInterrupt::new_err("stopped");
    }
    let (file, line) = match failure.place.as_deref().map(|place| place.rsplit_once(':')) {
        Some(Some((file, line))) => match line.parse::<usize>() {
            Ok(line) => (Some(file), Some(line)),
            Err(_) => (failure.place.as_deref(), None),
        },
        _ => (failure.place.as_deref(), None),
    };
    let make = || -> PyResult<PyErr> {
        let class = py.import("whimbrel._errors")?.getattr("WhimbrelError")?;
        let error = class.call1((&failure.text, file, line, failure.key.as_deref()))?;
        Ok(PyErr::from_value(error))
    };
    make().unwrap_or_else(|error| error)
}
