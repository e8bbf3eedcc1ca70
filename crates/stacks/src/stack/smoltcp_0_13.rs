//! smoltcp 0.13.1: before Reno and CUBIC were mended in 0.14.0.

use super::smoltcp_family::endpoint;

endpoint!(smoltcp_0_13);
