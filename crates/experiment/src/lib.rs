//! Experiments: a paper's scenario, measures and numbers as data. A new figure is a new file.
//!
//! An experiment is a [scenario file](whimbrel_sim::scenario) with an additional table
//! `[experiment]`, at `experiments/PAPER/NAME.toml`; `whimbrel sim` runs it too:
//!
//! ```toml
//! [experiment] paper = "T. Saedi, MSc thesis, Lakehead University, 2019" place = "Fig 3.5, section
//! 3.2.1.1; gains in section 3.3" claim = "CERL beats NewReno at every loss rate below 10 %"   #
//! one sentence note = "The queue is not given: 50 packets is ns-2's default"  # optional: open
//! points of the paper measure = "mean flow goodput"            # default for all rows tolerance =
//! "25 %"                       # default for all rows scenario = "topology-1.toml"             #
//! optional: a scenario file in this folder, instead of
//!                                          # [link], [flow], ... here
//!
//! [[experiment.row]]
//! label = "CERL over {over}"
//! where = { "flow.controller" = "cerl" }   # points of the sweep; a list: any of these values.
//!                                          # The row is the mean of the measure over all points
//! over = { "flow.controller" = ["newreno", "cubic"] }  # gain in % over the same points with this
//!                                          # value; a list: one row each
//! paper = [83, 46]                         # one number for each row; optional
//!
//! [[experiment.row]]
//! label = "CERL at {link.L.loss}"
//! where = { "flow.controller" = "cerl" }
//! each = "link.L.loss"                     # one row for each value of this key
//!
//! [[experiment.order]]                     # claims that each value gives more than the next
//! key = "flow.controller"
//! greatest_first = ["cerl", "cubic", "newreno"]
//! where = { "link.L.loss" = ["1 %", "2 %"] }
//!
//! [[experiment.figure]]                    # what the paper's figure shows title = "Mean flow
//! goodput over loss" kind = "lines" x = "link.L.loss"                        # a key of the sweep
//! y = "mean flow goodput"                  # a measure; default: the experiment's series =
//! "flow.controller"               # a key of the sweep; this is the default where = {
//! "link.L.delay" = "50 ms" }     # points of the sweep; other keys keep their middle value
//! ```
//!
//! A row's number is the [measure](Measure), averaged over the points for each seed; reports show
//! its mean and standard deviation over the seeds. `flows = "cerl"` restricts it to the flows with
//! this controller or name. `from = "20 s"` and `to = "40 s"` (both optional) restrict it to a
//! period of the run; this works for measures that can be computed from samples, and the scenario
//! must set the interval `sample`. An order takes these keys, too.
//!
//! A row has an **expected value** if it has the paper's number (right within `tolerance`, relative
//! to the paper's number) or a bound, `above = 0` or `below = 5`. An order makes one row for each
//! neighboring pair: the gain, with the bound `above = 0`; with `each`, for every value of that
//! key. The verdict on the claim is *holds* if all rows with an expected value are right, *in part*
//! if some are, and *does not hold* if none is.
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

pub use claim::{AssessedRow, Assessment, ClaimVerdict, Difference};
pub use drawing::{Drawing, Flows, Kind, Of, Quantity};
pub use experiment::{Experiment, RowSpec};
pub use library::{File, Library, LibraryError};
pub use measure::{Measure, Period};
pub use selection::Selection;
