//! A radio link described by its distance: frame errors, retransmissions and their time.
//!
//! **From metres to packets.** Power, antennas and distance give the received power ([`budget`]),
//! which obstacles change ([`shadowing`]). Received power and noise give the signal-to-noise ratio.
//! Modulation and codes turn it into a bit error rate ([`modulation`], [`coding`]), and the length
//! of a frame turns that into a frame error rate ([`mode`]). The radio retransmits failed frames up
//! to a limit, and each try takes time ([`airtime`]). A packet that is never received correctly is
//! dropped by the radio's checksum or, if configured, delivered with wrong bits.
//!
//! **Overview.** The error rate falls steeply: only 2 dB, a fifth of the distance, separate a rate
//! that always works from one that never does. A radio that adapts its rate keeps a margin, and
//! retransmissions hide the remaining errors: with 10 % of frames lost and seven tries, one packet
//! in ten million is lost. So a transport sees a radio's errors as delay, not as loss, unless there
//! are few tries or the slowest rate is too fast.
//!
//! **Corrupted packets.** 802.11 drops every frame with a wrong checksum (FCS), so no corrupted
//! segment reaches TCP on such a link ([`WirelessSpec::deliver_corrupted`] = 0, the default).
//! 802.16 checks a frame only if the connection is configured so. A study of corruption that TCP
//! sees has to set the probability.
//!
//! **When to use it.** For one link whose ends do not contend: each direction has the air for
//! itself. (802.16 gives each direction its part of the frame; on 802.11, a direction that sends
//! only acknowledgments takes little from the other.) For stations that contend and aggregate, use
//! [`Wifi`](crate::Wifi), which has no distance. Interference, fading within a frame, antenna
//! patterns and the curvature of the earth are not modelled; account for them in
//! [`WirelessSpec::loss`] or the noise figure.
//!
//! The directions draw their errors independently and share the shadowing. Unlike on other links,
//! results depend on the last bits of the functions of the mathematical library.

mod airtime;
mod budget;
mod coding;
mod mode;
mod modulation;
mod radio;
mod shadowing;
mod spec;

pub use mode::{Channelization, Mode, Standard};
pub(crate) use radio::Radio;
pub use spec::{AckTimeout, RadioRate, Wireless, WirelessSpec};

#[cfg(test)]
mod tests;
