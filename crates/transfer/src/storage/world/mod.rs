//! The storage on a simulated disk, whose machine crashes.
//!
//! | part | content |
//! |---|---|
//! | `random` | everything that is drawn, from a seed |
//! | `disk` | what of the calls survives a crash of the machine |
//! | `calls` | the calls that change the disk: they fail, or the process dies in one |
//! | `life` | a life: transfers, crashes, and what must hold after each of them |
//! | `tests` | many lives; a failing one is made shorter |
//!
//! The code under test is the code that ships. It works on a real directory, so within a process it
//! sees what it wrote; beside it the simulated disk notes what was flushed. When the machine
//! crashes, the directory is made again from what a disk may have then: of what was not flushed,
//! parts of 512 bytes of each write, and some of the new, changed and removed names.

pub(crate) mod calls;
pub(crate) mod disk;
mod life;
pub(crate) mod random;
mod tests;

/// The seeds that a text names: `N` for the first ones, or `FROM..TO`.
pub(crate) fn seeds_of(text: &str) -> std::ops::Range<u64> {
    let number = |text: &str| text.trim().parse().expect("SEEDS: a number, or FROM..TO");
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(text),
    }
}
