//! Experiments: a paper's scenario, measures and numbers as data. A new figure is a new file.
//!
//! An experiment is a [scenario file](whimbrel_sim::scenario) with an additional table
//! `[experiment]`, at `experiments/PAPER/NAME.toml`; `whimbrel sim` runs it too:
//!
//! ```toml
//! [experiment]
//! paper = "T. Saedi, MSc thesis, Lakehead University, 2019"
//! place = "Fig 3.5, section 3.2.1.1; gains in section 3.3"
//! # One sentence.
//! claim = "CERL beats NewReno at every loss rate below 10 %"
//! # Optional: the claim is ours, not the paper's.
//! beyond = false
//! # Optional: open points of the paper.
//! note = "The queue is not given: 50 packets is ns-2's default"
//! # Defaults for all rows.
//! measure = "mean flow goodput"
//! tolerance = "25 %"
//! # Optional: a scenario file in this folder, instead of [link], [flow], ... here.
//! scenario = "topology-1.toml"
//!
//! [[experiment.row]]
//! label = "CERL over {over}"
//! # Points of the sweep; a list: any of these values. The row is the mean of the measure over all
//! # these points.
//! where = { "flow.controller" = "cerl" }
//! # Gain in % over the same points with this value; a list: one row each.
//! over = { "flow.controller" = ["newreno", "cubic"] }
//! # Optional: one number for each row.
//! paper = [83, 46]
//!
//! [[experiment.row]]
//! label = "CERL at {link.L.loss}"
//! where = { "flow.controller" = "cerl" }
//! # One row for each value of this key.
//! each = "link.L.loss"
//!
//! # Claims that each value gives more than the next.
//! [[experiment.order]]
//! key = "flow.controller"
//! greatest_first = ["cerl", "cubic", "newreno"]
//! where = { "link.L.loss" = ["1 %", "2 %"] }
//!
//! # What the paper's figure shows.
//! [[experiment.figure]]
//! title = "Mean flow goodput over loss"
//! kind = "lines"
//! # A key of the sweep.
//! x = "link.L.loss"
//! # A measure; default: the experiment's.
//! y = "mean flow goodput"
//! # A key of the sweep; this is the default.
//! series = "flow.controller"
//! # Points of the sweep; other keys keep their middle value.
//! where = { "link.L.delay" = "50 ms" }
//! ```
//!
//! A row's number is the [measure](Measure), averaged over the points for each seed; reports show
//! its mean and standard deviation over the seeds. `flows = "cerl"` restricts it to the flows with
//! this controller or name. `from = "20 s"` and `to = "40 s"` (both optional) restrict it to a
//! period of the run; this works for measures that can be computed from samples, and the scenario
//! must set the interval `sample`. An order takes these keys, too.
//!
//! A row expects a **number** if it has the paper's (right within `tolerance`, relative to the
//! paper's number), or an **order** if it has a bound only, `above = 0` or `below = 5`. An
//! `[[experiment.order]]` makes one row for each neighboring pair: the gain, with the bound
//! `above = 0`; with `each`, for every value of that key. A row is *right* or *wrong*, or
//! **undecided** if the 95 % confidence interval of its mean over the seeds includes a bound; the
//! result then says how many seeds would decide. The verdict on the claim is *holds* if all decided
//! rows are right, *in part* if more than half are, and else *does not hold*; it is *undecided* if
//! no row is decided. With `contradiction = "why"`, the arithmetic by which the paper's own numbers
//! exclude each other, the claim *contradicts itself*, whatever is measured. With `beyond = true`
//! the claim is ours, and it is counted apart.
//!
//! **Figures.** By default a report shows the paper's numbers beside the measured ones, each
//! measure of the rows over the keys of the sweep, and the [figures of any
//! runs](mod@whimbrel_report::figures). `[[experiment.figure]]` adds what the paper's figure shows,
//! or puts it first. Each has a `title`, a `kind`, and optionally a `where`:
//!
//! | kind | keys | what it draws |
//! |---|---|---|
//! | `lines` | `x`, `y`, `series`, `flows`, `from`, `to` | a measure over a key of the sweep, with a line for each series |
//! | `heat` | `x`, `rows`, `y`, `series`, `flows`, `from`, `to` | a measure over two keys, with a map for each series |
//! | `time` | `show`, `flows` | over time: `cwnd`, `rate`, `rtt`, `queue` (these by default), `in flight`, `ack spacing` |
//! | `tradeoff` | | throughput against the 95th percentile of the delay, with a mark for each run |
//! | `cdf` | `x`, `flows` | a distribution: `rtt`, `delay` (one way), `message latency`; or `flows`: goodput and completion times |
//! | `sequence` | `flows` | data sent and delivered over time |
//! | `shares` | | how flows share a link over time, and how fairly |
//! | `confusion` | | decisions on losses against their true causes |
//!
//! `flows` names flows by their controller or name. `x` may be `flow.controller` if its values
//! differ in one number (`cerl?A=0.5`, `cerl?A=0.6`). Figures over time show the first seed and
//! need samples: if the scenario has no `sample`, the points that a figure's `where` selects run
//! once more with samples. Without a `where`, a figure shows the points in the middle of the sweep.
//! One figure shows at most four settings.

mod claim;
mod drawing;
mod embedded;
mod experiment;
mod figures;
pub mod judge;
mod library;
mod measure;
mod read;
mod selection;
mod traces;

#[cfg(test)]
mod tests;

pub use claim::{Asks, AssessedRow, Assessment, ClaimVerdict, Count, Difference, in_seeds};
pub use drawing::{Drawing, Flows, Kind, Of, Quantity};
pub use experiment::{Across, Experiment, RowSpec, Take};
pub use library::{File, Library, LibraryError};
pub use measure::{Measure, Period};
pub use selection::Selection;
