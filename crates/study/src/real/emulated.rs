//! A path from a scenario: the same path that the simulator uses.

use crate::{BadInput, Error};
use std::path::Path;
use whimbrel_link::{Layout, MAX_LINKS, MAX_NODES, PathSpec};
use whimbrel_sim::scenario::{self, Scenario};
use whimbrel_sim::{LinkName, NamedLink};
use whimbrel_units::nearest;

/// The paths of several links, each with a seed of its own; of none: the only one that flows share.
///
/// # Errors
/// As [`path`].
pub fn paths(
    scenario: &Scenario,
    file: &Path,
    names: &[String],
    seed: u64,
) -> Result<Vec<PathSpec>, Error> {
    if names.is_empty() {
        return Ok(vec![path(scenario, file, None, seed)?]);
    }
    let names = names.iter().map(String::as_str);
    each(scenario, file, names, seed)
}

/// A path for each name.
fn each<'a>(
    scenario: &Scenario,
    file: &Path,
    names: impl Iterator<Item = &'a str>,
    seed: u64,
) -> Result<Vec<PathSpec>, Error> {
    let named = |(number, name): (u64, &str)| {
        Ok(PathSpec {
            // Links of one kind must not lose the same packets.
            seed: seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            ..path(scenario, file, Some(name), seed)?
        })
    };
    (0..).zip(names).map(named).collect()
}

/// Named nodes, and an emulated path for each link between them.
#[derive(Debug, Clone)]
pub struct Topology {
    /// The nodes and how links connect them.
    pub layout: Layout,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The links.
    pub links: Vec<scenario::TopologyLink>,
    /// The path of each link.
    pub paths: Vec<PathSpec>,
}

impl Topology {
    /// Reads a topology file.
    ///
    /// # Errors
    /// The first mistake, with file, line, key and the nearest right word; also if it is too large.
    pub fn parse(text: &str, file: &Path, seed: u64) -> Result<Self, Error> {
        let scenario::Topology {
            scenario,
            nodes,
            links,
        } = scenario::Topology::parse(text, file)?;
        for (what, count, most) in [
            ("nodes", nodes.len(), MAX_NODES),
            ("links", links.len(), MAX_LINKS),
        ] {
            if count > most {
                let text = format!("{}: at most {most} {what}, not {count}", file.display());
                return Err(BadInput::new(text).into());
            }
        }
        let names = links.iter().map(|link| link.name.as_str());
        let paths = each(&scenario, file, names, seed)?;
        let between: Vec<_> = links.iter().map(|link| link.between).collect();
        Ok(Self {
            layout: Layout::named(&nodes, &between),
            nodes,
            links,
            paths,
        })
    }

    /// The index of a node.
    ///
    /// # Errors
    /// If there is no such node; names the nearest one.
    pub fn node(&self, name: &str) -> Result<usize, Error> {
        position("node", name, self.nodes.iter().map(String::as_str))
    }

    /// The index of a link.
    ///
    /// # Errors
    /// If there is no such link; names the nearest one.
    pub fn link(&self, name: &str) -> Result<usize, Error> {
        let names = self.links.iter().map(|link| link.name.as_str());
        position("link", name, names)
    }

    /// The names of the two ends of a link.
    pub fn ends(&self, link: &scenario::TopologyLink) -> [&str; 2] {
        link.between.map(|end| self.nodes[end].as_str())
    }
}

/// The index of a name, or an error that names the nearest one.
fn position<'a>(
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, Error> {
    let found = names.clone().position(|known| known == name);
    found.ok_or_else(|| BadInput::new(scenario::fields::unknown(what, name, names)).into())
}

/// Both directions of links of the scenario's first point: of those called `names`, one behind the
/// other from near to far with commas between them, or of the only one that flows share.
///
/// # Errors
/// If the scenario has no such link.
pub fn path(
    scenario: &Scenario,
    file: &Path,
    names: Option<&str>,
    seed: u64,
) -> Result<PathSpec, Error> {
    let mut names = names
        .map(|names| names.split(',').map(str::trim))
        .into_iter()
        .flatten();
    let mut path = hop(scenario, file, names.next(), seed)?;
    for name in names {
        let next = hop(scenario, file, Some(name), seed)?;
        if path.wifi.is_some() || next.wifi.is_some() {
            let text = format!("{}: a path of several links has no Wi-Fi", file.display());
            return Err(BadInput::new(text).into());
        }
        path.hops.push([next.forward, next.backward]);
    }
    Ok(path)
}

/// One link as a path.
fn hop(scenario: &Scenario, file: &Path, name: Option<&str>, seed: u64) -> Result<PathSpec, Error> {
    let network = scenario.points().first().map(|point| point.network(seed));
    let (links, channels) = network
        .map(|network| (network.links, network.channels))
        .unwrap_or_default();
    let shared = |link: &&NamedLink| link.name.copy.is_none() && !link.name.mirrored;
    let names: Vec<&str> = links
        .iter()
        .filter(shared)
        .map(|link| link.name.link.as_str())
        .collect();
    let name = match (name, names.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => {
            return Err(
                BadInput::new(format!("{}: no link is shared by flows", file.display())).into(),
            );
        }
        (None, several) => {
            let text = format!("{}: say which link: {}", file.display(), several.join(", "));
            return Err(BadInput::new(text).into());
        }
    };
    let direction = |mirrored| {
        let name = LinkName {
            mirrored,
            ..name.into()
        };
        links.iter().find(|link| link.name == name)
    };
    match (direction(false), direction(true)) {
        (Some(forward), Some(backward)) => Ok(PathSpec {
            forward: forward.spec.clone(),
            backward: backward.spec.clone(),
            wifi: forward
                .on_channel
                .and_then(|on| channels.get(on.channel).cloned()),
            hops: Vec::new(),
            seed,
        }),
        _ => {
            let near = nearest(name, names.iter().copied());
            let hint = near
                .map(|near| format!(", did you mean `{near}`"))
                .unwrap_or_default();
            let text = format!(
                "{}: no flow passes a shared link `{name}` in both directions{hint}; known: {}",
                file.display(),
                names.join(", ")
            );
            Err(BadInput::new(text).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_net::{Delay, QueueLimit, Schedule, ServiceSpec};
    use whimbrel_units::{Bytes, Duration, Time};

    const TWO: &str = r#"
[link.down]
rate = "8 Mbit/s"
delay = [["0 s", "50 ms"], ["5 s", "300 ms"]]
queue = "1 bdp"
loss = { random = "1 %", outages = [["4 s", "5 s"]] }
reverse = { rate = "1 Mbit/s" }
[link.other]
[link.own]
[[flow]]
route = ["own*", "down", "other"]
"#;

    fn path(text: &str, name: Option<&str>, seed: u64) -> Result<PathSpec, Error> {
        let file = Path::new("path.toml");
        super::path(&Scenario::parse(text, file)?, file, name, seed)
    }

    #[test]
    fn the_emulated_link_equals_the_simulated_one() {
        let spec = path(TWO, Some("down"), 7).expect("a path");
        // 8 Mbit/s times twice 300 ms.
        assert_eq!(spec.forward.queue, QueueLimit::Bytes(Bytes::new(600_000)));
        assert_eq!(spec.backward.queue, QueueLimit::Bytes(Bytes::new(75_000)));
        assert_eq!(spec.forward.loss.random.get(), 0.01);
        assert!(
            spec.backward.loss.random.is_zero(),
            "loss applies to the forward direction only"
        );
        let steps = [(0, 50), (5, 300)].map(|(at, delay)| {
            let at = Time::ZERO + Duration::from_secs(at);
            (at, Duration::from_millis(delay))
        });
        let steps = Schedule::steps(steps.to_vec()).expect("in order");
        assert_eq!(spec.forward.delay, Delay::steps(steps));
        assert_eq!(spec.backward.loss.outages.len(), 1, "outages apply to both");
        assert_eq!(spec.seed, 7);
    }

    #[test]
    fn a_path_has_bursts_of_loss_and_outages_drawn_by_the_seed() {
        let text = "[link.L]\nloss = { gilbert-elliott = { p = \"1 %\", r = \"20 %\" }, random_outages = { count = 2, \
                    length = \"1 s\" } }\n[[flow]]\nroute = [\"L\"]\n";
        let loss = |seed| {
            let spec = path(text, None, seed).expect("a path");
            assert_eq!(spec.forward.loss.outages, spec.backward.loss.outages);
            spec.forward.loss
        };
        assert!(loss(1).gilbert_elliott.is_some());
        assert_eq!(loss(1).outages.len(), 2);
        assert_ne!(loss(1).outages, loss(2).outages);
    }

    #[test]
    fn both_directions_of_wifi_share_one_channel() {
        let text = TWO.replace("[link.other]", "[link.other]\nwifi = \"65 Mbit/s\"");
        let spec = path(&text, Some("other"), 1).expect("a path");
        let rate = "65 Mbit/s".parse().expect("a rate");
        assert_eq!(spec.wifi.map(|wifi| wifi.rate()), Some(rate));
        let other = path(&text, Some("down"), 1).expect("a path");
        assert_eq!(other.wifi, None);
    }

    #[test]
    fn a_radio_link_has_the_shadowing_of_the_seed_both_ways() {
        let text = "[link.air]\nwireless = { standard = \"802.11g\", distance = \"150 m\", shadowing = \"6 dB\" }\n\
                    [[flow]]\nroute = [\"air\"]\n";
        let radio = |seed| {
            let spec = path(text, None, seed).expect("a path");
            match (spec.forward.service, spec.backward.service) {
                (ServiceSpec::Wireless(there), ServiceSpec::Wireless(back)) => {
                    assert_eq!(there.mirrored(), *back);
                    there
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(radio(1), radio(1));
        assert_ne!(radio(1), radio(2));
    }

    #[test]
    fn each_link_of_a_topology_has_a_path_with_a_seed_of_its_own() {
        let text = "[link.radio]\nbetween = [\"ship\", \"shore\"]\nrate = \"8 Mbit/s\"\n\
                    delay = \"300 ms\"\nqueue = \"1 bdp\"\nloss = \"1 %\"\n\
                    [link.core]\nbetween = [\"shore\", \"office\"]\n";
        let topology = Topology::parse(text, Path::new("net.toml"), 7).expect("a topology");
        let [radio, core] = &topology.paths[..] else {
            panic!("{:?}", topology.paths)
        };
        assert_eq!(radio.forward.queue, QueueLimit::Bytes(Bytes::new(600_000)));
        assert_eq!(radio.forward.loss.random.get(), 0.01);
        assert!(radio.backward.loss.random.is_zero());
        assert_ne!(radio.seed, core.seed);
        assert_eq!(topology.ends(&topology.links[1]), ["shore", "office"]);
        assert_eq!(topology.node("office").expect("a node"), 2);
        let error = topology.node("offce").expect_err("unknown").to_string();
        assert_eq!(error, "unknown node `offce`, did you mean `office`?");
    }

    #[test]
    fn an_ambiguous_or_unknown_link_is_an_error() {
        let error = |name| {
            path(TWO, name, 1)
                .map(|_| ())
                .expect_err("unclear")
                .to_string()
        };
        assert!(
            error(None).ends_with("say which link: down, other"),
            "{}",
            error(None)
        );
        let wrong = error(Some("dawn"));
        assert!(
            wrong.ends_with("did you mean `down`; known: down, other"),
            "{wrong}"
        );
        let both = path(TWO, Some("down, other"), 1).expect("two hops");
        let second = path(TWO, Some("other"), 1).expect("a hop");
        assert_eq!(both.hops, [[second.forward, second.backward]]);
        assert!(path(TWO, Some("down,dawn"), 1).is_err());
        let one = TWO.replace(", \"other\"", "");
        assert!(path(&one, None, 1).is_ok());
    }
}
