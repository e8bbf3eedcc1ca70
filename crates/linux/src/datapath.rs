//! The kernel's half of one instance: programs, maps, the registered algorithm, and the cgroups
//! whose connections use it.
//!
//! Several instances run side by side: each has its own maps and registers an algorithm with a name
//! of its own: `whim_`, the process's number, and random characters, because processes of different
//! PID namespaces have equal numbers, and the kernel logs each attempt to take a name twice.
//!
//! An algorithm that wants congestion marks gets them through the cgroup's program, which makes a
//! new connection negotiate ECN. The kernel's flag `TCP_CONG_NEEDS_ECN` is not set: a connection
//! without ECN that switches to an algorithm with that flag would declare itself capable of ECN.

use crate::bpf::btf::Types;
use crate::bpf::link::Link;
use crate::bpf::object::{self, Kind, Object, Program};
use crate::bpf::ring::Ring;
use crate::bpf::shared::{Commands, SharedControl};
use crate::bpf::struct_ops::{self, Algorithm, RegisterError, Registered};
use crate::cgroup::{self, Temporary};
use crate::clock::monotonic;
use crate::error::LinuxError;
use crate::kernel_algorithms::{PREFIX, kernel_algorithms, registered};
use crate::options::{Cgroup, Network, Options, Selection};
use crate::privileges::{self, Capability};
use crate::wire;
use nix::fcntl::Flock;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use whimbrel_units::nearest;

/// The compiled `bpf/whimbrel.bpf.c`.
pub(crate) const OBJECT: &[u8] = include_bytes!("../bpf/objects/whimbrel.bpf.o");

/// The members of `struct tcp_congestion_ops` and the programs that implement them.
const FUNCTIONS: [(&str, &str); 7] = [
    ("init", "whim_init"),
    ("release", "whim_release"),
    ("ssthresh", "whim_ssthresh"),
    ("set_state", "whim_set_state"),
    ("undo_cwnd", "whim_undo"),
    ("cong_control", "whim_control"),
    ("cwnd_event", "whim_event"),
];

/// The loaded programs and the registered algorithm. Dropping it unregisters the algorithm;
/// connections that still use it go to the fallback within [`Options::silence`].
#[derive(Debug)]
pub struct Datapath {
    // Fields are dropped in this order.
    _registered: Registered,
    name: String,
    object: Object,
    commands: Commands,
    control: SharedControl,
    chooser: Mutex<Option<Chooser>>,
    /// Whether the kernel can attach programs to cgroups.
    cgroup_programs: bool,
}

/// The program for cgroups, and the selection that it applies.
#[derive(Debug)]
struct Chooser {
    program: Program,
    selection: Selection,
}

impl Datapath {
    /// Loads the programs and registers an algorithm with a name of its own. Starts no thread.
    ///
    /// # Errors
    /// If the algorithm cannot run on TCP, or a privilege or an option of the kernel is missing.
    pub fn load(options: &Options) -> Result<Self, LinuxError> {
        if options.controller.entry().is_fed_bursts() {
            return Err(LinuxError::Controller(format!(
                "`{}` controls bursts, not a window, so it cannot run on TCP: choose another \
                 algorithm, such as `cerl`",
                options.controller,
            )));
        }
        privileges::check(&Capability::REGISTER)?;
        let types = privileges::kernel()?;
        let doing = "reading the kernel's algorithms";
        let available = registered().map_err(LinuxError::os(doing))?;
        let own = kernel_algorithms().map_err(LinuxError::os(doing))?;
        check_fallback(&options.fallback, &own)?;

        for name in names(std::process::id()) {
            if available.contains(&name) {
                continue;
            }
            match Self::load_as(name, options, &types) {
                Ok(loaded) => return Ok(loaded),
                // Another instance has it by chance.
                Err(RegisterError::NameTaken) => {}
                Err(RegisterError::Other(error)) => return Err(error),
            }
        }
        Err(LinuxError::System(format!(
            "all names that were tried for the algorithm are in use, such as {PREFIX}..."
        )))
    }

    fn load_as(name: String, options: &Options, types: &Types) -> Result<Self, RegisterError> {
        let object = load_object(options, &name)?;
        let commands = Commands::new(object.map("commands")?)?;
        let control = SharedControl::new(object.map("control")?)?;
        let algorithm = Algorithm {
            name: &name,
            flags: struct_ops::NON_RESTRICTED,
            functions: &FUNCTIONS,
        };
        let prepared = struct_ops::prepare(&object, types, &algorithm)?;
        // Before the first connection can look at it.
        control.set_silence(options.silence.as_nanos());
        control.beat(monotonic());
        Ok(Self {
            _registered: prepared.register()?,
            name,
            object,
            commands,
            control,
            chooser: Mutex::new(None),
            cgroup_programs: privileges::has_cgroup_programs(types),
        })
    }

    /// The kernel's name of the algorithm, for `TCP_CONGESTION` and
    /// `net.ipv4.tcp_congestion_control`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts all new connections of a cgroup that `selection` allows under the algorithm.
    /// Connections that exist already are not changed. All cgroups of one datapath have the same
    /// selection.
    ///
    /// # Errors
    /// If the cgroup does not exist or cannot be made, or the kernel refuses.
    pub fn choose(&self, cgroup: &Cgroup, selection: &Selection) -> Result<Chosen, LinuxError> {
        privileges::check(&Capability::ATTACH)?;
        privileges::check_cgroups(self.cgroup_programs)?;
        let mut chooser = self.chooser.lock().unwrap_or_else(PoisonError::into_inner);
        let temporary = match cgroup {
            Cgroup::Existing(_) => None,
            Cgroup::New => Some(Temporary::create(&self.name, is_registered)?),
        };
        let directory = match (cgroup, &temporary) {
            (Cgroup::Existing(path), _) => path.clone(),
            (Cgroup::New, Some(made)) => made.directory().to_owned(),
            (Cgroup::New, None) => PathBuf::new(),
        };
        cgroup::check(&directory)?;
        let marked = cgroup::mark(&directory).map_err(LinuxError::os("opening the cgroup"))?;
        if chooser.is_none() {
            *chooser = Some(self.load_chooser(selection)?);
        }
        let link = match &*chooser {
            Some(loaded) if loaded.selection == *selection => {
                Link::cgroup(&loaded.program, marked.0.as_fd())?
            }
            _ => {
                return Err(LinuxError::System(
                    "all cgroups of one instance have the same ports and networks: start another \
                     instance for others"
                        .to_owned(),
                ));
            }
        };
        Ok(Chosen {
            _link: link,
            _temporary: temporary,
            marked,
            directory,
        })
    }

    /// The ring of events. A ring has one consumer: call it once.
    pub(crate) fn ring(&self) -> Result<Ring, LinuxError> {
        Ring::new(self.object.map("events")?)
    }

    /// The loaded programs and maps.
    pub(crate) fn object(&self) -> &Object {
        &self.object
    }

    /// The commands of all slots.
    pub(crate) fn commands(&self) -> &Commands {
        &self.commands
    }

    /// The shared state of the instance.
    pub(crate) fn control(&self) -> &SharedControl {
        &self.control
    }

    fn load_chooser(&self, selection: &Selection) -> Result<Chooser, LinuxError> {
        let rules = rules(selection)?;
        let map = self.object.map("rules")?;
        map.set(0, &rules)
            .map_err(LinuxError::os("setting the selection of connections"))?;
        Ok(Chooser {
            program: self.object.program("whim_choose", Kind::SockOps)?,
            selection: selection.clone(),
        })
    }
}

/// A cgroup whose new connections use the algorithm, until this is dropped.
#[derive(Debug)]
pub struct Chosen {
    // The program is detached before the cgroup is removed.
    _link: Link,
    _temporary: Option<Temporary>,
    /// Tells other instances of this one, and whether there was one before.
    marked: (Flock<File>, bool),
    directory: PathBuf,
}

impl Chosen {
    /// Whether another instance has chosen connections of this cgroup before. A connection that
    /// both choose stays with the other one.
    pub fn is_shared(&self) -> bool {
        self.marked.1
    }

    /// The cgroup's directory; a command's process joins it by writing its PID to `cgroup.procs`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Loads the object and sets its constants.
fn load_object(options: &Options, name: &str) -> Result<Object, LinuxError> {
    let version = object::constant(OBJECT, "wire_version")?;
    if version != wire::VERSION.to_ne_bytes() {
        return Err(LinuxError::Object(format!(
            "has version {version:?} of the exchanged structures instead of {}; build the objects \
             again (`make bpf`)",
            wire::VERSION,
        )));
    }
    let needs_ecn = u32::from(options.controller.transport_features().marks);
    Object::load(
        OBJECT,
        &[
            ("fallback", &padded(&options.fallback)),
            ("chosen", &padded(name)),
            ("needs_ecn", &needs_ecn.to_ne_bytes()),
        ],
    )
}

/// Whether an instance whose algorithm has this name is running, in any namespace.
fn is_registered(name: &str) -> bool {
    // If the list cannot be read, all are assumed to run.
    registered().map_or(true, |names| names.iter().any(|known| known == name))
}

/// A name with zeros behind it, as the kernel's structures have it.
fn padded(name: &str) -> [u8; 16] {
    let mut out = [0; 16];
    for (to, from) in out[..struct_ops::MAX_NAME].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    out
}

/// Checks that the kernel has the fallback algorithm.
fn check_fallback(fallback: &str, available: &[String]) -> Result<(), LinuxError> {
    if available.iter().any(|name| name == fallback) {
        return Ok(());
    }
    let hint = nearest(fallback, available.iter().map(String::as_str))
        .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Err(LinuxError::System(format!(
        "this kernel has no algorithm `{fallback}` to fall back to, only {}{hint}",
        available.join(", "),
    )))
}

/// Some possible names of an instance of a process, each [`struct_ops::MAX_NAME`] bytes.
fn names(process: u32) -> impl Iterator<Item = String> {
    let start = format!("{PREFIX}{}_", base36(process.into()));
    (0..10).map(move |_| {
        // Its keys are random.
        let random = base36(RandomState::new().build_hasher().finish());
        // The first digit of a number is not evenly distributed; the last ones are.
        let digits = random.chars().rev().chain(std::iter::repeat('0'));
        start
            .chars()
            .chain(digits)
            .take(struct_ops::MAX_NAME)
            .collect()
    })
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// [`wire::Rules`] as bytes.
fn rules(selection: &Selection) -> Result<Vec<u8>, LinuxError> {
    let (ports, networks) = (&selection.ports, &selection.networks);
    if ports.len() > wire::MAX_RULES || networks.len() > wire::MAX_RULES {
        return Err(LinuxError::System(format!(
            "at most {} ports and as many networks can be chosen",
            wire::MAX_RULES,
        )));
    }
    let mut out = Vec::with_capacity(size_of::<wire::Rules>());
    out.extend((ports.len() as u32).to_ne_bytes());
    out.extend((networks.len() as u32).to_ne_bytes());
    let unused = std::iter::repeat(&0);
    for port in ports.iter().chain(unused).take(wire::MAX_RULES) {
        out.extend(port.to_ne_bytes());
    }
    for network in networks {
        let (address, mask) = network_words(network)?;
        out.extend(address);
        out.extend(mask);
    }
    out.resize(size_of::<wire::Rules>(), 0);
    Ok(out)
}

/// A network's address and mask as IPv6, the bits outside of the mask zero. IPv4 addresses are
/// mapped (RFC 4291), so `::/0` includes them.
fn network_words(network: &Network) -> Result<([u8; 16], [u8; 16]), LinuxError> {
    let (address, width) = match network.address {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), 32),
        IpAddr::V6(address) => (address, 128),
    };
    if network.bits > width {
        return Err(LinuxError::System(format!(
            "the network {}/{} has more than {width} bits",
            network.address, network.bits,
        )));
    }
    let unset = u32::from(width - network.bits);
    let mask = u128::MAX.checked_shl(unset).unwrap_or(0);
    let address = u128::from(address) & mask;
    Ok((address.to_be_bytes(), mask.to_be_bytes()))
}

#[cfg(test)]
#[path = "datapath_tests.rs"]
mod tests;
