use super::*;
use crate::bpf::btf::{Structure, Types};
use crate::bpf::object::section;
use std::mem::offset_of;

const OBJECT: &[u8] = include_bytes!("../bpf/objects/whimbrel.bpf.o");

/// A structure as the compiler of the kernel's half laid it out.
fn compiled(name: &str) -> Structure {
    let types = section(OBJECT, ".BTF").expect("objects carry their types");
    let types = Types::parse(types.to_vec()).expect("valid types");
    let found = types.structure(name);
    found.unwrap_or_else(|| panic!("the object has no structure {name}"))
}

/// Compares all members with those of a structure here.
macro_rules! compare {
    ($name:literal, $type:ty, $($member:ident),+) => {
        let found = compiled($name);
        assert_eq!(found.size, size_of::<$type>(), "size of {}", $name);
        let members = found.members.iter().map(|member| (member.name.as_str(), member.offset));
        let here = [$((stringify!($member), offset_of!($type, $member))),+];
        assert_eq!(members.collect::<Vec<_>>(), here, "members of {}", $name);
    };
}

#[test]
fn both_halves_have_the_same_structures() {
    compare!(
        "event",
        Event,
        time,
        slot,
        generation,
        number,
        kind,
        ca_state,
        states_entered,
        flags,
        ack_flags,
        mss,
        acked,
        delivered,
        lost,
        in_flight,
        prior_in_flight,
        cwnd,
        max_packets_out,
        srtt_us,
        rtt_us,
        rate_delivered,
        rate_interval_us,
        prior_delivered,
        snd_una,
        snd_nxt,
        segments_out,
        retransmitted,
        backoff,
        rcv_tsval,
        lost_seq,
        lost_end,
        lost_sent,
        newest_sent_us,
        applied_after,
        received
    );
    compare!(
        "start",
        Start,
        event,
        local,
        remote,
        local_port,
        remote_port,
        timestamp_offset,
        timestamps,
        timestamps_us,
        ecn,
        reserved
    );
    compare!(
        "command",
        Command,
        window,
        pacing,
        ssthresh,
        reduction,
        answers,
        ahead,
        ahead_pacing
    );
    compare!(
        "control", Control, heartbeat, silence, events, dropped, fallbacks, refused, clamped,
        sleeping, chosen, not_chosen
    );
    compare!("network", Network, address, mask);
    compare!("rules", Rules, ports, networks, port, network);
    compare!(
        "nack",
        Nack,
        time,
        local,
        remote,
        local_port,
        remote_port,
        seq,
        echo,
        timestamps
    );
}
