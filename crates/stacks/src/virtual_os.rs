//! The clock and the random numbers of the operating system, as the thread of a run sees them.
//!
//! Some stacks take the time as an argument; others read the system's clock wherever they need it,
//! and nearly all draw random numbers from the system. So this module defines the functions of the
//! C library that such code calls, `clock_gettime` and `getrandom`. The linker prefers a
//! definition in the program to one in a shared library. On the thread of a run they return the
//! time of the run and numbers that follow from its seed; on other threads they ask the kernel.
//!
//! Random numbers that a library keeps for a thread (those of `rand`, the keys of hash maps) are
//! drawn from these functions once: [`isolated`] runs each run on a thread of its own.
//!
//! quiche draws from BoringSSL's `RAND_bytes`, and `rand` 0.8, which TQUIC uses, makes the system
//! call itself (`syscall`): both are replaced too.

#[cfg(feature = "tquic")]
use libc::c_long;
use libc::{c_int, c_uint, c_void, clockid_t, size_t, ssize_t, timespec};
use std::cell::Cell;
use std::time::{Duration, Instant};
use whimbrel_units::Time;

/// What the monotonic clock shows when a run begins. Code that subtracts from an instant must not
/// reach zero.
const BOOT: u64 = 1_000_000 * NANOS;
/// What UTC shows then: 2027-01-01, which the certificate covers.
const UTC: u64 = 1_798_761_600 * NANOS;
const NANOS: u64 = 1_000_000_000;

thread_local! {
    /// Time of the run on this thread, nanoseconds since [`BOOT`] plus one; 0: no run.
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// State of the random numbers (SplitMix64).
    static RANDOM: Cell<u64> = const { Cell::new(0) };
    /// CPU time of processes that this thread has waited for, microseconds.
    static CHILDREN: Cell<u64> = const { Cell::new(0) };
}

/// Runs `work` on a thread of its own, whose clock stands at the beginning of a run and whose
/// random numbers follow from `seed`. Returns `None` if it panicked.
pub fn isolated<T: Send>(seed: u64, work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            RANDOM.set(seed);
            NOW.set(1);
            let result = work();
            NOW.set(0);
            result
        });
        thread.join().ok()
    })
}

/// The clock of the run on this thread.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock whose origin is the beginning of the run. On a thread without a run it is now, and
    /// code that reads the system's clock sees the real one.
    pub fn new() -> Self {
        // Keeps the definitions below in the program.
        let _: unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int = clock_gettime;
        let _: unsafe extern "C" fn(*mut c_void, size_t, c_uint) -> ssize_t = getrandom;
        #[cfg(feature = "quiche")]
        let _: unsafe extern "C" fn(*mut u8, size_t) -> c_int = __wrap_RAND_bytes;
        #[cfg(feature = "tquic")]
        let _: SystemCall = __wrap_syscall;
        let since = Duration::from_nanos(NOW.get().saturating_sub(1));
        Self {
            origin: Instant::now() - since,
        }
    }

    /// Sets the time of the run, which code that reads the system's clock sees from now on.
    pub fn set(&self, now: Time) -> Instant {
        if NOW.get() != 0 {
            NOW.set(now.as_nanos().saturating_add(1));
        }
        self.origin + Duration::from_nanos(now.as_nanos())
    }

    /// The time of the run at an instant.
    pub fn time(&self, at: Instant) -> Time {
        let since = at.saturating_duration_since(self.origin);
        Time::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Fills a buffer with random numbers of the run; false on a thread without one.
fn fill(buffer: &mut [u8]) -> bool {
    // A thread that ends has no thread-local values any more.
    if NOW.try_with(Cell::get).unwrap_or(0) == 0 {
        return false;
    }
    for chunk in buffer.chunks_mut(8) {
        let state = RANDOM.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        RANDOM.set(state);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
    }
    true
}

/// Replaces the C library's function of this name.
///
/// # Safety
/// `time` points to a `timespec` that may be written, or is null, as for the function it replaces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let now = NOW.try_with(Cell::get).unwrap_or(0);
    let base = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => UTC,
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_BOOTTIME => BOOT,
        // The time that a thread or the process has computed.
        _ => 0,
    };
    if now == 0 || base == 0 || time.is_null() {
        // SAFETY: the arguments of the system call are those of the function.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int };
    }
    let nanos = base.saturating_add(now - 1);
    let value = timespec {
        tv_sec: (nanos / NANOS) as libc::time_t,
        tv_nsec: (nanos % NANOS) as libc::c_long,
    };
    // SAFETY: it is not null, and the caller lets it be written.
    unsafe { time.write(value) };
    0
}

/// Replaces the C library's function of this name.
///
/// # Safety
/// `buffer` points to `length` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if length > 0 && !buffer.is_null() {
        // SAFETY: the caller lets so many bytes be written.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
        if fill(bytes) {
            return length as ssize_t;
        }
    }
    // SAFETY: the arguments of the system call are those of the function.
    unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) as ssize_t }
}

#[cfg(feature = "quiche")]
unsafe extern "C" {
    /// BoringSSL's own function, under the name that the linker gives it.
    fn __real_RAND_bytes(buffer: *mut u8, length: size_t) -> c_int;
}

/// Replaces BoringSSL's `RAND_bytes`; see `build.rs`.
///
/// # Safety
/// `buffer` points to `length` bytes that may be written.
#[cfg(feature = "quiche")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_RAND_bytes(buffer: *mut u8, length: size_t) -> c_int {
    if length > 0 && !buffer.is_null() {
        // SAFETY: the caller lets so many bytes be written.
        if fill(unsafe { std::slice::from_raw_parts_mut(buffer, length) }) {
            return 1;
        }
    }
    // SAFETY: the arguments are those of the function.
    unsafe { __real_RAND_bytes(buffer, length) }
}

/// The C library's `syscall` with all arguments that a system call has. A caller that passes fewer
/// leaves the others undefined, and the system call ignores them.
#[cfg(feature = "tquic")]
type SystemCall =
    unsafe extern "C" fn(c_long, *mut c_void, size_t, usize, usize, usize, usize) -> c_long;

#[cfg(feature = "tquic")]
unsafe extern "C" {
    /// The C library's own function, under the name that the linker gives it.
    fn __real_syscall(
        number: c_long,
        a: *mut c_void,
        b: size_t,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
    ) -> c_long;
}

/// Replaces the C library's `syscall`; see `build.rs`.
///
/// # Safety
/// As for the system call with this number.
#[cfg(feature = "tquic")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_syscall(
    number: c_long,
    a: *mut c_void,
    b: size_t,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_getrandom && b > 0 && !a.is_null() {
        // SAFETY: the system call writes so many bytes there.
        if fill(unsafe { std::slice::from_raw_parts_mut(a.cast::<u8>(), b) }) {
            return b as c_long;
        }
    }
    // SAFETY: the arguments are those of the function.
    unsafe { __real_syscall(number, a, b, c, d, e, f) }
}

/// CPU time that this thread has used, and the processes that it has waited for.
pub fn cpu_time() -> Duration {
    let children = Duration::from_micros(CHILDREN.get());
    children + thread_time()
}

/// Waits for the end of a process, whose CPU time [`cpu_time`] counts from then on.
pub(crate) fn wait(child: &std::process::Child) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let Ok(id) = libc::pid_t::try_from(child.id()) else {
        return;
    };
    // SAFETY: `usage` may be written, and a status is not asked for.
    let ended = unsafe { libc::wait4(id, std::ptr::null_mut(), 0, usage.as_mut_ptr()) };
    if ended == id {
        // SAFETY: it is written, and zeros are a value of it too.
        let usage = unsafe { usage.assume_init() };
        let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        CHILDREN.set(CHILDREN.get() + micros(usage.ru_utime) + micros(usage.ru_stime));
    }
}

fn thread_time() -> Duration {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` may be written.
    let failed = unsafe { clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    match failed {
        0 => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};
    use std::time::SystemTime;

    #[test]
    fn code_that_reads_the_clock_sees_the_time_of_the_run() {
        let shown = isolated(1, || {
            let clock = Clock::new();
            let began = (Instant::now(), SystemTime::now());
            let at = clock.set(Time::from_nanos(2_500_000_000));
            assert_eq!(Instant::now(), at);
            assert_eq!(clock.time(at), Time::from_nanos(2_500_000_000));
            (
                began.0.elapsed(),
                began.1.elapsed().unwrap_or(Duration::ZERO),
            )
        });
        assert_eq!(shown, Some([Duration::from_millis(2500); 2].into()));
    }

    #[test]
    fn other_threads_see_the_real_clock() {
        let inside = || isolated(1, SystemTime::now).expect("no panic");
        let first = inside();
        let (began, real) = (Instant::now(), SystemTime::now());
        assert_eq!(inside(), first, "each run begins at the same time");
        assert_ne!(first, real);
        assert!(began.elapsed() > Duration::ZERO, "the real clock runs");
    }

    #[test]
    fn random_numbers_follow_from_the_seed() {
        let drawn = |seed| isolated(seed, || RandomState::new().hash_one(()));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
