//! Algorithms written in Python: an entry of the table whose controllers call a Python object.
//!
//! Each event takes the GIL, so such an algorithm is slow: for trying, not for sweeps. If it raises
//! an exception, the run goes on with a window of one segment, and the call ends with the exception
//! after that run.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use whimbrel_cc::registry::{
    self, Code, Domain, DrivenBy, Entry, Family, Feed, Parameter, Setup as CcSetup, Values,
};
use whimbrel_cc::{self as cc, Controller, LossResponse, Verdict};
use whimbrel_units::{Bytes, Rate};

/// The Python classes by the names of their algorithms.
static CLASSES: Mutex<Option<HashMap<String, Py<PyAny>>>> = Mutex::new(None);
/// The first exception of an algorithm since the last call ended.
static FAILURE: Mutex<Option<PyErr>> = Mutex::new(None);

/// Whether an algorithm has raised an exception that no call has reported yet.
pub fn has_failed() -> bool {
    FAILURE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .is_some()
}

/// The exception of an algorithm.
pub fn take_failure() -> Option<PyErr> {
    FAILURE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
}

fn fail(error: PyErr) {
    FAILURE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert(error);
}

/// What the transport knows when a connection begins.
#[pyclass(frozen, get_all, module = "whimbrel._whimbrel")]
pub struct Setup {
    mss: u64,
    initial_window: u64,
    paced: bool,
    seed: u64,
}

/// Data was acknowledged.
#[pyclass(frozen, get_all, module = "whimbrel._whimbrel")]
pub struct Ack {
    now: f64,
    acked: u64,
    rtt: Option<f64>,
    srtt: f64,
    min_rtt: f64,
    in_flight: u64,
    delivered: u64,
    delivery_rate: Option<u64>,
    lost: u64,
    app_limited: bool,
    cwnd_limited: bool,
    in_recovery: bool,
    round_start: bool,
    ece: bool,
}

/// An episode of loss began.
#[pyclass(frozen, get_all, module = "whimbrel._whimbrel")]
pub struct Loss {
    now: f64,
    in_flight: u64,
    lost: u64,
    sent: f64,
    ece: bool,
}

/// The retransmission timer fired.
#[pyclass(frozen, get_all, module = "whimbrel._whimbrel")]
pub struct Timeout {
    now: f64,
    in_flight: u64,
    repeated: bool,
}

/// Adds an algorithm to the table, or replaces one of that name. `parameters` are numbers with
/// their defaults.
#[pyfunction]
pub fn register(
    class: Bound<'_, PyAny>,
    name: String,
    summary: String,
    parameters: Vec<(String, f64)>,
    source: String,
) -> PyResult<()> {
    // An entry lives as long as the program: a notebook makes few of them.
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let parameter = |(name, default): (String, f64)| Parameter {
        name: leak(name),
        domain: Domain::Number {
            default,
            range: (f64::MIN, f64::MAX),
        },
        meaning: "see the class",
    };
    let parameters: Vec<Parameter> = parameters.into_iter().map(parameter).collect();
    let code = [Code {
        path: leak(format!("{name}.py")),
        text: leak(source),
    }];
    let entry: &'static Entry = Box::leak(Box::new(Entry {
        citation: "a class in Python",
        feed: Feed::Acknowledgments {
            family: Family::Model,
            driven_by: DrivenBy::Path,
            build,
        },
        parameters: Box::leak(parameters.into_boxed_slice()),
        ..Entry::new(
            leak(name.clone()),
            leak(summary),
            Box::leak(Box::new(code)),
            build,
        )
    }));
    registry::replace(entry).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    classes.get_or_insert_default().insert(name, class.unbind());
    Ok(())
}

fn build(setup: &CcSetup, values: &Values<'_>) -> Box<dyn Controller> {
    let mss = setup.mss.get();
    let made = Python::attach(|py| -> PyResult<Own> {
        let class = {
            let classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
            let found = classes.as_ref().and_then(|all| all.get(values.algorithm()));
            found.map(|class| class.clone_ref(py))
        };
        let class = class.ok_or_else(|| PyValueError::new_err("its class is gone"))?;
        let about = Setup {
            mss,
            initial_window: setup.initial_window.get(),
            paced: setup.paced,
            seed: setup.seed,
        };
        let keywords = PyDict::new(py);
        for name in class
            .getattr(py, "_parameter_names")?
            .extract::<Vec<String>>(py)?
        {
            keywords.set_item(&name, values.number(&name))?;
        }
        let object = class.call(py, (about,), Some(&keywords))?;
        let mut own = Own {
            object: Some(object),
            mss,
            cwnd: setup.initial_window.get(),
            pacing: None,
        };
        own.read(py)?;
        Ok(own)
    });
    Box::new(made.unwrap_or_else(|error| {
        fail(error);
        Own {
            object: None,
            mss,
            cwnd: mss,
            pacing: None,
        }
    }))
}

/// A controller whose decisions a Python object makes.
#[derive(Debug)]
struct Own {
    /// `None` once it has failed.
    object: Option<Py<PyAny>>,
    mss: u64,
    cwnd: u64,
    pacing: Option<u64>,
}

impl Own {
    /// Reads what the object answers.
    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(object) = &self.object else {
            return Ok(());
        };
        let bytes = |name: &str, value: f64| {
            let known = value.is_finite() && value >= 0.0;
            known.then_some(value as u64).ok_or_else(|| {
                PyValueError::new_err(format!("{name} must be 0 or more, not {value}"))
            })
        };
        let cwnd: f64 = object
            .getattr(py, "cwnd")?
            .extract(py)
            .map_err(|_| PyTypeError::new_err("cwnd must be a number of bytes"))?;
        self.cwnd = bytes("cwnd", cwnd)?.max(self.mss);
        let pacing: Option<f64> = object.getattr(py, "pacing_rate")?.extract(py)?;
        self.pacing = pacing.map(|rate| bytes("pacing_rate", rate)).transpose()?;
        Ok(())
    }

    /// Calls a method of the object with an event, and reads its answer.
    fn call<T: Send>(
        &mut self,
        method: &str,
        event: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send,
        answer: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T> + Send,
    ) -> Option<T> {
        if self.object.is_none() || has_failed() {
            self.cwnd = self.mss;
            return None;
        }
        let called = Python::attach(|py| {
            let Some(object) = &self.object else {
                return Ok(None);
            };
            let result = object.call_method1(py, method, (event(py)?,))?;
            let result = answer(result.into_bound(py))?;
            self.read(py)?;
            Ok(Some(result))
        });
        called.unwrap_or_else(|error: PyErr| {
            fail(error);
            self.object = None;
            self.cwnd = self.mss;
            None
        })
    }
}

fn object<T>(py: Python<'_>, value: T) -> PyResult<Py<PyAny>>
where
    T: pyo3::PyClass + Into<pyo3::PyClassInitializer<T>>,
{
    Ok(Py::new(py, value)?.into_any())
}

impl Controller for Own {
    fn on_ack(&mut self, ack: &cc::Ack) {
        let event = Ack {
            now: ack.now.as_secs_f64(),
            acked: ack.acked.get(),
            rtt: ack.rtt.map(|rtt| rtt.as_secs_f64()),
            srtt: ack.srtt.as_secs_f64(),
            min_rtt: ack.min_rtt.as_secs_f64(),
            in_flight: ack.in_flight.get(),
            delivered: ack.delivered.get(),
            delivery_rate: ack.delivery_rate.map(|rate| rate.as_bits_per_sec()),
            lost: ack.lost.get(),
            app_limited: ack.app_limited,
            cwnd_limited: ack.cwnd_limited,
            in_recovery: ack.in_recovery,
            round_start: ack.round_start,
            ece: ack.ece,
        };
        self.call("on_ack", |py| object(py, event), |_| Ok(()));
    }

    fn on_loss(&mut self, loss: &cc::Loss) -> LossResponse {
        let before = self.cwnd;
        let event = Loss {
            now: loss.now.as_secs_f64(),
            in_flight: loss.in_flight.get(),
            lost: loss.lost.get(),
            sent: loss.sent.as_secs_f64(),
            ece: loss.ece,
        };
        let verdict = |answer: Bound<'_, PyAny>| match answer.extract::<Option<String>>() {
            Ok(None) => Ok(None),
            Ok(Some(text)) if text == "random" => Ok(Some(Verdict::Random)),
            Ok(Some(text)) if text == "congestion" => Ok(Some(Verdict::Congestion)),
            _ => Err(PyValueError::new_err(
                "on_loss must return None, \"random\" or \"congestion\"",
            )),
        };
        let verdict = self
            .call("on_loss", |py| object(py, event), verdict)
            .flatten();
        LossResponse {
            reduced: self.cwnd < before,
            verdict,
            confidence: None,
        }
    }

    fn on_timeout(&mut self, timeout: &cc::Timeout) {
        let event = Timeout {
            now: timeout.now.as_secs_f64(),
            in_flight: timeout.in_flight.get(),
            repeated: timeout.repeated,
        };
        self.call("on_timeout", |py| object(py, event), |_| Ok(()));
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.get();
        self.cwnd = self.cwnd.max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.map(Rate::from_bits_per_sec)
    }

    fn phase(&self) -> &'static str {
        "python"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let copied = Python::attach(|py| -> PyResult<Option<Py<PyAny>>> {
            let Some(object) = &self.object else {
                return Ok(None);
            };
            let copy = py.import("copy")?.getattr("deepcopy")?;
            Ok(Some(copy.call1((object,))?.unbind()))
        });
        Box::new(Self {
            object: copied.unwrap_or_else(|error| {
                fail(error);
                None
            }),
            mss: self.mss,
            cwnd: self.cwnd,
            pacing: self.pacing,
        })
    }
}
