//! Helpers on links: agents between the ends of a path that know TCP.

use whimbrel_net::Side;
use whimbrel_units::Duration;

/// What an agent on a link does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Helper {
    /// Keeps the data that enters the link, and repairs losses on the link itself (H. Balakrishnan,
    /// S. Seshan, E. Amir, R. Katz, "Improving TCP/IP Performance over Wireless Networks", ACM
    /// MobiCom 1995).
    Snoop,
    /// Notes what the link has lost, and says so in acknowledgments (explicit loss notification,
    /// H. Balakrishnan, R. Katz, "Explicit Loss Notification and Wireless Web Performance", IEEE
    /// Globecom Internet Mini-Conference 1998).
    LossNotification,
    /// Knows the outages of the link beforehand, and stops the senders this long before each (T. Goff,
    /// J. Moronski, D. Phatak, V. Gupta, "Freeze-TCP", IEEE INFOCOM 2000).
    Freeze {
        /// The warning period.
        warning: Duration,
    },
}

/// The helper of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Helped {
    /// What it does.
    pub helper: Helper,
    /// Its number among the helpers of the run; both directions of a link have one.
    pub number: usize,
    /// In the forward direction data passes, in the reverse one acknowledgments.
    pub side: Side,
}
