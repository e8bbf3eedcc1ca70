//! Many episodes at once.

use crate::agent::{FIELDS, Seen};
use crate::episode::Episode;
use rayon::prelude::*;
use whimbrel_units::Duration;

/// Episodes that are played in step, on all cores. Each has the same number of agents.
#[derive(Debug, Default)]
pub struct Batch {
    episodes: Vec<Option<Episode>>,
    agents: usize,
}

impl Batch {
    /// Places for `episodes` episodes with `agents` agents each.
    pub fn new(episodes: usize, agents: usize) -> Self {
        Self {
            episodes: (0..episodes).map(|_| None).collect(),
            agents,
        }
    }

    /// Begins an episode at a place; returns false if there is no such place, or the episode has
    /// another number of agents.
    pub fn begin(&mut self, place: usize, episode: Episode) -> bool {
        let fits = episode.agents().len() == self.agents;
        match self.episodes.get_mut(place).filter(|_| fits) {
            Some(slot) => {
                *slot = Some(episode);
                true
            }
            None => false,
        }
    }

    /// Plays a step of all episodes. `windows` has a window in packets for each agent of each
    /// episode; negative or not a number leaves it. Writes what each agent has seen, and returns
    /// which episodes are over. An empty place sees zeros and is over.
    pub fn step(&mut self, windows: &[f64], length: Duration, seen: &mut Vec<f64>) -> Vec<bool> {
        let agents = self.agents;
        let one = |(place, slot): (usize, &mut Option<Episode>)| -> (Vec<Seen>, bool) {
            let Some(episode) = slot.as_mut().filter(|episode| !episode.is_over()) else {
                return (vec![[0.0; FIELDS.len()]; agents], true);
            };
            for (i, agent) in episode.agents().iter().enumerate() {
                match windows.get(place * agents + i) {
                    Some(&window) if window >= 0.0 => agent.set_cwnd(window),
                    _ => {}
                }
            }
            episode.step(length)
        };
        let all: Vec<(Vec<Seen>, bool)> = if self.episodes.len() > 1 {
            self.episodes.par_iter_mut().enumerate().map(one).collect()
        } else {
            self.episodes.iter_mut().enumerate().map(one).collect()
        };
        seen.clear();
        seen.extend(all.iter().flat_map(|(agents, _)| agents.iter().flatten()));
        all.into_iter().map(|(_, over)| over).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const PATH: &str = "[link.L]\nrate = \"12 Mbit/s\"\ndelay = \"10 ms\"\n[[flow]]\n\
                        name = \"a\"\ncount = 2\nroute = [\"L\"]\n[run]\nduration = \"1 s\"\n";

    #[test]
    fn each_agent_of_each_episode_has_its_own_window() {
        let mut batch = Batch::new(2, 2);
        for (place, seed) in [(0, 1), (1, 2)] {
            let episode = Episode::new(PATH, Path::new("test"), &[], seed).expect("a scenario");
            assert!(batch.begin(place, episode));
        }
        let cwnd = FIELDS.iter().position(|name| *name == "cwnd_packets");
        let cwnd = cwnd.expect("a field");
        let mut seen = Vec::new();
        let mut step = |windows: [f64; 4]| {
            let over = batch.step(&windows, Duration::from_millis(10), &mut seen);
            assert_eq!(over, [false; 2]);
            let agents = seen.chunks(FIELDS.len());
            agents.map(|agent| agent[cwnd]).collect::<Vec<_>>()
        };
        // The flows begin, each with its initial window.
        assert_eq!(step([f64::NAN; 4]), [10.0; 4]);
        assert_eq!(step([5.0, 6.0, 7.0, 8.0]), [5.0, 6.0, 7.0, 8.0]);
        assert_eq!(step([-1.0, 9.0, f64::NAN, 4.0]), [5.0, 9.0, 7.0, 4.0]);
    }
}
