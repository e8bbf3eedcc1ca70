//! Impairments: random loss, corruption, outages.

mod common;

use common::{at_rate, mbit, ms, percent, serving, us};
use whimbrel_net::{
    CoDel, CodelLink, DropCause, Fate, Link, LinkSpec, LossSpec, Outage, ServiceSpec,
};
use whimbrel_units::{Bytes, Duration, Probability, Time};

const PACKETS: u64 = 1_000_000;

fn lossy(loss: LossSpec) -> LinkSpec {
    LinkSpec {
        loss,
        ..serving(ServiceSpec::Unlimited)
    }
}

/// Fates of packets offered a microsecond apart.
fn fates(spec: &LinkSpec, seed: u64, packets: u64) -> Vec<Fate> {
    let mut link = Link::new(spec, seed);
    (0..packets)
        .map(|i| link.offer(Time::from_nanos(i * 1_000), 1000, true))
        .collect()
}

fn lost(fates: &[Fate]) -> Vec<bool> {
    fates
        .iter()
        .map(|f| *f == Fate::Dropped(DropCause::Random))
        .collect()
}

/// Whether a count of events of this probability is within four standard deviations of its mean.
fn plausible(count: u64, of: u64, p: f64) -> bool {
    let (n, count) = (of as f64, count as f64);
    (count - n * p).abs() <= 4.0 * (n * p * (1.0 - p)).sqrt()
}

#[test]
fn random_loss_has_its_probability() {
    for (seed, p) in [(1, 0.000_1), (2, 0.01), (3, 0.5), (4, 0.999)] {
        let random = Probability::new(p).expect("a probability");
        let mut link = Link::new(
            &lossy(LossSpec {
                random,
                ..LossSpec::default()
            }),
            seed,
        );
        for i in 0..PACKETS {
            link.offer(Time::from_nanos(i), 1000, true);
        }
        let counters = link.counters();
        assert!(
            plausible(counters.random, PACKETS, p),
            "{} of {PACKETS} at {p}",
            counters.random
        );
        assert_eq!(counters.random + counters.delivered, PACKETS);
    }
}

#[test]
fn random_losses_are_independent() {
    // The fraction of losses directly after a loss is the loss rate itself.
    let spec = lossy(LossSpec {
        random: percent(10.0),
        ..LossSpec::default()
    });
    let lost = lost(&fates(&spec, 5, PACKETS));
    let losses = lost.iter().filter(|l| **l).count() as u64;
    let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count() as u64;
    assert!(
        plausible(pairs, losses, 0.1),
        "{pairs} pairs in {losses} losses"
    );
}

#[test]
fn probabilities_zero_and_one_are_exact() {
    assert!(!lost(&fates(&lossy(LossSpec::default()), 1, 1000)).contains(&true));
    let certain = lossy(LossSpec {
        random: Probability::ONE,
        ..LossSpec::default()
    });
    assert!(!lost(&fates(&certain, 1, 1000)).contains(&false));
}

#[test]
fn a_corrupted_packet_is_delivered_and_reported() {
    let spec = lossy(LossSpec {
        corrupt: percent(1.0),
        ..LossSpec::default()
    });
    let mut link = Link::new(&spec, 6);
    let mut marked = 0;
    for i in 0..PACKETS {
        match link.offer(Time::from_nanos(i), 1000, true) {
            Fate::Delivered { corrupted, .. } => marked += u64::from(corrupted.is_some()),
            Fate::Dropped(cause) => panic!("{cause:?}"),
        }
    }
    assert_eq!(link.counters().corrupted, marked);
    assert_eq!(link.counters().delivered, PACKETS);
    assert!(plausible(marked, PACKETS, 0.01), "{marked}");
}

/// Of packets of 1500 bytes whose first changed bit is known, the shares whose first 40 and first
/// 52 bytes it lies in.
fn in_headers(loss: LossSpec) -> (u64, [f64; 2]) {
    let mut link = Link::new(&lossy(loss), 11);
    let mut firsts = Vec::new();
    for i in 0..PACKETS {
        if let Fate::Delivered { corrupted, .. } = link.offer(Time::from_nanos(i), 1500, true) {
            firsts.extend(corrupted);
        }
    }
    assert!(firsts.iter().all(|bit| *bit < 12_000));
    let within = |bytes: u32| firsts.iter().filter(|bit| **bit < 8 * bytes).count() as f64;
    let all = firsts.len() as f64;
    (
        firsts.len() as u64,
        [40, 52].map(|bytes| within(bytes) / all),
    )
}

#[test]
fn a_flipped_bit_is_uniform_over_the_packet() {
    // Headers of 20 and 20 bytes in 1500: 2.67 %; with 12 bytes of timestamps 3.47 %.
    let (corrupted, [plain, timestamps]) = in_headers(LossSpec {
        corrupt: percent(100.0),
        ..LossSpec::default()
    });
    assert_eq!(corrupted, PACKETS);
    assert!((plain - 40.0 / 1500.0).abs() < 0.002, "{plain}");
    assert!((timestamps - 52.0 / 1500.0).abs() < 0.002, "{timestamps}");
}

#[test]
fn rare_bit_errors_are_uniform_over_the_packet() {
    // 1 - (1 - 1e-6)^12000 = 1.193 %.
    let (corrupted, _) = in_headers(LossSpec {
        bit_errors: percent(1e-4),
        ..LossSpec::default()
    });
    assert!(plausible(corrupted, PACKETS, 0.011_928), "{corrupted}");
    // At 1e-5 it is 11.31 %, of which 320 of 12,000 bits come first: (1 - (1 - 1e-5)^320)/0.1131 =
    // 2.82 %.
    let (corrupted, [plain, _]) = in_headers(LossSpec {
        bit_errors: percent(1e-3),
        ..LossSpec::default()
    });
    assert!(plausible(corrupted, PACKETS, 0.113_08), "{corrupted}");
    assert!((plain - 0.0282).abs() < 0.006, "{plain}");
}

#[test]
fn corruption_and_loss_are_independent() {
    let both = LossSpec {
        random: percent(20.0),
        corrupt: percent(20.0),
        ..LossSpec::default()
    };
    let mut link = Link::new(&lossy(both), 7);
    for i in 0..PACKETS {
        link.offer(Time::from_nanos(i), 1000, true);
    }
    let counters = link.counters();
    assert!(plausible(counters.random, PACKETS, 0.2), "{counters:?}");
    assert!(plausible(counters.corrupted, PACKETS, 0.16), "{counters:?}");
}

#[test]
fn the_same_seed_loses_the_same_packets_with_other_impairments() {
    let random = percent(5.0);
    let plain = lossy(LossSpec {
        random,
        ..LossSpec::default()
    });
    let pattern = lost(&fates(&plain, 8, 10_000));
    assert_eq!(pattern, lost(&fates(&plain, 8, 10_000)));
    assert_ne!(pattern, lost(&fates(&plain, 9, 10_000)));

    let corrupting = lossy(LossSpec {
        random,
        corrupt: percent(30.0),
        ..LossSpec::default()
    });
    assert_eq!(pattern, lost(&fates(&corrupting, 8, 10_000)));

    let rated = LinkSpec {
        loss: plain.loss.clone(),
        ..at_rate(mbit(1))
    };
    assert_eq!(pattern, lost(&fates(&rated, 8, 10_000)));

    // 3 to 4 ms: packets 3000 to 3999.
    let outages = vec![Outage {
        from: ms(3),
        to: ms(4),
    }];
    let dark = fates(
        &lossy(LossSpec {
            random,
            outages,
            ..LossSpec::default()
        }),
        8,
        10_000,
    );
    assert!(
        dark[3000..4000]
            .iter()
            .all(|f| *f == Fate::Dropped(DropCause::Outage))
    );
    assert_eq!(pattern[..3000], lost(&dark)[..3000]);
    assert_eq!(pattern[4000..], lost(&dark)[4000..]);
}

#[test]
fn an_outage_includes_its_begin_and_excludes_its_end() {
    // Out of order and overlapping on purpose.
    let outages = vec![
        Outage {
            from: ms(30),
            to: ms(40),
        },
        Outage {
            from: ms(10),
            to: ms(20),
        },
        Outage {
            from: ms(12),
            to: ms(15),
        },
    ];
    let mut link = Link::new(
        &lossy(LossSpec {
            outages,
            ..LossSpec::default()
        }),
        1,
    );
    let mut dark =
        |ns: u64| link.offer(Time::from_nanos(ns), 1, true) == Fate::Dropped(DropCause::Outage);
    assert!(!dark(9_999_999));
    assert!(dark(10_000_000));
    assert!(dark(17_000_000));
    assert!(dark(19_999_999));
    assert!(!dark(20_000_000));
    assert!(!dark(29_999_999));
    assert!(dark(30_000_000));
    assert!(!dark(40_000_000));
    assert_eq!(link.counters().outage, 4);
}

#[test]
fn an_outage_counts_when_the_last_bit_leaves() {
    // 12 ms of service into an outage that begins at 11 ms.
    let outages = vec![Outage {
        from: ms(11),
        to: ms(13),
    }];
    let loss = LossSpec {
        outages,
        ..LossSpec::default()
    };
    let mut link = Link::new(
        &LinkSpec {
            loss,
            ..at_rate(mbit(1))
        },
        1,
    );
    assert_eq!(
        link.offer(ms(0), 1500, true),
        Fate::Dropped(DropCause::Outage)
    );
    // The lost packet used the link: this one leaves at 24 ms.
    assert_eq!(
        link.offer(ms(0), 1500, true),
        Fate::Delivered {
            at: ms(24),
            corrupted: None,
            marked: false
        }
    );
}

/// Which packets of 1500 bytes, offered each 12 ms from 0 ms on, are lost at random; on 1 Mbit/s
/// the last bit of one leaves when the next is offered.
fn taken(loss: LossSpec) -> Vec<usize> {
    let spec = LinkSpec {
        loss,
        ..at_rate(mbit(1))
    };
    let mut link = Link::new(&spec, 1);
    let fates: Vec<Fate> = (0..10)
        .map(|i| link.offer(ms(12 * i), 1500, true))
        .collect();
    // CoDel, which drops nothing here, gives the same fates.
    let idle = CoDel {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu: Bytes::new(1500),
    };
    let mut managed = CodelLink::new(&spec, idle, 1);
    let mut left = Vec::new();
    for i in 0..10 {
        managed.offer(ms(12 * i), 1500, true, &mut left);
    }
    assert_eq!(left, fates);
    assert_eq!(link.counters().random, managed.counters().random);
    let lost = lost(&fates).into_iter().enumerate();
    lost.filter(|(_, lost)| *lost).map(|(i, _)| i).collect()
}

#[test]
fn a_drop_loses_the_first_packet_that_leaves_then_or_later() {
    let at = |drops: &[Time]| {
        taken(LossSpec {
            drops: drops.to_vec(),
            ..LossSpec::default()
        })
    };
    // Packet 2 leaves at 36 ms, packet 3 at 48 ms.
    assert_eq!(at(&[ms(36)]), [2]);
    assert_eq!(at(&[us(36_001)]), [3]);
    assert_eq!(at(&[ms(0)]), [0]);
    // Each takes one, however close they are, in any order.
    assert_eq!(at(&[ms(38), ms(37), ms(39), ms(100)]), [3, 4, 5, 8]);
    assert_eq!(at(&[ms(37), ms(37)]), [3, 4]);
    assert_eq!(at(&[ms(121)]), [0_usize; 0]);
}

#[test]
fn a_drop_changes_no_other_loss_and_can_take_a_lost_packet() {
    let random = LossSpec {
        random: percent(30.0),
        ..LossSpec::default()
    };
    let mut both = random.clone();
    both.drops = vec![ms(0), ms(50)];
    let alone = taken(random);
    let mut expected = [alone.clone(), vec![0, 4]].concat();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(taken(both), expected);
    // Packets 3 and 4 fall into the outage; the drop takes packet 3.
    let dark = LossSpec {
        outages: vec![Outage {
            from: ms(40),
            to: ms(61),
        }],
        drops: vec![ms(45)],
        ..LossSpec::default()
    };
    assert_eq!(taken(dark), [0_usize; 0]);
}
