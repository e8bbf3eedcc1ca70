//! Trials from a paper's table: transfers through fades in which everything is lost.
//!
//! The paths, the fades and the paper's numbers are those of an experiment
//! (`experiments/enhanced-aatp/table-5.toml`). The paper does not give the times of the fades; here
//! they are spread evenly over the transfer, so that each algorithm meets the same ones. BBR is an
//! addition.

pub mod text;

use super::{Carrier, Length, RUNS, Row, Trial};
use crate::Error;
use crate::path::Recorded;
use whimbrel_cc::Spec;
use whimbrel_experiment::{Experiment, Library, RowSpec};
use whimbrel_net::{Outage, Queue};
use whimbrel_sim::scenario::Point;
use whimbrel_units::{Bytes, Duration, Probability, Time};

/// The experiment.
const TABLE: &str = "enhanced-aatp/table-5";
/// Its measure of which the paper gives numbers of seconds.
const PERIOD: &str = "completion time";
/// The link with the fades.
const LINK: &str = "L";
/// An algorithm that the paper does not have.
const ADDED: &str = "bbr";
/// The paper's file, and what is sent by default.
const FULL: Bytes = Bytes::new(1_000_000_000);
const TENTH: Bytes = Bytes::new(100_000_000);
/// Fades lie behind this time ...
const FIRST: Duration = Duration::from_secs(1);
/// ... within this one: as in the experiment, or a tenth of it.
const SPAN: [Duration; 2] = [Duration::from_secs(49), Duration::from_secs(4)];

/// Spans in which everything is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fades {
    /// Their number in the transfer.
    pub count: u32,
    /// Their number in the paper's.
    pub count_of_paper: u32,
    /// The length of each.
    pub length: Duration,
}

/// A transfer of the table.
#[derive(Debug)]
pub struct Case {
    /// The transfer.
    pub trial: Trial,
    /// Its fades.
    pub fades: Fades,
    /// The paper's period of 1 GB, in seconds.
    pub seconds_of_paper: Option<f64>,
}

impl Fades {
    /// The sum of the fades, here and in the paper, in seconds.
    fn totals(self) -> [f64; 2] {
        [self.count, self.count_of_paper].map(|n| f64::from(n) * self.length.as_secs_f64())
    }

    /// The fades, each in the middle of its part of the transfer.
    fn outages(self, full: bool) -> Vec<Outage> {
        let part = SPAN[usize::from(!full)] / u64::from(self.count.max(1));
        let fade = |k: u32| {
            let middle = FIRST + part * u64::from(k) + part / 2;
            let from = Time::ZERO + middle - self.length / 2;
            Outage {
                from,
                to: from + self.length,
            }
        };
        (0..self.count).map(fade).collect()
    }
}

/// The transfers of the table: all of them with the paper's file, or a tenth of the file and at
/// most one fade.
///
/// # Errors
/// If the experiment has a mistake.
pub fn cases(full: bool, seed: u64) -> Result<Vec<Case>, Error> {
    let wrong = |e: &dyn std::fmt::Display| Error::failed(TABLE, e.to_string());
    let experiments = Library::Embedded.experiments(TABLE);
    let experiment = experiments.map_err(|e| wrong(&e))?.into_iter().next();
    let experiment = experiment.ok_or_else(|| wrong(&"no experiment"))?;
    let scenario = experiment.scenario(&[])?;
    let mut cases: Vec<Case> = Vec::new();
    for point in scenario.points() {
        let case = case(&experiment, point, full, seed);
        let mut case = case.ok_or_else(|| wrong(&format!("no rate or controller of `{LINK}`")))?;
        let through_fades = || through_fades(&experiment, point, &case, &cases);
        case.seconds_of_paper = case.seconds_of_paper.or_else(through_fades);
        // The paper's algorithms vary fastest, and the added one comes behind them.
        let is_next = cases.last().is_some_and(|last| last.fades != case.fades);
        if is_next {
            cases.extend(added(cases.last()));
        }
        cases.push(case);
    }
    cases.extend(added(cases.last()));
    Ok(cases)
}

/// The same transfer with the added algorithm.
fn added(like: Option<&Case>) -> Option<Case> {
    let Case { trial, fades, .. } = like?;
    let mut trial = trial.clone();
    trial.controller = ADDED.parse().ok()?;
    Some(Case {
        trial,
        fades: *fades,
        seconds_of_paper: None,
    })
}

/// The paper's period through fades, in whole seconds as the paper has it: the experiment judges
/// what it is above the period without them, in percent, and no number twice.
fn through_fades(
    experiment: &Experiment,
    point: &Point,
    case: &Case,
    before: &[Case],
) -> Option<f64> {
    let is_addition = |row: &&RowSpec| row.over.is_some() && row.at.takes(point.parameters());
    let addition = experiment.rows.iter().find(is_addition)?.paper?;
    let is_alone = |other: &&Case| {
        other.fades.count_of_paper == 0 && other.trial.controller == case.trial.controller
    };
    let alone = before.iter().find(is_alone)?.seconds_of_paper?;
    Some((alone * (1.0 + addition / 100.0)).round())
}

fn case(experiment: &Experiment, point: &Point, full: bool, seed: u64) -> Option<Case> {
    let network = point.network(1);
    let link = network.links.iter().find(|link| link.name == LINK.into())?;
    let outages = &link.spec.loss.outages;
    let count_of_paper = outages.len() as u32;
    let length = outages
        .first()
        .map_or(Duration::ZERO, |o| o.to.since(o.from));
    let fades = Fades {
        count: if full {
            count_of_paper
        } else {
            count_of_paper.min(1)
        },
        count_of_paper,
        length,
    };
    let is_period = |row: &&RowSpec| {
        row.measure.name() == PERIOD && row.over.is_none() && row.at.takes(point.parameters())
    };
    let row = experiment.rows.iter().find(is_period);
    let controller: Spec = point.controllers().first()?.parse().ok()?;
    Some(Case {
        trial: Trial {
            rate: link.spec.service.nominal_rate()?,
            rtt: link.spec.delay.nominal() * 2,
            queue: Queue::Bdp(1.0),
            loss: Probability::ZERO,
            outages: fades.outages(full),
            recorded: Recorded::default(),
            carrier: Carrier::Quic,
            controller,
            length: Length::Size(if full { FULL } else { TENTH }),
            seed,
            // Only BBR's random choices differ.
            runs: RUNS / 4,
        },
        fades,
        seconds_of_paper: row.and_then(|row| row.paper),
    })
}

/// The time of a case beyond that of the same algorithm without fades, over the length of the
/// fades: measured, predicted, and the paper's. `None` without fades.
pub fn additional(of: usize, cases: &[(Case, Row)]) -> Option<[Option<f64>; 3]> {
    let (case, row) = cases.get(of)?;
    let alone = |(other, _): &&(Case, Row)| {
        other.fades.count == 0 && other.trial.controller == case.trial.controller
    };
    let (base, base_row) = cases.iter().find(alone)?;
    let [total, total_of_paper] = case.fades.totals();
    let over = |a: Option<f64>, b: Option<f64>, fades: f64| Some((a? - b?) / fades);
    let measured = |row: &Row| row.measured.as_ref().ok().map(|m| m.seconds);
    let predicted = |row: &Row| Some(row.predicted_seconds());
    (total > 0.0).then(|| {
        [
            over(measured(row), measured(base_row), total),
            over(predicted(row), predicted(base_row), total),
            over(case.seconds_of_paper, base.seconds_of_paper, total_of_paper),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_experiment() {
        let all = cases(true, 1).expect("a table");
        let found: Vec<_> = all
            .iter()
            .map(|c| {
                (
                    c.trial.controller.to_string(),
                    c.fades.count,
                    c.seconds_of_paper,
                )
            })
            .collect();
        let named = |name: &str, fades, paper| (name.to_owned(), fades, paper);
        assert_eq!(found.len(), 12);
        assert_eq!(found[0], named("enhanced-aatp", 0, Some(54.0)));
        assert_eq!(found[1], named("cubic", 0, Some(57.0)));
        assert_eq!(found[2], named("bbr", 0, None));
        assert_eq!(found[3], named("enhanced-aatp", 10, Some(59.0)));
        assert_eq!(found[6], named("enhanced-aatp", 10, Some(64.0)));
        assert_eq!(found[7], named("cubic", 10, Some(81.0)));
        assert_eq!(found[10], named("cubic", 5, Some(76.0)));
        assert_eq!(all[0].trial.rate.as_bits_per_sec(), 148_608_000);
        assert_eq!(all[0].trial.rtt, Duration::from_millis(20));
    }

    #[test]
    fn fades_are_spread_over_the_transfer_and_do_not_overlap() {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        for case in cases(true, 1).expect("a table") {
            let fades = &case.trial.outages;
            assert_eq!(fades.len(), case.fades.count as usize);
            assert!(
                fades.windows(2).all(|two| two[0].to < two[1].from),
                "{fades:?}"
            );
            let inside = |o: &Outage| o.from > at(1_000) && o.to < at(50_000);
            assert!(fades.iter().all(inside), "{fades:?}");
        }
        let tenth = cases(false, 1).expect("a table");
        let last = &tenth[11].trial.outages;
        assert_eq!(
            (last.len(), last[0].from, last[0].to),
            (1, at(2_000), at(4_000))
        );
    }

    #[test]
    fn the_additional_time_of_the_paper_is_over_the_fades_of_the_paper() {
        let cases = cases(false, 1).expect("a table");
        let row = |case: &Case| Row {
            trial: case.trial.clone(),
            implementation: super::super::Implementation::Whimbrel,
            predicted: crate::prediction::Prediction {
                size: Bytes::new(1_000_000),
                // A second, and one more for each fade.
                goodput_bps: 8e6 / f64::from(1 + case.fades.count),
                range_bps: (0.0, 0.0),
                longest: Duration::ZERO,
                delivered: Vec::new(),
                rtts: Vec::new(),
                lost: 0.0,
            },
            measured: Err("not run".to_owned()),
            allowed: false,
            warnings: Vec::new(),
        };
        let both: Vec<(Case, Row)> = cases
            .into_iter()
            .map(|case| {
                let row = row(&case);
                (case, row)
            })
            .collect();
        // Ten fades in the paper, one here, whose tenth of the file has one.
        let fades = both[3].0.fades;
        assert_eq!((fades.count, fades.count_of_paper), (1, 10));
        let length = fades.length.as_secs_f64();
        let [measured, predicted, paper] = additional(3, &both).expect("fades");
        assert_eq!((measured, predicted), (None, Some(1.0 / length)));
        assert_eq!(paper, Some((59.0 - 54.0) / (10.0 * length)));
        assert!(additional(0, &both).is_none());
    }
}
