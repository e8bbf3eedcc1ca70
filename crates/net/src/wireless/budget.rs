//! The link budget: power, antennas, distance, noise.
//!
//! **Log-distance path loss** (T. S. Rappaport, Wireless Communications: Principles and Practice,
//! 2nd edition, (4.69); ns-3's `LogDistancePropagationLossModel`):
//!
//! ```text
//! L(d) = L(d0) + 10 n log10(d / d0),   L(d0) = 20 log10(4 pi d0 f / c)
//! ```
//!
//! with free space up to d0. The exponent n is 2 in free space, 2.7 to 3.5 in cities, 4 and more
//! behind obstacles (Rappaport, Table 4.2). Below d0 the loss is that of d0.
//!
//! **Noise**: k T B at 290 K (-174 dBm in each hertz) and the receiver's noise figure.

use whimbrel_units::{Decibels, Distance, Frequency, Power};

/// Speed of light, metres a second.
pub(super) const LIGHT: f64 = 299_792_458.0;
/// Boltzmann's constant times 290 K in milliwatts a hertz.
const THERMAL: f64 = 1.380_649e-23 * 290.0 * 1e3;

/// The path loss over a distance, without shadowing.
pub(super) fn path_loss(
    distance: Distance,
    reference: Distance,
    frequency: Frequency,
    exponent: f64,
) -> Decibels {
    // Bounds of a millimetre and a hertz keep the logarithms finite.
    let d0 = reference.metres().max(1e-3);
    let d = distance.metres().max(d0);
    let free =
        20.0 * (4.0 * std::f64::consts::PI * d0 * frequency.hertz().max(1.0) / LIGHT).log10();
    Decibels::new(free + 10.0 * exponent * (d / d0).log10())
}

/// The noise power in a bandwidth.
pub(super) fn noise(bandwidth: Frequency, figure: Decibels) -> Power {
    let thermal = 10.0 * (THERMAL * bandwidth.hertz().max(1.0)).log10();
    Power::from_dbm(thermal + figure.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ghz(ghz: f64) -> Frequency {
        Frequency::from_hertz(ghz * 1e9)
    }

    #[test]
    fn loss_grows_with_the_exponent_beyond_the_reference() {
        let loss = |m: f64, exponent| {
            let (d, d0) = (Distance::from_metres(m), Distance::from_metres(1.0));
            path_loss(d, d0, ghz(5.15), exponent).get()
        };
        // 46.6777 dB is ns-3's default for 1 m and 5.15 GHz, with a speed of light of 3e8 m/s:
        // 0.006 dB less.
        assert!((loss(1.0, 3.0) - 46.6777).abs() < 0.007);
        assert!((loss(0.0, 3.0) - 46.6777).abs() < 0.007);
        // Two decades at n = 3: 60 dB.
        assert!((loss(100.0, 3.0) - 106.6777).abs() < 0.007);
    }

    #[test]
    fn free_space_loss_over_92_km_matches_itu_r_p_525() {
        // 32.45 + 20 log10(92 km) + 20 log10(5800 MHz) = 32.45 + 39.28 + 75.27 (ITU-R P.525).
        let d = Distance::from_metres(92_000.0);
        let loss = path_loss(d, Distance::from_metres(1.0), ghz(5.8), 2.0);
        assert!((loss.get() - 147.0).abs() < 0.02, "{loss}");
    }

    #[test]
    fn the_noise_of_a_channel_matches_ns3() {
        // -100.5522786 dBm in 22 MHz at 290 K, from ns-3's test of error rates.
        let found = noise(Frequency::from_hertz(22e6), Decibels::new(7.0)).dbm();
        assert!((found - (-100.552_278_6 + 7.0)).abs() < 0.002, "{found}");
    }

    #[test]
    fn zero_distance_frequency_and_bandwidth_stay_finite() {
        let loss = path_loss(
            Distance::from_metres(0.0),
            Distance::from_metres(0.0),
            Frequency::from_hertz(0.0),
            2.0,
        );
        assert!(loss.get().is_finite());
        assert!(
            noise(Frequency::from_hertz(0.0), Decibels::new(0.0))
                .dbm()
                .is_finite()
        );
    }
}
