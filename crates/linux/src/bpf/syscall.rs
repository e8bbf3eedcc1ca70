//! The calls of bpf(2) that this crate makes. Structure layouts come from `aya_obj::generated`.

use aya_obj::generated::{bpf_attr, bpf_cmd, bpf_insn, bpf_map_type};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Bytes of the verifier's log that are kept. The kernel keeps the end of a longer log.
const LOG_SIZE: usize = 1 << 16;

/// How often an interrupted call is made.
const MAX_TRIES: u32 = 10;

/// What a map is created with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MapAttributes<'a> {
    pub(super) kind: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) max_entries: u32,
    pub(super) flags: u32,
    pub(super) name: &'a str,
    /// The object's types, and those of key and value; the kernel needs them for timers and locks.
    pub(super) types: Option<(BorrowedFd<'a>, u32, u32)>,
    /// The kernel's type of a struct_ops map's value.
    pub(super) kernel_value_type: u32,
}

/// Creates a map.
pub(super) fn map_create(map: &MapAttributes<'_>) -> io::Result<OwnedFd> {
    let mut attr = empty();
    // SAFETY: all bytes of the union are initialized, and every field is an integer.
    let create = unsafe { &mut attr.__bindgen_anon_1 };
    create.map_type = map.kind;
    create.key_size = map.key_size;
    create.value_size = map.value_size;
    create.max_entries = map.max_entries;
    create.map_flags = map.flags;
    create.map_name = kernel_name(map.name);
    create.btf_vmlinux_value_type_id = map.kernel_value_type;
    if let Some((btf, key, value)) = map.types {
        create.btf_fd = descriptor(btf);
        create.btf_key_type_id = key;
        create.btf_value_type_id = value;
    }
    call_for_fd(bpf_cmd::BPF_MAP_CREATE, &mut attr)
}

/// Whether the kernel lets this process use bpf(2) at all: makes a small map and removes it.
pub(crate) fn probe() -> io::Result<()> {
    let map = MapAttributes {
        kind: bpf_map_type::BPF_MAP_TYPE_ARRAY as u32,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapAttributes::default()
    };
    map_create(&map).map(drop)
}

/// Sets the value of a key. A queue has no keys: the value is appended.
pub(super) fn map_update(map: BorrowedFd<'_>, key: Option<&[u8]>, value: &[u8]) -> io::Result<()> {
    let mut attr = empty();
    // SAFETY: all bytes of the union are initialized, and every field is an integer.
    let element = unsafe { &mut attr.__bindgen_anon_2 };
    element.map_fd = descriptor(map);
    element.key = key.map_or(0, |key| address(key.as_ptr()));
    element.__bindgen_anon_1.value = address(value.as_ptr());
    call(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut attr).map(drop)
}

/// Reads the value of a key into `value`, whose length is the map's value size.
pub(super) fn map_lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<()> {
    let mut attr = empty();
    // SAFETY: all bytes of the union are initialized, and every field is an integer.
    let element = unsafe { &mut attr.__bindgen_anon_2 };
    element.map_fd = descriptor(map);
    element.key = address(key.as_ptr());
    element.__bindgen_anon_1.value = address(value.as_mut_ptr());
    call(bpf_cmd::BPF_MAP_LOOKUP_ELEM, &mut attr).map(drop)
}

/// Forbids any further change of a map by processes.
pub(super) fn map_freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    let mut attr = empty();
    attr.__bindgen_anon_2.map_fd = descriptor(map);
    call(bpf_cmd::BPF_MAP_FREEZE, &mut attr).map(drop)
}

/// Loads an object's types.
pub(super) fn btf_load(types: &[u8]) -> io::Result<OwnedFd> {
    let mut attr = empty();
    // SAFETY: all bytes of the union are initialized, and every field is an integer.
    let load = unsafe { &mut attr.__bindgen_anon_7 };
    load.btf = address(types.as_ptr());
    load.btf_size = count(types.len())?;
    call_for_fd(bpf_cmd::BPF_BTF_LOAD, &mut attr)
}

/// What a program is loaded with.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramAttributes<'a> {
    pub(super) kind: u32,
    pub(super) name: &'a str,
    pub(super) license: &'a CStr,
    pub(super) instructions: &'a [bpf_insn],
    /// What it will be attached to; for struct_ops the index of the member.
    pub(super) attach_type: u32,
    /// For struct_ops: the kernel's type of the structure.
    pub(super) attach_btf_id: u32,
    pub(super) types: Option<ProgramTypes<'a>>,
}

/// The types of a program's functions.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramTypes<'a> {
    pub(super) btf: BorrowedFd<'a>,
    pub(super) functions: Records<'a>,
    pub(super) lines: Records<'a>,
}

/// Records of equal size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Records<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) size: usize,
}

impl Records<'_> {
    fn count(&self) -> io::Result<u32> {
        count(self.bytes.len().checked_div(self.size).unwrap_or(0))
    }
}

/// Why a program was not loaded: the kernel's answer and the verifier's log, which may be empty.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) error: io::Error,
    pub(super) log: String,
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self {
            error,
            log: String::new(),
        }
    }
}

/// Loads a program. Only if the kernel refuses, it is loaded again for the verifier's log, which
/// takes longer.
pub(super) fn program_load(program: &ProgramAttributes<'_>) -> Result<OwnedFd, Refused> {
    let error = match program_load_once(program, &mut []) {
        Ok(loaded) => return Ok(loaded),
        Err(error) => error,
    };
    let mut log = vec![0; LOG_SIZE];
    if let Ok(loaded) = program_load_once(program, &mut log) {
        return Ok(loaded);
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let log = String::from_utf8_lossy(&log[..end]).into_owned();
    Err(Refused { error, log })
}

fn program_load_once(program: &ProgramAttributes<'_>, log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attr = empty();
    // SAFETY: all bytes of the union are initialized, and every field is an integer.
    let load = unsafe { &mut attr.__bindgen_anon_3 };
    load.prog_type = program.kind;
    load.prog_name = kernel_name(program.name);
    load.license = address(program.license.as_ptr());
    load.insns = address(program.instructions.as_ptr());
    load.insn_cnt = count(program.instructions.len())?;
    load.expected_attach_type = program.attach_type;
    load.attach_btf_id = program.attach_btf_id;
    if let Some(types) = program.types {
        load.prog_btf_fd = descriptor(types.btf);
        load.func_info = address(types.functions.bytes.as_ptr());
        load.func_info_rec_size = count(types.functions.size)?;
        load.func_info_cnt = types.functions.count()?;
        load.line_info = address(types.lines.bytes.as_ptr());
        load.line_info_rec_size = count(types.lines.size)?;
        load.line_info_cnt = types.lines.count()?;
    }
    if !log.is_empty() {
        load.log_level = 1;
        load.log_buf = address(log.as_mut_ptr());
        load.log_size = count(log.len())?;
    }
    call_for_fd(bpf_cmd::BPF_PROG_LOAD, &mut attr)
}

/// Where a link attaches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    /// A cgroup's directory.
    Directory(BorrowedFd<'a>),
    /// A network interface of this process's network namespace.
    Interface(u32),
    /// Nothing else: the map itself is registered.
    Map,
}

/// Attaches a program, or registers a struct_ops map, until the descriptor is closed.
pub(super) fn link_create(
    attached: BorrowedFd<'_>,
    target: Target<'_>,
    attach_type: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let mut attr = empty();
    // SAFETY: all bytes of the union are initialized, and every field is an integer.
    let link = unsafe { &mut attr.link_create };
    link.__bindgen_anon_1.prog_fd = descriptor(attached);
    match target {
        Target::Directory(directory) => link.__bindgen_anon_2.target_fd = descriptor(directory),
        Target::Interface(index) => link.__bindgen_anon_2.target_ifindex = index,
        Target::Map => {}
    }
    link.attach_type = attach_type;
    link.flags = flags;
    call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attr)
}

/// Runs a program `times` times over `packet` and writes to `out` what the last run made of it.
/// Returns that run's value and the length of the packet afterwards.
pub(super) fn program_run(
    program: BorrowedFd<'_>,
    packet: &[u8],
    times: u32,
    out: &mut [u8],
) -> io::Result<(u32, usize)> {
    let mut attr = empty();
    // SAFETY: all bytes of the union are initialized, and every field is an integer.
    let test = unsafe { &mut attr.test };
    test.prog_fd = descriptor(program);
    test.data_in = address(packet.as_ptr());
    test.data_size_in = count(packet.len())?;
    test.repeat = times;
    test.data_out = address(out.as_mut_ptr());
    test.data_size_out = count(out.len())?;
    call(bpf_cmd::BPF_PROG_TEST_RUN, &mut attr)?;
    // SAFETY: as above; the kernel has written integers.
    let test = unsafe { &attr.test };
    Ok((test.retval, test.data_size_out as usize))
}

fn empty() -> bpf_attr {
    // SAFETY: a union of structures of integers, for which zero is a valid value.
    unsafe { std::mem::zeroed() }
}

fn descriptor(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().unsigned_abs()
}

fn address<T>(pointer: *const T) -> u64 {
    pointer as usize as u64
}

fn count(n: usize) -> io::Result<u32> {
    u32::try_from(n).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// The first 15 characters of a name, those that the kernel does not allow replaced.
fn kernel_name(name: &str) -> [std::ffi::c_char; 16] {
    let mut out = [0; 16];
    for (to, from) in out[..15].iter_mut().zip(name.bytes()) {
        let allowed = from.is_ascii_alphanumeric() || matches!(from, b'_' | b'.');
        *to = (if allowed { from } else { b'_' }) as std::ffi::c_char;
    }
    out
}

fn call_for_fd(command: bpf_cmd, attr: &mut bpf_attr) -> io::Result<OwnedFd> {
    let fd = call(command, attr)?;
    let fd = i32::try_from(fd).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // SAFETY: the kernel returned a new descriptor, which nothing else owns. It is closed on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn call(command: bpf_cmd, attr: &mut bpf_attr) -> io::Result<i64> {
    let mut tries = 0;
    loop {
        // SAFETY: `attr` is a valid, initialized union of the length given, and the callers keep
        // the memory that it refers to alive and long enough.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command as libc::c_long,
                std::ptr::from_mut(attr),
                size_of::<bpf_attr>(),
            )
        };
        if result >= 0 {
            return Ok(result as i64);
        }
        let error = io::Error::last_os_error();
        // The verifier gives up when a signal arrives (EINTR, EAGAIN).
        let again = matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN));
        tries += 1;
        if !again || tries == MAX_TRIES {
            return Err(error);
        }
    }
}
