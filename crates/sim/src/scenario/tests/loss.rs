//! `loss`: random loss, bursts, outages and drops.

use super::*;
use whimbrel_net::{GilbertElliott, QueueLimit};
use whimbrel_units::{Probability, Time};

#[test]
fn loss_has_one_direction_and_outages_have_both() {
    let text = "[link.L]\nloss = { random = \"1 %\", corrupt = \"2 %\", outages = [[\"4 s\", \"5 s\"]] }\n\
                [[flow]]\nroute = [\"L\"]\n";
    let plain = network(text);
    assert_eq!(link(&plain, "L").loss.random.get(), 0.01);
    assert_eq!(link(&plain, "L").loss.corrupt.get(), 0.02);
    let reverse = &link(&plain, "L (reverse)").loss;
    assert!(reverse.random.is_zero() && reverse.corrupt.is_zero());
    assert_eq!(reverse.outages, link(&plain, "L").loss.outages);

    let noise = text.replace("corrupt = \"2 %\"", "bit_errors = 1e-6");
    assert_eq!(link(&network(&noise), "L").loss.bit_errors.get(), 1e-6);

    let written = network(&text.replace(
        "[[flow]]",
        "[link.L.reverse]\nloss = 0.03\nqueue = \"9 packets\"\n[[flow]]",
    ));
    let reverse = link(&written, "L (reverse)");
    assert_eq!(reverse.loss.random.get(), 0.03);
    assert_eq!(reverse.loss.outages.len(), 1);
    assert_eq!(reverse.queue, QueueLimit::Packets(9));
    assert_eq!(link(&written, "L").queue, QueueLimit::Unlimited);

    let same = network(&text.replace("[[flow]]", "reverse = { loss = \"same\" }\n[[flow]]"));
    assert_eq!(link(&same, "L (reverse)").loss, link(&same, "L").loss);
    assert_eq!(link(&same, "L (reverse)").loss.random.get(), 0.01);
}

#[test]
fn burst_loss_is_described_by_time_or_by_packet() {
    let text = |loss: &str| {
        format!(
            "[link.L]\nloss = {{ random = \"1 %\", gilbert-elliott = {loss} }}\n[[flow]]\nroute = [\"L\"]\n"
        )
    };
    let share = |p: f64| Probability::new(p).expect("a probability");
    let by_time = network(&text("{ good = \"9 s\", bad = \"500 ms\" }"));
    let loss = &link(&by_time, "L").loss;
    assert_eq!(loss.random, share(0.01));
    let expected = GilbertElliott::ByTime {
        good: Duration::from_secs(9),
        bad: Duration::from_millis(500),
        good_loss: Probability::ZERO,
        bad_loss: Probability::ONE,
    };
    assert_eq!(loss.gilbert_elliott, Some(expected));
    let reverse = &link(&by_time, "L (reverse)").loss;
    assert_eq!(reverse.gilbert_elliott, None, "only the written direction");

    let by_packet = network(&text(
        "{ p = \"1 %\", r = 0.2, bad_loss = \"50 %\", good_loss = \"2 %\" }",
    ));
    let expected = GilbertElliott::ByPacket {
        p: share(0.01),
        r: share(0.2),
        bad_loss: share(0.5),
        good_loss: share(0.02),
    };
    assert_eq!(link(&by_packet, "L").loss.gilbert_elliott, Some(expected));
}

#[test]
fn random_outages_depend_on_the_seed_and_affect_both_directions() {
    let text = "[link.L]\nloss = { outages = [[\"70 s\", \"71 s\"]], random_outages = { count = 3, length = \"1 s\", \
                within = [\"10 s\", \"20 s\"] } }\n[link.M]\nloss = { random_outages = { count = 3, length = \"1 s\" } }\n\
                [[flow]]\ncount = 2\nroute = [\"L\", \"M*\"]\n[run]\nduration = \"100 s\"\n";
    let outages = |text: &str, seed: u64, name: &str| {
        let network = parse(text).points()[0].network(seed);
        link(&network, name).loss.outages.clone()
    };
    let drawn = outages(text, 1, "L");
    assert_eq!(drawn.len(), 4, "three random outages and the written one");
    let second = |s: u64| Time::ZERO + Duration::from_secs(s);
    assert_eq!((drawn[0].from, drawn[0].to), (second(70), second(71)));
    for outage in &drawn[1..] {
        assert!(second(10) <= outage.from && outage.to <= second(20));
        assert_eq!(outage.to.since(outage.from), Duration::from_secs(1));
    }
    assert_eq!(drawn, outages(text, 1, "L (reverse)"));
    assert_ne!(drawn, outages(text, 2, "L"));
    let copy = outages(text, 1, "M*[1]");
    assert_eq!(copy, outages(text, 1, "M*[1] (reverse)"));
    assert_ne!(copy, outages(text, 1, "M*[2]"), "each copy has its own");
    // Over the whole 100 s, not over the 10 s written for L.
    let spread = |seed| outages(text, seed, "M*[1]").into_iter();
    assert!((1..=20).flat_map(spread).any(|o| o.from > second(80)));
    // The settings of one link do not change the outages of another.
    let other = text.replace(
        "count = 3, length = \"1 s\", within",
        "count = 2, length = \"1 s\", within",
    );
    assert_eq!(outages(&other, 1, "L").len(), 3);
    assert_eq!(copy, outages(&other, 1, "M*[1]"));

    let reverse = |loss: &str| {
        text.replace(
            "[link.M]",
            &format!("reverse = {{ loss = {loss} }}\n[link.M]"),
        )
    };
    let kept = reverse("\"1 %\"");
    assert_eq!(drawn, outages(&kept, 1, "L (reverse)"));
    let none = reverse("{ random_outages = { count = 0, length = \"1 s\" } }");
    assert_eq!(outages(&none, 1, "L (reverse)").len(), 1);
    let own = reverse(
        "{ random_outages = { count = 3, length = \"1 s\", within = [\"10 s\", \"20 s\"] } }",
    );
    assert_ne!(drawn, outages(&own, 1, "L (reverse)"));
    assert_eq!(drawn, outages(&own, 1, "L"));
}

#[test]
fn each_drop_loses_exactly_one_packet_of_the_written_direction() {
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nloss = { drops = [\"2 s\", \"4 s\"] }\n\
                [[flow]]\nroute = [\"L\"]\nreceive_window = \"30 kB\"\n[run]\nduration = \"6 s\"\n";
    let plain = network(text);
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    assert_eq!(link(&plain, "L").loss.drops, [at(2), at(4)]);
    assert_eq!(link(&plain, "L (reverse)").loss.drops, []);
    let flow = &crate::run(&plain).flows[0];
    assert_eq!((flow.lost.random, flow.lost.total()), (2, 2));
    assert_eq!((flow.retransmits, flow.loss_episodes), (2, 2));
    let back = text.replace("[[flow]]", "reverse = { loss = \"same\" }\n[[flow]]");
    assert_eq!(
        link(&network(&back), "L (reverse)").loss.drops,
        [at(2), at(4)]
    );
}
