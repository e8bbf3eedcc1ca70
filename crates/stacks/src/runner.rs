//! Stacks for a hunt: the search of `whimbrel hunt` for the path on which a sender does worst.

use crate::application::Application;
use crate::catalog::Sender;
use crate::runs::{Task, run_tasks};
use std::num::NonZeroUsize;
use whimbrel_rank::{MatrixPoint, Measures};
use whimbrel_study::Error;
use whimbrel_study::hunt::Runner;

/// Runs senders by their names, such as `quinn:bbr`.
#[derive(Debug, Clone, Copy)]
pub struct StackRunner;

impl Runner for StackRunner {
    fn run(
        &self,
        senders: &[(&MatrixPoint, &str)],
        seeds: &[u64],
        threads: Option<NonZeroUsize>,
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Vec<Measures>>, Error> {
        let mut tasks = Vec::new();
        for &(point, name) in senders {
            let found = Sender::all_of(name)
                .map_err(|error| Error::failed(format!("cannot run `{name}`"), error))?;
            let [sender] = found.as_slice() else {
                return Err(Error::failed(
                    format!("cannot run `{name}`"),
                    "name one controller: `quinn:cubic`",
                ));
            };
            tasks.extend(seeds.iter().map(|&seed| Task {
                point,
                sender: sender.clone(),
                seed,
                application: Application::default(),
                sample: None,
            }));
        }
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = threads.map_or(cores, NonZeroUsize::get);
        let last = seeds.last();
        let played = run_tasks(&tasks, threads, |played| {
            // Once for each sender.
            if last == Some(&played.run.seed) {
                done();
            }
        })?;
        // A stack that panics delivers nothing.
        let measures = played.iter().map(|played| {
            played.measures.unwrap_or(Measures {
                seed: played.run.seed,
                ..Measures::default()
            })
        });
        let measures: Vec<Measures> = measures.collect();
        Ok(measures
            .chunks(seeds.len().max(1))
            .map(<[Measures]>::to_vec)
            .collect())
    }
}
