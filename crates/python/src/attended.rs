//! Long work on a thread of its own, while the caller's thread shows progress and listens for
//! Ctrl-C. The GIL is released in between.

use crate::controller;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use whimbrel_study::Observer;

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// The state of the work.
#[derive(Debug, Default)]
struct State {
    work: Mutex<Work>,
    stop: AtomicBool,
}

#[derive(Debug, Default, Clone)]
struct Work {
    name: String,
    total: f64,
    done: f64,
}

impl State {
    fn change(&self, change: impl FnOnce(&mut Work)) {
        change(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Observer for State {
    fn begin(&self, total: f64, name: &str) {
        self.change(|work| {
            *work = Work {
                name: name.to_owned(),
                total,
                done: 0.0,
            }
        });
    }

    fn done(&self, weight: f64) -> ControlFlow<()> {
        self.change(|work| work.done += weight);
        match self.stop.load(Ordering::Relaxed) || controller::has_failed() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Does `work` on another thread. `progress` is called with name, done and total.
///
/// # Errors
/// Ctrl-C, an error of `progress`, or of an algorithm written in Python.
pub fn attended<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Observer) -> T + Send,
) -> PyResult<T> {
    let state = &State::default();
    let (finished, waiting) = channel();
    // A receiver is not `Sync`, and the GIL is released by a closure that must be.
    let waiting = Mutex::new(waiting);
    let (done, mut error) = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let result = work(state);
            // The receiver lives as long as this thread.
            let _ = finished.send(());
            result
        });
        let mut error = None;
        loop {
            let wait = || {
                let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.recv_timeout(LOOK)
            };
            if py.detach(wait) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            let shown = py.check_signals().and_then(|()| show(state, progress));
            if let Err(first) = shown {
                state.stop.store(true, Ordering::Relaxed);
                error.get_or_insert(first);
            }
        }
        (py.detach(|| worker.join()), error)
    });
    if error.is_none() {
        error = show(state, progress).err();
    }
    if let Some(error) = controller::take_failure().or(error) {
        return Err(error);
    }
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        pyo3::exceptions::PyRuntimeError::new_err(text.unwrap_or_default())
    })
}

fn show(state: &State, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(progress) = progress else {
        return Ok(());
    };
    let work = state
        .work
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    if work.total > 0.0 {
        progress.call1((work.name, work.done, work.total))?;
    }
    Ok(())
}
