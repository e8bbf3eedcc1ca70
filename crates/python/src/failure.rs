//! Errors with file, line and key: `whimbrel.WhimbrelError`.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use whimbrel_study::Error;

/// The exception for an error.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    if matches!(error, Error::Stopped) {
        return PyKeyboardInterrupt::new_err("stopped");
    }
    let place = error.place();
    let (file, line) = match place.and_then(|place| place.rsplit_once(':')) {
        Some((file, line)) => match line.parse::<usize>() {
            Ok(line) => (Some(file), Some(line)),
            Err(_) => (place, None),
        },
        None => (place, None),
    };
    let make = || -> PyResult<PyErr> {
        let class = py.import("whimbrel._errors")?.getattr("WhimbrelError")?;
        let error = class.call1((error.text(), file, line, error.key()))?;
        Ok(PyErr::from_value(error))
    };
    make().unwrap_or_else(|error| error)
}
