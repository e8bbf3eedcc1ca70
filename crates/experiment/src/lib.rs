//! The papers' experiments: scenario, what is measured, and the paper's numbers, as data. A new figure is a new file.
//!
//! An experiment is a [scenario file](whimbrel_sim::scenario) with a table `[experiment]` more (so that
//! `whimbrel sim` runs it too), at `experiments/PAPER/NAME.toml`:
//!
//! ```toml
//! [experiment]
//! paper = "T. Saedi, MSc thesis, Lakehead University, 2019"
//! place = "Fig 3.5, section 3.2.1.1; gains in section 3.3"
//! claim = "CERL beats NewReno at every loss rate below 10 %"   # one sentence
//! note = "The queue is not given: 50 packets is ns-2's default"  # how open points were read; may be left out
//! measure = "mean flow goodput"            # of every row that names none
//! tolerance = "25 %"                       # of every row that names none
//! scenario = "topology-1.toml"             # a scenario file beside this one, instead of [link], [flow], ... here
//!
//! [[experiment.row]]
//! label = "CERL over {over}"
//! where = { "flow.controller" = "cerl" }   # points of the sweep; a list means any of them. The measure's mean over all
//! over = { "flow.controller" = ["newreno", "cubic"] }  # gain in % over the same points but with this; a list: a row each
//! paper = [83, 46]                         # one number per row; left out if the paper gives none
//!
//! [[experiment.row]]
//! label = "CERL at {link.L.loss}"
//! where = { "flow.controller" = "cerl" }
//! each = "link.L.loss"                     # a row for each of this key's values
//!
//! [[experiment.order]]                     # claims that each is greater than the next
//! key = "flow.controller"
//! greatest_first = ["cerl", "cubic", "newreno"]
//! where = { "link.L.loss" = ["1 %", "2 %"] }
//!
//! [[experiment.figure]]                    # what the paper's figure shows
//! title = "Mean flow goodput over loss"
//! kind = "lines"
//! x = "link.L.loss"                        # a key of the sweep
//! y = "mean flow goodput"                  # a measure; left out: the experiment's
//! series = "flow.controller"               # a key of the sweep; left out: this
//! where = { "link.L.delay" = "50 ms" }     # points of the sweep; other keys are held at their middle value
//! ```
//!
//! A row's number is the [measure](Measure) averaged over the points for each seed; what is shown is the mean and
//! standard deviation over the seeds. `flows = "cerl"` looks only at flows with this controller or name. `from = "20 s"`
//! and `to = "40 s"` (either may be left out) look only at that part of the run, for measures that can be taken from
//! samples; the scenario must then say how often to `sample`. An order takes these keys, too.
//!
//! A row is **judged** if it has a paper's number (right if within `tolerance` of it, relative to the paper's number) or
//! a bound, `above = 0` or `below = 5`. An order makes one row for each neighbouring pair: the gain, judged by `above =
//! 0`; `each` asks for it at every value. The verdict: all judged rows right, it *holds*; some, *in part*; none, it *does
//! not hold*.
//!
//! **Figures.** A report shows by itself the paper's numbers beside ours, each measure of the rows over the keys of the sweep, and
//! what [any runs show](mod@whimbrel_report::figures). `[[experiment.figure]]` says what the paper's figure shows where that is not
//! among them, or should come first. Each has a `title`, a `kind`, and a `where` if it is not of all points:
//!
//! | kind | keys | what it draws |
//! |---|---|---|
//! | `lines` | `x`, `y`, `series`, `flows`, `from`, `to` | a measure over a key of the sweep, a line for each series |
//! | `heat` | `x`, `rows`, `y`, `series`, `flows`, `from`, `to` | a measure over two keys, a map for each series |
//! | `time` | `show`, `flows` | over time: `cwnd`, `rate`, `rtt`, `queue` (if nothing is said), `in flight`, `ack spacing` |
//! | `tradeoff` | | throughput against the 95th percentile of the delay, a mark for each run |
//! | `cdf` | `x`, `flows` | a distribution: `rtt`, `delay` (one way), `message latency`; or `flows`: goodput, completion times |
//! | `sequence` | `flows` | data sent and delivered over time |
//! | `shares` | | how flows share a link over time, and how fairly |
//! | `confusion` | | decisions on losses against what they were |
//!
//! `flows` are called by their controller or name. `x` may be `flow.controller` if its values differ in one number
//! (`cerl?A=0.5`, `cerl?A=0.6`). What is over time is of the first seed, and needs samples: points that a figure's `where` names
//! are run once more with samples if the scenario does not `sample`. Where it says nothing, the points are those in the middle of
//! the sweep. At most four settings of a figure are drawn.

pub mod decisions;
mod drawing;
mod figures;
mod judge;
mod library;
mod measure;
mod path;
mod read;
mod recovery;
mod settings;
#[cfg(test)]
mod tests;
mod view;
mod window;

pub use drawing::{Drawing, Flows, Kind, Of, Quantity};
pub use judge::{Difference, JudgedRow, Judgement, Verdict};
pub use library::{File, Library, LibraryError};
pub use measure::Measure;
pub use read::{Experiment, RowSpec, Selection};
pub use window::Window;
