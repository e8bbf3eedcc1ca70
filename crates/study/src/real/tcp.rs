//! The two ends of a transfer over plain TCP: what `serve` and `send` are over QUIC, without
//! encryption and without names. Each runs in a process of its own, at an end of a path.
//!
//! The sender writes the length of the file (8 bytes, big endian) and the file; the receiver stores
//! it and answers with the BLAKE3 hash of what it stored.

use super::measurement::{Measurement, SAMPLING, Sample};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket,
    sockopt::TcpCongestion,
};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use whimbrel_link::FAR;

/// The receiver's port.
const PORT: u16 = 5001;
/// The sender tries to reach the receiver for this long ...
const PATIENCE: Duration = Duration::from_secs(10);
/// ... with this pause between the tries.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes read and written at once.
const BLOCK: usize = 1 << 16;

/// Receives one file.
pub fn receive(file: &Path) -> Result<(), String> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT));
    let listener = listener.map_err(|e| format!("cannot listen on port {PORT}: {e}"))?;
    let (connection, _) = listener.accept().map_err(failed("no connection"))?;
    store(connection, file)
}

/// Sends a file to the far end, with the congestion control of the kernel's name, or else with the
/// network's.
pub fn send(file: &Path, congestion: Option<&str>) -> Result<Measurement, String> {
    let (connection, began) = connected(SocketAddrV4::new(FAR, PORT), congestion)?;
    measured(&connection, file, began)
}

/// For `map_err`: what failed, and why.
fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}

/// A connection with this congestion control from its first packet on, and the time of that packet.
fn connected(
    address: SocketAddrV4,
    congestion: Option<&str>,
) -> Result<(TcpStream, Instant), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None);
        let socket = socket.map_err(failed("cannot make a socket"))?;
        if let Some(name) = congestion {
            setsockopt(&socket, TcpCongestion, &name.to_owned().into())
                .map_err(|e| format!("cannot choose the kernel's `{name}`: {e}"))?;
        }
        let began = Instant::now();
        match connect(socket.as_raw_fd(), &SockaddrIn::from(address)) {
            Ok(()) => return Ok((TcpStream::from(socket), began)),
            // On a busy machine the receiver may still be starting.
            Err(Errno::ECONNREFUSED) if began < deadline => thread::sleep(PAUSE),
            Err(error) => return Err(format!("cannot connect to {address}: {error}")),
        }
    }
}

/// Stores what arrives in a file, and answers with its hash.
fn store(mut connection: TcpStream, file: &Path) -> Result<(), String> {
    let lost = failed("the connection was lost");
    let mut length = [0; 8];
    connection.read_exact(&mut length).map_err(&lost)?;
    let length = u64::from_be_bytes(length);
    let storing = |e: io::Error| format!("{}: {e}", file.display());
    let mut out = File::create(file).map_err(storing)?;
    let mut hasher = blake3::Hasher::new();
    let mut left = length;
    let mut block = vec![0; BLOCK];
    while left > 0 {
        let count = connection.read(&mut block).map_err(&lost)?;
        if count == 0 {
            return Err(format!("the connection ended {left} bytes early"));
        }
        if count as u64 > left {
            return Err(format!("more than {length} bytes arrived"));
        }
        hasher.update(&block[..count]);
        out.write_all(&block[..count]).map_err(storing)?;
        left -= count as u64;
    }
    out.sync_all().map_err(storing)?;
    let hash = hasher.finalize();
    connection.write_all(hash.as_bytes()).map_err(lost)
}

/// Sends a file and waits until the receiver has stored it. Time counts from `began`.
fn measured(connection: &TcpStream, file: &Path, began: Instant) -> Result<Measurement, String> {
    let source = File::open(file).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, source) = source.map_err(|e| format!("{}: {e}", file.display()))?;
    let (stop, stopped) = mpsc::channel();
    let (sent, samples) = thread::scope(|scope| {
        let sampler = scope.spawn(move || sample(connection, began, &stopped));
        let sent = deliver(connection, source, length);
        // The sampler has ended already if it could not read the socket's state.
        let _ = stop.send(());
        (sent, sampler.join().unwrap_or_default())
    });
    let hash = sent?;
    let seconds = began.elapsed().as_secs_f64();
    let info = tcp_info(connection).map_err(failed("cannot read the state of the connection"))?;
    Ok(Measurement {
        seconds,
        goodput_bps: length as f64 * 8.0 / seconds,
        sent_packets: info.tcpi_data_segs_out.into(),
        lost_packets: info.tcpi_total_retrans.into(),
        blake3: hash.to_hex().to_string(),
        samples,
        ..Measurement::default()
    })
}

/// Returns the hash on which both ends agree.
fn deliver(
    mut connection: &TcpStream,
    mut source: File,
    length: u64,
) -> Result<blake3::Hash, String> {
    let lost = failed("the connection was lost");
    connection.write_all(&length.to_be_bytes()).map_err(&lost)?;
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; BLOCK];
    loop {
        match source
            .read(&mut block)
            .map_err(failed("the file to send"))?
        {
            0 => break,
            count => {
                hasher.update(&block[..count]);
                connection.write_all(&block[..count]).map_err(&lost)?;
            }
        }
    }
    let mut answer = [0; blake3::OUT_LEN];
    let unconfirmed = failed("the receiver did not confirm the file");
    connection.read_exact(&mut answer).map_err(unconfirmed)?;
    let hash = hasher.finalize();
    match hash == blake3::Hash::from_bytes(answer) {
        true => Ok(hash),
        false => Err("the receiver stored another file than the one that was sent".to_owned()),
    }
}

/// Records what is acknowledged over time, until it is stopped.
fn sample(connection: &TcpStream, began: Instant, stopped: &mpsc::Receiver<()>) -> Vec<Sample> {
    let mut samples = Vec::new();
    while stopped.recv_timeout(SAMPLING) == Err(RecvTimeoutError::Timeout) {
        let Ok(info) = tcp_info(connection) else {
            break;
        };
        samples.push(Sample {
            t_s: began.elapsed().as_secs_f64(),
            delivered_bytes: info.tcpi_bytes_acked,
            rtt_ms: f64::from(info.tcpi_rtt) * 1e-3,
        });
    }
    samples
}

/// The kernel's state of a connection (tcp(7), `TCP_INFO`).
fn tcp_info(connection: impl AsFd) -> io::Result<libc::tcp_info> {
    // SAFETY: all members are integers, for which zero is a valid value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, which has that size and lives
    // through the call; an older kernel writes fewer, and the rest stays zero.
    let result = unsafe {
        libc::getsockopt(
            connection.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    match result {
        0 => Ok(info),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A connection over the loopback.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let sender = TcpStream::connect(address).expect("a connection");
        (sender, listener.accept().expect("a connection").0)
    }

    #[test]
    fn a_file_arrives_and_its_hash_comes_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let content: Vec<u8> = (0..300_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
        fs::write(&from, &content).expect("written");
        let (sender, receiver) = pair();
        let result = thread::scope(|scope| {
            scope.spawn(|| store(receiver, &to).expect("received"));
            measured(&sender, &from, Instant::now()).expect("sent")
        });
        assert!(fs::read(&to).expect("a file") == content);
        assert_eq!(result.blake3, blake3::hash(&content).to_hex().as_str());
        assert!(result.sent_packets > 0);
        assert_eq!(result.lost_packets, 0);
    }

    #[test]
    fn a_false_confirmation_or_none_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = folder.path().join("from");
        fs::write(&from, b"twelve bytes").expect("written");
        for (answer, says) in [(&[0; 32][..], "another file"), (&[0; 5], "did not confirm")] {
            let (sender, mut receiver) = pair();
            let error = thread::scope(|scope| {
                scope.spawn(move || {
                    receiver.read_exact(&mut [0; 20]).expect("length and file");
                    receiver.write_all(answer).expect("sent");
                });
                measured(&sender, &from, Instant::now()).expect_err("not stored")
            });
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut sender, receiver) = pair();
        sender.write_all(&100_u64.to_be_bytes()).expect("sent");
        sender.write_all(b"short").expect("sent");
        drop(sender);
        let error = store(receiver, &folder.path().join("to")).expect_err("95 bytes are missing");
        assert!(error.contains("95 bytes early"), "{error}");
    }
}
