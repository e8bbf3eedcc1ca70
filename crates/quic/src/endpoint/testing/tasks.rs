//! The application's tasks in virtual time.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use whimbrel_units::{Duration, Time};

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Runs futures when they are woken, in the order in which they were spawned.
#[derive(Default)]
pub(super) struct Tasks(Vec<(Work, Arc<Flag>)>);

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Tasks {
    pub fn spawn(&mut self, work: impl Future<Output = ()> + 'static) {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        self.0.push((Box::pin(work), flag));
    }

    /// Runs the woken tasks once. Returns whether there were any.
    pub fn run(&mut self) -> bool {
        let mut any = false;
        self.0.retain_mut(|(work, flag)| {
            if !flag.0.swap(false, Ordering::Relaxed) {
                return true;
            }
            any = true;
            let waker = Waker::from(Arc::clone(flag));
            let done = work.as_mut().poll(&mut Context::from_waker(&waker));
            done.is_pending()
        });
        any
    }

    /// Number of tasks that have not ended.
    pub fn unfinished(&self) -> usize {
        self.0.len()
    }
}

/// Virtual time for the application's tasks.
#[derive(Clone, Default)]
pub(crate) struct Timer(Arc<Mutex<Alarms>>);

#[derive(Default)]
struct Alarms {
    now: Time,
    next: u64,
    waiting: BTreeMap<(Time, u64), Waker>,
}

impl Timer {
    /// The current time.
    pub fn now(&self) -> Time {
        self.lock(|a| a.now)
    }

    /// Waits for so long.
    pub async fn sleep(&self, span: Duration) {
        self.sleep_until(self.now() + span).await;
    }

    /// Waits until `at`.
    pub async fn sleep_until(&self, at: Time) {
        let number = self.lock(|a| {
            a.next += 1;
            a.next
        });
        poll_fn(|cx| {
            self.lock(|a| {
                if a.now >= at {
                    return Poll::Ready(());
                }
                a.waiting.insert((at, number), cx.waker().clone());
                Poll::Pending
            })
        })
        .await;
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.lock(|a| a.waiting.keys().next().map(|(at, _)| *at))
    }

    pub(super) fn advance(&self, now: Time) {
        let due = self.lock(|a| {
            a.now = now;
            let later = a.waiting.split_off(&(now, u64::MAX));
            std::mem::replace(&mut a.waiting, later)
        });
        due.into_values().for_each(Waker::wake);
    }

    fn lock<T>(&self, work: impl FnOnce(&mut Alarms) -> T) -> T {
        work(&mut self.0.lock().expect("one thread"))
    }
}
