//! No input makes the reader panic.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".*") {
        let _ = Scenario::parse(&text, Path::new("a.toml"));
    }

    /// Tokens of the format in random order get further into the reader than random text.
    #[test]
    fn arbitrary_tokens_never_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "[link.L]\n", "[[flow]]\n", "[flow]\n", "[run]\n", "[sweep]\n", "rate = ", "delay = ", "queue = ", "loss = ", "reverse = ",
        "wifi = ", "kind = ", "\"aatp\"", "controller = ", "\"enhanced-aatp\"", "priority = ", "destination = ", "timer = ", "reestimate = ",
        "[destination.L]\n", "gamma = ", "bandwidth = ", "\"destination.L.beta\" = ",
        "streams = ", "messages = ", "interleave = ", "every = ", "\"1 B every 1 s\"",
        "route = ", "routes = ", "start = ", "stop = ", "size = ", "mss = ", "seeds = ", "sample = ", "duration = ", "\"flow.controller\" = ",
        "\"link.L.loss\" = ", "\"flow.0.count\" = ", "\"L\"", "\"L*\"", "[\"L\"]", "\"1 bdp\"", "\"0 s\"", "\"1e9 s\"", "\"1 bit/s\"", "[", "]",
        ", ", "{ trace = \"/\" }", "{ every = \"1 ms\", steps = [\"2 ms\", \"1 ms\"] }", "{ drops = [\"1 s\"] }", "keep_order = ", "{ random = 1 }", "{", "}", "1", "-1", "nan", "9223372036854775807", "\"9 Gbit/s\"",
        "\"0 s .. 9 s\"", "\"1 B\"", "\"9007199 GB\"", "\"cerl?A=1\"", "true", "1979-05-27", "\n",
    ]), 0..40)) {
        if let Ok(scenario) = Scenario::parse(&tokens.concat(), Path::new("a.toml")) {
            let _ = scenario.points()[0].network(0);
        }
    }

    #[test]
    fn a_damaged_scenario_never_panics(
        whole in prop::sample::select(vec![DESIGN, SHARED, SEVERAL, MESSAGES]),
        cut in any::<prop::sample::Index>(),
        len in 0_usize..40,
        insert in "[ -~\n]{0,6}",
    ) {
        let cut = cut.index(whole.len());
        let end = (cut + len).min(whole.len());
        if whole.is_char_boundary(cut) && whole.is_char_boundary(end) {
            let text = format!("{}{insert}{}", &whole[..cut], &whole[end..]);
            if let Ok(scenario) = Scenario::parse(&text, Path::new("a.toml"))
                && let Some(point) = scenario.points().last()
            {
                let _ = (point.capacity(), point.network(u64::MAX));
            }
        }
    }

    #[test]
    fn arbitrary_settings_never_panic(
        key in "(link|flow|destination|run|sweep)?[.]?[A-Za-z0-9.\"*]{0,12}",
        value in "[ -~]{0,12}",
        base in prop::sample::select(vec![DESIGN, SHARED, MINIMAL, "flow = []", ""]),
    ) {
        let document = Document::parse(base, Path::new("a.toml")).expect("TOML");
        let _ = Scenario::from_document(document, &[Setting::new(key, value)]);
    }
}
