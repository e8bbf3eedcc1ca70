use super::*;
use proptest::prelude::*;
use whimbrel_sim::scenario::Scenario;

fn spec(text: &str) -> Result<ScenarioSpec, FieldError> {
    State::parse(text)?.spec(&Recordings::default())
}

#[test]
fn a_state_survives_its_link() {
    let state = State {
        rate: "5 Mbit/s & more".to_owned(),
        algorithms: "cerl?A=0.6,cubic+cerl".to_owned(),
        rates: "0:20 5:2".to_owned(),
        ..State::default()
    };
    assert_eq!(State::parse(&format!("#{}", state.print())), Ok(state));
    assert_eq!(State::default().print(), "");
}

#[test]
fn wrong_states_name_their_field() {
    for (text, field, why) in [
        ("rate=0+Mbit/s", "rate", "greater than zero"),
        ("rate=20", "rate", "unit"),
        ("rtt=fast", "rtt", "fast"),
        ("rtt=11+s", "rtt", "at most 10 s"),
        ("loss=0.5", "loss", "has no unit"),
        ("loss=101+%25", "loss", "100 %"),
        ("queue=1", "queue", "bdp"),
        ("fades=x", "fades", "not a whole number"),
        ("fades=201", "fades", "at most 200"),
        ("fades=50", "fades", "do not fit"),
        ("fade=1&fades=2", "fade", "unit"),
        ("silence=10", "silence", "begins and ends"),
        ("silence=5+s+..+5+s", "silence", "after it begins"),
        ("back=0+bit/s", "back", "greater than zero"),
        ("algorithms=cubik", "algorithms", "cubic"),
        ("algorithms=all", "algorithms", "by name"),
        ("algorithms=", "algorithms", "at least one"),
        ("flows=0", "flows", "at least 1"),
        ("flows=51", "flows", "at most 50"),
        ("neighbours=cubic:60", "neighbours", "at most 50"),
        ("neighbours=cubic:x", "neighbours", "number of flows"),
        ("duration=1+h", "duration", "from 100 ms to"),
        ("seed=-1", "seed", "whole number"),
        ("seed=9007199254740993", "seed", "2^53"),
        ("transport=udp", "transport", "quic"),
        ("recovery=x", "recovery", "rack"),
        ("trace=lte.down", "trace", "choose its file again"),
        ("rates=0:x", "rates", "not a step"),
        ("rtts=0:20000", "rtts", "not within"),
        ("rate=20+Gbit/s", "rate", "takes too long"),
        (
            "rate=1+Gbit/s&algorithms=newreno,cubic,bbr,vegas,cerl",
            "rate",
            "with 5 algorithms takes too long here; at this rate at most 25.6 s",
        ),
        ("rates=0:20+1e300:5", "rates", "later than any run"),
        ("colour=red", "", "unknown key `colour`"),
        ("rate=1+Mbit/s&rate=2+Mbit/s", "rate", "twice"),
    ] {
        let error = spec(text).and_then(|spec| Ok(Scenario::new(&spec)?));
        let error = error.expect_err(text);
        assert_eq!(error.field, field, "{text}: {error}");
        assert!(error.why.contains(why), "{text}: {error}");
    }
    let long = format!("rates={}", "0".repeat(MAX_LENGTH));
    assert!(spec(&long).expect_err("long").why.contains("at most"));
}

#[test]
fn every_field_reaches_the_scenario() {
    let text = "rates=0:20+5:2&rtts=0:50+10:300&queue=50+packets&loss=0.5+%25&fades=3&fade=200+ms\
                &silence=10+s+..+12+s&back=1+Mbit/s&algorithms=cubic,bbr&flows=2\
                &neighbours=newreno:2&duration=20+s&seed=7&transport=tcp&recovery=sack";
    let printed = spec(text).expect("valid").to_string();
    for part in [
        r#"rate = [["0 s", "20 Mbit/s"], ["5 s", "2 Mbit/s"]]"#,
        r#"delay = [["0 s", "25 ms"], ["10 s", "150 ms"]]"#,
        r#"queue = "50 packets""#,
        r#"random = "0.5 %""#,
        r#"count = 3"#,
        r#"length = "200 ms""#,
        r#"outages = [["10 s", "12 s"]]"#,
        r#"rate = "1 Mbit/s""#,
        r#"controller = "newreno""#,
        r#""flow.tested.controller" = ["cubic", "bbr", "newreno"]"#,
        r#"duration = "20 s""#,
        "seeds = [7]",
        r#"recovery = "sack""#,
    ] {
        assert!(printed.contains(part), "no {part} in\n{printed}");
    }
}

#[test]
fn the_largest_request_is_refused_with_what_is_possible() {
    let error = spec("rate=1+Gbit/s&duration=60+s&algorithms=cubic").expect_err("too large");
    assert!(error.why.contains("at most 32.0 s"), "{error}");
    assert!(spec("rate=1+Gbit/s&duration=30+s&algorithms=cubic").is_ok());
}

/// Texts that are nearly states.
fn nearly() -> impl Strategy<Value = String> {
    let key = prop::sample::select(State::KEYS);
    let value = prop_oneof![
        "\\PC{0,20}",
        "[0-9:. ]{0,30}",
        "-?[0-9]{0,25}(\\.[0-9]{0,5})? ?(Mbit/s|ms|s|%|bdp|packets|kB)?",
        "[0-9]{1,3} s ?\\.\\. ?[0-9]{1,20} s",
        "[a-z+:,?=0-9.]{0,30}",
    ];
    let pair = (key, value);
    let pairs = prop::collection::vec(pair, 0..6);
    pairs.prop_map(|pairs| {
        let mut to = form_urlencoded::Serializer::new(String::new());
        to.extend_pairs(pairs);
        to.finish()
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
        let _ = State::parse(&text);
    }

    #[test]
    fn whatever_is_nearly_a_state_is_refused_or_makes_a_scenario(text in nearly()) {
        if let Ok(state) = State::parse(&text) {
            prop_assert_eq!(State::parse(&state.print()), Ok(state.clone()));
            if let Ok(spec) = state.spec(&Recordings::default())
                && Scenario::new(&spec).is_ok()
            {
                // What the lab shows is what the saved file says.
                let printed = spec.to_string();
                let read = Scenario::parse(&printed, std::path::Path::new("lab.toml"));
                prop_assert!(read.is_ok(), "{:?}\n{}", read.err(), printed);
            }
        }
    }
}
