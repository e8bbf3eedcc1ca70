//! The kernel's half against a process that answers nonsense: it clamps, data arrives, and the
//! window never closes.

use crate::datapath::Datapath;
use crate::options::Options;
use crate::wire::{Command, Event, kind};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SIZE: usize = 8 << 20;

/// Moves this thread into a network of its own, which has only a loopback.
fn private_network() -> std::io::Result<()> {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)?;
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: a structure of integers, for which zero is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is whole and lives through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) };
    nix::errno::Errno::result(result)?;
    Ok(())
}

fn set_algorithm(stream: &TcpStream, name: &str) {
    let length = libc::socklen_t::try_from(name.len()).expect("a short name");
    // SAFETY: the name has that length and lives through the call.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            length,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Nonsense of every kind, by the number of the event.
fn nonsense(event: &Event) -> Command {
    let noise = event.time.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (window, pacing, ssthresh, reduction) = match event.number / 16 % 4 {
        0 => (0, 0, 0, 0),
        1 => (u32::MAX, u64::MAX, u64::MAX, u64::MAX),
        2 => (noise as u32, 0, noise, noise),
        // The rate is clamped to two segments a second, so only now and then.
        _ if event.number.is_multiple_of(64) => (1, 1, 1, 1),
        _ => (1, 0, noise, noise | 1),
    };
    Command {
        window: u64::from(event.generation) << 32 | u64::from(window),
        pacing,
        ssthresh,
        reduction,
        answers: noise,
        ahead: 0,
        ahead_pacing: [0, u64::MAX],
    }
}

#[test]
fn nonsense_is_clamped_and_data_arrives() {
    let mut options = Options::new("newreno".parse().expect("an algorithm"));
    // A busy machine must not look like a process that has died.
    options.silence = whimbrel_units::Duration::from_secs(60);
    let datapath = match Datapath::load(&options) {
        Ok(datapath) => datapath,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    if let Err(error) = private_network() {
        eprintln!("skipped: {error}");
        return;
    }
    let mut ring = datapath.ring().expect("its ring");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let mut sender = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
    let (mut receiver, _) = listener.accept().expect("accepts");
    set_algorithm(&sender, datapath.name());
    let timeout = Some(Duration::from_secs(30));
    receiver.set_read_timeout(timeout).expect("a timeout");
    sender.set_write_timeout(timeout).expect("a timeout");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                datapath.control().beat(crate::clock::monotonic());
                ring.consume(|record| {
                    let event = Event::read(record).expect("an event");
                    if event.kind != kind::END {
                        datapath.commands().write(event.slot, &nonsense(&event));
                    }
                });
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            sender.write_all(&vec![7; SIZE]).expect("all is sent");
            drop(sender);
        });
        let mut data = Vec::new();
        let read = receiver.read_to_end(&mut data);
        ended.store(true, Ordering::Relaxed);
        read.expect("no stall");
        assert_eq!(data.len(), SIZE);
    });
    let control = datapath.control().read();
    assert!(control.clamped > 0);
    assert_eq!((control.fallbacks, control.dropped), (0, 0));
}
