//! Which algorithm to use on a path, measured by simulation.

use crate::neighbours::{Beside, Neighbours, Repeats, SharedPath, TOLERABLE, beside, league, runs};
use crate::path::{Bottleneck, Recorded};
use crate::prediction::Transfer;
use crate::{Error, Observer};
use std::num::NonZeroUsize;
use whimbrel_cc::{Spec, registry};
use whimbrel_net::Queue;
use whimbrel_rank::score::{SHARE, reach};
use whimbrel_rank::{Aim, Class, MatrixPoint};
use whimbrel_sim::scenario::{Flow, Link, Run, ScenarioSpec, Traces, Written};
use whimbrel_units::{Bytes, Duration, Rate};

/// The algorithm that most senders use: gains are over it.
pub const USUAL: &str = "cubic";
/// The default algorithm of transfers. It is always in the second round, for comparison.
const DEFAULT: &str = "whimbrel";
/// The flow under test.
const TESTED: &str = "t";
/// Packets that fit through the path in a run of the first and of the second round.
const PACKETS: (f64, f64) = (120_000.0, 300_000.0);
/// Seconds of a run, at least and at most, and at least this many round trips.
const SECONDS: (f64, f64) = (5.0, 30.0);
const ROUND_TRIPS: f64 = 60.0;
/// Of a very fast path a run is shorter than that, but for the round trips: so many packets fit.
const ENOUGH: f64 = 1_200_000.0;
/// Algorithms of the first round that then run beside the neighbours.
const CONTENDERS: usize = 16;
/// Algorithms in the second round, besides the usual one and the default, and seeds there.
const FINALISTS: usize = 6;
const SEEDS: u32 = 5;
/// Of the second round beside neighbours: the standard error of what these keep, and packets that
/// all runs may deliver for it (some 5 s of CPU time).
const KEPT_ERROR: f64 = 0.03;
const MOST_PACKETS: u64 = 20_000_000;
/// How many of the best, besides the usual one, are told what a file takes.
pub const SHOWN: usize = 5;
/// Bits of a full packet.
const PACKET: f64 = 12_000.0;
/// Scores that differ by at most this much are alike: a path that is measured a little differently
/// might change their order.
const TIE: f64 = 0.03;
/// Other seeds might change the order of scores whose intervals overlap. Beyond this difference an
/// interval says that the runs were few, not that the algorithms are alike.
const WIDEST_TIE: f64 = 0.1;
/// Of a larger file this many bytes are simulated.
const LARGEST: u64 = 256 << 20;

/// The path that the advice is for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The path: a rate or a recorded one, and the base RTT, the first values of each. Without a
    /// buffer size it is one bandwidth-delay product.
    pub path: Bottleneck,
    /// Flows that share the path.
    pub neighbours: Neighbours,
    /// Also find out how long a file of this size takes. Needs a constant rate.
    pub size: Option<Bytes>,
    /// Number of threads; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

/// What was measured of an algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Alone on the path, from 0 to 1.
    pub alone: f64,
    /// Half of the 95 % interval of that over the seeds; 0 if there was one seed.
    pub error: f64,
    /// Data delivered, bit/s.
    pub goodput: f64,
    /// What an ideal sender delivers, bit/s.
    pub ideal: f64,
    /// 95th percentile of the queueing delay, seconds.
    pub queue: f64,
    /// Packets lost to queues, of those sent.
    pub lost: f64,
    /// Beside a neighbour.
    pub beside: Beside,
    /// How long the file takes, seconds.
    pub takes: Option<f64>,
}

impl Candidate {
    /// An algorithm that starves beside the neighbours is no advice, nor is one that starves them.
    pub fn score(&self) -> f64 {
        self.alone * reach(self.beside.kept, 1.0) * reach(self.beside.share, SHARE)
    }
}

/// Measures the algorithms in two rounds; the best comes first.
///
/// # Errors
/// If the path is wrong, the observer stops it, or threads cannot be started.
pub fn advise(request: &Request, observer: &dyn Observer) -> Result<Vec<Candidate>, Error> {
    let all = registry::controllers().into_iter();
    let all: Vec<String> = all.map(|entry| entry.name.to_owned()).collect();
    let advisor = Advisor::new(request, observer)?;
    let mut first = advisor.alone(&all, PACKETS.0, 1)?;
    // On an ordinary path: random loss of this one would hide what the algorithm does.
    let cubic = Neighbours {
        controller: usual()?,
        count: 1,
    };
    let (path, names) = (SharedPath::reference(), names(&first));
    let once = Repeats::Fixed(1);
    let ordinary = beside(&path, &cubic, &names, once, request.threads, observer)?;
    let mut tolerable = ordinary.iter().map(|beside| beside.kept >= TOLERABLE);
    first.retain(|_| tolerable.next().unwrap_or(false));
    first.truncate(CONTENDERS);
    advisor.add_neighbours(&mut first, PACKETS.0, once)?;
    let mut finalists = self::names(&first);
    finalists.truncate(FINALISTS);
    for always in [USUAL, DEFAULT] {
        // Of the first round, one run may have been unlucky.
        if !finalists.iter().any(|name| name == always) {
            finalists.push(always.to_owned());
        }
    }
    let mut measured = advisor.alone(&finalists, PACKETS.1, SEEDS)?;
    let repeats = Repeats::Until {
        first: SEEDS,
        error: KEPT_ERROR,
        packets: MOST_PACKETS,
    };
    advisor.add_neighbours(&mut measured, PACKETS.1, repeats)?;
    prefer_short_queues(&mut measured);
    if let Some(size) = request.size {
        for (i, one) in measured.iter_mut().enumerate() {
            if i < SHOWN || one.name == USUAL {
                one.takes = Some(advisor.takes(size, LARGEST, &one.name)?);
            }
        }
    }
    Ok(measured)
}

/// Of the candidates whose scores are as good as the highest, the one with the shortest queue comes
/// first, and of those with the same queue the usual one. The others keep their order.
pub(crate) fn prefer_short_queues(sorted: &mut [Candidate]) {
    let tied = tied(sorted);
    if let Some(tied) = sorted.get_mut(..tied) {
        let is_other = |one: &Candidate| one.name != USUAL;
        tied.sort_by(|a, b| {
            let queues = a.queue.total_cmp(&b.queue);
            queues.then(is_other(a).cmp(&is_other(b)))
        });
    }
}

/// How many of the first candidates have the highest score, or one that is as good.
pub fn tied(candidates: &[Candidate]) -> usize {
    let by_score = |a: &&Candidate, b: &&Candidate| a.score().total_cmp(&b.score());
    let Some(best) = candidates.iter().max_by(by_score) else {
        return 0;
    };
    let is_tied = |one: &&Candidate| {
        let interval = best.error.hypot(one.error).clamp(TIE, WIDEST_TIE);
        best.score() - one.score() <= interval
    };
    candidates.iter().take_while(is_tied).count()
}

fn usual() -> Result<Spec, Error> {
    Ok(Written::parse("controller", USUAL)?.value)
}

fn names(candidates: &[Candidate]) -> Vec<String> {
    candidates.iter().map(|one| one.name.clone()).collect()
}

/// A path, checked.
struct Advisor<'a> {
    request: &'a Request,
    observer: &'a dyn Observer,
    link: Link,
    rtt: Written<Duration>,
    traces: u64,
}

impl<'a> Advisor<'a> {
    fn new(request: &'a Request, observer: &'a dyn Observer) -> Result<Self, Error> {
        let mut traces = Traces::default();
        let mut link = request.path.link(&mut traces)?;
        let queue = link.forward.queue.take();
        link.forward.queue = queue.or_else(|| Some(one_bdp()));
        let rtt = request.path.rtt.first().cloned();
        let rtt = rtt.unwrap_or_else(|| Written::of("rtt", Duration::ZERO));
        if rtt.value.is_zero() {
            return Err(rtt.fail("must be above 0; write e.g. `45 ms`").into());
        }
        let loss = request.path.loss.first();
        if let Some(all) = loss.filter(|loss| loss.value.get() >= 1.0) {
            let why = "nothing comes through, so no algorithm is better than another";
            return Err(all.fail(why).into());
        }
        Ok(Self {
            request,
            observer,
            link,
            rtt,
            traces: traces.digest(),
        })
    }

    /// Runs each candidate on the path beside the neighbours; then the best comes first.
    fn add_neighbours(
        &self,
        candidates: &mut [Candidate],
        packets: f64,
        repeats: Repeats,
    ) -> Result<(), Error> {
        let shared = SharedPath {
            link: self.link.clone(),
            rtt: self.rtt.clone(),
            duration: self.duration(packets),
        };
        let names = names(candidates);
        let Request {
            neighbours,
            threads,
            ..
        } = self.request;
        let all = beside(
            &shared,
            neighbours,
            &names,
            repeats,
            *threads,
            self.observer,
        )?;
        for (one, beside) in candidates.iter_mut().zip(all) {
            one.beside = beside;
        }
        candidates.sort_by(|a, b| b.score().total_cmp(&a.score()));
        Ok(())
    }

    /// Length of a run through which about this many packets fit.
    fn duration(&self, packets: f64) -> Duration {
        let rate = self.request.path.rate.first();
        let bits = rate.map_or(20e6, |rate| rate.value.as_bits_per_sec() as f64);
        Duration::from_secs_f64(seconds(packets, bits, self.rtt.value.as_secs_f64()))
    }

    /// Runs each algorithm alone on the path; best first.
    fn alone(&self, names: &[String], packets: f64, seeds: u32) -> Result<Vec<Candidate>, Error> {
        let mut flow = Flow::new(Written::parse("controller", USUAL)?);
        flow.name = Some(TESTED.to_owned());
        let run = Run {
            duration: Written::of("duration", self.duration(packets)),
            ..Run::default()
        };
        let loss = self.link.forward.loss.as_ref();
        let aim = Aim::Fill {
            goal: 0.95,
            queue: 0.25,
            lost: loss.map_or(0.0, |loss| loss.value.random.get()),
            taken: 0.0,
            overflow: None,
        };
        let mut spec = ScenarioSpec::on(self.link.clone(), vec![flow], run);
        spec.traces = self.traces;
        let claim = "A full link, a short queue.";
        let (class, rtt) = (Class::A, &self.rtt);
        let point = MatrixPoint::new("advise", class, claim, aim, rtt, &[TESTED], spec)?;
        let threads = self.request.threads;
        let runs = runs(&point, names, seeds, threads, self.observer, "algorithms")?;
        let league = league(&point, names, &runs);
        let candidate = |cell: &whimbrel_rank::Cell| Candidate {
            name: cell.controller.clone(),
            alone: cell.interval().mean,
            error: cell.interval().half_width.unwrap_or(0.0),
            goodput: cell.mean.rate,
            ideal: cell.mean.rate / cell.mean.efficiency.max(1e-9),
            queue: cell.mean.delay * point.rtt.as_secs_f64(),
            lost: cell.mean.overflow,
            beside: Beside {
                kept: 1.0,
                share: 1.0,
            },
            takes: None,
        };
        let mut all: Vec<Candidate> = league.cells.iter().map(candidate).collect();
        all.sort_by(|a, b| b.alone.total_cmp(&a.alone));
        Ok(all)
    }

    /// Seconds that a file takes over the path, over QUIC. Of a file that is larger than `largest`
    /// this part is simulated.
    fn takes(&self, size: Bytes, largest: u64, name: &str) -> Result<f64, Error> {
        let path = &self.request.path;
        let controller = Written::parse("controller", name)?.value;
        let part = Bytes::new(size.get().clamp(1, largest));
        let recorded = Recorded {
            forward: self.link.forward.rate.clone(),
            back: self.link.reverse.rate.clone(),
        };
        let transfer = Transfer {
            rate: path.rate.first().map_or(Rate::ZERO, |rate| rate.value),
            rtt: self.rtt.value,
            queue: path
                .queue
                .first()
                .map_or(Queue::Bdp(1.0), |queue| queue.value),
            loss: path.loss.first().map(|loss| loss.value).unwrap_or_default(),
            outages: &[],
            recorded: &recorded,
            controller: &controller,
            tcp: false,
        };
        let seconds = transfer.seconds(part, SEEDS, self.observer)?;
        Ok(seconds * size.get().max(1) as f64 / part.get() as f64)
    }
}

/// Seconds in which about so many packets fit through a path.
fn seconds(packets: f64, bits: f64, rtt: f64) -> f64 {
    let fill = |packets: f64| packets * PACKET / bits.max(1.0);
    let (least, most) = SECONDS;
    let round_trips = ROUND_TRIPS * rtt;
    let enough = fill(ENOUGH).max(round_trips);
    if enough < least {
        return enough;
    }
    fill(packets).clamp(least, most).max(round_trips).ceil()
}

/// The default buffer.
fn one_bdp() -> Written<Queue> {
    Written::of("queue", Queue::Bdp(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;

    #[test]
    fn a_run_is_long_enough_for_the_path_and_no_longer_on_a_very_fast_one() {
        let of_first = |mbits: f64, ms: f64| seconds(PACKETS.0, mbits * 1e6, ms * 1e-3);
        assert_eq!(of_first(1.0, 50.0), 30.0);
        assert_eq!(of_first(1.0, 2000.0), 120.0);
        assert_eq!(of_first(200.0, 45.0), 8.0);
        assert_eq!(of_first(1000.0, 100.0), 6.0);
        assert_eq!(of_first(10_000.0, 1.0), 1.44);
        assert_eq!(of_first(10_000.0, 50.0), 3.0);
        assert_eq!(of_first(400_000.0, 0.001), 0.036);
    }

    #[test]
    fn a_file_of_which_a_part_is_simulated_takes_as_much_longer_as_it_is_larger() {
        let request = Request {
            path: Bottleneck {
                rate: vec![Written::of("rate", Rate::from_bits_per_sec(20_000_000))],
                rate_trace: None,
                back_trace: None,
                rtt: vec![Written::of("rtt", Duration::from_millis(20))],
                queue: Vec::new(),
                loss: Vec::new(),
            },
            neighbours: "cubic".parse().expect("neighbours"),
            size: None,
            threads: None,
        };
        let advisor = Advisor::new(&request, &Unobserved).expect("a path");
        let takes = |bytes| {
            let seconds = advisor.takes(Bytes::new(bytes), 100_000, "cubic");
            seconds.expect("a time")
        };
        let part = takes(100_000);
        assert!((takes(1_000_000) / part - 10.0).abs() < 1e-9);
        assert!(takes(50_000) < part);
    }
}
