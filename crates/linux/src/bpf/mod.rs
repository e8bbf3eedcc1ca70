//! Loading BPF programs without a C library.
//!
//! `aya_obj` reads an object file and relocates it; the calls of bpf(2) are this module's. Whatever
//! it creates is a file descriptor, so the kernel removes it when the process ends, however it
//! ends.
//!
//! * [`object`]: an object file becomes maps and programs.
//! * [`struct_ops`]: programs become a congestion control algorithm of the kernel.
//! * [`link`]: programs are attached to cgroups and network interfaces.
//! * [`ring`], [`shared`]: memory that kernel and process share.
//! * [`btf`]: the kernel's description of its types; [`syscall`]: the calls.

pub(crate) mod btf;
pub(crate) mod link;
#[cfg(test)]
mod loom_tests;
mod memory;
pub(crate) mod object;
pub(crate) mod ring;
#[cfg(test)]
mod ring_tests;
pub(crate) mod shared;
pub(crate) mod struct_ops;
pub(crate) mod syscall;

/// Atomics of memory that kernel and process share: `loom_tests` has others in their place.
mod sync {
    pub(super) use std::sync::atomic::{AtomicU64, fence};
}
