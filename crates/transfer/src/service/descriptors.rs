//! How many files and connections the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit is raised to this at most. A server with 1,000 connections over TCP needs some
/// 1,100; programs that it starts inherit the limit, and old ones close every descriptor below it.
const ENOUGH: u64 = 65_536;

/// Raises the soft limit on open files to the hard one, at most 65,536. systemd and most shells set
/// a soft limit of 1,024, for the sake of programs that use `select`. Returns the limit that holds.
pub fn raise_descriptor_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = raised(limit.current, limit.maximum);
    if wanted != limit.current {
        let raised = Rlimit {
            current: wanted,
            maximum: limit.maximum,
        };
        // Where that is forbidden, the old limit holds.
        setrlimit(Resource::Nofile, raised).ok();
    }
    getrlimit(Resource::Nofile).current
}

/// The soft limit to set; `None` is no limit.
fn raised(soft: Option<u64>, hard: Option<u64>) -> Option<u64> {
    let possible = hard.unwrap_or(u64::MAX).min(ENOUGH);
    soft.map(|soft| soft.max(possible))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_rises_to_the_hard_one_and_never_falls() {
        assert_eq!(raised(Some(1024), Some(4096)), Some(4096));
        assert_eq!(raised(Some(1024), Some(1 << 20)), Some(ENOUGH));
        assert_eq!(raised(Some(1024), None), Some(ENOUGH));
        assert_eq!(raised(Some(1 << 19), Some(1 << 20)), Some(1 << 19));
        assert_eq!(raised(None, None), None);
    }
}
