//! How well algorithms do on a matrix of paths.
//!
//! A **point** is a scenario file with a table `[point]`: its class, its claim in one sentence, the
//! flows under test, and how they are scored. The matrix (`experiments/matrix`, and with version 2
//! `experiments/matrix2` beside it) is a folder of points; anyone can write another one. Every
//! algorithm runs at every point with several seeds, and gets a score from 0 to 1, where 1 means
//! that the goal of the point is met.
//!
//! | file | contents |
//! |---|---|
//! | `point` | a point, and the reader of its table |
//! | `print` | a point as a file |
//! | `library` | the matrix, or a folder of points |
//! | `measure`, `windows` | what one run showed, in a few numbers |
//! | `score` | the formulas: from numbers to a score |
//! | `task` | runs of points on several threads |
//! | `league` | scores of points, classes and all, with confidence intervals |
//!
//! The formulas are stated in [`score`], with the sources of their goals, and for readers in
//! `docs/ranking.md`.

mod league;
mod library;
mod measure;
mod point;
mod print;
pub mod score;
mod task;
mod windows;

pub use league::{Cell, League, Standing};
pub use library::{Library, LibraryError, Version};
pub use measure::{Measures, Runs};
pub use point::{Aim, BBR, CUBIC, Class, MatrixPoint};
pub use task::{Task, run_tasks};
