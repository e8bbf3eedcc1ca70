//! TQUIC: Tencent's QUIC, with CUBIC, BBR, BBRv3 and COPA. It reads the system's clock and draws
//! from `rand`'s generator of the thread.
//!
//! Its timers are served a millisecond late at the earliest, as its own tools do, which wait with
//! `epoll`. With exact timers it stops: its pacer rounds the wait for the missing bytes down, and
//! then the bytes of that wait, so that one byte is missing for ever (`congestion_control/
//! pacing.rs`, `Pacer::schedule`).

use super::addresses;
use crate::endpoint::{Ecn, Endpoint, EndpointReport, IP_AND_UDP, MTU, Transmit};
use crate::identity::Files;
use bytes::Bytes;
use fragile::Fragile;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;
use tquic::{
    Config, CongestionControlAlgorithm, Connection, PacketInfo, PacketSendHandler, TlsConfig,
    TransportHandler,
};

/// The client's first unidirectional stream.
const STREAM: u64 = 2;
/// The largest datagram.
const DATAGRAM: u16 = MTU - IP_AND_UDP;

/// Flow control, bytes: more than a run delivers. With less, the receiver does not raise the limit
/// again after the delay of the path has jumped from 25 to 300 ms, and the connection stands still.
const WINDOW: u64 = 1 << 30;

/// What the application writes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Both ends of a connection with this controller; `None` if TQUIC has no such controller.
pub(crate) fn connect(controller: &str, _: u64) -> Option<[Box<dyn Endpoint>; 2]> {
    super::warm_up(|| ends("cubic"));
    ends(controller)
}

fn ends(controller: &str) -> Option<[Box<dyn Endpoint>; 2]> {
    let algorithm = match controller {
        "cubic" => CongestionControlAlgorithm::Cubic,
        "bbr" => CongestionControlAlgorithm::Bbr,
        "bbr3" => CongestionControlAlgorithm::Bbr3,
        "copa" => CongestionControlAlgorithm::Copa,
        _ => return None,
    };
    let [near, far] = addresses();
    let mut config = config().ok()?;
    config.set_congestion_control_algorithm(algorithm);
    let protocols = || vec![b"bulk".to_vec()];
    let mut tls = TlsConfig::new_client_config(protocols(), false).ok()?;
    tls.set_verify(false);
    config.set_tls_config(tls);
    let mut client = End::new(config, false, [near, far]);
    client.index = client
        .with(|endpoint| endpoint.connect(near, far, Some("server"), None, None, None))
        .ok();
    let files = Files::new().ok()?;
    let [certificate, key] = files.paths();
    let mut server = self::config().ok()?;
    server
        .set_tls_config(TlsConfig::new_server_config(&certificate, &key, protocols(), false).ok()?);
    Some([
        Box::new(client),
        Box::new(End::new(server, true, [far, near])),
    ])
}

/// The settings that [`crate::endpoint`] asks for.
fn config() -> tquic::Result<Config> {
    let mut config = Config::new()?;
    config.set_max_idle_timeout(0);
    config.set_recv_udp_payload_size(DATAGRAM);
    // The size is found by probing, since TQUIC begins with 1200 bytes whatever the setting.
    config.set_send_udp_payload_size(usize::from(DATAGRAM));
    config.set_max_connection_window(WINDOW);
    config.set_max_stream_window(WINDOW);
    config.set_initial_max_data(WINDOW);
    config.set_initial_max_stream_data_uni(WINDOW);
    config.set_initial_max_streams_uni(1);
    Ok(config)
}

/// What the endpoint reports to the application.
#[derive(Default)]
struct Events {
    index: Option<u64>,
    connected: bool,
    closed: bool,
}

struct Handler(Rc<RefCell<Events>>);

impl TransportHandler for Handler {
    fn on_conn_created(&mut self, connection: &mut Connection) {
        self.0.borrow_mut().index = connection.index();
    }
    fn on_conn_established(&mut self, _: &mut Connection) {
        self.0.borrow_mut().connected = true;
    }
    fn on_conn_closed(&mut self, _: &mut Connection) {
        self.0.borrow_mut().closed = true;
    }
    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}
    fn on_stream_readable(&mut self, _: &mut Connection, _: u64) {}
    fn on_stream_writable(&mut self, _: &mut Connection, _: u64) {}
    fn on_stream_closed(&mut self, _: &mut Connection, _: u64) {}
    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

/// Packets that the endpoint has sent.
#[derive(Default)]
struct Sent(RefCell<VecDeque<Vec<u8>>>);

impl PacketSendHandler for Sent {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        let mut sent = self.0.borrow_mut();
        sent.extend(packets.iter().map(|(packet, _)| packet.clone()));
        Ok(packets.len())
    }
}

/// The parts of an end that must stay on their thread.
struct Parts {
    endpoint: tquic::Endpoint,
    events: Rc<RefCell<Events>>,
    sent: Rc<Sent>,
}

/// One end. A run has a thread of its own, so nothing leaves it.
struct End {
    parts: Fragile<RefCell<Parts>>,
    /// Its address and its peer's.
    addresses: [SocketAddr; 2],
    index: Option<u64>,
    /// Buffer for what arrives.
    read: Vec<u8>,
}

impl End {
    fn new(config: Config, is_server: bool, addresses: [SocketAddr; 2]) -> Self {
        let events = Rc::new(RefCell::new(Events::default()));
        let sent = Rc::new(Sent::default());
        let handler = Box::new(Handler(Rc::clone(&events)));
        let sender = Rc::clone(&sent) as Rc<dyn PacketSendHandler>;
        let endpoint = tquic::Endpoint::new(Box::new(config), is_server, handler, sender);
        Self {
            parts: Fragile::new(RefCell::new(Parts {
                endpoint,
                events,
                sent,
            })),
            addresses,
            index: None,
            read: vec![0; 1 << 16],
        }
    }

    fn with<T>(&self, call: impl FnOnce(&mut tquic::Endpoint) -> T) -> T {
        call(&mut self.parts.get().borrow_mut().endpoint)
    }

    fn events<T>(&self, get: impl FnOnce(&Events) -> T) -> T {
        get(&self.parts.get().borrow().events.borrow())
    }

    fn connection<T>(&self, call: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        let index = self.index.or_else(|| self.events(|events| events.index))?;
        self.with(|endpoint| endpoint.conn_get_mut(index).map(call))
    }
}

impl Endpoint for End {
    fn receive(&mut self, now: Instant, datagram: &mut [u8], _: Ecn) {
        let [dst, src] = self.addresses;
        let info = PacketInfo {
            src,
            dst,
            time: now,
        };
        // An error closes the connection, which `is_closed` reports.
        let _ = self.with(|endpoint| endpoint.recv(datagram, &info));
    }

    fn expire(&mut self, now: Instant) {
        self.with(|endpoint| endpoint.on_timeout(now));
    }

    fn transmit(&mut self, _: Instant, datagram: &mut Vec<u8>) -> Option<Transmit> {
        let parts = self.parts.get();
        let next = || parts.borrow().sent.0.borrow_mut().pop_front();
        let packet = next().or_else(|| {
            // As above.
            let _ = self.with(tquic::Endpoint::process_connections);
            next()
        })?;
        *datagram = packet;
        Some(Transmit {
            headers: IP_AND_UDP,
            ect: false,
        })
    }

    fn deadline(&mut self) -> Option<Instant> {
        // It reads the clock, which shows the time of the call.
        let after = self.with(|endpoint| endpoint.timeout())?;
        Some(Instant::now() + after.max(tquic::TIMER_GRANULARITY))
    }

    fn is_connected(&self) -> bool {
        self.events(|events| events.connected)
    }

    fn is_closed(&self) -> bool {
        self.events(|events| events.closed)
    }

    fn write(&mut self, bytes: usize) -> usize {
        let mut written = 0;
        while written < bytes {
            // A write beyond the capacity would send a frame that says so, each time. The first
            // write opens the stream.
            let room = self.connection(|connection| connection.stream_capacity(STREAM));
            let room = room.and_then(Result::ok).unwrap_or(ZEROS.len());
            let length = ZEROS.len().min(bytes - written).min(room);
            if length == 0 {
                break;
            }
            let chunk = Bytes::from_static(&ZEROS[..length]);
            match self.connection(|connection| connection.stream_write(STREAM, chunk, false)) {
                Some(Ok(taken)) if taken > 0 => written += taken,
                _ => break,
            }
        }
        written
    }

    fn finish(&mut self) {
        // It fails only if the connection has ended.
        let _ = self.connection(|connection| connection.stream_write(STREAM, Bytes::new(), true));
    }

    fn read(&mut self, _: Instant) -> u64 {
        let mut buffer = std::mem::take(&mut self.read);
        let mut read = 0;
        while let Some(Ok((taken @ 1.., _))) =
            self.connection(|connection| connection.stream_read(STREAM, &mut buffer))
        {
            read += taken as u64;
        }
        self.read = buffer;
        read
    }

    fn report(&mut self) -> EndpointReport {
        let [local, remote] = self.addresses;
        let report = self.connection(|connection| {
            let path = connection.get_path_stats(local, remote).ok()?;
            Some(EndpointReport {
                cwnd: Some(path.final_cwnd),
                srtt: Some(std::time::Duration::from_micros(path.srtt)),
                pacing_rate: Some(path.pacing_rate.saturating_mul(8)),
                lost: Some(path.lost_count),
                episodes: Some(path.loss_event_count),
                ..EndpointReport::default()
            })
        });
        report.flatten().unwrap_or_default()
    }
}
