//! How the application's threads tell the core which connections they changed, and wake the driver.

use super::sync::{AtomicBool, Mutex, MutexGuard};
use nix::sys::eventfd::{EfdFlags, EventFd};
use noq_proto::ConnectionHandle;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::task::Waker;

/// Connections that the application changed since the core last looked, each at most once.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    touched: Mutex<Vec<ConnectionHandle>>,
    alarm: Alarm,
}

impl Inbox {
    /// An inbox whose `alarm` wakes a driver.
    pub fn new(alarm: Alarm) -> Self {
        Self {
            touched: Mutex::default(),
            alarm,
        }
    }

    /// Announces a changed connection.
    pub fn push(&self, handle: ConnectionHandle) {
        self.lock().push(handle);
        self.alarm.ring();
    }

    /// Takes all announced connections.
    pub fn take(&self, into: &mut Vec<ConnectionHandle>) {
        into.clear();
        std::mem::swap(&mut *self.lock(), into);
    }

    /// Whether no connection is announced.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// What wakes the driver.
    pub fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ConnectionHandle>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an inbox names a connection.
#[derive(Debug, Default)]
pub(crate) struct Touched(AtomicBool);

impl Touched {
    /// The application has changed this connection: the inbox names it from now on.
    pub fn set(&self, inbox: &Inbox, handle: ConnectionHandle) {
        if !self.0.swap(true, Ordering::AcqRel) {
            inbox.push(handle);
        }
    }

    /// The core has taken the connection from the inbox and is about to look at it. It must lock
    /// the connection after this call: what is changed later is another change.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Wakes a sleeping driver. While the driver works, ringing costs one atomic operation.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    sleeping: AtomicBool,
    /// Wakes a driver that is a thread.
    event: Option<EventFd>,
    /// Wakes a driver that is a task.
    task: Mutex<Option<Waker>>,
}

impl Alarm {
    /// An alarm that a driver can wait for.
    ///
    /// # Errors
    /// If the system has no file descriptor left.
    pub fn new() -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Self {
            sleeping: AtomicBool::new(false),
            event: Some(event),
            task: Mutex::default(),
        })
    }

    /// Wakes the driver if it sleeps.
    pub fn ring(&self) {
        let asleep = self.sleeping.load(Ordering::SeqCst);
        if !asleep || !self.end_sleep() {
            return;
        }
        if let Some(event) = &self.event {
            // It fails only if the count is at its maximum: then the driver is about to wake.
            event.write(1).ok();
        }
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.as_ref() {
            task.wake_by_ref();
        }
    }

    /// Whether this call, and no other one, ends the driver's sleep. It writes nothing while the
    /// driver is awake.
    fn end_sleep(&self) -> bool {
        let order = Ordering::SeqCst;
        self.sleeping
            .compare_exchange(true, false, order, order)
            .is_ok()
    }

    /// The driver is this task.
    pub fn set_task(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *task {
            Some(known) => known.clone_from(waker),
            None => *task = Some(waker.clone()),
        }
    }

    /// The driver is about to sleep. It must look for work once more after this call.
    pub fn arm(&self) {
        self.sleeping.store(true, Ordering::SeqCst);
    }

    /// The driver is awake.
    pub fn disarm(&self) {
        self.sleeping.store(false, Ordering::SeqCst);
    }

    /// Consumes earlier rings.
    pub fn clear(&self) {
        if let Some(event) = &self.event {
            event.read().ok();
        }
    }

    /// What a driver polls for reading.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.event.as_ref().map(AsFd::as_fd)
    }
}
