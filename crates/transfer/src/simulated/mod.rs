//! The surroundings of a process in virtual time, drawn from a seed: network, disk, clock and
//! randomness. The code that ships runs in them; `world` has what happens there.
//!
//! | part | content |
//! |---|---|
//! | `random` | everything that is drawn, from a seed |
//! | `network` | hosts, the links between them, and addresses that change |
//! | `system` | randomness and the time of day |
//! | `slow` | a disk that is slow |
//! | `disk` | what a crash of the machine leaves of the calls |
//! | `panics` | what failed in a task or a connection, which its runtime or its endpoint contains |
//! | `calls` | the calls that change the disk: they fail, or the process dies in one |
//!
//! The storage works on a real directory, so a process sees what it wrote; beside that directory
//! the simulated disk notes what was flushed. When the machine crashes, the directory is made again
//! from what a disk may have then: of what was not flushed, parts of 512 bytes of each write, and
//! some of the new, changed and removed names.

pub(crate) mod calls;
pub(crate) mod disk;
pub(crate) mod network;
pub(crate) mod panics;
pub(crate) mod random;
pub(crate) mod slow;
pub(crate) mod system;
