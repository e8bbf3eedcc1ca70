//! A run that is played step by step, for a program that acts between the steps: an environment in
//! which controllers learn.

use crate::engine::observation::Unobserved;
use crate::engine::world::World;
use crate::network::Network;
use crate::outcome::Outcome;
use self_cell::self_cell;
use whimbrel_units::Time;

/// A run in progress; `None` once its outcome was taken.
struct Running<'a>(Option<World<'a, Unobserved>>);

self_cell!(
    struct Played {
        owner: Network,
        #[not_covariant]
        dependent: Running,
    }
);

/// A run that is played step by step. However it is cut into steps, its outcome is that of
/// [`run`](crate::run), bit for bit, as long as the program does not act in between.
pub struct Session {
    played: Played,
    over: bool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A run at its beginning.
    pub fn new(network: Network) -> Self {
        fn begin(network: &Network) -> Running<'_> {
            Running(Some(World::new(network)))
        }
        Self {
            played: Played::new(network, begin),
            over: false,
        }
    }

    /// Plays all events up to `until`, that instant included. Returns whether the run is over: its
    /// time has passed, or all data has arrived.
    pub fn advance(&mut self, until: Time) -> bool {
        if !self.over {
            self.over = self.played.with_dependent_mut(|_, running| {
                running.0.as_mut().is_none_or(|world| world.advance(until))
            });
        }
        self.over
    }

    /// Packets that were offered to the links up to now, summed over the links.
    pub fn offered(&mut self) -> u64 {
        self.played.with_dependent_mut(|_, running| {
            let world = running.0.as_ref();
            world.map_or(0, World::offered)
        })
    }

    /// Plays the rest, and returns what was measured.
    pub fn finish(self) -> Outcome {
        self.end(|world| world.play())
    }

    /// Ends the run at `now`, up to which it was played, and returns what was measured until then.
    pub fn stop(self, now: Time) -> Outcome {
        self.end(|world| world.stop(now))
    }

    fn end(mut self, play: impl for<'a> FnOnce(World<'a, Unobserved>) -> Outcome) -> Outcome {
        let outcome = self
            .played
            .with_dependent_mut(|_, running| running.0.take().map(play));
        outcome.unwrap_or_else(|| unreachable!("only this method takes the run, and it ends here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;
    use whimbrel_units::Duration;

    const SCENARIO: &str = "[link.L]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nloss = \"1 %\"\n\
                            queue = \"20 packets\"\n[[flow]]\ncount = 2\nroute = [\"L\"]\n\
                            [[flow]]\nroute = [\"L\"]\nsize = \"100 kB\"\n\
                            [run]\nduration = \"3 s\"\n";

    #[test]
    fn steps_do_not_change_the_outcome() {
        let scenario = Scenario::parse(SCENARIO, Path::new("test")).expect("valid");
        let network = scenario.points()[0].network(7);
        let whole = crate::run(&network);
        for step in [1, 7, 250, 10_000] {
            let mut session = Session::new(network.clone());
            let mut now = Time::ZERO;
            loop {
                now += Duration::from_millis(step);
                if session.advance(now) {
                    break;
                }
                assert!(now < Time::ZERO + network.duration);
            }
            assert!(session.advance(now), "it stays over");
            assert_eq!(session.finish(), whole, "steps of {step} ms");
        }
    }

    #[test]
    fn a_stopped_run_has_what_happened_until_then() {
        let scenario = Scenario::parse(SCENARIO, Path::new("test")).expect("valid");
        let network = scenario.points()[0].network(7);
        let whole = crate::run(&network);
        let now = Time::ZERO + Duration::from_millis(1500);
        let mut session = Session::new(network.clone());
        assert!(!session.advance(now));
        let offered = session.offered();
        let stopped = session.stop(now);
        assert_eq!(stopped.duration, Duration::from_millis(1500));
        let sent = |outcome: &Outcome| {
            let links = outcome.links.iter();
            links.map(|link| link.counters.offered).sum::<u64>()
        };
        assert_eq!(sent(&stopped), offered);
        assert!(sent(&stopped) < sent(&whole) * 2 / 3, "{offered}");
        assert!(sent(&stopped) > sent(&whole) / 3, "{offered}");
        // The goodput is over the time that was played.
        let (half, all) = (&stopped.flows[0], &whole.flows[0]);
        let of = |flow: &crate::FlowOutcome| flow.goodput.as_bits_per_sec() as f64;
        assert!((of(half) / of(all) - 1.0).abs() < 0.3);
    }
}
