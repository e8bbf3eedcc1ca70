//! The part of BTF (the kernel's description of its own types) that registering a structure of
//! functions needs: a structure's number, its members, and the parameters of a member that is a
//! function. `Documentation/bpf/btf.rst` of the kernel states the format.

use std::ops::Range;

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;
const TYPE: usize = 12;

const PTR: u32 = 2;
const STRUCT: u32 = 4;
const FUNC_PROTO: u32 = 13;

/// All types of a kernel.
#[derive(Debug)]
pub(crate) struct Types {
    bytes: Vec<u8>,
    strings: Range<usize>,
    /// Where each type begins; type 1 is the first.
    starts: Vec<usize>,
}

/// A structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Structure {
    /// Its type's number.
    pub(crate) id: u32,
    /// Its size in bytes.
    pub(crate) size: usize,
    /// Its members, in their order.
    pub(crate) members: Vec<Member>,
}

/// A member of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// Its type's number.
    pub(crate) kind: u32,
    /// Its offset in bytes; of a bit field, that of the byte in which it begins.
    pub(crate) offset: usize,
}

impl Structure {
    /// The index and the member with this name.
    pub(crate) fn member(&self, name: &str) -> Option<(u32, &Member)> {
        (0..).zip(&self.members).find(|(_, m)| m.name == name)
    }
}

impl Types {
    /// Where the kernel keeps its types.
    pub(crate) const PATH: &str = "/sys/kernel/btf/vmlinux";

    /// Reads types.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, &'static str> {
        if half(&bytes, 0) != Some(MAGIC) {
            return Err("it does not begin with the mark of BTF in this machine's byte order");
        }
        let short = "it is shorter than its header says";
        let header = |at: usize| word(&bytes, at).map(|value| value as usize).ok_or(short);
        let start = header(4)?;
        if start < HEADER {
            return Err("its header is too short");
        }
        let section = |offset: usize, length: usize| {
            let from = start.checked_add(header(offset)?).ok_or(short)?;
            let to = from.checked_add(header(length)?).ok_or(short)?;
            if to > bytes.len() {
                return Err(short);
            }
            Ok(from..to)
        };
        let types = section(8, 12)?;
        let strings = section(16, 20)?;

        let mut starts = Vec::new();
        let mut at = types.start;
        while at < types.end {
            let (kind, count) = kind_and_count(&bytes, at).ok_or(short)?;
            let more = more_bytes(kind, count).ok_or("it has a type of an unknown kind")?;
            starts.push(at);
            at += TYPE + more;
        }
        if at != types.end {
            return Err("its last type is cut short");
        }
        Ok(Self {
            bytes,
            strings,
            starts,
        })
    }

    /// The first structure with this name.
    pub(crate) fn structure(&self, name: &str) -> Option<Structure> {
        let has_name = |start: usize| {
            let kind = kind_and_count(&self.bytes, start).map(|(kind, _)| kind);
            kind == Some(STRUCT) && self.name(start) == Some(name.as_bytes())
        };
        let (id, start) = (1..)
            .zip(&self.starts)
            .find(|(_, start)| has_name(**start))?;
        let (_, count) = kind_and_count(&self.bytes, *start)?;
        let size = word(&self.bytes, start + 8)? as usize;
        // With bit fields, the upper eight bits of each offset are the field's width.
        let bit_fields = word(&self.bytes, start + 4)? >> 31 == 1;
        let members = (0..count).map(|i| {
            let at = start + TYPE + 12 * i;
            let offset = word(&self.bytes, at + 8)?;
            let bits = if bit_fields {
                offset & 0xff_ffff
            } else {
                offset
            };
            Some(Member {
                name: String::from_utf8_lossy(self.name(at)?).into_owned(),
                kind: word(&self.bytes, at + 4)?,
                offset: bits as usize / 8,
            })
        });
        Some(Structure {
            id,
            size,
            members: members.collect::<Option<_>>()?,
        })
    }

    /// The number of parameters of a pointer to a function; `None` if the type is another one.
    pub(crate) fn parameters(&self, pointer: u32) -> Option<usize> {
        let start = self.start(pointer)?;
        let (PTR, _) = kind_and_count(&self.bytes, start)? else {
            return None;
        };
        match kind_and_count(&self.bytes, self.start(word(&self.bytes, start + 8)?)?)? {
            (FUNC_PROTO, count) => Some(count),
            _ => None,
        }
    }

    fn start(&self, id: u32) -> Option<usize> {
        self.starts.get((id as usize).checked_sub(1)?).copied()
    }

    /// The name whose offset among the strings is stored at `at`.
    fn name(&self, at: usize) -> Option<&[u8]> {
        let strings = &self.bytes[self.strings.clone()];
        let from = strings.get(word(&self.bytes, at)? as usize..)?;
        from.split(|byte| *byte == 0).next()
    }
}

/// The kind of the type at `at`, and the number of its members, parameters or values.
fn kind_and_count(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let info = word(bytes, at + 4)?;
    Some((info >> 24 & 0x1f, (info & 0xffff) as usize))
}

/// The bytes that follow the first twelve of a type.
fn more_bytes(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // PTR, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FLOAT, TYPE_TAG
        PTR | 7..=12 | 16 | 18 => 0,
        // INT, VAR, DECL_TAG
        1 | 14 | 17 => 4,
        // ARRAY
        3 => 12,
        // STRUCT, UNION, DATASEC, ENUM64
        STRUCT | 5 | 15 | 19 => 12 * count,
        // ENUM, FUNC_PROTO
        6 | FUNC_PROTO => 8 * count,
        _ => return None,
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
#[path = "btf_tests.rs"]
mod tests;
