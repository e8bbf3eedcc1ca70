//! Rounding of quantities to integers.

/// The nearest integer; half away from zero. A negative number or NaN gives zero, a number too
/// large the maximum.
///
/// The same as `value.round() as u64`, without a call. On x86-64 without SSE4.1, the default
/// target, `round` is one, and simulations round for each packet.
#[inline]
pub(crate) fn rounded(value: f64) -> u64 {
    // Numbers below this fit `i64`, whose conversions are shorter than those of `u64`.
    const EXACT: f64 = (1u64 << 62) as f64;
    if !(0.0..EXACT).contains(&value) {
        return value.round() as u64;
    }
    let whole = value as i64;
    // The difference is exact: a fraction below one, and 0 from 2^53 on.
    let up = value - whole as f64 >= 0.5;
    (whole + i64::from(up)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_rounds_half_away_from_zero_and_saturates() {
        for (value, expected) in [
            (0.0, 0),
            (-0.0, 0),
            (0.5 - f64::EPSILON / 4.0, 0),
            (0.5, 1),
            (1.5 - f64::EPSILON, 1),
            (2.5, 3),
            (4_503_599_627_370_495.5, 4_503_599_627_370_496),
            (9_007_199_254_740_993.0, 9_007_199_254_740_992),
            (-0.7, 0),
            (-1e300, 0),
            (1e19, 10_000_000_000_000_000_000),
            (1e300, u64::MAX),
            (f64::INFINITY, u64::MAX),
            (f64::NAN, 0),
        ] {
            assert_eq!(rounded(value), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_same_as_round(bits: u64, near in 0u64..1 << 53, quarters in 0u8..8) {
            let near = near as f64 + f64::from(quarters) / 4.0;
            for value in [f64::from_bits(bits), near, near / 1e9, near * 1024.0] {
                prop_assert_eq!(rounded(value), value.round() as u64, "{}", value);
            }
        }
    }
}
