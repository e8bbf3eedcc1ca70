//! A radio link described by its distance: how often frames are not understood, what tries cost, what arrives.
//!
//! **The way from metres to packets.** Power, antennas and the distance give the received power ([`budget`]); obstacles
//! shift it ([`shadowing`]); with the noise it is a ratio of signal to noise. Modulation and codes make of it the
//! probability that a bit is wrong ([`modulation`], [`coding`]), the length of a frame makes of that the probability that
//! the frame is not understood ([`mode`]). The radio sends it again so often, and each try costs time ([`airtime`]). What
//! is never understood is dropped by the radio's own check or, where somebody switched that off, delivered with wrong
//! bits.
//!
//! **In plain words.** Errors come as a cliff: 2 dB, a fifth of the distance, lie between a rate that works always and
//! one that never does. A radio that chooses its rate steps back from the cliff, and one that sends again hides what is
//! left: with 10 % of frames lost and seven tries, one packet in ten million is lost. So a transport sees a radio's
//! errors as time, not as losses, unless tries are few, or the slowest rate is too fast.
//!
//! **What TCP can know of corrupted packets.** 802.11 drops every frame with a wrong check sum (FCS) before anybody looks
//! at it: no corrupted segment ever reaches TCP on such a link ([`WirelessSpec::deliver_corrupted`] = 0, the default).
//! 802.16 checks a frame if the connection was set up so. A study of corruption that TCP sees has to set the share.
//!
//! **When to use it, and when not.** For one link whose ends do not contend: each direction has the air for itself
//! (802.16 gives each its part of the frame; of 802.11 a direction that sends little, acknowledgments, hardly takes from
//! the other). For stations that contend and aggregate there is [`Wifi`](crate::Wifi), which knows no distance.
//! Interference, fading within a frame, antenna patterns and the curvature of the earth are not here; put them into
//! [`WirelessSpec::loss`] or the noise figure.
//!
//! Both directions have errors of their own, drawn independently, with the same shadowing. Results depend on the last
//! bits of the mathematical library's functions, unlike those of other links.

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
