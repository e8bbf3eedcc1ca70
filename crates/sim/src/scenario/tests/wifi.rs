//! `wifi`: both directions of a link share one channel.

use super::*;
use crate::network::OnChannel;
use whimbrel_net::{Aggregation, QueueLimit, Side, WifiSpec};
use whimbrel_units::{Bytes, Probability};

#[test]
fn both_directions_of_a_wifi_link_share_one_channel() {
    let text = "[link.L]\nwifi = \"65 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"2 bdp\"\n\
        reverse = { queue = \"9 packets\" }\n\
        [link.up]\nwifi = { rate = \"6.5 Mbit/s\" }\n\
        [[flow]]\nroute = [\"up*\", \"L\"]\n[[flow]]\nroute = [\"up*\", \"L\"]\n";
    let network = network(text);
    let expected = [
        "up*[1]",
        "up*[1] (reverse)",
        "L",
        "L (reverse)",
        "up*[2]",
        "up*[2] (reverse)",
    ];
    assert_eq!(names(&network), expected);
    let on = |channel, side| Some(OnChannel { channel, side });
    for (i, link) in network.links.iter().enumerate() {
        let side = [Side::Forward, Side::Reverse][i % 2];
        assert_eq!(link.on_channel, on(i / 2, side), "{}", link.name);
    }
    let rates: Vec<u64> = network
        .channels
        .iter()
        .map(|channel| channel.rate().as_bits_per_sec())
        .collect();
    assert_eq!(rates, [6_500_000, 65_000_000, 6_500_000]);
    // 65 Mbit/s x 10 ms x 2.
    assert_eq!(
        link(&network, "L").queue,
        QueueLimit::Bytes(Bytes::new(162_500))
    );
    assert_eq!(link(&network, "L (reverse)").queue, QueueLimit::Packets(9));
    // 28 packets of 1500 bytes with their framing fit in the 5.484 ms of one channel access at
    // 65 Mbit/s. Preambles, back-off and acknowledgments take less than a tenth of the time.
    let one = text.replace("up*\", \"", "");
    let capacity = parse(&one).points()[0].capacity().expect("a limit");
    let share = capacity.as_bits_per_sec() as f64 / 65e6;
    assert!((0.85..1.0).contains(&share), "{share}");
    // Each of the two flows is limited by its own 6.5 Mbit/s.
    let capacity = parse(text).points()[0].capacity().expect("a limit");
    let share = capacity.as_bits_per_sec() as f64 / 13e6;
    assert!((0.85..1.0).contains(&share), "{share}");
}

#[test]
fn every_key_of_a_wifi_channel_can_be_set() {
    let channel = |wifi: &str| {
        let text = format!("[link.L]\nwifi = {wifi}\n[[flow]]\nroute = [\"L\"]\n");
        network(&text).channels[0].clone()
    };
    let usual = channel("\"300 Mbit/s\"");
    assert_eq!(usual, channel("{ rate = \"300 Mbit/s\" }"));
    assert_eq!(usual.aggregation, Some(Aggregation::MOST));
    let all = channel(
        "{ rate = \"300 Mbit/s\", aggregation = { frames = 16 }, longest = \"2 ms\", frame_loss = \"1 %\", rts_cts = true, \
         aifsn = 2, cw_min = 31, cw_max = 63, retry_limit = 4 }",
    );
    let expected = WifiSpec {
        mode: usual.mode,
        aggregation: Some(Aggregation {
            bytes: 65_535,
            frames: 16,
        }),
        longest: Duration::from_millis(2),
        frame_loss: Probability::new(0.01).expect("a probability"),
        rts_cts: true,
        aifsn: 2,
        cw_min: 31,
        cw_max: 63,
        retry_limit: 4,
    };
    assert_eq!(all, expected);
    let single = channel("{ rate = \"300 Mbit/s\", aggregation = false }");
    assert_eq!(single.aggregation, None);
}

#[test]
fn a_wifi_channel_has_two_directions_even_if_one_is_unused() {
    let text = "[link.up]\n[link.L]\nwifi = \"65 Mbit/s\"\n\
        [[flow]]\ntwo_way = true\nroute = [\"L\"]\nback = [\"up\"]\n";
    let one = network(text);
    assert_eq!(names(&one), ["L", "L (reverse)", "up"]);
    assert_eq!(one.channels.len(), 1);
    let own = network(&text.replace("[\"L\"]", "[\"L*\"]"));
    assert_eq!(names(&own), ["L*[1]", "L*[1] (reverse)", "up"]);
    // The two directions share the capacity of the channel.
    let both = text.replace("back = [\"up\"]\n", "");
    let there = both.replace("two_way = true\n", "");
    let capacity = |text| parse(text).points()[0].capacity();
    assert_eq!(capacity(&both), capacity(&there));
}
