//! One endpoint of a TCP connection: the handshake, the sending half and the receiving half.

use super::forger::Forger;
use super::receiver::Receiver;
use super::sender::{Departed, Mapping, Sender, Sending, Transmission};
use crate::counters::SenderCounters;
use crate::measure::Delays;
use crate::network::{Nack, Recovery, TcpFlow, TcpSettings};
use crate::outcome::{LossEpisode, NackCounts};
use crate::packet::{Flags, Packet};
use crate::seed::Draw;
use whimbrel_net::DropCause;
use whimbrel_units::{Duration, Time};

/// Initial timeout of the SYN (RFC 6298 section 2.1).
const INITIAL_SYN_TIMEOUT: Duration = Duration::from_secs(1);

/// State of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handshake {
    /// The near end has not started, or the far end has received nothing.
    Closed,
    /// The near end has sent its SYN `tries` times and retransmits it at `retry_at`.
    SynSent { tries: u32, retry_at: Time },
    /// The far end has answered a SYN.
    SynReceived,
    /// Data may flow.
    Established,
}

/// One endpoint of a TCP connection.
///
/// The fields are in this order in memory: what a packet needs comes first. With tens of flows not
/// all of their state is in the first cache, so the speed of a run depends on the number of lines,
/// and on how many of them are found only by what is in another one.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    handshake: Handshake,
    path_id: u32,
    header: u32,
    /// The direction of all its packets.
    direction: Flags,
    /// A multipath connection decides when it sends data, and which.
    multipath: bool,
    /// The connection does not send for ever, so it may be complete one day.
    finite: bool,
    /// RTT samples taken here.
    pub rtt: Delays,
    /// One-way delays of the data packets that arrived here.
    pub one_way: Delays,
    /// An attacker near this end sends NACKs in its name.
    forger: Option<Box<Forger>>,
    receiver: Option<Receiver>,
    sender: Option<Sender>,
}

impl Endpoint {
    /// The end that opens the connection and sends.
    pub fn near(path_id: u32, tcp: &TcpFlow, draw: Draw) -> Self {
        Self::new(path_id, Flags::default(), tcp, draw, true, tcp.two_way)
    }

    /// The end that answers and receives.
    pub fn far(path_id: u32, tcp: &TcpFlow, draw: Draw) -> Self {
        Self::new(path_id, Flags::BACKWARD, tcp, draw.far(), tcp.two_way, true)
    }

    fn new(
        path_id: u32,
        direction: Flags,
        tcp: &TcpFlow,
        draw: Draw,
        sends: bool,
        receives: bool,
    ) -> Self {
        let settings: &TcpSettings = &tcp.settings;
        let sack = settings.recovery != Recovery::NewReno;
        let nack = tcp.nack();
        // The attacker is near the far end, where it sees the data of the near end.
        let forger = settings
            .forged_nacks
            .filter(|_| direction.has(Flags::BACKWARD))
            .map(|spec| Box::new(Forger::new(spec, draw.seed)));
        Self {
            path_id,
            direction,
            handshake: Handshake::Closed,
            sender: sends.then(|| Sender::new(&tcp.controller, tcp.size, settings, nack, draw)),
            receiver: receives.then(|| Receiver::new(settings, sack, nack != Nack::Off)),
            header: settings.header.get() as u32,
            multipath: false,
            finite: tcp.size.is_some(),
            forger,
            one_way: Delays::new(),
            rtt: Delays::new(),
        }
    }

    /// Makes it an endpoint of path `own` of a multipath connection with this number of `paths`.
    /// The connection offers its data through [`Self::send_offered`].
    pub fn multipath(mut self, own: usize, paths: usize) -> Self {
        self.multipath = true;
        self.sender = self.sender.map(|sender| sender.multipath(own, paths));
        self
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        self.handshake == Handshake::Established
    }

    /// The sending half, if it has one.
    pub fn sender(&self) -> Option<&Sender> {
        self.sender.as_ref()
    }

    /// The sending half, mutable.
    pub fn sender_mut(&mut self) -> Option<&mut Sender> {
        self.sender.as_mut()
    }

    /// Whether the connection does not send for ever.
    #[inline]
    pub fn is_finite(&self) -> bool {
        self.finite
    }

    /// Number of segments delivered to its application.
    pub fn delivered(&self) -> u32 {
        self.receiver.as_ref().map_or(0, Receiver::next)
    }

    /// Number of data packets that arrived here with a congestion mark.
    pub fn marked(&self) -> u64 {
        self.receiver.as_ref().map_or(0, Receiver::marked)
    }

    /// The counters of its sending half.
    pub fn counters(&self) -> SenderCounters {
        self.sender
            .as_ref()
            .map(|s| *s.counters())
            .unwrap_or_default()
    }

    /// Counts of NACKs sent from here and received here. `None` if NACKs are off and not forged.
    pub fn nacks(&self) -> Option<NackCounts> {
        let came = self.sender.as_ref().and_then(Sender::nacks);
        let sent = self.receiver.as_ref().and_then(Receiver::nacks);
        let forged = self.forger.as_ref().map(|forger| forger.sent);
        (came.is_some() || sent.is_some() || forged.is_some()).then(|| NackCounts {
            sent: sent.unwrap_or(0),
            forged: forged.unwrap_or(0),
            ..came.unwrap_or_default()
        })
    }

    /// Records loss episodes of its sending half from now on.
    pub fn record_episodes(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.record_episodes();
        }
    }

    /// The recorded loss episodes of its sending half, in time order.
    pub fn episodes(&self) -> Vec<LossEpisode> {
        self.sender
            .as_ref()
            .map(|sender| sender.episodes().to_vec())
            .unwrap_or_default()
    }

    /// When its next timer expires; [`Time::MAX`]: none runs.
    #[inline(always)]
    pub fn deadline(&self, now: Time) -> Time {
        let mut due = Time::MAX;
        if self.handshake != Handshake::Established {
            if let Handshake::SynSent { retry_at, .. } = self.handshake {
                return retry_at;
            }
        } else if let Some(sender) = &self.sender {
            due = sender.deadline(now);
        }
        if let Some(receiver) = &self.receiver {
            due = due.min(receiver.deadline());
        }
        match &self.forger {
            None => due,
            Some(forger) => forger.before(due),
        }
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.send_syn(now, 0, out);
    }

    /// Sends no new data from now on.
    pub fn stop(&mut self) {
        self.finite = true;
        if let Some(sender) = &mut self.sender {
            sender.stop();
        }
    }

    /// Invoked when a packet arrives intact. Returns the number of segments that it delivered to
    /// the application.
    ///
    /// This function and those that send are the hottest of a run, and are inlined for flows with
    /// one path. A second caller must not change that, so everything on the way of an
    /// acknowledgment and of a segment is marked `inline(always)`, down to the RTT estimator: a
    /// call there costs as much as its work.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) -> u32 {
        if packet.flags.opens() {
            self.on_syn(now, packet, out);
            return 0;
        }
        if self.handshake != Handshake::Established {
            if packet.flags.is_nack() {
                return 0;
            }
            self.on_established(now, packet);
        }
        self.meet_timer(now, out);
        let mut in_order = 0;
        let mut ack_now = false;
        if packet.flags.has(Flags::DATA) {
            self.one_way.add(now.since(packet.sent));
            if let Some(receiver) = &mut self.receiver {
                let received = receiver.on_data(now, packet);
                in_order = received.in_order;
                // Out of order: a duplicate ACK carries no data (RFC 5681 section 2), so it is sent
                // at once instead of on a data packet.
                if received.ack_now && in_order == 0 {
                    self.send_ack(now, out);
                } else {
                    ack_now = received.ack_now;
                }
            }
        }
        if let Some(sender) = &mut self.sender {
            if packet.flags.is_nack() {
                sender.on_nack(now, packet);
            } else if let Some(rtt) = sender.on_ack(now, packet) {
                self.rtt.add(rtt);
            }
            let sent = self.send_data(now, out);
            ack_now &= !sent;
        }
        if ack_now {
            self.send_ack(now, out);
        }
        in_order
    }

    /// With lookahead a receiver handles its own timer when a packet arrives after it.
    #[inline(always)]
    fn meet_timer(&mut self, now: Time, out: &mut Vec<Packet>) {
        if let Some(receiver) = &self.receiver
            && receiver.deadline() < now
        {
            self.send_ack(receiver.deadline(), out);
        }
    }

    /// Invoked when a packet arrives that is dropped because of its checksum. If its headers are
    /// intact and it carried missing data, a NACK requests that data. (Corrupted headers could name
    /// the wrong connection or the wrong segment.)
    pub fn on_corrupted(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) {
        let header = self.header + u32::from(packet.sack_bytes());
        let readable = packet.first_changed_bit() / 8 >= header;
        if !readable || !packet.flags.has(Flags::DATA) || self.handshake == Handshake::Closed {
            return;
        }
        self.meet_timer(now, out);
        let requested = self
            .receiver
            .as_mut()
            .is_some_and(|receiver| receiver.on_corrupted(packet.seg, packet.sent));
        if requested {
            self.send_nack(now, packet.seg, packet.sent, out);
        }
    }

    /// Sends a NACK for a segment. `echo` is when the corrupted segment was sent.
    fn send_nack(&mut self, now: Time, seg: u32, echo: Time, out: &mut Vec<Packet>) {
        let mut nack = self.packet(now, Flags::NACK, 0, self.header);
        nack.set_nacked_segment(seg);
        nack.echo = echo;
        out.push(nack);
    }

    /// Invoked when a timer may have expired.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Packet>) {
        if let Handshake::SynSent { tries, retry_at } = self.handshake {
            if retry_at <= now {
                self.send_syn(now, tries, out);
            }
            return;
        }
        if let (Handshake::Established, Some(sender)) = (self.handshake, &mut self.sender) {
            sender.on_timer(now);
            self.send_data(now, out);
        }
        if self
            .receiver
            .as_ref()
            .is_some_and(|receiver| receiver.deadline() <= now)
        {
            self.send_ack(now, out);
        }
        if let (Some(forger), Some(receiver)) = (&mut self.forger, &self.receiver)
            && let Some((seg, echo)) = forger.forge(now, receiver.seen(), receiver.nacked())
        {
            self.send_nack(now, seg, echo, out);
        }
    }

    /// Records the true cause of the drop of a data packet that was sent from here.
    pub fn note_drop(&mut self, packet: &Packet, cause: DropCause) {
        if let Some(sender) = &mut self.sender {
            sender.note_drop(packet.seg, packet.sent, cause);
        }
    }

    fn send_syn(&mut self, now: Time, tries: u32, out: &mut Vec<Packet>) {
        let wait = INITIAL_SYN_TIMEOUT * (1 << tries.min(6));
        self.handshake = Handshake::SynSent {
            tries: tries + 1,
            retry_at: now + wait,
        };
        out.push(self.packet(now, Flags::SYN, 0, self.header));
    }

    fn on_syn(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) {
        if let Some(receiver) = &mut self.receiver {
            receiver.on_syn(packet.sent);
        }
        if self.direction.has(Flags::BACKWARD) {
            // The far end answers every SYN: an earlier answer may have been lost.
            if self.handshake == Handshake::Closed {
                self.handshake = Handshake::SynReceived;
            }
            if let Some(forger) = &mut self.forger {
                forger.begin(now);
            }
            let mut answer = self.packet(now, Flags::SYN, 0, self.header);
            answer.echo = packet.sent;
            out.push(answer);
        } else if self.handshake != Handshake::Established {
            self.on_established(now, packet);
            self.send_data(now, out);
        }
    }

    /// The peer has answered: data may flow, and the handshake gives the first RTT sample.
    fn on_established(&mut self, now: Time, packet: &Packet) {
        self.handshake = Handshake::Established;
        let rtt = (packet.echo > Time::ZERO).then(|| now.since(packet.echo));
        if let Some(sender) = &mut self.sender {
            sender.on_handshake(rtt);
            if let Some(rtt) = rtt {
                self.rtt.add(rtt);
            }
        }
    }

    /// Sends all that the sender may send. Returns whether anything was sent; data packets carry
    /// the acknowledgment.
    #[inline]
    fn send_data(&mut self, now: Time, out: &mut Vec<Packet>) -> bool {
        if self.multipath {
            return false;
        }
        let mut sent = false;
        let mut sending = Sending::default();
        while let Some(next) = self
            .sender
            .as_mut()
            .and_then(|sender| sender.next_segment(now, &mut sending))
        {
            // Pushed first: what is changed in part is not copied then.
            out.push(self.data(now, next));
            if let (Some(receiver), Some(packet)) = (&mut self.receiver, out.last_mut()) {
                receiver.acknowledge(packet);
            }
            sent = true;
        }
        if let Some(sender) = &mut self.sender {
            sender.end_sending(now, sending);
        }
        sent
    }

    /// Sends one segment if allowed: a retransmission, or else the offered data. Returns what was
    /// sent.
    pub fn send_offered(
        &mut self,
        now: Time,
        offer: Option<Mapping>,
        out: &mut Vec<Packet>,
    ) -> Option<Departed> {
        let sender = self.sender.as_mut()?;
        sender.offer(offer);
        let next = sender.next_one(now)?;
        let sent = sender.departed(next.seg);
        let mut packet = self.data(now, next);
        packet.set_connection_segment(sent.mapping.data);
        out.push(packet);
        Some(sent)
    }

    #[inline]
    fn data(&self, now: Time, next: Transmission) -> Packet {
        let what = Flags::DATA
            .with_if(next.ect, Flags::ECT)
            .with_if(next.cwr, Flags::CWR);
        self.packet(now, what, next.seg, next.size)
    }

    /// Sends an acknowledgment. There is a receiver.
    fn send_ack(&mut self, now: Time, out: &mut Vec<Packet>) {
        out.push(self.packet(now, Flags::default(), 0, self.header));
        if let (Some(receiver), Some(packet)) = (&mut self.receiver, out.last_mut()) {
            receiver.acknowledge(packet);
        }
    }

    #[inline]
    fn packet(&self, now: Time, what: Flags, seg: u32, size: u32) -> Packet {
        let mut packet = Packet::new(now, self.path_id, size as u16, self.direction.with(what));
        packet.seg = seg;
        packet
    }
}
