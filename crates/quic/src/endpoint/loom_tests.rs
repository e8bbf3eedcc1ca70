//! The inbox and the waiting tasks under loom, which tries all orders in which threads may run and
//! see each other's writes, up to a bound on how often they are interrupted.
//!
//! The modules are compiled a second time here, with loom's locks and atomics.

#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "compiled a second time, of which the tests use a part"
)]
#[path = "inbox.rs"]
mod inbox;
#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "compiled a second time, of which the tests use a part"
)]
#[path = "waiters.rs"]
mod waiters;

mod sync {
    pub(super) use loom::sync::atomic::AtomicBool;
    pub(super) use loom::sync::{Mutex, MutexGuard};
}

use inbox::{Inbox, Touched};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;
use noq_proto::ConnectionHandle;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use waiters::{HasWaiters, Topic, Waiters};

/// How often a thread is interrupted where it need not wait.
const INTERRUPTIONS: usize = 3;
/// The same with four threads, of which three wait most of the time. More takes minutes.
const INTERRUPTIONS_OF_FOUR: usize = 1;

/// Tries all orders. A thread that waits for ever is an error.
fn check(model: impl Fn() + Sync + Send + 'static) {
    check_up_to(INTERRUPTIONS, model);
}

/// The same with so many interruptions.
fn check_up_to(interruptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(interruptions);
    builder.check(model);
}

/// A task of the driver or the application.
struct Task(Arc<Notify>);

/// What a task waits for, and what wakes it.
fn task() -> (Arc<Notify>, Waker) {
    let notify = Arc::new(Notify::new());
    let waker = Waker::from(std::sync::Arc::new(Task(notify.clone())));
    (notify, waker)
}

impl Wake for Task {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.notify();
    }
}

/// A connection as the application and the core share it.
#[derive(Default)]
struct Connection {
    touched: Touched,
    changes: Mutex<usize>,
}

/// Two of the application's threads change connections and end. The driver must see all of it,
/// although it looks only at connections that the inbox names, and sleeps where there are none.
fn all_changes_arrive(connections: usize) {
    check(move || {
        let inbox = Arc::new(Inbox::default());
        let shared: Vec<_> = (0..connections)
            .map(|_| Arc::new(Connection::default()))
            .collect();
        for thread in 0..2 {
            let number = thread % connections;
            let (inbox, connection) = (inbox.clone(), shared[number].clone());
            thread::spawn(move || {
                *connection.changes.lock().expect("no panic") += 1;
                connection.touched.set(&inbox, ConnectionHandle(number));
            });
        }
        let (notify, waker) = task();
        let mut seen = vec![0; connections];
        let mut named = Vec::new();
        loop {
            inbox.take(&mut named);
            for ConnectionHandle(number) in named.drain(..) {
                shared[number].touched.clear();
                seen[number] = *shared[number].changes.lock().expect("no panic");
            }
            if seen.iter().sum::<usize>() == 2 {
                return;
            }
            inbox.alarm().set_task(&waker);
            inbox.alarm().arm();
            if inbox.is_empty() {
                notify.wait();
            }
            inbox.alarm().disarm();
        }
    });
}

#[test]
fn no_change_of_a_connection_is_lost() {
    all_changes_arrive(1);
}

#[test]
fn no_change_of_one_of_two_connections_is_lost() {
    all_changes_arrive(2);
}

/// What a lock protects: streams that the peer has opened.
#[derive(Default)]
struct State {
    opened: usize,
    waiters: Waiters,
}

impl HasWaiters for State {
    fn waiters(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

/// The core: the peer opens a stream. Tasks are woken without the lock.
fn open(state: &Mutex<State>) {
    let mut woken = Vec::new();
    let mut locked = waiters::lock(state);
    locked.opened += 1;
    locked.waiters.notify(Topic::Incoming, &mut woken);
    drop(locked);
    woken.into_iter().for_each(Waker::wake);
}

fn take(state: &mut State) -> Option<()> {
    state.opened = state.opened.checked_sub(1)?;
    Some(())
}

/// Waits as a task does, in a thread.
fn accept(state: &Mutex<State>) {
    let (notify, waker) = task();
    let mut accepting = pin!(waiters::wait(state, Topic::Incoming, take));
    while accepting
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_pending()
    {
        notify.wait();
    }
}

#[test]
fn no_waiting_task_sleeps_for_ever() {
    check(|| {
        let state = Arc::new(Mutex::new(State::default()));
        let (one, other) = (state.clone(), state.clone());
        let waits = thread::spawn(move || accept(&one));
        thread::spawn(move || open(&other));
        open(&state);
        accept(&state);
        waits.join().expect("no panic");
        assert_eq!(state.lock().expect("no panic").opened, 0);
    });
}

/// Of three tasks one may be woken for a stream that another takes, and wait again after the third
/// has begun to wait.
#[test]
fn no_task_that_waits_again_sleeps_for_ever() {
    check_up_to(INTERRUPTIONS_OF_FOUR, || {
        let state = Arc::new(Mutex::new(State::default()));
        for _ in 0..2 {
            let state = state.clone();
            thread::spawn(move || accept(&state));
        }
        let opening = state.clone();
        thread::spawn(move || (0..3).for_each(|_| open(&opening)));
        accept(&state);
    });
}

/// A task that gives up, for which an event was not enough, takes nothing from the others, and its
/// place is free again.
#[test]
fn a_task_that_gives_up_takes_nothing() {
    check(|| {
        let state = Arc::new(Mutex::new(State::default()));
        let (one, other) = (state.clone(), state.clone());
        let gives_up = thread::spawn(move || {
            let mut context = Context::from_waker(Waker::noop());
            let waiting = pin!(waiters::wait(&*one, Topic::Incoming, |_| None::<()>));
            assert_eq!(waiting.poll(&mut context), Poll::Pending);
        });
        thread::spawn(move || open(&other));
        accept(&state);
        gives_up.join().expect("no panic");
        let mut left = Vec::new();
        waiters::lock(&state).waiters.notify_all(&mut left);
        assert!(left.is_empty());
    });
}
