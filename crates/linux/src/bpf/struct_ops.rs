//! Programs become a congestion control algorithm of the kernel: a structure of functions
//! (`struct tcp_congestion_ops`), registered by a link (Linux 6.4).

use super::btf::{Structure, Types};
use super::object::{Kind, Object, Program};
use super::syscall::{self, MapAttributes, Target};
use crate::error::LinuxError;
use aya_obj::generated::{BPF_F_LINK, bpf_attach_type, bpf_map_type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Any process may choose the algorithm (`TCP_CONG_NON_RESTRICTED`).
pub(crate) const NON_RESTRICTED: u32 = 1;

/// Maximum length of an algorithm's name in bytes.
pub(crate) const MAX_NAME: usize = 15;

/// An algorithm to register.
#[derive(Debug)]
pub(crate) struct Algorithm<'a> {
    /// Its name, at most [`MAX_NAME`] bytes.
    pub(crate) name: &'a str,
    /// [`NON_RESTRICTED`] or nothing.
    pub(crate) flags: u32,
    /// Members of `struct tcp_congestion_ops` and the programs that implement them.
    pub(crate) functions: &'a [(&'a str, &'a str)],
}

/// A registered algorithm, until it is dropped. Connections that use it keep its programs.
#[derive(Debug)]
pub(crate) struct Registered {
    _link: OwnedFd,
}

/// Why an algorithm was not registered.
#[derive(Debug)]
pub(crate) enum RegisterError {
    /// The kernel has another algorithm of this name.
    NameTaken,
    /// Anything else.
    Other(LinuxError),
}

impl From<LinuxError> for RegisterError {
    fn from(error: LinuxError) -> Self {
        Self::Other(error)
    }
}

/// An algorithm whose programs the kernel has verified, which takes a while.
#[derive(Debug)]
pub(crate) struct Prepared {
    map: OwnedFd,
}

/// Loads an algorithm's programs.
pub(crate) fn prepare(
    object: &Object,
    types: &Types,
    algorithm: &Algorithm<'_>,
) -> Result<Prepared, RegisterError> {
    let layout = Layout::find(types)?;
    let mut value = layout.value(algorithm.name, algorithm.flags)?;
    // The map holds the programs once it has its value.
    let mut programs: Vec<Program> = Vec::new();
    for (member, program) in algorithm.functions {
        let (index, offset) = layout.function(member)?;
        let structure = layout.operations.id;
        let program = object.program(program, Kind::Member { structure, index })?;
        let fd = u64::from(program.as_fd().as_raw_fd().unsigned_abs());
        write(&mut value, offset, &fd.to_ne_bytes()).ok_or_else(|| unknown(member))?;
        programs.push(program);
    }
    let map = create(&layout, object, algorithm.name, &value).map_err(refused)?;
    Ok(Prepared { map })
}

impl Prepared {
    /// Registers the algorithm.
    pub(crate) fn register(self) -> Result<Registered, RegisterError> {
        let kind = bpf_attach_type::BPF_STRUCT_OPS as u32;
        let link = syscall::link_create(self.map.as_fd(), Target::Map, kind, 0);
        // The link holds the map.
        link.map(|link| Registered { _link: link }).map_err(refused)
    }
}

/// Makes the map that holds an algorithm.
fn create(layout: &Layout, object: &Object, name: &str, value: &[u8]) -> io::Result<OwnedFd> {
    let map = syscall::map_create(&MapAttributes {
        kind: bpf_map_type::BPF_MAP_TYPE_STRUCT_OPS as u32,
        key_size: 4,
        value_size: u32::try_from(value.len()).unwrap_or(u32::MAX),
        max_entries: 1,
        flags: BPF_F_LINK,
        name,
        // The kernel wants the object's types too, though none of them is used.
        types: object.types().map(|types| (types, 0, 0)),
        kernel_value_type: layout.wrapper.id,
    })?;
    syscall::map_update(map.as_fd(), Some(&0_u32.to_ne_bytes()), value)?;
    Ok(map)
}

fn refused(error: io::Error) -> RegisterError {
    if error.raw_os_error() == Some(libc::EEXIST) {
        return RegisterError::NameTaken;
    }
    let doing = "registering a congestion control algorithm";
    LinuxError::Os { doing, error }.into()
}

/// Where this kernel has the members.
#[derive(Debug)]
struct Layout {
    /// `struct tcp_congestion_ops`
    operations: Structure,
    /// The value of a map that registers one: some administration, then the structure itself.
    wrapper: Structure,
    /// The offset of the structure in it.
    data: usize,
}

impl Layout {
    fn find(types: &Types) -> Result<Self, LinuxError> {
        let find = |name: &str| types.structure(name).ok_or_else(|| unknown(name));
        let wrapper = find("bpf_struct_ops_tcp_congestion_ops")?;
        let data = wrapper
            .member("data")
            .ok_or_else(|| unknown("data"))?
            .1
            .offset;
        let operations = find("tcp_congestion_ops")?;
        Ok(Self {
            operations,
            wrapper,
            data,
        })
    }

    /// The index of a member, and its offset in the map's value.
    fn function(&self, member: &str) -> Result<(u32, usize), LinuxError> {
        let (index, found) = (self.operations.member(member)).ok_or_else(|| unknown(member))?;
        Ok((index, self.data + found.offset))
    }

    /// The map's value with name and flags, and without functions.
    fn value(&self, name: &str, flags: u32) -> Result<Vec<u8>, LinuxError> {
        let mut value = vec![0; self.wrapper.size];
        let name = &name.as_bytes()[..name.len().min(MAX_NAME)];
        let (_, at) = self.function("name")?;
        write(&mut value, at, name).ok_or_else(|| unknown("name"))?;
        let (_, at) = self.function("flags")?;
        write(&mut value, at, &flags.to_ne_bytes()).ok_or_else(|| unknown("flags"))?;
        Ok(value)
    }
}

fn write(value: &mut [u8], at: usize, bytes: &[u8]) -> Option<()> {
    value
        .get_mut(at..)?
        .get_mut(..bytes.len())?
        .copy_from_slice(bytes);
    Some(())
}

fn unknown(name: &str) -> LinuxError {
    LinuxError::System(format!(
        "this kernel's TCP has no `{name}` for BPF: \
         it needs Linux 6.4 or newer with CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL"
    ))
}
