//! Buffer sizes as written on the command line and in scenario files.

use crate::spec::{QueueLimit, ServiceSpec};
use std::str::FromStr;
use whimbrel_units::{Bytes, Duration, ParseError};

/// A buffer size as written; it may depend on the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Queue {
    /// `unlimited`, `100 packets`, `64 kB`.
    Fixed(QueueLimit),
    /// `1 bdp`: a number of bandwidth-delay products.
    Bdp(f64),
}

impl Queue {
    /// The buffer size on a link with this service and a path with this base RTT: x bdp are x times
    /// rate times RTT in bytes, and at least one `packet`. `None` if it is written in
    /// bandwidth-delay products and the link has no rate.
    pub fn limit(
        self,
        service: &ServiceSpec,
        base_rtt: Duration,
        packet: Bytes,
    ) -> Option<QueueLimit> {
        match self {
            Self::Fixed(limit) => Some(limit),
            Self::Bdp(multiple) => {
                let product = service.nominal_rate()?.bytes_in(base_rtt).mul_f64(multiple);
                Some(QueueLimit::Bytes(product.max(packet)))
            }
        }
    }
}

impl FromStr for Queue {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let fail = || {
            ParseError::new(format!(
                "`{text}` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`"
            ))
        };
        let number = |unit: &str| text.strip_suffix(unit).map(str::trim);
        if text == "unlimited" {
            Ok(Self::Fixed(QueueLimit::Unlimited))
        } else if let Some(multiple) = number("bdp") {
            let multiple = multiple.parse().ok().filter(|m| (0.0..=1e6).contains(m));
            multiple.map(Self::Bdp).ok_or_else(fail)
        } else if let Some(packets) = number("packets").or_else(|| number("packet")) {
            let packets = packets.parse().map_err(|_| fail())?;
            Ok(Self::Fixed(QueueLimit::Packets(packets)))
        } else {
            let bytes = text.parse::<Bytes>().map_err(|_| fail())?;
            Ok(Self::Fixed(QueueLimit::Bytes(bytes)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;
    use whimbrel_units::Rate;

    #[test]
    fn written_queues_are_read() {
        let fixed = |limit| Ok(Queue::Fixed(limit));
        assert_eq!("100 packets".parse(), fixed(QueueLimit::Packets(100)));
        assert_eq!("1 packet".parse(), fixed(QueueLimit::Packets(1)));
        assert_eq!(
            "64 kB".parse(),
            fixed(QueueLimit::Bytes(Bytes::new(64_000)))
        );
        assert_eq!(" unlimited ".parse(), fixed(QueueLimit::Unlimited));
        assert_eq!("0.5bdp".parse(), Ok(Queue::Bdp(0.5)));
        for wrong in [
            "",
            "-1 bdp",
            "NaN bdp",
            "1.5 packets",
            "-1 packets",
            "5",
            "bdp",
            "lots",
        ] {
            assert!(wrong.parse::<Queue>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_bdp_is_rate_times_rtt_and_at_least_a_packet() {
        let at = |mbit: u64| {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            ServiceSpec::Rate(Schedule::constant(rate))
        };
        let bytes = |n| Some(QueueLimit::Bytes(Bytes::new(n)));
        let (rtt, packet) = (Duration::from_millis(90), Bytes::new(1500));
        // 1 Gbit/s x 90 ms.
        assert_eq!(
            Queue::Bdp(1.0).limit(&at(1000), rtt, packet),
            bytes(11_250_000)
        );
        assert_eq!(Queue::Bdp(0.1).limit(&at(1), rtt, packet), bytes(1500));
        assert_eq!(
            Queue::Bdp(1.0).limit(&ServiceSpec::Unlimited, rtt, packet),
            None
        );
    }
}
