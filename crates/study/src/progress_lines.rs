//! The progress of a transfer as lines, where no terminal shows a bar.

use whimbrel_transfer::Progress;
use whimbrel_units::{Bytes, Duration, Rate};

/// The first lines come after so long, each.
const OFTEN: Duration = Duration::from_secs(10);
/// From then on they come after so long: a night's log stays readable.
const MINUTE: Duration = Duration::from_secs(60);

/// When a line is due, and what it says: one each 10 s in the first minute, then one each minute.
#[derive(Debug, Clone)]
pub struct ProgressLines {
    due: Duration,
    last: Option<(Duration, u64)>,
}

impl Default for ProgressLines {
    fn default() -> Self {
        Self {
            due: OFTEN,
            last: None,
        }
    }
}

impl ProgressLines {
    /// The line that is due at a time since the beginning; times must not go back. The rate is that
    /// since the line before.
    pub fn line(&mut self, now: Duration, progress: Progress) -> Option<String> {
        // What was there already is no speed.
        let (since, before) = *self.last.get_or_insert((now, progress.bytes));
        if now < self.due || now <= since {
            return None;
        }
        self.due = now + if now < MINUTE { OFTEN } else { MINUTE };
        self.last = Some((now, progress.bytes));
        let moved = progress.bytes.saturating_sub(before) as f64;
        let per_second = moved / (now - since).as_secs_f64();
        let rate = Rate::from_bits_per_sec((per_second * 8.0) as u64);
        let Progress {
            bytes,
            size,
            files,
            all_files,
        } = progress;
        let mut text = match size {
            0 => Bytes::new(bytes).to_string(),
            _ => {
                let percent = 100.0 * bytes as f64 / size as f64;
                format!(
                    "{percent:.0} %: {} of {}",
                    Bytes::new(bytes),
                    Bytes::new(size)
                )
            }
        };
        if all_files > 1 {
            text += &format!(", {files} of {all_files} files");
        }
        text += &format!(", {rate}");
        if moved > 0.0 && size > bytes {
            let left = (size - bytes) as f64 / per_second;
            text += &format!(", {} left", in_words(left));
        }
        Some(text)
    }
}

/// A time as `3 h 20 min`, `4 min`, `12 s`.
fn in_words(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, _) => format!("{minutes} min"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_often_at_first_and_then_each_minute() {
        let mut lines = ProgressLines::default();
        let mut said = Vec::new();
        for second in 0..=200u64 {
            let progress = Progress {
                bytes: 500_000_000 + second * 1_000_000,
                size: 1_000_000_000,
                files: second,
                all_files: 300,
            };
            let line = lines.line(Duration::from_secs(second), progress);
            said.extend(line.map(|line| (second, line)));
        }
        let times: Vec<u64> = said.iter().map(|(second, _)| *second).collect();
        assert_eq!(times, [10, 20, 30, 40, 50, 60, 120, 180]);
        assert_eq!(
            said[0].1,
            "51 %: 510 MB of 1 GB, 10 of 300 files, 8 Mbit/s, 8 min left"
        );
        // Standard input has no size.
        let mut lines = ProgressLines::default();
        let at = |bytes| Progress {
            bytes,
            ..Progress::default()
        };
        assert_eq!(lines.line(Duration::ZERO, at(0)), None);
        let line = lines.line(Duration::from_secs(10), at(10_000_000));
        assert_eq!(line.as_deref(), Some("10 MB, 8 Mbit/s"));
    }

    #[test]
    fn what_is_left_is_in_at_most_two_units() {
        let all = [12.4, 59.6, 245.0, 3599.6, 5400.0, 90_000.0].map(in_words);
        let expected = [
            "12 s",
            "1 min",
            "4 min",
            "1 h 0 min",
            "1 h 30 min",
            "25 h 0 min",
        ];
        assert_eq!(all, expected);
    }
}
