//! CPU time, scheduling and waiting.

use crate::bpf::ring::Ring;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::AsFd;
use whimbrel_units::Duration;

/// CPU time of this thread so far.
pub(super) fn thread_cpu() -> Duration {
    // The clock cannot fail on Linux.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, |time| {
        std::time::Duration::from(time).into()
    })
}

/// Gives this thread the lowest real-time priority, above all normal threads. Returns whether the
/// kernel allowed it (CAP_SYS_NICE).
pub(super) fn real_time() -> bool {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure is whole and the call only reads it.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) == 0 }
}

/// Ends a wait from another thread.
#[derive(Debug)]
pub(super) struct Waker(EventFd);

impl Waker {
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self(EventFd::from_flags(flags)?))
    }

    pub fn wake(&self) {
        // It fails only if it is signalled already.
        let _ = self.0.write(1);
    }
}

/// Waits until `ring`, if there is one, is readable, the waker wakes, or `timeout` has passed.
pub(super) fn wait(ring: Option<&Ring>, waker: &Waker, timeout: Duration) {
    let waker = PollFd::new(waker.0.as_fd(), PollFlags::POLLIN);
    let ring = ring.map(|ring| PollFd::new(ring.as_fd(), PollFlags::POLLIN));
    let timeout = TimeSpec::from(std::time::Duration::from(timeout));
    // An interrupted wait ends early, which is harmless.
    let _ = match ring {
        Some(ring) => ppoll(&mut [waker, ring], Some(timeout), None),
        None => ppoll(&mut [waker], Some(timeout), None),
    };
}
