//! The kinds of flows. This is the only file that lists them.
//!
//! A flow is an enum, not a trait object: the calls of TCP are inlined into the engine's loop.

use crate::flow::interface::{Arrival, Context, EndBehavior, Flow, PathEnd};
use crate::flow::report::{Ended, FlowReport};
use crate::network::{Network, Traffic};
use crate::observe::{Content, End, What};
use crate::outcome::{FlowSample, LossCounts};
use crate::packet::Packet;
use crate::seed::Stream;
use crate::{aatp, hosted, multipath, tcp, udp};
use whimbrel_net::DropCause;
use whimbrel_units::{Duration, Time};

/// The state that the flows of a run share: only AATP has any.
pub(crate) type Shared = aatp::Nodes;

/// A flow of any kind. The common one is not boxed: a packet would have to wait for the pointer.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all flows are of the largest kind"
)]
pub(crate) enum AnyFlow<'a> {
    /// A TCP connection over one path, with bulk data.
    Tcp(tcp::Connection<'a>),
    /// A TCP connection over several paths, with several streams or with messages.
    Multipath(Box<multipath::Connection<'a>>),
    /// An AATP connection.
    Aatp(Box<aatp::Connection<'a>>),
    /// A connection of a protocol stack from outside.
    Hosted(Box<hosted::Hosted<'a>>),
    /// A source of datagrams.
    Udp(Box<udp::Source>),
}

impl<'a> AnyFlow<'a> {
    /// Flow `index` of a network, whose paths have these numbers.
    pub fn new(network: &'a Network, index: usize, path_ids: &[u32]) -> Self {
        let spec = &network.flows[index];
        if let Some(host) = &spec.host {
            let seed = Stream::Host.seed(network.seed, index);
            let hosted = hosted::Hosted::new(&**host, index as u32, spec.size(), seed);
            return Self::Hosted(Box::new(hosted));
        }
        match &spec.traffic {
            Traffic::Tcp(tcp) if spec.is_multipath() => Self::Multipath(Box::new(
                multipath::Connection::new(network, index, path_ids, tcp),
            )),
            Traffic::Tcp(tcp) => Self::Tcp(tcp::Connection::new(network, index, tcp)),
            Traffic::Aatp(aatp) => {
                Self::Aatp(Box::new(aatp::Connection::new(network, index, aatp)))
            }
            Traffic::Udp(udp) => {
                let seed = Stream::Datagrams.seed(network.seed, index);
                Self::Udp(Box::new(udp::Source::new(index as u32, *udp, seed)))
            }
        }
    }
}

/// Calls a method of [`Flow`] on the flow of whatever kind.
macro_rules! call {
    ($self:expr, $method:ident($($argument:expr),*)) => {
        match $self {
            AnyFlow::Tcp(flow) => Flow::<Shared>::$method(flow, $($argument),*),
            AnyFlow::Multipath(flow) => Flow::<Shared>::$method(&mut **flow, $($argument),*),
            AnyFlow::Aatp(flow) => Flow::<Shared>::$method(&mut **flow, $($argument),*),
            AnyFlow::Hosted(flow) => Flow::<Shared>::$method(&mut **flow, $($argument),*),
            AnyFlow::Udp(flow) => Flow::<Shared>::$method(&mut **flow, $($argument),*),
        }
    };
}

/// The same for methods that change nothing.
macro_rules! query {
    ($self:expr, $method:ident($($argument:expr),*)) => {
        match $self {
            AnyFlow::Tcp(flow) => Flow::<Shared>::$method(flow, $($argument),*),
            AnyFlow::Multipath(flow) => Flow::<Shared>::$method(&**flow, $($argument),*),
            AnyFlow::Aatp(flow) => Flow::<Shared>::$method(&**flow, $($argument),*),
            AnyFlow::Hosted(flow) => Flow::<Shared>::$method(&**flow, $($argument),*),
            AnyFlow::Udp(flow) => Flow::<Shared>::$method(&**flow, $($argument),*),
        }
    };
}

impl AnyFlow<'_> {
    /// [`Flow::on_arrival`] apart from the path that TCP takes.
    #[inline(never)]
    fn on_other_arrival(
        &mut self,
        context: &mut Context<'_, Shared>,
        place: PathEnd,
        packet: &Packet,
    ) -> Arrival {
        call!(self, on_arrival(context, place, packet))
    }
}

impl Flow<Shared> for AnyFlow<'_> {
    fn start(&mut self, context: &mut Context<'_, Shared>) {
        call!(self, start(context));
    }

    fn stop(&mut self) {
        call!(self, stop());
    }

    fn on_timer(&mut self, context: &mut Context<'_, Shared>, place: PathEnd) -> Option<Time> {
        call!(self, on_timer(context, place))
    }

    #[inline(always)]
    fn on_arrival(
        &mut self,
        context: &mut Context<'_, Shared>,
        place: PathEnd,
        packet: &Packet,
    ) -> Arrival {
        match self {
            Self::Tcp(flow) => flow.on_arrival(context, place, packet),
            _ => self.on_other_arrival(context, place, packet),
        }
    }

    fn on_corrupted(
        &mut self,
        context: &mut Context<'_, Shared>,
        place: PathEnd,
        packet: &Packet,
    ) -> Option<Time> {
        call!(self, on_corrupted(context, place, packet))
    }

    fn note_loss(&mut self, path: usize, packet: &Packet, cause: DropCause) {
        call!(self, note_loss(path, packet, cause));
    }

    fn deadline(&self, now: Time, place: PathEnd) -> Option<Time> {
        query!(self, deadline(now, place))
    }

    fn behavior(&self, end: End) -> EndBehavior {
        query!(self, behavior(end))
    }

    fn can_complete(&self) -> bool {
        query!(self, can_complete())
    }

    #[inline]
    fn is_complete(&self) -> bool {
        query!(self, is_complete())
    }

    fn losses(&mut self, path: usize) -> &mut LossCounts {
        call!(self, losses(path))
    }

    fn record_episodes(&mut self) {
        call!(self, record_episodes());
    }

    fn sample(&mut self, now: Time, interval: Duration) -> Option<FlowSample> {
        call!(self, sample(now, interval))
    }

    fn report(self, ended: Ended<'_>) -> FlowReport {
        match self {
            Self::Tcp(flow) => Flow::<Shared>::report(flow, ended),
            Self::Multipath(flow) => Flow::<Shared>::report(*flow, ended),
            Self::Aatp(flow) => Flow::<Shared>::report(*flow, ended),
            Self::Hosted(flow) => Flow::<Shared>::report(*flow, ended),
            Self::Udp(flow) => Flow::<Shared>::report(*flow, ended),
        }
    }

    fn observe(&mut self) {
        call!(self, observe());
    }

    fn describe(&mut self, packet: &Packet, id: u64) -> Content {
        call!(self, describe(packet, id))
    }

    fn report_findings(&mut self, report: &mut dyn FnMut(usize, What)) {
        call!(self, report_findings(report));
    }

    fn report_states(&mut self, report: &mut dyn FnMut(usize, What)) {
        call!(self, report_states(report));
    }
}
