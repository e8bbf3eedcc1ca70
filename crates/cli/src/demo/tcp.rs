//! The two ends of a transfer over plain TCP: what `serve` and `send` are over QUIC, without
//! encryption and without names. Each runs in a process of its own, at an end of a path.
//!
//! The sender writes the length of the file (8 bytes, big endian) and the file; the receiver stores
//! it and answers with the BLAKE3 hash of what it stored.

use anyhow::{Context, ensure};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket,
    sockopt::TcpCongestion,
};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The receiver's port.
const PORT: u16 = 5001;
/// Interval of the samples.
const SAMPLING: Duration = Duration::from_millis(100);
/// The sender tries to reach the receiver for this long ...
const PATIENCE: Duration = Duration::from_secs(10);
/// ... with this pause between the tries.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes read and written at once.
const BLOCK: usize = 1 << 16;

/// One end of `whimbrel demo --tcp`
#[derive(clap::Args)]
pub struct DemoEndArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(clap::Subcommand)]
enum End {
    /// Receive one file
    Receive { file: PathBuf },
    /// Send a file, and print the result as JSON
    Send {
        file: PathBuf,
        address: Ipv4Addr,
        /// Congestion control by the kernel's name [default: the network's]
        #[arg(long)]
        congestion: Option<String>,
    },
}

/// Plays one end.
pub fn run(args: DemoEndArgs) -> anyhow::Result<ExitCode> {
    match args.end {
        End::Receive { file } => {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))
                .with_context(|| format!("cannot listen on port {PORT}"))?;
            let (connection, _) = listener.accept().context("no connection")?;
            receive(connection, &file)?;
        }
        End::Send {
            file,
            address,
            congestion,
        } => {
            let address = SocketAddrV4::new(address, PORT);
            let (connection, began) = connected(address, congestion.as_deref())?;
            println!("{}", send(&connection, &file, began)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A connection with this congestion control from its first packet on, and the time of that packet.
fn connected(
    address: SocketAddrV4,
    congestion: Option<&str>,
) -> anyhow::Result<(TcpStream, Instant)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
        if let Some(name) = congestion {
            setsockopt(&socket, TcpCongestion, &name.to_owned().into())
                .with_context(|| format!("cannot choose the kernel's `{name}`"))?;
        }
        let began = Instant::now();
        match connect(socket.as_raw_fd(), &SockaddrIn::from(address)) {
            Ok(()) => return Ok((TcpStream::from(socket), began)),
            // On a busy machine the receiver may still be starting.
            Err(Errno::ECONNREFUSED) if began < deadline => thread::sleep(PAUSE),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot connect to {address}"));
            }
        }
    }
}

/// Stores what arrives in a file, and answers with its hash.
fn receive(mut connection: TcpStream, file: &Path) -> anyhow::Result<()> {
    let mut length = [0; 8];
    connection.read_exact(&mut length)?;
    let length = u64::from_be_bytes(length);
    let mut out = File::create(file).with_context(|| format!("{}", file.display()))?;
    let mut hasher = blake3::Hasher::new();
    let mut left = length;
    let mut block = vec![0; BLOCK];
    while left > 0 {
        let count = connection.read(&mut block)?;
        ensure!(count > 0, "the connection ended {left} bytes early");
        ensure!(count as u64 <= left, "more than {length} bytes arrived");
        hasher.update(&block[..count]);
        out.write_all(&block[..count])?;
        left -= count as u64;
    }
    out.sync_all()?;
    connection.write_all(hasher.finalize().as_bytes())?;
    Ok(())
}

/// Sends a file and waits until the receiver has stored it. Time counts from `began`.
fn send(connection: &TcpStream, file: &Path, began: Instant) -> anyhow::Result<Value> {
    let source = File::open(file).with_context(|| format!("{}", file.display()))?;
    let length = source.metadata()?.len();
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
    let info = tcp_info(connection).context("cannot read the state of the connection")?;
    Ok(json!({
        "seconds": seconds,
        "goodput_bps": length as f64 * 8.0 / seconds,
        "sent_packets": info.tcpi_data_segs_out,
        "lost_packets": info.tcpi_total_retrans,
        "blake3": hash.to_hex().as_str(),
        "samples": samples,
    }))
}

/// Returns the hash on which both ends agree.
fn deliver(
    mut connection: &TcpStream,
    mut source: File,
    length: u64,
) -> anyhow::Result<blake3::Hash> {
    connection.write_all(&length.to_be_bytes())?;
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; BLOCK];
    loop {
        match source.read(&mut block)? {
            0 => break,
            count => {
                hasher.update(&block[..count]);
                connection.write_all(&block[..count])?;
            }
        }
    }
    let mut answer = [0; blake3::OUT_LEN];
    connection
        .read_exact(&mut answer)
        .context("the receiver did not confirm the file")?;
    let hash = hasher.finalize();
    ensure!(
        hash == blake3::Hash::from_bytes(answer),
        "the receiver stored another file than the one that was sent"
    );
    Ok(hash)
}

/// Records what is acknowledged over time, until it is stopped.
fn sample(connection: &TcpStream, began: Instant, stopped: &mpsc::Receiver<()>) -> Vec<Value> {
    let mut samples = Vec::new();
    while stopped.recv_timeout(SAMPLING) == Err(RecvTimeoutError::Timeout) {
        let Ok(info) = tcp_info(connection) else {
            break;
        };
        samples.push(json!({
            "t_s": began.elapsed().as_secs_f64(),
            "delivered_bytes": info.tcpi_bytes_acked,
            "rtt_ms": f64::from(info.tcpi_rtt) * 1e-3,
        }));
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
            scope.spawn(|| receive(receiver, &to).expect("received"));
            send(&sender, &from, Instant::now()).expect("sent")
        });
        assert!(fs::read(&to).expect("a file") == content);
        let hash = blake3::hash(&content).to_hex();
        assert_eq!(result["blake3"], hash.as_str());
        assert!(result["sent_packets"].as_u64() > Some(0));
        assert_eq!(result["lost_packets"], 0);
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
                send(&sender, &from, Instant::now()).expect_err("not stored")
            });
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut sender, receiver) = pair();
        sender.write_all(&100_u64.to_be_bytes()).expect("sent");
        sender.write_all(b"short").expect("sent");
        drop(sender);
        let error = receive(receiver, &folder.path().join("to")).expect_err("95 bytes are missing");
        assert!(error.to_string().contains("95 bytes early"), "{error}");
    }
}
