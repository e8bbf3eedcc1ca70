//! The programs at both ends, run over packets by the kernel itself (`BPF_PROG_TEST_RUN`).

mod connection;
mod receiver;
mod sender;

use crate::privileges::{self, Capability};

/// Says so if this system cannot load programs.
fn skipped() -> bool {
    let missing = privileges::check(&Capability::ATTACH).and_then(|()| privileges::kernel());
    match missing {
        Ok(_) => false,
        Err(error) => {
            eprintln!("skipped: {error}");
            true
        }
    }
}

/// Numbers without a pattern (xorshift).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 as usize
    }
}
