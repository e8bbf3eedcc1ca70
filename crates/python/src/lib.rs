//! The native half of the Python package `whimbrel`. What users see is in `python/whimbrel/`.
//!
//! | file | contents |
//! |---|---|
//! | `table` | tables, handed to Arrow readers without copies |
//! | `scenario` | scenarios, and their runs as tables |
//! | `arguments` | keyword arguments as requests |
//! | `calls` | `advise`, `rank`, `hunt`, `reproduce` |
//! | `attended` | long work with progress and Ctrl-C |
//! | `controller` | algorithms written in Python |
//! | `environments` | environments in which controllers learn |
//! | `failure` | errors with file, line and key |

mod arguments;
mod attended;
mod calls;
mod controller;
mod environments;
mod failure;
mod scenario;
mod table;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
fn _whimbrel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SOURCE", whimbrel_sim::SOURCE)?;
    module.add("USUAL", whimbrel_study::rank::USUAL)?;
    module.add("USUAL_AGAINST", whimbrel_study::hunt::USUAL)?;
    module.add_class::<table::NativeTable>()?;
    module.add_class::<scenario::NativeScenario>()?;
    module.add_class::<environments::NativeEpisodes>()?;
    module.add_class::<controller::Setup>()?;
    module.add_class::<controller::Ack>()?;
    module.add_class::<controller::Loss>()?;
    module.add_class::<controller::Timeout>()?;
    module.add_function(wrap_pyfunction!(calls::advise, module)?)?;
    module.add_function(wrap_pyfunction!(calls::rank, module)?)?;
    module.add_function(wrap_pyfunction!(calls::hunt, module)?)?;
    module.add_function(wrap_pyfunction!(calls::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(calls::controllers, module)?)?;
    module.add_function(wrap_pyfunction!(controller::register, module)?)
}
