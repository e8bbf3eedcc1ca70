//! What the system gives to a process beside files and packets: randomness and the time of day.
//!
//! The test program has these functions of the C library itself, so that in the thread of a life
//! keys, tokens and the order of hash maps follow from the seed, too: the standard library, ring
//! and the crate `getrandom` ask there. In all other threads the functions do what they always do.

use super::random::Random;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int, c_long, c_uint, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// The time of day when a life begins, since 1970. It is far ahead of that of the real file system:
/// all files of a life are old, and nobody waits until they are.
const BEGIN: Duration = Duration::from_secs(4_000_000_000);

thread_local! {
    static RANDOM: RefCell<Option<Random>> = const { RefCell::new(None) };
    static TIME: Cell<Option<Duration>> = const { Cell::new(None) };
    /// How wrong the clock is, seconds.
    static WRONG: Cell<i64> = const { Cell::new(0) };
}

/// From now on all randomness of this thread follows from a seed. A thread whose hash maps shall
/// have the same order each time calls this first.
pub(crate) fn begin(seed: u64) {
    RANDOM.replace(Some(Random::new(seed)));
    WRONG.set(0);
    pass(Duration::ZERO);
}

/// Whether this thread has a time of day of its own.
pub(crate) fn is_begun() -> bool {
    TIME.get().is_some()
}

/// So long ago the life began.
pub(crate) fn pass(since: Duration) {
    let now = BEGIN + since;
    let wrong = Duration::from_secs(WRONG.get().unsigned_abs());
    TIME.set(Some(match WRONG.get() < 0 {
        true => now.saturating_sub(wrong),
        false => now + wrong,
    }));
}

/// Sets the error of the clock, seconds. It applies from the next [`pass`] on.
pub(crate) fn set_wrong(seconds: i64) {
    WRONG.set(seconds);
}

/// A function of the C library, found when it is first needed.
struct Real(AtomicPtr<c_void>, &'static CStr);

static GETRANDOM: Real = Real::new(c"getrandom");
static SYSCALL: Real = Real::new(c"syscall");
static CLOCK_GETTIME: Real = Real::new(c"clock_gettime");

impl Real {
    const fn new(name: &'static CStr) -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()), name)
    }

    fn find(&self) -> *mut c_void {
        let mut found = self.0.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the name ends with a zero.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.1.as_ptr()) };
            assert!(!found.is_null());
            self.0.store(found, Ordering::Relaxed);
        }
        found
    }
}

/// Fills memory from the seed of this thread, if it has one.
///
/// # Safety
/// There are so many bytes.
unsafe fn draw(into: *mut c_void, length: usize) -> Option<isize> {
    let drawn = RANDOM.try_with(|random| {
        let mut bytes = vec![0; length];
        random.try_borrow_mut().ok()?.as_mut()?.fill(&mut bytes);
        Some(bytes)
    });
    let bytes = drawn.ok()??;
    // SAFETY: the caller says that there are so many bytes, and the source is another place.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), into.cast::<u8>(), length) };
    Some(length as isize)
}

/// # Safety
/// As of getrandom(2): `into` has `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(into: *mut c_void, length: usize, flags: c_uint) -> isize {
    // SAFETY: the same arguments, and the type that getrandom(2) has.
    unsafe {
        draw(into, length).unwrap_or_else(|| {
            let real: unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize =
                transmute(GETRANDOM.find());
            real(into, length, flags)
        })
    }
}

/// Callers pass as many arguments as the system call has. Where Linux runs, those of a function
/// with a variable number of them are in the same places as here.
///
/// # Safety
/// As of syscall(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    // SAFETY: the same arguments, and the type that syscall(2) has.
    unsafe {
        if number == libc::SYS_getrandom
            && let Some(length) = draw(a as *mut c_void, b)
        {
            return length as c_long;
        }
        let real: unsafe extern "C" fn(c_long, ...) -> c_long = transmute(SYSCALL.find());
        real(number, a, b, c, d, e, f)
    }
}

/// # Safety
/// As of clock_gettime(2): `into` is a time.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, into: *mut libc::timespec) -> c_int {
    // SAFETY: the same arguments, and the type that clock_gettime(2) has.
    unsafe {
        if clock == libc::CLOCK_REALTIME
            && let Ok(Some(now)) = TIME.try_with(Cell::get)
        {
            *into = libc::timespec {
                tv_sec: now.as_secs() as libc::time_t,
                tv_nsec: now.subsec_nanos().into(),
            };
            return 0;
        }
        let real: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int =
            transmute(CLOCK_GETTIME.find());
        real(clock, into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};
    use std::time::SystemTime;

    /// What a new thread draws from all sources.
    fn drawn(seed: Option<u64>) -> (u64, [u8; 8], SystemTime) {
        let draw = move || {
            if let Some(seed) = seed {
                begin(seed);
            }
            let ours = crate::random::bytes::<8>().expect("randomness");
            (RandomState::new().hash_one(()), ours, SystemTime::now())
        };
        std::thread::spawn(draw).join().expect("no panic")
    }

    #[test]
    fn randomness_follows_from_the_seed_and_only_there() {
        let [one, again, other] = [Some(7), Some(7), Some(8)].map(drawn);
        assert_eq!((one.0, one.1), (again.0, again.1));
        assert_ne!((one.0, one.1), (other.0, other.1));
        let [free, too] = [None, None].map(drawn);
        assert_ne!(free.1, too.1);
        assert_eq!(one.2, SystemTime::UNIX_EPOCH + BEGIN);
        assert_ne!(free.2, one.2);
    }
}
