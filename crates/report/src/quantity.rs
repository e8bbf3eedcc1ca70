//! Numbers with a unit, as people write them in a sweep, and the units in which figures show them.

use whimbrel_units::{Bytes, Decibels, Distance, Duration, Frequency, Power, Probability, Rate};

/// Units with their size in base units, the largest first.
pub(crate) type Units = [(f64, &'static str)];

/// Units of data.
pub(crate) const BYTES: &Units = &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
/// Units of rates.
pub(crate) const RATES: &Units = &[
    (1e9, "Gbit/s"),
    (1e6, "Mbit/s"),
    (1e3, "kbit/s"),
    (1.0, "bit/s"),
];

/// The largest unit of which the maximum is at least 2, and its size; else the smallest.
pub(crate) fn unit_of(maximum: f64, units: &Units) -> (f64, &'static str) {
    let fits = units
        .iter()
        .find(|(size, _)| maximum >= 2.0 * size)
        .or(units.last());
    fits.copied().unwrap_or((1.0, ""))
}

/// A kind of quantity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    /// Its base unit, with which names of columns end: `bps`.
    pub base: &'static str,
    /// Reads a text; the result is in base units.
    pub read: fn(&str) -> Option<f64>,
    /// The units in which figures show it.
    shown: &'static Units,
}

/// All kinds.
const ALL: [Quantity; 10] = [
    Quantity {
        base: "s",
        read: |text| text.parse().ok().map(|v: Duration| v.as_secs_f64()),
        shown: &[(60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")],
    },
    Quantity {
        base: "bps",
        read: |text| text.parse().ok().map(|v: Rate| v.as_bits_per_sec() as f64),
        shown: &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")],
    },
    Quantity {
        base: "bytes",
        read: |text| text.parse().ok().map(|v: Bytes| v.get() as f64),
        shown: BYTES,
    },
    Quantity {
        base: "ratio",
        read: |text| text.parse().ok().map(Probability::get),
        shown: &[(0.01, "%")],
    },
    Quantity {
        base: "m",
        read: |text| text.parse().ok().map(Distance::metres),
        shown: &[(1e3, "km"), (1.0, "m")],
    },
    Quantity {
        base: "hz",
        read: |text| text.parse().ok().map(Frequency::hertz),
        shown: &[(1e9, "GHz"), (1e6, "MHz")],
    },
    Quantity {
        base: "dbm",
        read: |text| text.parse().ok().map(Power::dbm),
        shown: &[(1.0, "dBm")],
    },
    Quantity {
        base: "db",
        read: |text| text.parse().ok().map(Decibels::get),
        shown: &[(1.0, "dB")],
    },
    Quantity {
        base: "packets",
        read: |text| before(text, "packets"),
        shown: &[(1.0, "packets")],
    },
    Quantity {
        base: "bdp",
        read: |text| before(text, "bdp"),
        shown: &[(1.0, "bdp")],
    },
];

/// The number in front of a word.
fn before(text: &str, word: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix(word)?.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

impl Quantity {
    /// The only kind that fits all texts; `None` if several do (`0` fits any kind) or none.
    pub fn of(texts: &[String]) -> Option<Self> {
        let fits = |kind: &&Self| texts.iter().all(|text| (kind.read)(text).is_some());
        let mut fitting = ALL.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(kind), None) => Some(*kind),
            _ => None,
        }
    }

    /// Numbers in base units, converted to the unit that fits the maximum; and that unit.
    pub fn show(&self, numbers: &[f64]) -> (Vec<f64>, &'static str) {
        let maximum = numbers.iter().copied().fold(0.0, f64::max);
        let (size, unit) = unit_of(maximum, self.shown);
        (numbers.iter().map(|x| x / size).collect(), unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[&str]) -> Option<(Vec<f64>, &'static str)> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let kind = Quantity::of(&texts)?;
        let numbers: Vec<f64> = texts.iter().filter_map(|text| (kind.read)(text)).collect();
        Some(kind.show(&numbers))
    }

    #[test]
    fn texts_are_read_and_shown_in_a_fitting_unit() {
        let near = |texts: &[&str], expected: &[f64], unit| {
            let (found, of) = shown(texts).expect("numbers");
            assert_eq!(of, unit);
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() < 1e-9, "{texts:?}: {found:?}");
            }
        };
        near(&["0 %", "0.1 %", "5 %"], &[0.0, 0.1, 5.0], "%");
        near(&["10 ms", "1500 us"], &[10.0, 1.5], "ms");
        near(&["500 ms", "10 s"], &[0.5, 10.0], "s");
        near(&["8 Mbit/s", "500 kbit/s"], &[8.0, 0.5], "Mbit/s");
        near(&["64 kB", "1 MB"], &[64.0, 1000.0], "kB");
        near(&["50 packets", "100 packets"], &[50.0, 100.0], "packets");
        near(&["0.5 bdp", "4 bdp"], &[0.5, 4.0], "bdp");
        near(&["150 m", "900 m"], &[150.0, 900.0], "m");
        near(&["15 dBm", "20 dBm"], &[15.0, 20.0], "dBm");
        near(&["3 dB", "6 dB"], &[3.0, 6.0], "dB");
    }

    #[test]
    fn texts_of_mixed_or_unknown_kinds_are_no_quantity() {
        assert_eq!(shown(&["50 packets", "1 bdp"]), None);
        assert_eq!(shown(&["rack", "newreno"]), None);
        assert_eq!(shown(&["0 s .. 5 s", "1 s"]), None);
    }
}
