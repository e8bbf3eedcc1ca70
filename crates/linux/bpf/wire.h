/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * What these programs and user space exchange. src/wire.rs mirrors and explains it.
 */
#pragma once
#include "kernel.h"

/* Generations of connections are below 2^31. */
#define FLOOD_GENERATION (~0u)

enum { WIRE_VERSION = 1, SLOTS = 16384, MAX_RULES = 16 };

enum kind {
	KIND_START = 1,
	KIND_ACK = 2,
	KIND_TIMEOUT = 3,
	KIND_SPURIOUS = 4,
	KIND_END = 5,
	KIND_RESUME = 6,
};

enum flag {
	FLAG_CWND_LIMITED = 1,
	FLAG_APP_LIMITED = 2,
	FLAG_LOST_KNOWN = 4,
	FLAG_RETRANSMISSION = 8,
	FLAG_FALLBACK = 16,
};

struct event {
	u64 time;
	u32 slot, generation, number;
	u8 kind, ca_state, states_entered, flags;
	u32 ack_flags, mss;
	u32 acked, delivered, lost;
	u32 in_flight, prior_in_flight, cwnd, max_packets_out;
	u32 srtt_us, rtt_us;
	u32 rate_delivered, rate_interval_us, prior_delivered;
	u32 snd_una, snd_nxt;
	u32 segments_out, retransmitted, backoff;
	u32 rcv_tsval;
	u32 lost_seq, lost_end;
	u64 lost_sent;
	u64 newest_sent_us;
	u64 applied_after;
	u64 received;
};

struct start {
	struct event event;
	u32 local[4], remote[4];
	u16 local_port, remote_port;
	u32 timestamp_offset;
	u8 timestamps, timestamps_us, ecn, reserved[5];
};

struct nack {
	u64 time;
	u32 local[4], remote[4];
	u16 local_port, remote_port;
	u32 seq, echo, timestamps;
};

struct command {
	u64 window, pacing, ssthresh, reduction, answers, ahead, ahead_pacing[2];
};

struct control {
	u64 heartbeat, silence;
	u64 events, dropped, fallbacks, refused, clamped, sleeping, chosen, not_chosen;
};

/* Addresses are compared in four words, as IPv6. */
struct network {
	u32 address[4], mask[4];
};

struct rules {
	u32 ports, networks; /* how many of each are set */
	u16 port[MAX_RULES];
	struct network network[MAX_RULES];
};
