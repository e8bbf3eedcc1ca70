//! Tests of a radio link's effect on packets.

use super::*;
use crate::{DropCause, Fate, Link, LinkSpec, ServiceSpec};
use proptest::prelude::*;
use std::sync::Arc;
use whimbrel_units::{
    Bytes, Decibels, Distance, Duration, Frequency, Power, Probability, Rate, Time,
};

fn spec(standard: Standard, metres: f64) -> WirelessSpec {
    WirelessSpec::new(standard, Distance::from_metres(metres))
}

fn link(spec: WirelessSpec, seed: u64) -> Link {
    let wireless = Arc::new(Wireless::new(spec).expect("a rate"));
    let spec = LinkSpec {
        service: ServiceSpec::Wireless(wireless),
        ..LinkSpec::default()
    };
    Link::new(&spec, seed)
}

/// 802.11g at 24 Mbit/s with 13 dB: of frames of 2000 bytes, packets of 1964, a fraction of 0.505
/// fails (ns-3's tests).
fn at_the_cliff(retries: u32) -> WirelessSpec {
    let mut at = spec(Standard::Dot11g, 1.0);
    at.rate = RadioRate::Fixed(Rate::from_bits_per_sec(24_000_000));
    at.retries = retries;
    at.loss = Decibels::new(Wireless::new(at.clone()).expect("a rate").snr().get() - 13.0);
    at
}

/// Offers `packets` packets at once. Returns how many arrive, how many of them with wrong bits, and
/// when the last arrives.
fn saturate(link: &mut Link, packets: u32, size: u32) -> (u32, u32, Time) {
    let (mut arrived, mut wrong, mut last) = (0, 0, Time::ZERO);
    for _ in 0..packets {
        match link.offer(Time::ZERO, size, false) {
            Fate::Delivered { at, corrupted, .. } => {
                assert!(at >= last);
                last = at;
                arrived += 1;
                wrong += u32::from(corrupted.is_some());
            }
            Fate::Dropped(cause) => assert_eq!(cause, DropCause::Random),
        }
    }
    (arrived, wrong, last)
}

#[test]
fn the_loss_rate_is_the_frame_error_to_the_power_of_tries() {
    // 0.505 of 40 000 are lost (standard deviation 0.0025), with 3 tries 0.1288 (0.0017).
    for (retries, lost) in [(0, 0.505), (2, 0.1288)] {
        let mut link = link(at_the_cliff(retries), 1);
        let (arrived, wrong, _) = saturate(&mut link, 40_000, 1964);
        let found = 1.0 - f64::from(arrived) / 40_000.0;
        assert!((found - lost).abs() < 0.01, "{retries}: {found}");
        assert_eq!(wrong, 0);
        assert_eq!(link.counters().random, u64::from(40_000 - arrived));
    }
}

#[test]
fn failed_packets_are_delivered_corrupted_with_the_set_probability() {
    let mut at = at_the_cliff(0);
    at.deliver_corrupted = Probability::ONE;
    let (arrived, wrong, _) = saturate(&mut link(at.clone(), 1), 40_000, 1964);
    assert_eq!(arrived, 40_000);
    assert!(wrong.abs_diff(20_200) < 400, "{wrong}");
    // A quarter: 5050 wrong, 15 150 lost.
    at.deliver_corrupted = Probability::new(0.25).expect("a share");
    let (arrived, wrong, _) = saturate(&mut link(at, 1), 40_000, 1964);
    assert!(wrong.abs_diff(5050) < 250, "{wrong}");
    assert!((40_000 - arrived).abs_diff(15_150) < 400, "{arrived}");
}

#[test]
fn a_busy_link_carries_its_saturation() {
    for standard in [
        spec(Standard::Dot11b, 150.0),
        spec(Standard::Dot11g, 60.0),
        spec(Standard::Dot16, 100.0),
        at_the_cliff(6),
    ] {
        let wireless = Wireless::new(standard.clone()).expect("a rate");
        let mut link = link(standard, 1);
        let (_, _, last) = saturate(&mut link, 20_000, 1500);
        let carried = Rate::over(Bytes::new(20_000 * 1500), last.since(Time::ZERO));
        let ratio =
            carried.as_bits_per_sec() as f64 / wireless.nominal_rate().as_bits_per_sec() as f64;
        assert!((ratio - 1.0).abs() < 0.01, "{carried} {ratio}");
    }
}

#[test]
fn a_packet_with_a_late_acknowledgment_arrives_at_the_first_try() {
    let mut far = spec(Standard::Dot11g, 4000.0);
    far.gain = Decibels::new(60.0);
    far.ack_timeout = AckTimeout::Standard;
    let mut link = link(far, 1);
    let mut arrives = |at: Duration| match link.offer(Time::ZERO + at, 1500, false) {
        Fate::Delivered { at, .. } => at,
        dropped => panic!("{dropped:?}"),
    };
    // 28 us, at most 15 slots of 9, and 254 at 54 Mbit/s.
    let first = arrives(Duration::ZERO);
    assert!(first <= Time::ZERO + Duration::from_micros(28 + 135 + 254));
    // Seven times 28 + 254 + 39 us and their back-offs keep the link busy: the next waits longer
    // than 2 ms.
    let second = arrives(Duration::ZERO);
    assert!(
        second > Time::ZERO + Duration::from_micros(7 * 321),
        "{second}"
    );
}

#[test]
fn dot16_packets_wait_for_their_part_of_the_frame() {
    let there = Arc::new(Wireless::new(spec(Standard::Dot16, 100.0)).expect("a rate"));
    let back = Arc::new(there.mirrored());
    let at = |wireless: Arc<Wireless>, ms| {
        let spec = LinkSpec {
            service: ServiceSpec::Wireless(wireless),
            ..LinkSpec::default()
        };
        match Link::new(&spec, 1).offer(Time::ZERO + Duration::from_millis(ms), 1500, false) {
            Fate::Delivered { at, .. } => at.as_secs_f64() * 1e3,
            dropped => panic!("{dropped:?}"),
        }
    };
    // Frames of 5 ms, half of each for a direction; a packet takes some 0.7 ms of it.
    assert!((1.0..2.0).contains(&at(Arc::clone(&there), 1)));
    assert!((5.0..6.0).contains(&at(there, 3)));
    assert!((2.5..3.5).contains(&at(Arc::clone(&back), 1)));
    assert!((3.0..4.0).contains(&at(back, 3)));
}

#[test]
fn shadowing_that_moves_makes_losses_come_in_runs() {
    // 6 dB to spare over the cliff of a fixed rate; shadowing of 6 dB reaches it for 16 % of the
    // time.
    let mut at = at_the_cliff(0);
    at.loss = Decibels::new(at.loss.get() - 6.0);
    at.shadowing = Decibels::new(6.0);
    at.coherence = Some(Duration::from_millis(100));
    let mut link = link(at, 1);
    let lost: Vec<bool> = (0..200_000)
        .map(|ms| {
            let now = Time::ZERO + Duration::from_millis(ms);
            matches!(link.offer(now, 1964, false), Fate::Dropped(_))
        })
        .collect();
    let share = lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64;
    // 200 s are about a thousand coherence times.
    assert!((share - 0.1587).abs() < 0.04, "{share}");
    let runs = lost.windows(2).filter(|w| !w[0] && w[1]).count();
    let mean = share * lost.len() as f64 / runs as f64;
    assert!(mean > 4.0, "losses come in runs of {mean}");
}

#[test]
fn directions_share_the_shadowing_and_runs_do_not() {
    let mut at = spec(Standard::Dot11g, 100.0);
    at.shadowing = Decibels::new(8.0);
    let wireless = Wireless::new(at).expect("a rate");
    let busy = |wireless: &Wireless, seed| {
        let spec = LinkSpec {
            service: ServiceSpec::Wireless(Arc::new(wireless.clone())),
            ..LinkSpec::default()
        };
        let mut link = Link::new(&spec, seed);
        saturate(&mut link, 2000, 1500).2.as_secs_f64()
    };
    let times: Vec<(f64, f64)> = (0..20)
        .map(|seed| {
            let run = wireless.seeded(seed);
            (busy(&run, 1), busy(&run.mirrored(), 2))
        })
        .collect();
    for (there, back) in &times {
        assert!((there / back - 1.0).abs() < 0.05, "{there} {back}");
    }
    let slowest = times.iter().map(|t| t.0).fold(0.0, f64::max);
    let fastest = times.iter().map(|t| t.0).fold(f64::MAX, f64::min);
    assert!(slowest > 1.5 * fastest, "{slowest} {fastest}");
}

#[test]
fn the_same_seed_gives_the_same_fates() {
    let mut at = at_the_cliff(3);
    at.shadowing = Decibels::new(4.0);
    at.coherence = Some(Duration::from_millis(10));
    let fates = |seed| {
        let mut link = link(at.clone(), seed);
        (0..500)
            .map(|ms| link.offer(Time::ZERO + Duration::from_millis(ms), 1500, false))
            .collect::<Vec<_>>()
    };
    assert_eq!(fates(1), fates(1));
    assert_ne!(fates(1), fates(2));
}

/// Any number, invalid ones included.
fn anything() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -300.0..300.0_f64,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => any::<f64>(),
    ]
}

fn any_share() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|share| Probability::new(share).expect("a share"))
}

fn any_span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..1_000_000_000_u64).prop_map(Duration::from_nanos),
        any::<u64>().prop_map(Duration::from_nanos),
    ]
}

prop_compose! {
    fn any_link()(
        standard in prop::sample::select(Standard::ALL.map(|(_, standard)| standard).to_vec()),
        (metres, width, frequency) in (anything(), anything(), anything()),
        (power, reverse_power, gain, loss) in (anything(), anything(), anything(), anything()),
        (figure, exponent, reference, spread) in (anything(), anything(), anything(), anything()),
        (deliver_corrupted, target, share, overhead) in (any_share(), any_share(), any_share(), any_share()),
        coherence in prop::option::of(any_span()),
        (frame, guard, retries, told) in (any_span(), any::<u32>(), 0..300_u32, any::<bool>()),
    ) -> WirelessSpec {
        WirelessSpec {
            rate: RadioRate::Auto(target),
            retries,
            deliver_corrupted,
            power: Power::from_dbm(power),
            reverse_power: Power::from_dbm(reverse_power),
            gain: Decibels::new(gain),
            loss: Decibels::new(loss),
            noise_figure: Decibels::new(figure),
            frequency: Frequency::from_hertz(frequency),
            channel: Channelization { width: Frequency::from_hertz(width), guard },
            exponent,
            reference: Distance::from_metres(reference),
            shadowing: Decibels::new(spread),
            coherence,
            ack_timeout: if told { AckTimeout::Adjusted } else { AckTimeout::Standard },
            frame,
            share,
            overhead,
            ..WirelessSpec::new(standard, Distance::from_metres(metres))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_packet_has_one_fate_and_none_overtakes(
        spec in any_link(),
        packets in prop::collection::vec((any_span(), prop_oneof![Just(1500_u32), any::<u32>()]), 1..40),
        mirrored in any::<bool>(),
    ) {
        let there = Wireless::new(spec).expect("any rate");
        let wireless = if mirrored { there.mirrored() } else { there };
        let _ = (wireless.snr(), wireless.nominal_rate(), wireless.residual_error(u32::MAX));
        let spec = LinkSpec {
            service: ServiceSpec::Wireless(Arc::new(wireless)),
            ..LinkSpec::default()
        };
        let mut link = Link::new(&spec, 1);
        let (mut now, mut last) = (Time::ZERO, Time::ZERO);
        for (gap, size) in &packets {
            now += *gap;
            match link.offer(now, *size, false) {
                Fate::Delivered { at, .. } => {
                    prop_assert!(at >= now && at >= last);
                    last = at;
                }
                Fate::Dropped(cause) => prop_assert_eq!(cause, DropCause::Random),
            }
        }
        let counters = link.counters();
        prop_assert_eq!(counters.delivered + counters.random, packets.len() as u64);
    }
}
