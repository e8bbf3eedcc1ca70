//! Runs as bytes, so that another process can play them.
//!
//! The bytes hold what was measured, not what was run: the reader has the same scenario. Both ends
//! must be built from the same source ([`crate::SOURCE`]), since the form follows the types.

use crate::outcome::Outcome;
use crate::sweep::{Job, Run};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Maximum length of a name that is read for a `&'static str`, in bytes.
const MAX_NAME: usize = 64;
/// Maximum number of such names that are not in the program.
const MAX_NAMES: usize = 1000;

#[derive(Serialize)]
struct Written<'a> {
    seed: u64,
    wall_ns: u64,
    outcome: &'a Outcome,
}

#[derive(Deserialize)]
struct Read {
    seed: u64,
    wall_ns: u64,
    outcome: Outcome,
}

/// The runs as bytes.
///
/// # Errors
/// If there is no memory for them.
pub fn to_bytes(runs: &[Run<'_>]) -> Result<Vec<u8>, StoredError> {
    let written: Vec<Written<'_>> = runs
        .iter()
        .map(|run| Written {
            seed: run.seed,
            wall_ns: u64::try_from(run.wall.as_nanos()).unwrap_or(u64::MAX),
            outcome: &run.outcome,
        })
        .collect();
    postcard::to_stdvec(&written).map_err(|error| StoredError(error.to_string()))
}

/// The runs of these jobs, which [`to_bytes`] wrote.
///
/// # Errors
/// If the bytes are damaged, or are not the runs of these jobs.
pub fn from_bytes<'a>(bytes: &[u8], jobs: &[Job<'a>]) -> Result<Vec<Run<'a>>, StoredError> {
    let (read, rest): (Vec<Read>, _) =
        postcard::take_from_bytes(bytes).map_err(|error| StoredError(error.to_string()))?;
    let same = read.len() == jobs.len() && rest.is_empty();
    if !same || read.iter().zip(jobs).any(|(run, job)| run.seed != job.seed) {
        return Err(StoredError("these are other runs".to_owned()));
    }
    let run = |(read, job): (Read, &Job<'a>)| Run {
        point: job.point,
        seed: read.seed,
        wall: Duration::from_nanos(read.wall_ns),
        outcome: read.outcome,
    };
    Ok(read.into_iter().zip(jobs).map(run).collect())
}

/// Bytes are not the runs that they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the stored runs: {0}")]
pub struct StoredError(String);

/// Reads a name that the program has as a constant: phases and states of algorithms. A name that is
/// new here stays in memory; their number is bounded.
fn name(text: &str) -> Option<&'static str> {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    if text.len() > MAX_NAME {
        return None;
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(text) {
        return Some(known);
    }
    if names.len() >= MAX_NAMES {
        return None;
    }
    let new: &'static str = Box::leak(text.into());
    names.insert(new);
    Some(new)
}

/// For `#[serde(deserialize_with)]` on a `&'static str`.
pub(crate) fn read_name<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    let text = <&str>::deserialize(from)?;
    name(text).ok_or_else(|| D::Error::custom("too many names, or too long ones"))
}

/// For `#[serde(deserialize_with)]` on names with counts.
pub(crate) fn read_counts<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<(&'static str, u64)>, D::Error> {
    let counts = Vec::<(&str, u64)>::deserialize(from)?;
    let known = |(text, count)| Some((name(text)?, count));
    let all: Option<Vec<_>> = counts.into_iter().map(known).collect();
    all.ok_or_else(|| D::Error::custom("too many names, or too long ones"))
}

/// For `#[serde(with)]`: a priority as its number.
pub(crate) mod priority {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};
    use whimbrel_cc::fairness::Priority;

    pub fn serialize<S: Serializer>(priority: &Priority, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(priority.get())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Priority, D::Error> {
        let number = u8::deserialize(from)?;
        Priority::new(number).ok_or_else(|| D::Error::custom("a priority is from 1 to 8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::sweep::{jobs, run_all};
    use proptest::prelude::*;
    use std::path::Path;

    /// Two algorithms, lost packets, samples, an AATP flow, and streams with messages.
    const TEXT: &str = "[link.L]\nrate = \"5 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 bdp\"\n\
        loss = \"1 %\"\n[[flow]]\nroute = [\"L\"]\n\
        [[flow]]\ncontroller = \"enhanced-aatp\"\nroute = [\"L\"]\n\
        [run]\nduration = \"2 s\"\nseeds = 2\nsample = \"100 ms\"\n\
        [sweep]\n\"flow.0.controller\" = [\"cerl\", \"bbr\"]\n";

    fn scenario() -> Scenario {
        Scenario::parse(TEXT, Path::new("test")).expect("valid")
    }

    #[test]
    fn runs_come_back_as_they_were() {
        let scenario = scenario();
        let jobs = jobs(scenario.points());
        let runs = run_all(&jobs, None, || {}).expect("threads");
        assert!(
            runs.iter()
                .all(|run| !run.outcome.flows[0].samples.is_empty())
        );
        let bytes = to_bytes(&runs).expect("memory");
        let read = from_bytes(&bytes, &jobs).expect("whole");
        assert_eq!(read.len(), 4);
        for (read, run) in read.iter().zip(&runs) {
            assert_eq!((read.seed, read.wall), (run.seed, run.wall));
            assert_eq!(read.outcome, run.outcome);
        }
        assert!(from_bytes(&bytes, &jobs[1..]).is_err(), "fewer jobs");
        let swapped = [jobs[1], jobs[0], jobs[2], jobs[3]];
        assert!(from_bytes(&bytes, &swapped).is_err(), "other seeds");
        for length in (0..bytes.len()).step_by(97) {
            assert!(
                from_bytes(&bytes[..length], &jobs).is_err(),
                "{length} bytes"
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(from_bytes(&longer, &jobs).is_err(), "one byte too many");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_refused_without_harm(
            bytes in proptest::collection::vec(any::<u8>(), 0..400)
        ) {
            let scenario = scenario();
            let jobs = jobs(scenario.points());
            let _ = from_bytes(&bytes, &jobs);
        }
    }
}
