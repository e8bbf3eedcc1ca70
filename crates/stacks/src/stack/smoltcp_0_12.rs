//! smoltcp 0.12.0: before acknowledgments of new data restarted the retransmission timer in 0.13.0.

use super::smoltcp_family::endpoint;

endpoint!(smoltcp_0_12);
