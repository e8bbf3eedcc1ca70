//! How much of the machine's processors other programs used during transfers.

use std::fs;

/// Processor time since the machine started, in clock ticks.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    /// All processors together, idle time included.
    total: u64,
    /// Spent on work, by any program.
    busy: u64,
    /// Spent by this process and by those of its descendants that have ended and been waited for.
    own: u64,
}

/// Measures from its creation to [`finish`](Self::finish).
pub struct Meter {
    begin: Option<Ticks>,
}

/// Part of all processor time that other programs used, 0 to 1; `None` if the system does not
/// report it.
pub type Load = Option<f64>;

impl Meter {
    /// Starts to measure.
    pub fn start() -> Self {
        Self { begin: ticks() }
    }

    /// What was measured. Call it after every process of the transfers has been waited for.
    pub fn finish(self) -> Load {
        self.begin.zip(ticks()).and_then(|(a, b)| others(a, b))
    }
}

fn others(begin: Ticks, end: Ticks) -> Load {
    let total = end
        .total
        .checked_sub(begin.total)
        .filter(|ticks| *ticks > 0)?;
    let busy = end.busy.saturating_sub(begin.busy);
    let own = end.own.saturating_sub(begin.own);
    Some(busy.saturating_sub(own) as f64 / total as f64)
}

fn ticks() -> Option<Ticks> {
    let machine = fs::read_to_string("/proc/stat").ok()?;
    let (total, busy) = machine_ticks(&machine)?;
    let process = fs::read_to_string("/proc/self/stat").ok()?;
    let own = process_ticks(&process)?;
    Some(Ticks { total, busy, own })
}

/// Total and busy ticks from the first line of /proc/stat (proc_stat(5)): `cpu user nice system
/// idle iowait irq softirq steal guest guest_nice`. Guest time is part of user time.
fn machine_ticks(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let total: u64 = fields.iter().sum();
    let idle = fields.get(3)? + fields.get(4)?;
    Some((total, total - idle))
}

/// Ticks of a process and of its children from /proc/self/stat (proc_pid_stat(5)): fields 14 to 17
/// are utime, stime, cutime, cstime. The command's name, field 2, may contain spaces.
fn process_ticks(text: &str) -> Option<u64> {
    let (_, behind_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    // The first of them is field 3.
    let times = fields.get(11..15)?.iter();
    times.map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_everything_but_idle_and_waiting_for_disks() {
        let text = "cpu  100 10 50 800 30 5 5 0 7 7\ncpu0 1 2 3\n";
        assert_eq!(machine_ticks(text), Some((1000, 170)));
        assert_eq!(machine_ticks("intr 1 2 3"), None);
    }

    #[test]
    fn a_command_name_with_spaces_and_parentheses_is_skipped() {
        let text = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3000 400 20 0 1";
        assert_eq!(process_ticks(text), Some(3520));
        assert_eq!(process_ticks("7 (short) S 1 2"), None);
    }

    #[test]
    fn what_others_used_excludes_the_transfers() {
        let at = |total, busy, own| Ticks { total, busy, own };
        assert_eq!(others(at(0, 0, 0), at(1000, 700, 200)), Some(0.5));
        assert_eq!(others(at(0, 0, 0), at(1000, 100, 200)), Some(0.0));
        assert_eq!(others(at(5, 0, 0), at(5, 0, 0)), None);
    }
}
