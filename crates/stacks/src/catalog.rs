//! The stacks that this build has, their versions and their controllers.

use crate::endpoint::Endpoint;
use std::fmt;
use whimbrel_units::nearest;

/// Makes both ends of a connection with a controller; `None` if there is no such controller.
type Connect = fn(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]>;

/// A protocol stack.
#[derive(Clone, Copy)]
pub struct Stack {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its own controllers, by the names that it gives them. Those of this project's stacks: the
    /// ones that are compared when none is named.
    pub controllers: &'static [&'static str],
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Whether `all` names it too: not so a version from before a mend.
    pub current: bool,
    connect: Carrier,
}

/// What carries a connection.
#[derive(Clone, Copy)]
enum Carrier {
    /// A stack from outside.
    Foreign(Connect),
    /// The same in a program of its own, which `present` finds or `how` makes.
    Program {
        connect: Connect,
        present: fn() -> bool,
        how: &'static str,
    },
    /// The simulator's TCP.
    Simulator,
}

/// This project's algorithms that a comparison has unless others are named: the ones that other
/// stacks have too, and its own.
const OURS: &[&str] = &["newreno", "cubic", "bbr", "bbr3", "whimbrel"];

/// Current controllers, or whole stacks, that depart from their algorithm because of a fault that
/// `docs/stacks.md` describes. A range of the others without them says more.
const FAULTY: &[&str] = &[
    "noq:bbr3",
    "quiche:cubic",
    "quiche:reno",
    "quinn:bbr",
    "s2n:cubic",
    "smoltcp",
    "tquic:bbr3",
];

/// Families of controllers that several stacks have.
pub const COMPARED: [&str; 3] = ["cubic", "newreno", "bbr"];

/// The version of this project.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// All stacks of this build.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "sim",
        version: OWN_VERSION,
        controllers: OURS,
        summary: "the simulator's TCP: SACK, RACK, as Linux",
        current: true,
        connect: Carrier::Simulator,
    },
    Stack {
        name: "whimbrel-quic",
        version: OWN_VERSION,
        controllers: OURS,
        summary: "this project's algorithms on noq-proto 1.4.0",
        current: true,
        connect: Carrier::Foreign(crate::stack::noq::connect_whimbrel),
    },
    #[cfg(feature = "quinn")]
    Stack {
        name: "whimbrel-quinn",
        version: OWN_VERSION,
        controllers: &["newreno", "cubic"],
        summary: "this project's algorithms on quinn-proto 0.11.19",
        current: true,
        connect: Carrier::Foreign(crate::stack::quinn::connect_whimbrel),
    },
    Stack {
        name: "noq",
        version: "1.4.0",
        controllers: &["newreno", "cubic", "bbr3"],
        summary: "noq-proto, QUIC",
        current: true,
        connect: Carrier::Foreign(crate::stack::noq::connect),
    },
    #[cfg(feature = "quinn")]
    Stack {
        name: "quinn",
        version: "0.11.19",
        controllers: &["newreno", "cubic", "bbr"],
        summary: "quinn-proto, QUIC",
        current: true,
        connect: Carrier::Foreign(crate::stack::quinn::connect),
    },
    #[cfg(feature = "quiche")]
    Stack {
        name: "quiche",
        version: "0.30.0",
        controllers: &["reno", "cubic", "bbr2"],
        summary: "quiche, QUIC",
        current: true,
        connect: Carrier::Foreign(crate::stack::quiche::connect),
    },
    #[cfg(feature = "tquic")]
    Stack {
        name: "tquic",
        version: "1.6.0",
        controllers: &["cubic", "bbr", "bbr3", "copa"],
        summary: "TQUIC",
        current: true,
        connect: Carrier::Foreign(crate::stack::tquic::connect),
    },
    #[cfg(feature = "s2n")]
    Stack {
        name: "s2n",
        version: "0.91.0",
        controllers: &["cubic", "bbr2"],
        summary: "s2n-quic-core's controllers on noq-proto 1.4.0",
        current: true,
        connect: Carrier::Foreign(crate::stack::s2n::connect),
    },
    #[cfg(feature = "smoltcp")]
    Stack {
        name: "smoltcp",
        version: "0.14.0",
        controllers: &["reno", "cubic", "none"],
        summary: "TCP for small devices, without SACK",
        current: true,
        connect: Carrier::Foreign(crate::stack::smoltcp::connect),
    },
    Stack {
        name: "linux",
        version: "6.1",
        controllers: &[
            "reno",
            "cubic",
            "bbr",
            "bic",
            "cdg",
            "dctcp",
            "highspeed",
            "htcp",
            "hybla",
            "illinois",
            "lp",
            "nv",
            "scalable",
            "vegas",
            "veno",
            "westwood",
            "yeah",
        ],
        summary: "the kernel's TCP, as a program",
        current: true,
        connect: Carrier::Program {
            connect: crate::stack::linux::connect,
            present: || crate::stack::linux::program().is_some(),
            how: "`make stacks-linux`",
        },
    },
    #[cfg(feature = "older")]
    Stack {
        name: "noq-0.17",
        version: "0.17.0",
        controllers: &["newreno", "cubic", "bbr"],
        summary: "noq-proto before mends of CUBIC, with BBR's first version",
        current: false,
        connect: Carrier::Foreign(crate::stack::noq_0_17::connect),
    },
    #[cfg(feature = "quiche")]
    Stack {
        name: "quiche-unmended",
        version: "0.30.0",
        controllers: &["cubic"],
        summary: "quiche without its mend of CUBIC after idling",
        current: false,
        connect: Carrier::Foreign(crate::stack::quiche::connect_unmended),
    },
    #[cfg(feature = "older")]
    Stack {
        name: "smoltcp-0.12",
        version: "0.12.0",
        controllers: &["reno", "cubic", "none"],
        summary: "smoltcp before a mend of its retransmission timer",
        current: false,
        connect: Carrier::Foreign(crate::stack::smoltcp_0_12::connect),
    },
    #[cfg(feature = "older")]
    Stack {
        name: "smoltcp-0.13",
        version: "0.13.1",
        controllers: &["reno", "cubic"],
        summary: "smoltcp before mends of Reno and CUBIC",
        current: false,
        connect: Carrier::Foreign(crate::stack::smoltcp_0_13::connect),
    },
];

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// A stack with one of its controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    stack: &'static str,
    /// The controller.
    pub controller: String,
}

/// A name that denotes no sender.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownSender {
    /// There is no such stack.
    #[error("unknown stack `{name}`{near} This build has {known}")]
    Stack {
        /// The name.
        name: String,
        /// The most similar name as a question, or a full stop if none is similar.
        near: String,
        /// The stacks of this build.
        known: String,
    },
    /// No stack has a controller of this family.
    #[error("no stack has a controller `{name}`{near} See `--list`")]
    Family {
        /// The name.
        name: String,
        /// As above.
        near: String,
    },
    /// The stack's program is not there.
    #[error("{stack} is not built: {how} builds it")]
    Missing {
        /// The stack.
        stack: &'static str,
        /// What builds it.
        how: &'static str,
    },
    /// The stack has no such controller.
    #[error("{stack} has no controller `{name}`{near} It has {known}")]
    Controller {
        /// The stack.
        stack: &'static str,
        /// The name.
        name: String,
        /// As above.
        near: String,
        /// Those that it has.
        known: String,
    },
    /// This project has no such algorithm, or the stack cannot run it.
    #[error("{stack}: {why}")]
    Algorithm {
        /// The stack.
        stack: &'static str,
        /// What is wrong.
        why: String,
    },
}

impl Sender {
    /// The senders that a name denotes: `quinn` (all of its controllers), `quinn:cubic`,
    /// `all:cubic` (every stack that has it, with `reno` for `newreno` where it is called so), or
    /// `all` (of Linux only the families of [`COMPARED`]).
    ///
    /// # Errors
    /// If there are none.
    pub fn all_of(name: &str) -> Result<Vec<Self>, UnknownSender> {
        let (stack, controller) = match name.split_once(':') {
            Some((stack, controller)) => (stack, Some(controller)),
            None => (name, None),
        };
        let all = |stack: &Stack| -> Vec<Self> {
            let controllers = stack.controllers.iter();
            controllers.map(|name| stack.sender(name)).collect()
        };
        if stack == "all" {
            let current = |stack: &&Stack| stack.current && stack.missing().is_none();
            let every = STACKS.iter().filter(current).flat_map(all);
            let found: Vec<Self> = match controller {
                None => every.filter(Self::is_compared).collect(),
                Some(family) => every.filter(|sender| sender.family() == family).collect(),
            };
            if found.is_empty() {
                let name = controller.unwrap_or_default().to_owned();
                let known = STACKS.iter().flat_map(|stack| stack.controllers);
                let near = question(&name, known.copied());
                return Err(UnknownSender::Family { name, near });
            }
            return Ok(found);
        }
        let Some(known) = STACKS.iter().find(|known| known.name == stack) else {
            let names: Vec<&str> = STACKS.iter().map(|stack| stack.name).collect();
            return Err(UnknownSender::Stack {
                name: stack.to_owned(),
                near: question(stack, names.iter().copied()),
                known: names.join(", "),
            });
        };
        if let Some(how) = known.missing() {
            let stack = known.name;
            return Err(UnknownSender::Missing { stack, how });
        }
        match controller {
            None => Ok(all(known)),
            Some(name) => known.check(name).map(|()| vec![known.sender(name)]),
        }
    }

    /// The stack.
    pub fn stack(&self) -> Stack {
        let mut all = STACKS.iter();
        let own = all.find(|stack| stack.name == self.stack);
        // A sender is made from an entry of the list.
        *own.unwrap_or(&STACKS[0])
    }

    /// Whether the simulator's own transport carries it.
    pub fn is_simulated(&self) -> bool {
        matches!(self.stack().connect, Carrier::Simulator)
    }

    /// Whether `all` names it. A packet of a stack in a program of its own costs ten times the CPU
    /// time of others, so of its controllers only those that others have too.
    fn is_compared(&self) -> bool {
        let own_program = matches!(self.stack().connect, Carrier::Program { .. });
        !own_program || COMPARED.contains(&self.family())
    }

    /// The algorithm's family, by which stacks are compared: `newreno`, `cubic` or `bbr`; another
    /// controller is a family of its own.
    pub fn family(&self) -> &str {
        match self.controller.as_str() {
            "reno" | "newreno" => "newreno",
            "bbr" | "bbr2" | "bbr3" => "bbr",
            other => other,
        }
    }

    /// Whether a fault of it is known.
    pub fn is_faulty(&self) -> bool {
        let name = self.to_string();
        FAULTY
            .iter()
            .any(|faulty| *faulty == name || *faulty == self.stack)
    }

    /// Both ends of a connection. `None` for the simulator's own transport.
    pub(crate) fn connect(&self, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
        match self.stack().connect {
            Carrier::Foreign(connect) | Carrier::Program { connect, .. } => {
                connect(&self.controller, seed)
            }
            Carrier::Simulator => None,
        }
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.stack, self.controller))
    }
}

impl Stack {
    /// Whether its controllers are this project's.
    pub fn is_ours(&self) -> bool {
        self.version == OWN_VERSION
    }

    /// What builds the stack's program, if it has one that is not there.
    pub fn missing(&self) -> Option<&'static str> {
        match self.connect {
            Carrier::Program { present, how, .. } if !present() => Some(how),
            _ => None,
        }
    }

    fn sender(&self, controller: &str) -> Sender {
        Sender {
            stack: self.name,
            controller: controller.to_owned(),
        }
    }

    /// Whether it has this controller.
    fn check(&self, controller: &str) -> Result<(), UnknownSender> {
        if self.controllers.contains(&controller) {
            return Ok(());
        }
        if self.is_ours() {
            let stack = self.name;
            return self
                .check_ours(controller)
                .map_err(|why| UnknownSender::Algorithm { stack, why });
        }
        Err(UnknownSender::Controller {
            stack: self.name,
            name: controller.to_owned(),
            near: question(controller, self.controllers.iter().copied()),
            known: self.controllers.join(", "),
        })
    }

    /// Whether this project has this algorithm, parameters included, and the stack can run it.
    fn check_ours(&self, controller: &str) -> Result<(), String> {
        let spec = controller.parse::<whimbrel_cc::Spec>();
        let spec = spec.map_err(|error| error.to_string())?;
        if spec.entry().is_fed_bursts() {
            return Err(format!(
                "`{controller}` needs a transport that sends bursts"
            ));
        }
        match self.connect {
            Carrier::Foreign(connect) if connect(controller, 0).is_none() => Err(format!(
                "the transport cannot run `{controller}`: it ignores the pacing rate that is set"
            )),
            _ => Ok(()),
        }
    }
}

/// The end of a sentence: a question after the most similar word, if one is similar.
fn question<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(word, known);
    near.map_or(".".to_owned(), |near| format!(", did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_denote_senders() {
        let names = |name: &str| -> Vec<String> {
            let all = Sender::all_of(name).expect(name);
            all.iter().map(Sender::to_string).collect()
        };
        assert_eq!(names("sim:cubic+cerl"), ["sim:cubic+cerl"]);
        assert_eq!(names("sim").len(), OURS.len());
        assert!(names("all").contains(&"sim:whimbrel".to_owned()));
        assert!(names("all:cubic").contains(&"sim:cubic".to_owned()));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = Sender::all_of("mvfst").expect_err("not there").to_string();
        assert!(
            error.contains("`mvfst`") && error.contains("sim"),
            "{error}"
        );
        for (name, said) in [
            ("noc:cubic", "did you mean `noq`?"),
            ("noq:cubik", "did you mean `cubic`?"),
            ("sim:cubik", "did you mean `cubic`?"),
            ("sim:cubic?x=1", "`x`"),
            ("sim:aatp", "needs a transport that sends bursts"),
            ("all:cubik", "did you mean `cubic`?"),
        ] {
            let error = Sender::all_of(name).expect_err(name).to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    /// The versions that results name are those that were compiled.
    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        let crates = |stack: &&Stack| !stack.is_ours() && stack.name != "linux";
        for stack in STACKS.iter().filter(crates) {
            let package = match stack.name {
                "quinn" => "quinn-proto",
                "noq" | "noq-0.17" => "noq-proto",
                "s2n" => "s2n-quic-core",
                name => name.split('-').next().unwrap_or(name),
            };
            let entry = format!("name = \"{package}\"\nversion = \"{}\"", stack.version);
            assert!(lock.contains(&entry), "{entry}");
        }
    }
}
