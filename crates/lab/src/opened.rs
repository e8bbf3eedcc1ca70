//! A scenario file as a state of the page: what `compare --print-scenario` and the page itself
//! write. A file that says more than the page has fields for is refused, because the page would
//! show other numbers than `whimbrel sim`.

use crate::recordings::Recordings;
use crate::steps;
use crate::{FieldError, State};
use std::path::Path;
use whimbrel_net::{Delay, Queue, ServiceSpec};
use whimbrel_report::figures::is_controller;
use whimbrel_sim::scenario::document::{Document, Node, Value};
use whimbrel_sim::scenario::{
    Data, DrawnTime, Flow, Link, Loss, Scenario, ScenarioSpec, Settings, Written, recorded_text,
};
use whimbrel_study::transport::Transport;
use whimbrel_units::{Duration, Rate, Time};

/// The name that the page's link has.
const LINK: &str = whimbrel_study::path::LINK;

/// The state of a file's text. `path` names it in errors; recorded rates are read from its folder.
/// Without a path, from a page, no file is read.
///
/// # Errors
/// If the file is wrong, or says what the page has no field for.
pub fn state(
    text: &str,
    path: Option<&Path>,
    recordings: &Recordings,
) -> Result<State, FieldError> {
    let name = path.unwrap_or(Path::new("scenario"));
    let document = Document::parse(text, name).map_err(whole)?;
    if path.is_none() && has_trace(&document.root) {
        return Err(refuse(
            "it names a recorded rate, which a page cannot read; open it with \
             `whimbrel lab FILE`",
        ));
    }
    let spec = ScenarioSpec::read(&document).map_err(whole)?;
    let scenario = Scenario::from_document(document, &[]).map_err(whole)?;
    let [link] = spec.links.as_slice() else {
        return Err(refuse("it has more than one link"));
    };
    let mut state = State::default();
    open_link(link, path, recordings, &mut state)?;
    open_flows(&spec.flows, &spec.run.settings, &mut state)?;
    state.algorithms = algorithms(&scenario, &spec.flows)?;
    let (transport, recovery) = transport(&spec.run.settings)?;
    state.transport = transport.to_owned();
    state.recovery = recovery;
    state.duration = spec.run.duration.text();
    let seed = spec.run.seeds.first().copied().unwrap_or(1);
    state.seed = seed.to_string();
    same(&scenario, seed, &state, recordings)?;
    Ok(state)
}

/// An error in the file itself, with its place.
fn whole(error: whimbrel_sim::scenario::ScenarioError) -> FieldError {
    FieldError::new("", error)
}

fn refuse(why: &str) -> FieldError {
    FieldError::new("", format!("the page cannot show this scenario: {why}"))
}

/// Whether a table somewhere has the key `trace`.
fn has_trace(node: &Node) -> bool {
    match &node.value {
        Value::Table(table) => table
            .entries
            .iter()
            .any(|entry| entry.key == "trace" || has_trace(&entry.node)),
        Value::List(items) => items.iter().any(has_trace),
        _ => false,
    }
}

fn open_link(
    link: &Link,
    path: Option<&Path>,
    recordings: &Recordings,
    state: &mut State,
) -> Result<(), FieldError> {
    let (forward, reverse) = (&link.forward, &link.reverse);
    if link.wifi.is_some() || link.wireless.is_some() || link.generated.is_some() {
        return Err(refuse("its link is a radio or a drawn path, not a rate"));
    }
    if link.keep_order.is_some() || forward.aqm.is_some() || reverse.aqm.is_some() {
        return Err(refuse("it sets `aqm` or `keep_order`"));
    }
    if reverse.delay.is_some() || reverse.queue.is_some() {
        return Err(refuse("its way back has a delay or a queue of its own"));
    }
    match &forward.rate {
        None => return Err(refuse("its link has no rate")),
        Some(rate) => open_rate(rate, path, recordings, state)?,
    }
    match &forward.delay {
        None => state.rtt = "0 ms".to_owned(),
        Some(delay) => open_delay(delay, state)?,
    }
    state.queue = match &forward.queue {
        Some(queue) => queue.text(),
        None => Value::from(Queue::Fixed(whimbrel_net::QueueLimit::Unlimited)).to_string(),
    };
    state.loss = "0 %".to_owned();
    if let Some(loss) = &forward.loss {
        open_loss(&loss.value, state)?;
    }
    if let Some(rate) = &reverse.rate {
        match &rate.value {
            ServiceSpec::Rate(rates) if rates.is_constant() => state.back = rate.text(),
            _ => return Err(refuse("the rate of its way back changes")),
        }
    }
    if let Some(loss) = &reverse.loss {
        state.silence = silence(&loss.value)?;
    }
    Ok(())
}

fn open_rate(
    rate: &Written<ServiceSpec>,
    path: Option<&Path>,
    recordings: &Recordings,
    state: &mut State,
) -> Result<(), FieldError> {
    match &rate.value {
        ServiceSpec::Rate(rates) if rates.is_constant() => state.rate = rate.text(),
        ServiceSpec::Rate(rates) => {
            let mbit = |rate: Rate| rate.as_bits_per_sec() as f64 * 1e-6;
            let all = rates.all().iter();
            state.rates = steps::print(all.map(|(at, rate)| (at.as_secs_f64(), mbit(*rate))));
        }
        ServiceSpec::Trace(_) => {
            let Value::Table(table) = rate.source() else {
                return Err(refuse("its recorded rate has no name"));
            };
            let file = table.get("trace").map(|node| node.value.to_string());
            let file = file.unwrap_or_default();
            let folder = path.and_then(Path::parent).unwrap_or(Path::new(""));
            let file = folder.join(file);
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let text = recorded_text(&file).map_err(|why| refuse(&why))?;
            recordings.add(&name, &text)?;
            state.trace = name.into_owned();
        }
        ServiceSpec::Unlimited | ServiceSpec::Wireless(_) => {
            return Err(refuse("its link has no rate"));
        }
    }
    Ok(())
}

fn open_delay(delay: &Written<Delay>, state: &mut State) -> Result<(), FieldError> {
    // What is not steps is recognized at the end, by the comparison of the runs.
    let value = &delay.value;
    match delay.source() {
        Value::List(_) => {
            let both = |delay: Duration| delay.as_millis_f64() * 2.0;
            state.rtts = steps::print(
                delay_steps(delay.source())
                    .into_iter()
                    .map(|(at, delay)| (at.as_secs_f64(), both(delay))),
            );
        }
        Value::Text(_) => state.rtt = Value::from(value.nominal() * 2).to_string(),
        _ => return Err(refuse("its delay repeats, was recorded, or has noise")),
    }
    Ok(())
}

/// The steps of a delay as written, which was read before.
fn delay_steps(source: &Value) -> Vec<(Duration, Duration)> {
    let Value::List(steps) = source else {
        return Vec::new();
    };
    let time = |node: &Node| node.value.to_string().parse::<Duration>().ok();
    let step = |node: &Node| match &node.value {
        Value::List(pair) => time(pair.first()?).zip(time(pair.get(1)?)),
        _ => None,
    };
    steps.iter().filter_map(step).collect()
}

fn open_loss(loss: &Loss, state: &mut State) -> Result<(), FieldError> {
    if !loss.corrupt.is_zero()
        || !loss.bit_errors.is_zero()
        || loss.gilbert_elliott.is_some()
        || loss.outages.is_some()
        || !loss.drops.is_empty()
    {
        return Err(refuse(
            "its `loss` has more than `random` and `random_outages`",
        ));
    }
    state.loss = match Value::from(loss.random).to_string() {
        percent if percent.ends_with('%') => percent,
        fraction if loss.random.is_zero() => fraction,
        _ => format!("{} %", loss.random.get() * 100.0),
    };
    if let Some(drawn) = &loss.random_outages {
        if drawn.value.within.is_some() {
            return Err(refuse("its outages lie in a part of the run"));
        }
        state.fades = drawn.value.count.to_string();
        state.fade = Value::from(drawn.value.length).to_string();
    }
    Ok(())
}

fn silence(loss: &Loss) -> Result<String, FieldError> {
    let time = |time: Time| Value::from(time.since(Time::ZERO)).to_string();
    match loss.outages.as_deref() {
        Some([one]) => Ok(format!("{} .. {}", time(one.from), time(one.to))),
        _ => Err(refuse("the loss of its way back is not one outage")),
    }
}

/// The tested flows are the first ones, the others are their neighbours.
fn open_flows(flows: &[Flow], settings: &Settings, state: &mut State) -> Result<(), FieldError> {
    let mut neighbours = Vec::new();
    let several = flows.len() > 1 || flows.first().is_some_and(|flow| flow.count.value > 1);
    for (index, flow) in flows.iter().enumerate() {
        let Some(data) = flow.data() else {
            return Err(refuse("it has UDP flows"));
        };
        if !is_plain(data, settings) || flow.stop.is_some() {
            return Err(refuse(
                "its flows have settings, a size or an end of their own",
            ));
        }
        let first_second = DrawnTime {
            from: Time::ZERO,
            to: Time::ZERO + Duration::from_secs(1),
        };
        let expected = match several {
            true => first_second,
            false => DrawnTime::default(),
        };
        let start = flow.start.as_ref().map(|start| start.value);
        if start.unwrap_or_default() != expected {
            return Err(refuse(
                "its flows start at other times: the page starts one flow at once, and several \
                 within the first second",
            ));
        }
        match index {
            0 => state.flows = flow.count.value.to_string(),
            _ => neighbours.push(format!("{}:{}", data.controller.value, flow.count.value)),
        }
    }
    state.neighbours = neighbours.join(",");
    Ok(())
}

/// Whether flows have only a controller; what is read from a file has the settings of the run.
fn is_plain(data: &Data, settings: &Settings) -> bool {
    let own = data.settings.as_ref();
    data.size.is_none()
        && data.two_way.is_none()
        && data.streams.is_none()
        && data.messages.is_none()
        && data.interleave.is_none()
        && own.is_none_or(|own| own == settings)
        && data.with.is_empty()
}

/// The algorithms of the file: those that it sweeps, or that of its first flow.
fn algorithms(scenario: &Scenario, flows: &[Flow]) -> Result<String, FieldError> {
    let mut all: Vec<String> = Vec::new();
    for point in scenario.points() {
        for parameter in point.parameters() {
            if !is_controller(&parameter.key) {
                return Err(refuse(&format!(
                    "it sweeps `{}`, and the page shows one path",
                    parameter.key
                )));
            }
            all.push(parameter.value.to_string());
        }
    }
    if all.is_empty() {
        let own = flows.first().and_then(Flow::data);
        all.extend(own.map(|data| data.controller.value.to_string()));
    }
    Ok(all.join(","))
}

/// The transport whose settings the file has, and how its senders detect lost data.
fn transport(settings: &Settings) -> Result<(&'static str, String), FieldError> {
    let known = [("quic", Transport::Quic), ("tcp", Transport::Tcp)];
    for (name, transport) in known {
        for recovery in ["rack", "sack", "newreno", "fack"] {
            let mut own = transport.settings();
            if let Ok(parsed) = recovery.parse() {
                own.tcp.recovery = parsed;
            }
            if own == *settings {
                return Ok((name, recovery.to_owned()));
            }
        }
    }
    Err(refuse(
        "its `[run]` has settings that are neither those of `compare` nor those of \
         `compare --transport tcp`",
    ))
}

/// Checks that the state's runs are those of the file.
fn same(
    scenario: &Scenario,
    seed: u64,
    state: &State,
    recordings: &Recordings,
) -> Result<(), FieldError> {
    let again = Scenario::new(&state.spec(recordings)?)?;
    let runs = |scenario: &Scenario| -> Vec<String> {
        let points = scenario.points().iter();
        points
            .map(|point| format!("{:?}", point.network(seed)))
            .collect()
    };
    if runs(scenario) == runs(&again) {
        return Ok(());
    }
    Err(refuse(&format!(
        "its runs would not be the same here; the link must be named {LINK}, and flows beside \
         neighbours `tested`, as in the files of `whimbrel compare --print-scenario`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tour::SCENES;

    fn opened(text: &str) -> Result<State, FieldError> {
        state(text, None, &Recordings::default())
    }

    #[test]
    fn what_the_page_saves_opens_as_the_same_runs() {
        let more = "rates=0:20+5:2.5&rtts=0:50+10:300&queue=50+packets&loss=0.5+%25&fades=3\
                    &fade=200+ms&silence=10+s+..+12+s&back=1+Mbit/s&algorithms=cubic,bbr&flows=2\
                    &neighbours=newreno:2&duration=20+s&seed=7&transport=tcp&recovery=sack";
        let states = SCENES.iter().map(|scene| scene.state).chain([more, ""]);
        for text in states {
            let recordings = Recordings::default();
            let before = State::parse(text).expect(text);
            let spec = before.spec(&recordings).expect(text).to_string();
            let after = opened(&spec).unwrap_or_else(|error| panic!("{text}: {error}\n{spec}"));
            let again = after.spec(&recordings).expect(text).to_string();
            assert_eq!(spec, again, "{text}");
        }
    }

    #[test]
    fn what_has_no_field_is_refused_by_its_name() {
        let file = |link: &str, flow: &str, run: &str| {
            format!(
                "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"50 ms\"\n{link}\n[[flow]]\n\
                 route = [\"L\"]\n{flow}\n[run]\nduration = \"10 s\"\n{run}\n"
            )
        };
        for (link, flow, run, why) in [
            ("aqm = \"codel\"", "", "", "`aqm`"),
            ("loss = { corrupt = \"1 %\" }", "", "", "`random_outages`"),
            ("", "size = \"1 MB\"", "", "a size"),
            ("", "start = \"5 s\"", "", "start at other times"),
            ("", "", "mss = \"500 B\"", "`compare`"),
            (
                "",
                "",
                "[sweep]\n\"link.L.loss\" = [\"0 %\", \"1 %\"]",
                "it sweeps `link.L.loss`",
            ),
            ("", "kind = \"udp\"\nrate = \"1 Mbit/s\"", "", "UDP"),
            ("[link.M]", "", "", "more than one link"),
            ("reverse = { delay = \"1 ms\" }", "", "", "way back"),
            ("loss = \"1 %\"\ncolour = 1", "", "", "colour"),
        ] {
            let error = opened(&file(link, flow, run)).expect_err(why);
            assert!(error.why.contains(why), "{why}: {error}");
        }
        let plain = opened(&file("", "", "recovery = \"rack\"")).expect("plain");
        assert_eq!(
            (plain.transport.as_str(), plain.rtt.as_str()),
            ("tcp", "100 ms")
        );
    }

    #[test]
    fn a_page_reads_no_file() {
        let text = "[link.L]\nrate = { trace = \"/etc/hostname\" }\n[[flow]]\nroute = [\"L\"]\n";
        let error = opened(text).expect_err("a trace");
        assert!(error.why.contains("whimbrel lab FILE"), "{error}");
    }
}
