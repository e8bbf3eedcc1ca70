//! smoltcp: a TCP/IP stack for small devices, with Reno and CUBIC. It has neither SACK nor pacing,
//! and acknowledges after 10 ms or two segments at the latest.

use super::smoltcp_family::endpoint;

endpoint!(smoltcp);
