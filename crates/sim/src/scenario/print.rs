//! Prints a scenario as a file, which reads as the same scenario.

use super::document::{Value, quoted};
use super::flow::{Data, DrawnTime, Flow, Sends};
use super::link::{Direction, Link};
use super::route::Hop;
use super::run::Run;
use super::settings::{self, Settings};
use super::spec::ScenarioSpec;
use super::written::Written;
use crate::network::{Destination, UdpFlow};
use std::fmt;
use whimbrel_cc::fairness::{Adapter, Priority};
use whimbrel_units::Duration;

/// What is printed behind a delay that holds in both directions.
const EACH_WAY: &str = "    # each way";
/// What is printed behind a drawn start.
const DRAWN: &str = "    # uniformly distributed, so that flows are not in step";

impl fmt::Display for ScenarioSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let swept = |key: &str| self.sweep.iter().any(|axis| axis.key() == key);
        let default = Settings::default();
        for link in &self.links {
            let name = format!("link.{}", bare_key(&link.name));
            let keys = link_keys(link, &self.run);
            table(f, &format!("[{name}]"), keys, |key| {
                swept(&format!("{name}.{key}"))
            })?;
        }
        for flow in &self.flows {
            let keys = flow_keys(flow, &self.links, &self.run.settings);
            let own = flow.name.as_ref().map(|name| format!("flow.{name}."));
            table(f, "[[flow]]", keys, |key| {
                let named = own
                    .as_ref()
                    .is_some_and(|own| swept(&format!("{own}{key}")));
                named || swept(&format!("flow.{key}"))
            })?;
        }
        for node in &self.destinations {
            let head = format!("[destination.{}]", bare_key(&node.name));
            table(f, &head, destination_keys(node), |_| false)?;
        }
        table(f, "[run]", run_keys(&self.run, &default), |_| false)?;
        if !self.sweep.is_empty() {
            let axes = self.sweep.iter();
            let keys = axes.map(|axis| Key::new(&quoted(axis.key()), axis.source()));
            table(f, "[sweep]", keys.collect(), |_| false)?;
        }
        Ok(())
    }
}

/// A table of a file with these keys, and an empty line behind it: what other crates write into
/// scenario files.
pub struct Section {
    head: &'static str,
    keys: Vec<(&'static str, Value)>,
}

impl Section {
    /// `[head]` with these keys.
    pub fn new(head: &'static str, keys: Vec<(&'static str, Value)>) -> Self {
        Self { head, keys }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys.iter();
        let keys = keys.map(|(key, value)| Key::new(key, value.clone()));
        table(f, &format!("[{}]", self.head), keys.collect(), |_| false)
    }
}

/// A key with its value, and a remark behind it.
struct Key {
    key: String,
    value: Value,
    remark: &'static str,
}

impl Key {
    fn new(key: &str, value: impl Into<Value>) -> Self {
        Self {
            key: key.to_owned(),
            value: value.into(),
            remark: "",
        }
    }

    fn written<T>(key: &str, value: Option<&Written<T>>) -> Option<Self> {
        value.map(|value| Self::new(key, value.source().clone()))
    }

    fn remark(self, remark: &'static str) -> Self {
        Self { remark, ..self }
    }
}

fn table(
    f: &mut fmt::Formatter<'_>,
    head: &str,
    keys: Vec<Key>,
    left_out: impl Fn(&str) -> bool,
) -> fmt::Result {
    writeln!(f, "{head}")?;
    for Key { key, value, remark } in keys {
        if !left_out(&key) {
            writeln!(f, "{key} = {}{remark}", value.toml())?;
        }
    }
    match head {
        "[sweep]" => Ok(()),
        _ => writeln!(f),
    }
}

/// A key of TOML, in quotes if it needs them.
fn bare_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

fn link_keys(link: &Link, run: &Run) -> Vec<Key> {
    let mut keys: Vec<Key> = [
        Key::written("between", link.between.as_ref()),
        Key::written("wifi", link.wifi.as_ref()),
        Key::written("wireless", link.wireless.as_ref()),
        link.generated
            .as_ref()
            .and_then(|path| Key::written(path.value.key(), Some(path))),
        Key::written("keep_order", link.keep_order.as_ref()),
        Key::written("helper", link.helper.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect();
    keys.extend(direction_keys(&link.forward));
    // A preset's buffer, which the printed settings of the preset do not name.
    let queue = run.queue.as_ref().filter(|_| link.forward.rate.is_some());
    if link.forward.queue.is_none() {
        keys.extend(Key::written("queue", queue));
    }
    let reverse = direction_keys(&link.reverse);
    let mirrored = link.reverse.delay.is_none();
    for key in &mut keys {
        if key.key == "delay" && mirrored && matches!(key.value, Value::Text(_)) {
            key.remark = EACH_WAY;
        }
    }
    if !reverse.is_empty() {
        let pairs = reverse.iter().map(|key| (&*key.key, key.value.clone()));
        keys.push(Key::new("reverse", Value::table(pairs)));
    }
    keys
}

fn direction_keys(direction: &Direction) -> Vec<Key> {
    let all = [
        Key::written("rate", direction.rate.as_ref()),
        Key::written("delay", direction.delay.as_ref()),
        Key::written("queue", direction.queue.as_ref()),
        Key::written("aqm", direction.aqm.as_ref()),
        Key::written("loss", direction.loss.as_ref()),
    ];
    all.into_iter().flatten().collect()
}

fn flow_keys(flow: &Flow, links: &[Link], base: &Settings) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    keys.extend(flow.name.as_deref().map(|name| Key::new("name", name)));
    if let Sends::Datagrams(udp) = &flow.sends {
        keys.extend(datagram_keys(udp));
    }
    if let Some(data) = flow.data() {
        keys.extend(data.kind.map(|kind| Key::new("kind", kind.name())));
        keys.extend(Key::written("controller", Some(&data.controller)));
    }
    if flow.count.value != 1 {
        keys.push(Key::new("count", flow.count.value));
    }
    let start = flow.start.as_ref().map(|start| &start.value);
    for (key, time) in [("start", start), ("stop", flow.stop.as_ref())] {
        keys.extend(time.map(|time| drawn(key, time)));
    }
    let route = |hops: &[Hop]| {
        let name = |hop: &Hop| {
            let name = links.get(hop.link).map_or("", |link| &link.name);
            format!("{name}{}", if hop.own { "*" } else { "" })
        };
        Value::from(hops.iter().map(name).collect::<Vec<_>>())
    };
    let back = |hops: &Vec<Hop>| route(hops);
    match &*flow.routes.value {
        [only] => {
            keys.push(Key::new("route", route(&only.forward)));
            keys.extend(only.back.as_ref().map(|hops| Key::new("back", back(hops))));
        }
        several => {
            let routes = several.iter().map(|one| route(&one.forward));
            keys.push(Key::new("routes", Value::list(routes)));
            let backs: Option<Vec<Value>> = several
                .iter()
                .map(|one| one.back.as_ref().map(back))
                .collect();
            keys.extend(backs.map(|backs| Key::new("back", backs)));
        }
    }
    if let Some(data) = flow.data() {
        keys.extend(data_keys(data, base));
        let node = flow.destination.as_deref();
        // The default is the last link; a name with `*` cannot be written.
        let node = node.filter(|node| !node.is_empty() && !node.ends_with('*'));
        keys.extend(node.map(|node| Key::new("destination", node)));
    }
    keys
}

fn data_keys(data: &Data, base: &Settings) -> Vec<Key> {
    let written = [
        Key::written("size", data.size.as_ref()),
        Key::written("two_way", data.two_way.as_ref()),
        Key::written("streams", data.streams.as_ref()),
        Key::written("messages", data.messages.as_ref()),
        Key::written("interleave", data.interleave.as_ref()),
    ];
    let mut keys: Vec<Key> = written.into_iter().flatten().collect();
    if data.priority != Priority::LOWEST {
        keys.push(Key::new("priority", u32::from(data.priority.get())));
    }
    let own = data.settings.as_ref().unwrap_or(base);
    let differences = settings::differences(own, base).into_iter();
    keys.extend(differences.map(|(key, value)| Key::new(key, value)));
    if !data.with.is_empty() {
        let tables: Vec<(String, Value)> = data
            .with
            .iter()
            .map(|with| {
                let mut pairs = settings::differences(&with.settings, own);
                let streams = with
                    .streams
                    .as_ref()
                    .map(|streams| streams.source().clone());
                pairs.extend(streams.map(|streams| ("streams", streams)));
                (bare_key(&with.controller), Value::table(pairs))
            })
            .collect();
        let pairs = tables.iter().map(|(key, table)| (&**key, table.clone()));
        keys.push(Key::new("with", Value::table(pairs)));
    }
    keys
}

fn datagram_keys(udp: &UdpFlow) -> Vec<Key> {
    let mut keys = vec![
        Key::new("kind", "udp"),
        Key::new("rate", udp.rate),
        Key::new("packet", udp.packet),
    ];
    if let Some(bursts) = udp.on_off {
        keys.extend([
            Key::new("on", bursts.on),
            Key::new("off", bursts.off),
            Key::new("exponential", bursts.exponential),
        ]);
    }
    keys
}

fn drawn(key: &str, time: &DrawnTime) -> Key {
    let written = Key::new(key, *time);
    match time.from == time.to {
        true => written,
        false => written.remark(DRAWN),
    }
}

fn destination_keys(node: &Destination) -> Vec<Key> {
    let usual = Adapter::default();
    let mut keys = Vec::new();
    for (key, value, usual) in [
        ("gamma", node.adapter.gamma, usual.gamma),
        ("beta", node.adapter.beta, usual.beta),
    ] {
        keys.extend((value != usual).then(|| Key::new(key, value)));
    }
    keys.extend(node.bandwidth.map(|rate| Key::new("bandwidth", rate)));
    keys
}

fn run_keys(run: &Run, default: &Settings) -> Vec<Key> {
    let mut keys = vec![Key::new("duration", run.duration.source().clone())];
    let counted = (1..).zip(&run.seeds).all(|(n, seed)| n == *seed);
    let seeds = run.seeds.iter().map(|seed| Value::Integer(*seed as i64));
    keys.push(match counted {
        true => Key::new("seeds", Value::Integer(run.seeds.len() as i64)),
        false => Key::new("seeds", Value::list(seeds)),
    });
    keys.extend(
        run.sample
            .map(|interval: Duration| Key::new("sample", interval)),
    );
    let differences = settings::differences(&run.settings, default).into_iter();
    keys.extend(differences.map(|(key, value)| Key::new(key, value)));
    keys
}
