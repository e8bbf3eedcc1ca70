//! quiche: Cloudflare's QUIC, with Reno, CUBIC and BBRv2. It reads the system's clock.
//!
//! It paces by telling its caller when to send each packet ([`quiche::SendInfo`]): the packet waits
//! here. Only BBRv2 does that. Reno and CUBIC fill what is free in the window at once, with a short
//! packet where less than a whole one is free.

use super::addresses;
use crate::endpoint::{Ecn, Endpoint, EndpointReport, IP_AND_UDP, MTU, Transmit, WINDOW};
use crate::identity::Files;
use quiche::{Config, CongestionControlAlgorithm, Connection, ConnectionId, RecvInfo};
use std::net::SocketAddr;
use std::time::Instant;

/// The client's first unidirectional stream.
const STREAM: u64 = 2;
/// The largest datagram.
const DATAGRAM: usize = (MTU - IP_AND_UDP) as usize;

/// What the application writes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Both ends of a connection with this controller; `None` if quiche has no such controller.
pub(crate) fn connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    open(controller, seed, true)
}

/// The same without the mend of CUBIC's restarts after idling
/// (`set_enable_cubic_idle_restart_fix`), which is on by default since quiche has the setting.
pub(crate) fn connect_unmended(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    open(controller, seed, false)
}

fn open(controller: &str, seed: u64, mended: bool) -> Option<[Box<dyn Endpoint>; 2]> {
    super::warm_up(|| ends("cubic", 0, true));
    ends(controller, seed, mended)
}

fn ends(controller: &str, seed: u64, mended: bool) -> Option<[Box<dyn Endpoint>; 2]> {
    let algorithm = match controller {
        "reno" => CongestionControlAlgorithm::Reno,
        "cubic" => CongestionControlAlgorithm::CUBIC,
        "bbr2" => CongestionControlAlgorithm::Bbr2Gcongestion,
        _ => return None,
    };
    let mut config = config().ok()?;
    config.set_cc_algorithm(algorithm);
    config.set_enable_cubic_idle_restart_fix(mended);
    let [near, far] = addresses();
    let id = |end: u8| {
        let mut id = [end; 16];
        id[..8].copy_from_slice(&seed.to_le_bytes());
        ConnectionId::from_vec(id.to_vec())
    };
    let client = quiche::connect(Some("server"), &id(1), near, far, &mut config).ok()?;
    let server = quiche::accept(&id(2), None, far, near, &mut config).ok()?;
    Some([
        Box::new(End::new(client, [near, far])),
        Box::new(End::new(server, [far, near])),
    ])
}

/// The settings that [`crate::endpoint`] asks for.
fn config() -> Result<Config, Box<dyn std::error::Error>> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    let files = Files::new()?;
    let [certificate, key] = files.paths();
    config.load_cert_chain_from_pem_file(&certificate)?;
    config.load_priv_key_from_pem_file(&key)?;
    config.verify_peer(false);
    config.set_application_protos(&[b"bulk"])?;
    config.set_max_idle_timeout(0);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_max_send_udp_payload_size(DATAGRAM);
    let window = u64::from(WINDOW);
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_uni(window);
    config.set_initial_max_streams_uni(1);
    config.set_max_connection_window(window);
    config.set_max_stream_window(window);
    Ok(config)
}

/// One end.
struct End {
    connection: Connection,
    /// Its address and its peer's.
    addresses: [SocketAddr; 2],
    /// A packet that waits for its time.
    waiting: Option<(Instant, Vec<u8>)>,
    /// Buffer for what arrives.
    read: Vec<u8>,
}

impl End {
    fn new(connection: Connection, addresses: [SocketAddr; 2]) -> Self {
        Self {
            connection,
            addresses,
            waiting: None,
            read: vec![0; 1 << 16],
        }
    }
}

impl Endpoint for End {
    fn receive(&mut self, _: Instant, datagram: &mut [u8], _: Ecn) {
        let [to, from] = self.addresses;
        // An error closes the connection, which `is_closed` reports.
        let _ = self.connection.recv(datagram, RecvInfo { from, to });
    }

    fn expire(&mut self, now: Instant) {
        if self
            .connection
            .timeout_instant()
            .is_some_and(|at| at <= now)
        {
            self.connection.on_timeout();
        }
    }

    fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Transmit> {
        let (at, packet) = match self.waiting.take() {
            Some(waiting) => waiting,
            None => {
                let mut packet = vec![0; DATAGRAM];
                let (length, info) = self.connection.send(&mut packet).ok()?;
                packet.truncate(length);
                (info.at, packet)
            }
        };
        if at > now {
            self.waiting = Some((at, packet));
            return None;
        }
        *datagram = packet;
        Some(Transmit {
            headers: IP_AND_UDP,
            ect: false,
        })
    }

    fn deadline(&mut self) -> Option<Instant> {
        let waiting = self.waiting.as_ref().map(|(at, _)| *at);
        let timer = self.connection.timeout_instant();
        waiting.into_iter().chain(timer).min()
    }

    fn is_connected(&self) -> bool {
        self.connection.is_established()
    }

    fn is_closed(&self) -> bool {
        self.connection.is_closed() || self.connection.is_draining()
    }

    fn write(&mut self, bytes: usize) -> usize {
        let mut written = 0;
        while written < bytes {
            let chunk = &ZEROS[..ZEROS.len().min(bytes - written)];
            match self.connection.stream_send(STREAM, chunk, false) {
                Ok(taken) if taken > 0 => written += taken,
                _ => break,
            }
        }
        written
    }

    fn finish(&mut self) {
        // It fails only if the connection has ended.
        let _ = self.connection.stream_send(STREAM, &[], true);
    }

    fn read(&mut self, _: Instant) -> u64 {
        let mut read = 0;
        while let Ok((taken, _)) = self.connection.stream_recv(STREAM, &mut self.read) {
            read += taken as u64;
            if taken == 0 {
                break;
            }
        }
        read
    }

    fn report(&mut self) -> EndpointReport {
        let Some(path) = self.connection.path_stats().next() else {
            return EndpointReport::default();
        };
        EndpointReport {
            cwnd: Some(path.cwnd as u64),
            srtt: Some(path.rtt),
            lost: Some(path.lost as u64),
            timeouts: Some(path.total_pto_count as u64),
            ..EndpointReport::default()
        }
    }
}
