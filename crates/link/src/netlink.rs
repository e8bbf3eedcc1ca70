//! Sets the length of a device's transmit queue by rtnetlink(7), which allows it for the root of a
//! user namespace (the ioctl requires root of the host). A netlink library would be larger than
//! this crate.

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use std::os::fd::AsRawFd;

/// Bytes of `struct nlmsghdr`, and of `struct ifinfomsg` after it.
const HEADER: usize = 16;
const LINK: usize = 16;

/// Sets the length of a device's transmit queue in packets, in the current network namespace.
pub(crate) fn set_transmit_queue(device: &str, packets: u32) -> Result<(), Errno> {
    let index = if_nametoindex(device)?;
    let fd = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let to_the_kernel = NetlinkAddr::new(0, 0);
    sendto(
        fd.as_raw_fd(),
        &request(index, packets),
        &to_the_kernel,
        MsgFlags::empty(),
    )?;
    let mut answer = [0; 256];
    let len = recv(fd.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match error_in(&answer[..len]) {
        Some(0) => Ok(()),
        Some(code) => Err(Errno::from_raw(-code)),
        None => Err(Errno::EPROTO),
    }
}

/// The message `RTM_SETLINK` with the attribute `IFLA_TXQLEN`, with a request for acknowledgment.
fn request(index: u32, packets: u32) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + LINK + 8);
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    // nlmsghdr: length, type, flags, sequence, port.
    message.extend(((HEADER + LINK + 8) as u32).to_ne_bytes());
    message.extend(libc::RTM_SETLINK.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    // ifinfomsg: family and type unspecified, index, no flags changed.
    message.extend([0; 4]);
    message.extend(index.to_ne_bytes());
    message.extend([0; 8]);
    // rtattr: length, type, value.
    message.extend(8_u16.to_ne_bytes());
    message.extend(libc::IFLA_TXQLEN.to_ne_bytes());
    message.extend(packets.to_ne_bytes());
    message
}

/// The code of an `NLMSG_ERROR` message: zero or a negative errno.
fn error_in(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(HEADER..HEADER + 4)?.try_into().ok()?);
    (i32::from(kind) == libc::NLMSG_ERROR).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_its_stated_length() {
        let message = request(7, 20_000);
        assert_eq!(message.len(), 40);
        assert_eq!(message[..4], 40_u32.to_ne_bytes());
        assert_eq!(message[20..24], 7_u32.to_ne_bytes());
        assert_eq!(message[36..], 20_000_u32.to_ne_bytes());
    }

    #[test]
    fn an_empty_or_foreign_answer_has_no_error_code() {
        assert_eq!(error_in(&[]), None);
        assert_eq!(error_in(&[0; 40]), None);
    }

    #[test]
    fn an_unknown_device_is_an_error() {
        assert!(set_transmit_queue("no-such-dev", 1).is_err());
    }
}
