//! What all versions of smoltcp have in common: an [`Endpoint`](crate::endpoint::Endpoint) over an
//! interface with one socket.
//!
//! Its datagrams are IPv4 packets. It reports nothing of its congestion control, so retransmissions
//! are counted here: segments that begin below the highest byte that was sent.

/// The endpoint over `$smoltcp`, and the function `connect`.
macro_rules! endpoint {
    ($smoltcp:ident) => {
        use crate::endpoint::{Ecn, Endpoint, EndpointReport, MTU, Transmit};
        use std::collections::VecDeque;
        use std::time::{Duration, Instant};
        use $smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
        use $smoltcp::phy::{
            ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken,
        };
        use $smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
        use $smoltcp::time::Instant as SmolInstant;
        use $smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Packet, TcpPacket};

        /// Buffers of a socket, bytes: the largest whose window the header can announce after scaling
        /// would do, but smoltcp allocates them at once.
        const BUFFER: usize = 16 << 20;
        /// The server's port.
        const PORT: u16 = 4433;

        /// What the application writes.
        static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

        /// Both ends of a connection with this controller; `None` if smoltcp has no such controller.
        pub(crate) fn connect(controller: &str, seed: u64) -> Option<[Box<dyn Endpoint>; 2]> {
            let controller = match controller {
                "reno" => CongestionControl::Reno,
                "cubic" => CongestionControl::Cubic,
                "none" => CongestionControl::None,
                _ => return None,
            };
            let mut near = End::new(1, controller, seed);
            let mut far = End::new(2, controller, seed.wrapping_add(1));
            let context = near.interface.context();
            let socket = near.sockets.get_mut::<Socket>(near.handle);
            let connecting = socket.connect(context, (address(2), PORT), 49_152);
            let listening = far.sockets.get_mut::<Socket>(far.handle).listen(PORT);
            near.failed = connecting.is_err() || listening.is_err();
            Some([Box::new(near), Box::new(far)])
        }

        fn address(host: u8) -> IpAddress {
            IpAddress::v4(10, 0, 0, host)
        }

        /// One end.
        struct End {
            interface: Interface,
            sockets: SocketSet<'static>,
            handle: SocketHandle,
            wire: Wire,
            origin: Instant,
            failed: bool,
            retransmitted: u64,
            /// The sequence number after the highest one sent.
            next: Option<u32>,
        }

        impl End {
            fn new(host: u8, controller: CongestionControl, seed: u64) -> Self {
                let mut config = Config::new(HardwareAddress::Ip);
                config.random_seed = seed;
                let mut wire = Wire {
                    arrived: VecDeque::new(),
                    leaving: VecDeque::new(),
                    now: SmolInstant::ZERO,
                };
                let mut interface = Interface::new(config, &mut wire, SmolInstant::ZERO);
                interface.update_ip_addrs(|addresses| {
                    // There is room for the first address.
                    let _ = addresses.push(IpCidr::new(address(host), 24));
                });
                let buffer = || SocketBuffer::new(vec![0; BUFFER]);
                let mut socket = Socket::new(buffer(), buffer());
                socket.set_congestion_control(controller);
                let mut sockets = SocketSet::new(Vec::new());
                let handle = sockets.add(socket);
                Self {
                    interface,
                    sockets,
                    handle,
                    wire,
                    origin: Instant::now(),
                    failed: false,
                    retransmitted: 0,
                    next: None,
                }
            }

            fn time(&self, now: Instant) -> SmolInstant {
                let since = now.saturating_duration_since(self.origin);
                SmolInstant::from_micros(since.as_micros() as i64)
            }

            fn socket(&self) -> &Socket<'static> {
                self.sockets.get::<Socket>(self.handle)
            }

            fn count(&mut self, packet: &[u8]) {
                let Ok(ip) = Ipv4Packet::new_checked(packet) else {
                    return;
                };
                let Ok(tcp) = TcpPacket::new_checked(ip.payload()) else {
                    return;
                };
                let length = tcp.segment_len() as u32;
                if length == 0 {
                    return;
                }
                let first = tcp.seq_number().0 as u32;
                let end = first.wrapping_add(length);
                match self.next {
                    // Sequence numbers are compared as RFC 9293 says: half of them lie ahead.
                    Some(next) if (first.wrapping_sub(next) as i32) < 0 => {
                        self.retransmitted += 1;
                        if (end.wrapping_sub(next) as i32) > 0 {
                            self.next = Some(end);
                        }
                    }
                    _ => self.next = Some(end),
                }
            }
        }

        impl Endpoint for End {
            fn receive(&mut self, now: Instant, datagram: &mut [u8], _: Ecn) {
                let now = self.time(now);
                self.wire.arrived.push_back(datagram.to_vec());
                self.interface
                    .poll_ingress_single(now, &mut self.wire, &mut self.sockets);
            }

            fn expire(&mut self, _: Instant) {
                // Timers are handled by the next `transmit`.
            }

            fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> Option<Transmit> {
                if self.wire.leaving.is_empty() {
                    let now = self.time(now);
                    self.interface
                        .poll_egress(now, &mut self.wire, &mut self.sockets);
                }
                *datagram = self.wire.leaving.pop_front()?;
                self.count(datagram);
                Some(Transmit {
                    headers: 0,
                    ect: false,
                })
            }

            fn deadline(&mut self) -> Option<Instant> {
                let last = self.wire.now;
                let at = self.interface.poll_at(last, &self.sockets)?;
                let micros = u64::try_from(at.total_micros()).unwrap_or(0);
                Some(self.origin + Duration::from_micros(micros))
            }

            fn is_connected(&self) -> bool {
                self.socket().may_send()
            }

            fn is_closed(&self) -> bool {
                self.failed || !self.socket().is_open()
            }

            fn write(&mut self, bytes: usize) -> usize {
                let socket = self.sockets.get_mut::<Socket>(self.handle);
                let mut written = 0;
                while written < bytes {
                    match socket.send_slice(&ZEROS[..ZEROS.len().min(bytes - written)]) {
                        Ok(taken) if taken > 0 => written += taken,
                        _ => break,
                    }
                }
                written
            }

            fn finish(&mut self) {
                self.sockets.get_mut::<Socket>(self.handle).close();
            }

            fn read(&mut self, _: Instant) -> u64 {
                let socket = self.sockets.get_mut::<Socket>(self.handle);
                let mut read = 0;
                while let Ok(taken @ 1..) = socket.recv(|data| (data.len(), data.len())) {
                    read += taken as u64;
                }
                read
            }

            fn report(&mut self) -> EndpointReport {
                EndpointReport {
                    in_flight: None,
                    lost: Some(self.retransmitted),
                    ..EndpointReport::default()
                }
            }
        }

        /// The device: packets that arrived, and packets that leave.
        struct Wire {
            arrived: VecDeque<Vec<u8>>,
            leaving: VecDeque<Vec<u8>>,
            /// When the interface last asked.
            now: SmolInstant,
        }

        struct Arrived(Vec<u8>);

        struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

        impl RxToken for Arrived {
            fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
                f(&self.0)
            }
        }

        impl TxToken for Leaving<'_> {
            fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
                let mut packet = vec![0; length];
                let result = f(&mut packet);
                self.0.push_back(packet);
                result
            }
        }

        impl Device for Wire {
            type RxToken<'a> = Arrived;
            type TxToken<'a> = Leaving<'a>;

            fn receive(&mut self, now: SmolInstant) -> Option<(Arrived, Leaving<'_>)> {
                self.now = now;
                let packet = self.arrived.pop_front()?;
                Some((Arrived(packet), Leaving(&mut self.leaving)))
            }

            fn transmit(&mut self, now: SmolInstant) -> Option<Leaving<'_>> {
                self.now = now;
                Some(Leaving(&mut self.leaving))
            }

            fn capabilities(&self) -> DeviceCapabilities {
                let mut capabilities = DeviceCapabilities::default();
                capabilities.medium = Medium::Ip;
                capabilities.max_transmission_unit = usize::from(MTU);
                capabilities.checksum = ChecksumCapabilities::default();
                capabilities
            }
        }
    };
}
pub(super) use endpoint;
