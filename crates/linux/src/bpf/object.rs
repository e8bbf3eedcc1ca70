//! An object file becomes maps and programs.

use super::btf::Types;
use super::syscall::{self, MapAttributes, ProgramAttributes, ProgramTypes, Records, Refused};
use crate::error::LinuxError;
use aya_obj::btf::{Btf, BtfFeatures};
use aya_obj::generated::{bpf_attach_type, bpf_map_type, bpf_prog_type};
use aya_obj::{EbpfSectionKind, Function};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Lines of the verifier's log that an error shows.
const LOG_LINES: usize = 15;

/// A loaded object: its maps exist, its programs are relocated and not loaded yet.
#[derive(Debug)]
pub(crate) struct Object {
    parsed: aya_obj::Object,
    maps: BTreeMap<String, Map>,
    types: Option<OwnedFd>,
}

/// What a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One function of a structure of functions of the kernel.
    Member {
        /// The structure's type.
        structure: u32,
        /// Its index among the members.
        index: u32,
    },
    /// Runs when connections of a cgroup begin.
    SockOps,
    /// Runs for each packet that arrives, before the kernel's network stack.
    Xdp,
    /// Runs for each packet that arrives at, or leaves, traffic control.
    Classifier,
}

impl Object {
    /// Reads an object, sets constants (`const volatile`) by name, relocates the object for this
    /// kernel and creates its maps.
    ///
    /// # Errors
    /// If the object is damaged, does not suit this kernel, or a map cannot be created.
    pub(crate) fn load(object: &[u8], constants: &[(&str, &[u8])]) -> Result<Self, LinuxError> {
        let mut parsed = aya_obj::Object::parse(object).map_err(damaged)?;
        let constants = constants
            .iter()
            .map(|(name, value)| (*name, (*value, true)));
        parsed
            .patch_map_data(constants.collect())
            .map_err(damaged)?;
        if parsed.has_btf_relocations() {
            let kernel = std::fs::read(Types::PATH)
                .map_err(LinuxError::os("reading /sys/kernel/btf/vmlinux"))?;
            let kernel = Btf::parse(&kernel, parsed.endianness).map_err(damaged)?;
            parsed.relocate_btf(&kernel).map_err(|error| {
                LinuxError::Object(format!("does not suit this kernel: {}", chain(&error)))
            })?;
        }
        let types = load_types(&mut parsed)?;
        let maps = create_maps(&parsed, types.as_ref())?;
        let text: HashSet<usize> = parsed.functions.keys().map(|key| key.0).collect();
        // aya_obj wants the definitions beside the descriptors while it changes the functions.
        let definitions = parsed.maps.clone();
        let references = definitions.iter().filter_map(|(name, definition)| {
            let map = maps.get(name)?;
            Some((name.as_str(), map.fd.as_raw_fd(), definition))
        });
        parsed.relocate_maps(references, &text).map_err(damaged)?;
        parsed.relocate_calls(&text).map_err(damaged)?;
        Ok(Self {
            parsed,
            maps,
            types,
        })
    }

    /// Loads a program, by its function's name.
    ///
    /// # Errors
    /// If the object has no such program, or the kernel refuses it.
    pub(crate) fn program(&self, name: &str, kind: Kind) -> Result<Program, LinuxError> {
        let function = (self.parsed.programs.get(name))
            .and_then(|program| self.parsed.functions.get(&program.function_key()))
            .ok_or_else(|| LinuxError::Object(format!("has no program `{name}`")))?;
        let (kind, attach_type, attach_btf_id) = kind.attributes();
        let functions = function.func_info.func_info_bytes();
        let lines = function.line_info.line_info_bytes();
        let types = self.types.as_ref().map(|btf| ProgramTypes {
            btf: btf.as_fd(),
            functions: records(&functions, function.func_info_rec_size),
            lines: records(&lines, function.line_info_rec_size),
        });
        let fd = syscall::program_load(&ProgramAttributes {
            kind: kind as u32,
            name,
            license: &self.parsed.license,
            instructions: &function.instructions,
            attach_type,
            attach_btf_id,
            types,
        })
        .map_err(|refused| explain(function, refused))?;
        Ok(Program { fd })
    }

    /// The object's types, if it has any.
    pub(super) fn types(&self) -> Option<BorrowedFd<'_>> {
        self.types.as_ref().map(AsFd::as_fd)
    }

    /// A map, by its name.
    ///
    /// # Errors
    /// If the object has no such map.
    pub(crate) fn map(&self, name: &str) -> Result<&Map, LinuxError> {
        let missing = || LinuxError::Object(format!("has no map `{name}`"));
        self.maps.get(name).ok_or_else(missing)
    }
}

/// The bytes of a constant (`const volatile`) of an object file.
///
/// # Errors
/// If the object is damaged or has no such constant.
pub(crate) fn constant<'a>(object: &'a [u8], name: &str) -> Result<&'a [u8], LinuxError> {
    use object::read::{Object as _, ObjectSection as _, ObjectSymbol as _};
    let file = object::File::parse(object).map_err(damaged)?;
    let bytes = (file.symbol_by_name(name)).and_then(|symbol| {
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        section.data_range(symbol.address(), symbol.size()).ok()?
    });
    bytes.ok_or_else(|| LinuxError::Object(format!("has no constant `{name}`")))
}

/// The bytes of a section of an object file.
#[cfg(test)]
pub(crate) fn section<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    use object::read::{Object as _, ObjectSection as _};
    let file = object::File::parse(object).ok()?;
    file.section_by_name(name)?.data().ok()
}

impl Kind {
    /// The kernel's kind of the program, what it is attached to, and the structure's type.
    fn attributes(self) -> (bpf_prog_type, u32, u32) {
        match self {
            Self::Member { structure, index } => {
                (bpf_prog_type::BPF_PROG_TYPE_STRUCT_OPS, index, structure)
            }
            Self::SockOps => {
                let attach = bpf_attach_type::BPF_CGROUP_SOCK_OPS;
                (bpf_prog_type::BPF_PROG_TYPE_SOCK_OPS, attach as u32, 0)
            }
            Self::Xdp => {
                let attach = bpf_attach_type::BPF_XDP;
                (bpf_prog_type::BPF_PROG_TYPE_XDP, attach as u32, 0)
            }
            Self::Classifier => (bpf_prog_type::BPF_PROG_TYPE_SCHED_CLS, 0, 0),
        }
    }
}

/// A map.
#[derive(Debug)]
pub(crate) struct Map {
    fd: OwnedFd,
    value_size: usize,
    max_entries: usize,
}

impl Map {
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Bytes of one value.
    pub(crate) fn value_size(&self) -> usize {
        self.value_size
    }

    /// The maximum number of elements; of a ring buffer, its size in bytes.
    pub(crate) fn max_entries(&self) -> usize {
        self.max_entries
    }

    /// Sets the value of an element of an array.
    pub(crate) fn set(&self, index: u32, value: &[u8]) -> io::Result<()> {
        self.check(value.len())?;
        syscall::map_update(self.fd(), Some(&index.to_ne_bytes()), value)
    }

    /// Reads the value of an element of an array.
    pub(crate) fn get(&self, index: u32) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value_size];
        syscall::map_lookup(self.fd(), &index.to_ne_bytes(), &mut value)?;
        Ok(value)
    }

    /// The kernel reads as many bytes as a value has.
    fn check(&self, length: usize) -> io::Result<()> {
        match length == self.value_size {
            true => Ok(()),
            false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
}

/// A loaded program.
#[derive(Debug)]
pub(crate) struct Program {
    fd: OwnedFd,
}

impl Program {
    /// Runs the program once over a packet, which begins with its Ethernet header and is at least
    /// as long. Returns the program's return value and the packet afterwards.
    #[cfg(test)]
    pub(crate) fn test_run(&self, packet: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        self.test_runs(packet, 1)
    }

    /// Runs the program several times over a packet, each over what the run before made of it.
    pub(crate) fn test_runs(&self, packet: &[u8], times: u32) -> io::Result<(u32, Vec<u8>)> {
        // Room for headers that a program adds.
        let mut out = vec![0; packet.len() + 256];
        let (value, length) = syscall::program_run(self.as_fd(), packet, times, &mut out)?;
        out.truncate(length);
        Ok((value, out))
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Loads the object's types, which the kernel needs for functions that are passed to it and for
/// messages of the verifier.
fn load_types(parsed: &mut aya_obj::Object) -> Result<Option<OwnedFd>, LinuxError> {
    // All kernels that can register an algorithm know all kinds of types.
    let features = BtfFeatures::new(true, true, true, true, true, true, true, true);
    let Some(btf) = parsed.fixup_and_sanitize_btf(&features).map_err(damaged)? else {
        return Ok(None);
    };
    let fd = syscall::btf_load(&btf.to_bytes()).map_err(LinuxError::os("loading BPF types"))?;
    Ok(Some(fd))
}

fn create_maps(
    parsed: &aya_obj::Object,
    types: Option<&OwnedFd>,
) -> Result<BTreeMap<String, Map>, LinuxError> {
    let mut maps = BTreeMap::new();
    for (name, definition) in &parsed.maps {
        let map = create_map(name, definition, types.map(AsFd::as_fd))
            .map_err(LinuxError::os("creating a BPF map"))?;
        maps.insert(name.clone(), map);
    }
    Ok(maps)
}

fn create_map(
    name: &str,
    definition: &aya_obj::Map,
    types: Option<BorrowedFd<'_>>,
) -> io::Result<Map> {
    let kind = definition.map_type();
    let types = match definition {
        aya_obj::Map::Btf(map) if has_typed_values(kind) && map.def.btf_value_type_id != 0 => {
            types.map(|fd| (fd, map.def.btf_key_type_id, map.def.btf_value_type_id))
        }
        _ => None,
    };
    let fd = syscall::map_create(&MapAttributes {
        kind,
        key_size: definition.key_size(),
        value_size: definition.value_size(),
        max_entries: definition.max_entries(),
        flags: definition.map_flags(),
        name,
        types,
        kernel_value_type: 0,
    })?;
    let section = definition.section_kind();
    if matches!(section, EbpfSectionKind::Data | EbpfSectionKind::Rodata) {
        syscall::map_update(fd.as_fd(), Some(&0_u32.to_ne_bytes()), definition.data())?;
    }
    if section == EbpfSectionKind::Rodata {
        // The verifier treats values of a frozen map as constants.
        syscall::map_freeze(fd.as_fd())?;
    }
    Ok(Map {
        fd,
        value_size: definition.value_size() as usize,
        max_entries: definition.max_entries() as usize,
    })
}

/// Whether the kernel accepts the types of keys and values of this kind of map.
fn has_typed_values(kind: u32) -> bool {
    use bpf_map_type as map;
    [
        map::BPF_MAP_TYPE_HASH,
        map::BPF_MAP_TYPE_ARRAY,
        map::BPF_MAP_TYPE_PERCPU_HASH,
        map::BPF_MAP_TYPE_PERCPU_ARRAY,
        map::BPF_MAP_TYPE_LRU_HASH,
        map::BPF_MAP_TYPE_LRU_PERCPU_HASH,
        map::BPF_MAP_TYPE_LPM_TRIE,
        map::BPF_MAP_TYPE_SK_STORAGE,
    ]
    .iter()
    .any(|known| *known as u32 == kind)
}

fn records(bytes: &[u8], size: usize) -> Records<'_> {
    Records { bytes, size }
}

fn explain(function: &Function, refused: Refused) -> LinuxError {
    let lines: Vec<&str> = refused
        .log
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    let shown = &lines[lines.len().saturating_sub(LOG_LINES)..];
    if shown.is_empty() {
        return LinuxError::Os {
            doing: "loading a BPF program",
            error: refused.error,
        };
    }
    LinuxError::Verifier {
        program: function.name.clone(),
        why: format!("{}\n{}", refused.error, shown.join("\n")),
    }
}

fn damaged(error: impl std::error::Error) -> LinuxError {
    LinuxError::Object(format!("is damaged: {}", chain(&error)))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
#[path = "object_tests.rs"]
mod tests;
