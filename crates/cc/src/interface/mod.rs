//! The interface between algorithms and transports: the events that a transport reports, and the
//! answers that an algorithm gives. Plain values; no algorithm and no transport is named here.

pub(crate) mod burst;
pub(crate) mod classifier;
pub(crate) mod controller;
pub(crate) mod event;
pub(crate) mod transport;
pub(crate) mod verdict;

pub use burst::{Bandwidth, BurstController, BurstPlan, BurstReport, Share, Spans};
pub use classifier::LossClassifier;
pub use controller::Controller;
pub(crate) use controller::forward;
pub use event::{Ack, AtSending, Loss, LostPacket, Sibling, Signal, Timeout};
pub use transport::{FastRecovery, TransportFeatures};
pub use verdict::{LossResponse, Verdict};
