//! Tests of a whole channel.

use super::*;
use crate::spec::{DropCause, LossSpec, Outage, QueueLimit};
use crate::{Delay, DelayTrace, GilbertElliott};
use proptest::prelude::*;
use std::cmp::Ordering;
use whimbrel_units::{Bytes, Probability, Rate};

const PACKET: u32 = 1500;

const fn us(n: u64) -> Time {
    Time::from_nanos(n * 1000)
}

fn spec(kbit: u64) -> WifiSpec {
    WifiSpec::at(Rate::from_bits_per_sec(kbit * 1000)).expect("a rate")
}

fn single(kbit: u64) -> WifiSpec {
    WifiSpec {
        aggregation: None,
        ..spec(kbit)
    }
}

fn plain() -> LinkSpec {
    LinkSpec::default()
}

fn dark(from: u64, to: u64) -> LinkSpec {
    let outage = Outage {
        from: us(from),
        to: us(to),
    };
    LinkSpec {
        loss: LossSpec {
            outages: vec![outage],
            ..LossSpec::default()
        },
        ..plain()
    }
}

fn quiet(spec: &WifiSpec) -> Wifi {
    Wifi::new(spec, [&plain(), &plain()], 1)
}

/// Offers `packets` packets at once and advances to the end.
fn burst(wifi: &mut Wifi, side: Side, packets: usize) -> Vec<Fate> {
    let mut left = Vec::new();
    for _ in 0..packets {
        assert!(wifi.offer(Time::ZERO, side, PACKET));
    }
    wifi.advance(Time::MAX, &mut left);
    left.into_iter().map(|departure| departure.fate).collect()
}

fn arrivals(fates: &[Fate]) -> Vec<Time> {
    let at = |fate: &Fate| match fate {
        Fate::Delivered { at, .. } => *at,
        Fate::Dropped(cause) => panic!("dropped: {cause:?}"),
    };
    fates.iter().map(at).collect()
}

/// When the slots of each station begin after the current access.
fn first_slots(wifi: &Wifi) -> [Time; 2] {
    wifi.back_offs.clone().map(|mut back_off| {
        // Counts the counter down to zero.
        back_off.freeze(Time::MAX, false, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        back_off.expires(Time::ZERO)
    })
}

/// Keeps packets waiting on these sides for `seconds`.
fn saturate(mut wifi: Wifi, sides: &[Side], seconds: f64) -> Wifi {
    let until = Time::ZERO + Duration::from_secs_f64(seconds);
    let mut left = Vec::new();
    let mut now = Time::ZERO;
    while now < until {
        for side in sides {
            while wifi.backlog(*side).packets < 64 {
                wifi.offer(now, *side, PACKET);
            }
        }
        now = wifi.next().expect("packets wait");
        wifi.advance(now, &mut left);
        left.clear();
    }
    wifi
}

fn mbit(wifi: &Wifi, side: Side, seconds: f64) -> f64 {
    wifi.counters(side).delivered_bytes.get() as f64 * 8.0 / seconds / 1e6
}

#[test]
fn one_frame_s_times_match_hand_calculation() {
    // Preamble and data symbols: decoded. Rounded up to legacy symbols, SIFS, ACK: acknowledged.
    for (kbit, decoded_ns, answered_us) in [
        // 36 + 475 x 4 = 1936; + 16 + 44.
        (6_500, 1_936_000, 1_996),
        // 36 + 115 x 3.6 = 450; 452 + 16 + 32.
        (30_000, 450_000, 500),
        // 40 + 12 x 3.6 = 83.2; 84 + 16 + 28.
        (300_000, 83_200, 128),
    ] {
        let mut wifi = quiet(&spec(kbit));
        let mut left = Vec::new();
        wifi.offer(Time::ZERO, Side::Forward, PACKET);
        wifi.advance(us(9), &mut left);
        let fate = Fate::Delivered {
            at: Time::from_nanos(decoded_ns),
            corrupted: None,
            marked: false,
        };
        let side = Side::Forward;
        assert_eq!(left, [Departure { side, fate }], "{kbit}");
        assert_eq!(wifi.next(), Some(us(answered_us)), "{kbit}");
    }
}

#[test]
fn an_aggregate_comes_out_frame_by_frame() {
    let mut wifi = quiet(&spec(300_000));
    let at = arrivals(&burst(&mut wifi, Side::Forward, 42));
    // 300 Mbit/s are 1080 bits per 3.6 us, after 40 us. The first frame ends with byte 1542: (12
    // 336 + 22) / 1080 = 11.4; the second with 3086: 22.9; the last with 64 846: 480.4.
    assert_eq!(at[0], Time::from_nanos(40_000 + 12 * 3_600));
    assert_eq!(at[1], Time::from_nanos(40_000 + 23 * 3_600));
    assert_eq!(at[41], Time::from_nanos(40_000 + 481 * 3_600));
    // 1771.6 us to whole legacy symbols, SIFS, and 32 us of block acknowledgment.
    let airtime = wifi.air(Side::Forward).airtime;
    assert_eq!(airtime, Duration::from_micros(1772 + 16 + 32));
    assert_eq!(wifi.air(Side::Forward).accesses, 1);
}

#[test]
fn rts_cts_takes_two_short_frames_and_two_gaps() {
    let wifi = &mut quiet(&WifiSpec {
        rts_cts: true,
        ..spec(300_000)
    });
    let at = arrivals(&burst(wifi, Side::Forward, 1));
    // RTS 28, SIFS 16, CTS 28, SIFS 16.
    assert_eq!(at, [Time::from_nanos(88_000 + 83_200)]);
    let airtime = wifi.air(Side::Forward).airtime;
    assert_eq!(airtime, Duration::from_micros(88 + 128));
}

#[test]
fn after_a_long_idle_time_a_station_sends_at_the_next_slot() {
    let mut wifi = quiet(&spec(300_000));
    wifi.offer(us(1_000), Side::Reverse, PACKET);
    // 112 slots of 9 us.
    assert_eq!(wifi.next(), Some(us(1_008)));
    // Afterwards both wait AIFS, and the sender its post-back-off of 0 to 15 slots.
    let mut left = Vec::new();
    wifi.advance(us(1_200), &mut left);
    // It had a frame to send until the acknowledgment came.
    assert_eq!(
        wifi.counters(Side::Reverse).busy,
        Duration::from_micros(136)
    );
    wifi.offer(us(1_200), Side::Reverse, PACKET);
    let next = wifi.next().expect("a packet waits");
    let slots = next.since(us(1_008 + 128 + 43)).as_nanos();
    assert!(slots.is_multiple_of(9_000) && slots <= 15 * 9_000, "{next}");
}

#[test]
fn the_throughput_of_one_station_matches_hand_calculation() {
    // The access, AIFS of 43 us and 7.5 slots of back-off: 110.5 us between accesses on average.
    for (spec, packets, access) in [
        (single(6_500), 1, 1_996.0),
        (single(300_000), 1, 128.0),
        // Two frames: 3086 bytes, (24 688 + 22) / 26 = 950.4: 951 x 4 + 36 + 16, block ACK 278 /
        // 24: 12 x 4 + 20.
        (spec(6_500), 2, 3_924.0),
        (spec(300_000), 42, 1_820.0),
        // 64 846 bytes: (518 768 + 28) / 2160 = 240.2: 241 x 3.6 = 867.6: 868 + 48 + 16 + 32.
        (spec(600_000), 42, 964.0),
    ] {
        let expected = f64::from(packets) * 12_000.0 / (access + 110.5);
        let wifi = saturate(quiet(&spec), &[Side::Forward], 10.0);
        let got = mbit(&wifi, Side::Forward, 10.0);
        // 5000 accesses or more, whose back-offs scatter by 41 us: to 0.03 % of a period of 2 ms,
        // 0.1 % of 0.24 ms.
        assert!((got / expected - 1.0).abs() < 0.005, "{got} {expected}");
        let said = spec.saturation(Bytes::new(PACKET.into()));
        let said = said.as_bits_per_sec() as f64 / 1e6;
        assert!((said / expected - 1.0).abs() < 1e-5, "{said} {expected}");
        assert_eq!(wifi.air(Side::Forward).collisions, 0);
    }
}

/// Bianchi's equations (7) and (9) for n = 2: how often a station that has not sent does so in a
/// slot, tau; the same is the probability p that an access collides.
fn bianchi(window: f64, doublings: i32) -> f64 {
    let tau = |p: f64| {
        let doubled = 1.0 - 2.0 * p;
        2.0 * doubled / (doubled * (window + 1.0) + p * window * (1.0 - (2.0 * p).powi(doublings)))
    };
    // tau falls with p, so that p = tau(p) has one solution.
    let (mut low, mut high) = (0.0, 0.499);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if tau(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The same without Bianchi's approximation that each station meets the other one in an average
/// state: the chain of both together, from one access to the next. After an access either one
/// station has drawn from the first window and the other one, which has doubled its own `stage`
/// times, has slots left; or both have collided and drawn.
fn exactly(first_window: usize, doublings: usize) -> f64 {
    let window = |stage: usize| first_window << stage;
    let share = |stage: usize| 1.0 / window(stage) as f64;
    let next = |stage: usize| (stage + 1).min(doublings);
    let none = || {
        let left: Vec<Vec<f64>> = (0..=doublings).map(|s| vec![0.0; window(s)]).collect();
        (left, vec![vec![0.0; doublings + 1]; doublings + 1])
    };
    let (mut left, mut collided) = none();
    left[0][0] = 1.0;
    let mut collisions = 0.0;
    for _ in 0..300 {
        let (mut left_then, mut collided_then) = none();
        collisions = 0.0;
        for (stage, slots) in left.iter().enumerate() {
            for (slots, p) in slots.iter().enumerate() {
                for drawn in 0..first_window {
                    let p = p * share(0);
                    match drawn.cmp(&slots) {
                        Ordering::Less => left_then[stage][slots - drawn - 1] += p,
                        Ordering::Equal => {
                            collided_then[next(0)][next(stage)] += p;
                            collisions += p;
                        }
                        Ordering::Greater => left_then[0][drawn - slots - 1] += p,
                    }
                }
            }
        }
        for (a, row) in collided.iter().enumerate() {
            for (b, p) in row.iter().enumerate() {
                let p = p * share(a) * share(b);
                let same = p * window(a.min(b)) as f64;
                collided_then[next(a)][next(b)] += same;
                collisions += same;
                for (winner, loser) in [(a, b), (b, a)] {
                    for (slots, left) in left_then[loser].iter_mut().enumerate() {
                        let ways = window(winner).min(window(loser) - 1 - slots);
                        *left += p * ways as f64;
                    }
                }
            }
        }
        (left, collided) = (left_then, collided_then);
    }
    // A collision is an access of both stations.
    2.0 * collisions / (1.0 + collisions)
}

#[test]
fn two_stations_collide_as_often_as_in_bianchi_s_model() {
    // What always draws from 32 slots has no memory of collisions, and Bianchi's approximation is
    // none: 2 / 33.
    assert!((bianchi(32.0, 0) - 2.0 / 33.0).abs() < 1e-9);
    assert!((exactly(32, 0) - 2.0 / 33.0).abs() < 1e-4);
    // With doubling two stations, which have collided with each other, have both doubled. So they
    // collide a little more often than with an average one: 11.1 % against 10.5 %.
    assert!((exactly(16, 6) - 0.1108).abs() < 0.000_5);
    for (cw_min, cw_max, doublings) in [(31, 31, 0), (15, 1023, 6), (7, 1023, 7)] {
        let spec = WifiSpec {
            cw_min,
            cw_max,
            ..single(120_000)
        };
        let wifi = saturate(quiet(&spec), &Side::BOTH, 60.0);
        let exact = exactly(usize::from(cw_min) + 1, doublings as usize);
        let approximate = bianchi(f64::from(cw_min) + 1.0, doublings);
        for side in Side::BOTH {
            let air = wifi.air(side);
            // At least 16 000 collisions determine the probability to 0.8 %.
            let seen = air.collisions as f64 / air.accesses as f64;
            assert!((seen / exact - 1.0).abs() < 0.025, "{seen} {exact}");
            assert!(
                (seen / approximate - 1.0).abs() < 0.1,
                "{seen} {approximate}"
            );
        }
    }
}

#[test]
fn the_throughput_of_two_stations_matches_bianchi_s_model() {
    let wifi = saturate(quiet(&single(120_000)), &Side::BOTH, 60.0);
    // A slot is idle, or one sends, or both: (13). At 120 Mbit/s 1538 bytes take 36 us and 12 326 /
    // 432 = 28.5: 29 symbols, 104.4: 108 us; an access 144 + 16 + 28, then AIFS; a collision 144,
    // the wait for the answer 45, AIFS.
    let tau = bianchi(16.0, 6);
    let (one, both) = (2.0 * tau * (1.0 - tau), tau * tau);
    let slot = 9.0 * (1.0 - one - both) + one * (188.0 + 43.0) + both * (144.0 + 45.0 + 43.0);
    let expected = one * 12_000.0 / slot;
    let [forward, reverse] = Side::BOTH.map(|side| mbit(&wifi, side, 60.0));
    let got = forward + reverse;
    assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
    assert!(
        (forward / reverse - 1.0).abs() < 0.02,
        "{forward} {reverse}"
    );
}

#[test]
fn both_directions_share_the_capacity_of_the_channel() {
    // Even without any back-off or collision 42 packets take 1820 + 43 us: 270.5 Mbit/s, half of it
    // for each.
    let wifi = saturate(quiet(&spec(300_000)), &Side::BOTH, 20.0);
    let [forward, reverse] = Side::BOTH.map(|side| mbit(&wifi, side, 20.0));
    assert!(forward + reverse < 270.5, "{forward} {reverse}");
    assert!(forward.max(reverse) < 0.55 * 270.5, "{forward} {reverse}");
    assert!(forward.min(reverse) > 0.4 * 270.5, "{forward} {reverse}");
    let busy = wifi.air(Side::Forward).airtime + wifi.air(Side::Reverse).airtime;
    // Collisions, one in ten, count twice.
    assert!(busy < Duration::from_secs(22));
}

#[test]
fn rts_makes_collisions_short() {
    let rts = WifiSpec {
        rts_cts: true,
        ..single(6_500)
    };
    let mut wifi = quiet(&rts);
    let mut left = Vec::new();
    for side in Side::BOTH {
        wifi.offer(Time::ZERO, side, PACKET);
    }
    wifi.advance(us(9), &mut left);
    // RTS at 6 Mbit/s: (160 + 22) / 24: 8 symbols.
    assert_eq!(wifi.next(), Some(us(20 + 32)));
    let mut wifi = quiet(&single(6_500));
    for side in Side::BOTH {
        wifi.offer(Time::ZERO, side, PACKET);
    }
    wifi.advance(us(9), &mut left);
    assert_eq!(wifi.next(), Some(us(1_936)));
    assert_eq!(left, []);
    for side in Side::BOTH {
        assert_eq!(wifi.air(side).collisions, 1);
    }
}

#[test]
fn after_colliding_with_a_longer_frame_no_timeout_is_left() {
    let mut wifi = quiet(&single(6_500));
    wifi.offer(Time::ZERO, Side::Forward, PACKET);
    wifi.offer(Time::ZERO, Side::Reverse, 40);
    wifi.advance(us(9), &mut Vec::new());
    // 1936 us; 78 bytes are 646 bits, 25 symbols: 136 us. The one waits 45 us for an answer and
    // AIFS from its own end, the other one has waited for its answer long ago.
    assert_eq!(first_slots(&wifi), [us(1_936 + 45 + 43), us(1_936 + 43)]);
}

#[test]
fn a_station_that_receives_an_incorrect_frame_waits_eifs() {
    let mut wifi = quiet(&WifiSpec {
        frame_loss: Probability::ONE,
        ..single(6_500)
    });
    wifi.offer(Time::ZERO, Side::Forward, PACKET);
    wifi.advance(us(9), &mut Vec::new());
    // EIFS: SIFS, an acknowledgment at 6 Mbit/s of 44 us, AIFS.
    assert_eq!(
        first_slots(&wifi),
        [us(1_936 + 45 + 43), us(1_936 + 16 + 44 + 43)]
    );
    assert_eq!(wifi.next(), Some(us(1_936)));
}

#[test]
fn unaligned_slots_collide_when_they_overlap() {
    // The reverse station's slots begin 4 us after the forward one's: too late to notice that it
    // has begun.
    for (apart, collisions) in [(4, 1), (8, 1), (9, 0)] {
        let mut wifi = quiet(&single(6_500));
        wifi.back_offs[1].resume(us(apart));
        for side in Side::BOTH {
            wifi.offer(Time::ZERO, side, PACKET);
        }
        wifi.advance(us(1_000), &mut Vec::new());
        assert_eq!(wifi.air(Side::Forward).collisions, collisions, "{apart}");
        assert_eq!(wifi.air(Side::Reverse).accesses, collisions, "{apart}");
    }
}

#[test]
fn a_lost_frame_is_retransmitted_alone_and_delays_those_behind_it() {
    let lossy = WifiSpec {
        frame_loss: Probability::new(0.3).expect("a share"),
        ..spec(300_000)
    };
    let mut wifi = quiet(&lossy);
    let at = arrivals(&burst(&mut wifi, Side::Forward, 42));
    assert!(at.is_sorted());
    let air = *wifi.air(Side::Forward);
    assert!(air.accesses > 1 && air.frames_lost > 0);
    assert_eq!(air.frames, 42 + air.frames_lost);
    // Some came out with one that was sent again: long after their own symbols.
    assert!(at.windows(2).any(|pair| pair[0] == pair[1]));
    assert!(at[41] > us(1_820 + 43));
}

#[test]
fn frames_lost_on_the_air_take_capacity_and_lose_few_packets() {
    let lossy = WifiSpec {
        frame_loss: Probability::new(0.1).expect("a share"),
        ..single(120_000)
    };
    let wifi = saturate(quiet(&lossy), &[Side::Forward], 20.0);
    let (counters, air) = (wifi.counters(Side::Forward), wifi.air(Side::Forward));
    let seen = air.frames_lost as f64 / air.frames as f64;
    assert!((seen - 0.1).abs() < 0.005, "{seen}");
    // Seven losses in a row: one packet in ten million.
    assert_eq!(counters.random, 0);
    // Of 63 830 accesses 90 % deliver. One without an answer takes 144 + 45 + 43 us instead of 188
    // + 43; its second try backs off 15.5 slots instead of 7.5: on average 298.5 + 0.1 x (1 + 72)
    // with 0.9 x 0.1 third tries and so on, near enough.
    let expected = 0.9 * 12_000.0 / (298.5 + 0.1 * (1.0 + 72.0) + 0.01 * 144.0);
    let got = mbit(&wifi, Side::Forward, 20.0);
    assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
}

#[test]
fn a_packet_never_received_is_given_up_after_seven_tries() {
    let mut wifi = quiet(&WifiSpec {
        frame_loss: Probability::ONE,
        ..spec(300_000)
    });
    let fates = burst(&mut wifi, Side::Forward, 42);
    assert_eq!(fates, [Fate::Dropped(DropCause::Random); 42]);
    let (counters, air) = (wifi.counters(Side::Forward), wifi.air(Side::Forward));
    assert_eq!((air.accesses, air.frames), (7, 7 * 42));
    assert_eq!((counters.random, counters.delivered), (42, 0));
    assert!(wifi.next().is_none());
}

#[test]
fn a_packet_that_always_collides_is_given_up_after_seven_tries() {
    // Without back-off both stations always send at the same time.
    let mut wifi = quiet(&WifiSpec {
        cw_min: 0,
        cw_max: 0,
        ..single(120_000)
    });
    let mut left = Vec::new();
    for side in Side::BOTH {
        wifi.offer(Time::ZERO, side, PACKET);
    }
    wifi.advance(Time::MAX, &mut left);
    let dropped = |side| Departure {
        side,
        fate: Fate::Dropped(DropCause::Contention),
    };
    assert_eq!(left, Side::BOTH.map(dropped));
    for side in Side::BOTH {
        assert_eq!(wifi.counters(side).contention, 1);
        assert_eq!(wifi.air(side).collisions, 7);
    }
}

#[test]
fn a_short_outage_delays_packets_and_a_long_one_loses_them() {
    // Seven tries at 120 Mbit/s take 7 x 232 us and back-offs of 7.5, 15.5, 31.5 ... slots: some 7
    // ms.
    let run = |to| {
        let mut wifi = Wifi::new(&single(120_000), [&dark(0, to), &plain()], 3);
        let fates = burst(&mut wifi, Side::Forward, 1);
        (fates[0], *wifi.counters(Side::Forward))
    };
    let (late, counters) = run(300);
    assert!(matches!(late, Fate::Delivered { at, .. } if at > us(300)));
    assert_eq!(counters.outage, 0);
    let (dead, counters) = run(60_000);
    assert_eq!(dead, Fate::Dropped(DropCause::Outage));
    assert_eq!(counters.outage, 1);
}

#[test]
fn an_outage_loses_its_frames_and_in_the_preamble_all_of_them() {
    // Frames end each 41 us or so: those that end in 500 to 582 us are two.
    let lost = |from, to| {
        let mut wifi = Wifi::new(&spec(300_000), [&dark(from, to), &plain()], 1);
        let mut left = Vec::new();
        for _ in 0..42 {
            wifi.offer(Time::ZERO, Side::Forward, PACKET);
        }
        wifi.advance(us(9), &mut left);
        wifi.air(Side::Forward).frames_lost
    };
    assert_eq!(lost(500, 582), 2);
    assert_eq!(lost(30, 41), 42);
    assert_eq!(lost(0, 30), 0);
}

#[test]
fn a_lost_acknowledgment_takes_airtime_but_loses_no_packet() {
    // The other direction is dark for long: no acknowledgment comes back. Each packet is sent seven
    // times, and comes out once.
    let mut wifi = Wifi::new(&single(120_000), [&plain(), &dark(0, 1_000_000)], 1);
    let at = arrivals(&burst(&mut wifi, Side::Forward, 2));
    assert_eq!(at.len(), 2);
    assert_eq!(at[0], Time::from_nanos(36_000 + 29 * 3_600));
    assert_eq!(wifi.counters(Side::Forward).delivered, 2);
    // 144 + 16 + 28 us each time: the acknowledgment is sent, but lost.
    let air = *wifi.air(Side::Forward);
    assert_eq!(air.accesses, 14);
    assert_eq!(air.airtime, Duration::from_micros(14 * 188));
    // With RTS no data is sent, because the CTS is lost.
    let rts = WifiSpec {
        rts_cts: true,
        ..single(120_000)
    };
    let mut wifi = Wifi::new(&rts, [&plain(), &dark(0, 1_000_000)], 1);
    let fates = burst(&mut wifi, Side::Forward, 1);
    assert_eq!(fates, [Fate::Dropped(DropCause::Outage)]);
    let airtime = wifi.air(Side::Forward).airtime;
    assert_eq!(airtime, Duration::from_micros(7 * (28 + 16 + 28)));
}

#[test]
fn a_missing_frame_stops_the_window_after_64_frames() {
    // 40 bytes at 300 Mbit/s: the first frame ends at 43.6 us, the second after the next symbol at
    // 47.2.
    let mut wifi = Wifi::new(&spec(300_000), [&dark(41, 44), &plain()], 1);
    for _ in 0..100 {
        wifi.offer(Time::ZERO, Side::Forward, 40);
    }
    let mut frames = Vec::new();
    let mut left = Vec::new();
    while let Some(next) = wifi.next() {
        wifi.advance(next, &mut left);
        let sent = wifi.air(Side::Forward).frames;
        if frames.last() != Some(&sent) {
            frames.push(sent);
        }
    }
    // All frames that the bitmap covers; then the missing one, though others wait; then the others.
    assert_eq!(frames, [0, 64, 65, 101]);
    assert_eq!(
        arrivals(&left.iter().map(|d| d.fate).collect::<Vec<_>>()).len(),
        100
    );
}

#[test]
fn a_packet_that_finds_the_channel_busy_backs_off() {
    let mut seen = [false; 16];
    for seed in 0..400 {
        let mut wifi = Wifi::new(&single(6_500), [&plain(), &plain()], seed);
        wifi.offer(Time::ZERO, Side::Forward, PACKET);
        wifi.advance(us(500), &mut Vec::new());
        wifi.offer(us(500), Side::Reverse, PACKET);
        wifi.advance(us(1_996), &mut Vec::new());
        let due = wifi.next().expect("a packet waits");
        let slots = due.since(us(1_996 + 43)).as_nanos() / 9_000;
        seen[slots as usize] = true;
    }
    // Each of 16 is missed by 400 draws with probability 6e-12.
    assert_eq!(seen, [true; 16]);
}

#[test]
fn impairments_behind_the_radio_apply_once_per_packet() {
    let share = |p| Probability::new(p).expect("a share");
    let behind = LinkSpec {
        delay: Delay::constant(Duration::from_millis(50)),
        loss: LossSpec {
            random: share(0.2),
            corrupt: share(0.5),
            ..LossSpec::default()
        },
        ..plain()
    };
    let mut wifi = Wifi::new(&spec(300_000), [&behind, &plain()], 1);
    let fates = burst(&mut wifi, Side::Forward, 10_000);
    let counters = *wifi.counters(Side::Forward);
    // 2000, standard deviation 40; half of the others, 45.
    assert!(counters.random.abs_diff(2_000) < 160, "{counters:?}");
    assert!(counters.corrupted.abs_diff(4_000) < 200, "{counters:?}");
    assert_eq!(wifi.air(Side::Forward).frames, 10_000);
    let first = fates.iter().find_map(|fate| match fate {
        Fate::Delivered { at, .. } => Some(*at),
        Fate::Dropped(_) => None,
    });
    assert!(first.is_some_and(|at| at > us(50_083) && at < us(51_000)));
}

#[test]
fn set_drops_and_recorded_delays_apply_behind_the_radio() {
    let row = DelayTrace::parse("50\n1\n").expect("a trace");
    let behind = LinkSpec {
        delay: Delay::recorded(Duration::from_micros(300), row).expect("intervals"),
        loss: LossSpec {
            drops: vec![us(0), us(100)],
            ..LossSpec::default()
        },
        ..plain()
    };
    let mut wifi = Wifi::new(&spec(300_000), [&behind, &plain()], 1);
    // After 40 us a packet each 41 us.
    let fates = burst(&mut wifi, Side::Forward, 42);
    let lost = |fate: &Fate| *fate == Fate::Dropped(DropCause::Random);
    // The first three are understood at 83, 123 and 166 us: the drops take the first and the
    // second.
    let first: Vec<bool> = fates.iter().take(3).map(lost).collect();
    assert_eq!(first, [true, true, false]);
    assert_eq!(wifi.counters(Side::Forward).random, 2);
    // Four more are until 300 us, with 50 ms each. Seven come until 600 us, 330 us the first and
    // 576 us the last: with 1 ms they would be first, and come out with the last of the four. Then
    // it is 50 ms again.
    let at = arrivals(&fates[2..]);
    assert!(at.is_sorted());
    assert!(at[3] > us(50_288) && at[3] < us(50_289), "{at:?}");
    assert_eq!(at[4..11], [at[3]; 7]);
    assert!(at[11] > us(50_600), "{at:?}");
}

#[test]
fn the_queue_counts_waiting_packets_and_not_those_on_the_air() {
    let few = LinkSpec {
        queue: QueueLimit::Packets(2),
        ..plain()
    };
    let mut wifi = Wifi::new(&single(6_500), [&few, &plain()], 1);
    let offer = |wifi: &mut Wifi, at| wifi.offer(us(at), Side::Forward, PACKET);
    assert!(offer(&mut wifi, 0));
    wifi.advance(us(100), &mut Vec::new());
    assert_eq!(wifi.backlog(Side::Forward).packets, 0);
    let taken = [100, 200, 300].map(|at| offer(&mut wifi, at));
    assert_eq!(taken, [true, true, false]);
    let backlog = wifi.backlog(Side::Forward);
    assert_eq!((backlog.packets, backlog.bytes), (2, Bytes::new(3_000)));
    let counters = wifi.counters(Side::Forward);
    assert_eq!((counters.queue_overflow, counters.offered), (1, 4));
    // A buffer of zero packets still passes a packet that need not wait.
    let none = LinkSpec {
        queue: QueueLimit::Packets(0),
        ..plain()
    };
    let mut bare = Wifi::new(&single(6_500), [&none, &plain()], 1);
    assert!(offer(&mut bare, 0) && !offer(&mut bare, 0));
    // The first waited for nothing, the second for the channel: from 100 us to beyond the answer at
    // 1996.
    wifi.advance(us(3_000), &mut Vec::new());
    assert!(wifi.counters(Side::Forward).longest_wait >= Duration::from_micros(1_939));
}

#[derive(Debug, Clone)]
struct Case {
    spec: WifiSpec,
    directions: [LinkSpec; 2],
    /// Gap since the last packet in nanoseconds, whether it is the reverse side's, size.
    packets: Vec<(u64, bool, u32)>,
    seed: u64,
}

fn direction() -> impl Strategy<Value = LinkSpec> {
    let queue = prop_oneof![
        Just(QueueLimit::Unlimited),
        (0_u32..20).prop_map(QueueLimit::Packets),
        (0_u64..20_000).prop_map(|b| QueueLimit::Bytes(Bytes::new(b))),
    ];
    let outage = (0_u64..40_000, 0_u64..20_000).prop_map(|(from, length)| Outage {
        from: us(from),
        to: us(from + length),
    });
    let bursts = GilbertElliott::ByTime {
        good: Duration::from_millis(3),
        bad: Duration::from_millis(1),
        good_loss: Probability::ZERO,
        bad_loss: Probability::ONE,
    };
    let loss = (
        probability(),
        probability(),
        prop::option::of(Just(bursts)),
        prop::collection::vec(outage, 0..3),
        prop::collection::vec((0_u64..40_000).prop_map(us), 0..3),
    )
        .prop_map(
            |(random, corrupt, gilbert_elliott, outages, drops)| LossSpec {
                random,
                gilbert_elliott,
                corrupt,
                outages,
                drops,
                ..LossSpec::default()
            },
        );
    (queue, 0_u64..1_000_000, loss).prop_map(|(queue, delay, loss)| LinkSpec {
        queue,
        delay: Delay::constant(Duration::from_nanos(delay)),
        loss,
        ..plain()
    })
}

fn probability() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(0.0), 0.0..=1.0].prop_map(|p| Probability::new(p).expect("a share"))
}

fn case() -> impl Strategy<Value = Case> {
    let aggregation =
        (0_u32..100_000, 0_u8..100).prop_map(|(bytes, frames)| Aggregation { bytes, frames });
    let spec = (
        prop::sample::select(HtMode::all().collect::<Vec<_>>()),
        prop::option::of(aggregation),
        probability(),
        any::<bool>(),
        (0_u16..40, 0_u16..2000, 0_u8..10, 0_u8..9),
    )
        .prop_map(|(mode, aggregation, frame_loss, rts_cts, numbers)| {
            let (cw_min, cw_max, aifsn, retry_limit) = numbers;
            WifiSpec {
                mode,
                aggregation,
                frame_loss,
                rts_cts,
                aifsn,
                cw_min,
                cw_max,
                retry_limit,
                ..spec(6_500)
            }
        });
    let gap = prop_oneof![3 => Just(0), 3 => 0_u64..20_000, 1 => 0_u64..5_000_000];
    let size = prop_oneof![3 => Just(PACKET), 3 => 0_u32..3_000, 1 => 0_u32..70_000];
    let packets = prop::collection::vec((gap, any::<bool>(), size), 1..150);
    (spec, [direction(), direction()], packets, any::<u64>()).prop_map(
        |(spec, directions, packets, seed)| Case {
            spec,
            directions,
            packets,
            seed,
        },
    )
}

/// Plays it all; gives for each side when its accepted packets were offered, and the departures
/// with the time at which they were told.
fn play(case: &Case) -> (Wifi, [Vec<Time>; 2], Vec<(Time, Departure)>) {
    let [forward, reverse] = &case.directions;
    let mut wifi = Wifi::new(&case.spec, [forward, reverse], case.seed);
    let mut accepted = [vec![], vec![]];
    let mut told = Vec::new();
    let mut now = Time::ZERO;
    let mut run_to = |wifi: &mut Wifi, until: Time| {
        while let Some(next) = wifi.next().filter(|next| *next <= until) {
            let mut left = Vec::new();
            wifi.advance(next, &mut left);
            told.extend(left.into_iter().map(|departure| (next, departure)));
        }
    };
    for (gap, reverse, size) in &case.packets {
        now += Duration::from_nanos(*gap);
        run_to(&mut wifi, now);
        let side = Side::BOTH[usize::from(*reverse)];
        if wifi.offer(now, side, *size) {
            accepted[side as usize].push(now);
        }
    }
    run_to(&mut wifi, Time::MAX);
    (wifi, accepted, told)
}

proptest! {
    #[test]
    fn every_accepted_packet_leaves_once_and_in_order(case in case()) {
        let (wifi, accepted, told) = play(&case);
        prop_assert!(told.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for side in Side::BOTH {
            let offered = &accepted[side as usize];
            let mine: Vec<_> = told.iter().filter(|(_, d)| d.side == side).collect();
            prop_assert_eq!(mine.len(), offered.len());
            let mut last = Time::ZERO;
            for ((when, departure), offered) in mine.into_iter().zip(offered) {
                prop_assert!(when >= offered);
                if let Fate::Delivered { at, .. } = departure.fate {
                    // A frame is on the air for at least a preamble.
                    prop_assert!(at >= last && at >= *when && at.since(*offered) >= Duration::from_micros(36));
                    last = at;
                }
            }
            let c = wifi.counters(side);
            let gone = c.delivered + c.random + c.outage + c.contention;
            prop_assert_eq!(gone, offered.len() as u64);
            prop_assert_eq!(gone + c.queue_overflow, c.offered);
            prop_assert!(c.delivered_bytes <= c.served_bytes && c.corrupted <= c.delivered);
            let backlog = wifi.backlog(side);
            prop_assert_eq!((backlog.packets, backlog.bytes), (0, Bytes::ZERO));
            prop_assert!(c.longest_wait <= c.waited && wifi.air(side).collisions <= wifi.air(side).accesses);
        }
        prop_assert_eq!(wifi.air(Side::Forward).collisions, wifi.air(Side::Reverse).collisions);
        prop_assert!(wifi.next().is_none());
    }

    #[test]
    fn the_same_seed_gives_the_same_fates(case in case()) {
        prop_assert_eq!(play(&case).2, play(&case).2);
    }

    /// The number of calls does not matter.
    #[test]
    fn the_outcome_does_not_depend_on_when_the_link_is_advanced(
        case in case(), looks in prop::collection::vec(0_u64..50_000_000, 1..30),
    ) {
        let [forward, reverse] = &case.directions;
        let run = |mut looks: Vec<u64>| {
            looks.sort_unstable();
            let mut wifi = Wifi::new(&case.spec, [forward, reverse], case.seed);
            let mut left = Vec::new();
            for (i, (_, reverse, size)) in case.packets.iter().enumerate() {
                wifi.offer(Time::ZERO, Side::BOTH[usize::from(*reverse)], *size + i as u32);
            }
            looks.into_iter().for_each(|at| wifi.advance(Time::from_nanos(at), &mut left));
            wifi.advance(Time::MAX, &mut left);
            left
        };
        prop_assert_eq!(run(looks), run(vec![]));
    }

    #[test]
    fn extreme_times_sizes_and_limits_do_not_panic(
        case in case(), times in prop::collection::vec(any::<u64>(), 1..20), size: u32, longest: u64,
    ) {
        let mut times = times;
        times.sort_unstable();
        let [forward, reverse] = &case.directions;
        let spec = WifiSpec {
            longest: Duration::from_nanos(longest),
            retry_limit: u8::MAX,
            cw_min: u16::MAX,
            aifsn: u8::MAX,
            ..case.spec.clone()
        };
        let mut wifi = Wifi::new(&spec, [forward, reverse], case.seed);
        let mut left = Vec::new();
        for (i, at) in times.into_iter().map(Time::from_nanos).enumerate() {
            wifi.advance(at, &mut left);
            wifi.offer(at, Side::BOTH[i % 2], size);
            wifi.offer(at, Side::BOTH[i / 2 % 2], u32::MAX);
        }
        wifi.advance(Time::MAX, &mut left);
        prop_assert!(wifi.next().is_none());
        let _ = spec.saturation(Bytes::MAX);
    }
}
