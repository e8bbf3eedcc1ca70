/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * What both ends of negative acknowledgments (NACKs) share: the packets' headers, the Internet
 * checksum, the members of the kernel's connection that are read, and the allowance.
 *
 * A NACK is a TCP packet without data whose acknowledgment field names a corrupted segment:
 *
 *   sequence number     one below the receiver's first unacknowledged one
 *   acknowledgment      the sequence number of the corrupted segment
 *   flags               ACK, and bit NACK_MARK of the reserved bits
 *   window              0
 *   options             NOP, NOP, timestamps with the corrupted segment's TSval as TSecr, if the
 *                       connection uses timestamps; else none
 *
 * Where this departs from the paper: its NACK is an ordinary acknowledgment with another bit. A
 * sender without the paper's kernel would take the number for an acknowledgment of everything below
 * it, lost data included, and the connection would never recover. So would one behind a middlebox
 * that clears reserved bits. This NACK has a sequence number outside of any window. RFC 9293
 * section 3.10.7.4 drops such a packet before its acknowledgment field is read; a keep-alive is
 * another.
 */
#pragma once
#include "helpers.h"
#include "wire.h"

enum { BPF_F_CURRENT_NETNS = -1 };
static void *(*bpf_skc_lookup_tcp)(void *ctx, void *tuple, u32 size, u64 netns,
				   u64 flags) = (void *)99;
static long (*bpf_sk_release)(void *sk) = (void *)86;
static void *(*bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

/* The reserved bit of byte 12 of the TCP header that marks a NACK. 0x01 is the accurate ECN flag
 * (RFC 9768), which a connection may use at the same time.
 */
enum { NACK_MARK = 0x04 };

enum { PROTOCOL_IPV4 = 0x0800, PROTOCOL_IPV6 = 0x86dd, PROTOCOL_TCP = 6 };
enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16, TCP_URG = 32 };
enum { TCP_ESTABLISHED = 1, TCP_FIN_WAIT1 = 4, TCP_FIN_WAIT2 = 5, TCP_CLOSE_WAIT = 8,
       TCP_LAST_ACK = 9, TCP_LISTEN = 10, TCP_CLOSING = 11 };

struct ipv4 {
	u8 version, service;
	u16 length, id, fragment;
	u8 ttl, protocol;
	u16 check;
	u32 from, to;
} __attribute__((packed, aligned(2)));

struct ipv6 {
	u32 version;
	u16 length;
	u8 next, hops;
	u32 from[4], to[4];
} __attribute__((packed, aligned(2)));

struct tcp {
	u16 from, to;
	u32 seq, ack;
	u8 offset, flags;
	u16 window, check, urgent;
} __attribute__((packed, aligned(2)));

/* Timestamps (RFC 7323) as every common system writes them: after two NOPs, at the beginning. */
struct stamps {
	u32 kind;
	u32 value, echo;
} __attribute__((packed, aligned(2)));
#define STAMPS __builtin_bswap32(0x0101080a)

#define net16(x) __builtin_bswap16(x)
#define net32(x) __builtin_bswap32(x)

/* Whether sequence number a is before b. */
#define before(a, b) ((s32)((u32)(a) - (u32)(b)) < 0)

/* Keeps the compiler from computing a length out of two pointers, which the verifier refuses. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

/* Adds the carries of a one's complement sum, down to 16 bits. */
INLINE u16 fold(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

INLINE u64 add_words(const void *from, u32 words)
{
	u64 sum = 0;

	for (u32 i = 0; i < words; i++)
		sum += ((const u32 *)from)[i];
	return sum;
}

/* The pseudo-header's part of the sum: both families' addresses are `words` 32-bit words, the
 * source's first.
 */
INLINE u64 pseudo_header(const void *addresses, u32 words, u32 length)
{
	return add_words(addresses, words) + net32(length) + net32(PROTOCOL_TCP);
}

/* The members of the kernel's connection that are read. The loader finds them by name; the suffix
 * is not part of the name.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common___nack {
	volatile u8 skc_state;
};
struct tcp_sack_block {
	u32 start_seq, end_seq;
};
struct tcp_options_received___nack {
	u32 ts_recent, rcv_tsval;
	u16 tstamp_ok : 1;
	u8 num_sacks;
};
struct tcp_sock___nack {
	u32 snd_una, snd_nxt, rcv_nxt, rcv_wup, rcv_wnd, data_segs_in, delivered;
	struct tcp_options_received___nack rx_opt;
	struct tcp_sack_block selective_acks[4];
};
#pragma clang attribute pop

/* The names of a connection, as IPv6; IPv4 addresses are mapped. Ports in host order. */
struct name {
	u32 local[4], remote[4];
	u16 local_port, remote_port;
};

/* The limit on the NACKs of one connection: nacks_at_once, and one more for every PRICE segments
 * that arrive intact. So forged segments or NACKs cause at most half as many packets or records as
 * get through.
 *
 * Two processors may update an entry at the same time. Then one update is lost, and the limit is
 * one NACK off.
 */
enum { PRICE = 2, ALLOWANCES = 8192 };
const volatile u32 nacks_at_once = 10;
struct allowance {
	u32 intact; /* the kernel's count of intact segments at the last NACK */
	u32 earned; /* intact segments that no NACK has used up */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ALLOWANCES);
	__type(key, struct name);
	__type(value, struct allowance);
} allowances SEC(".maps");

INLINE bool take(const struct name *name, u32 intact)
{
	struct allowance *known = bpf_map_lookup_elem(&allowances, name);
	struct allowance first = { .intact = intact, .earned = PRICE * (nacks_at_once - 1) };
	u64 earned;

	if (!known) {
		bpf_map_update_elem(&allowances, name, &first, 0);
		return true;
	}
	earned = (u64)known->earned + (u32)(intact - known->intact);
	if (earned > PRICE * nacks_at_once)
		earned = PRICE * nacks_at_once;
	known->intact = intact;
	known->earned = earned >= PRICE ? earned - PRICE : earned;
	return earned >= PRICE;
}

/* Finds the local connection of a packet. The result must be released. */
INLINE void *find_connection(void *ctx, const void *addresses, u32 words, const struct tcp *tcp)
{
	struct {
		u32 address[8];
		u16 from, to;
	} v6 = {};
	struct {
		u32 address[2];
		u16 from, to;
	} v4 = {};
	const u32 *address = addresses;

	if (words == 2) {
		v4.address[0] = address[0];
		v4.address[1] = address[1];
		v4.from = tcp->from;
		v4.to = tcp->to;
		return bpf_skc_lookup_tcp(ctx, &v4, sizeof(v4), (u64)BPF_F_CURRENT_NETNS, 0);
	}
	for (int i = 0; i < 8; i++)
		v6.address[i] = address[i];
	v6.from = tcp->from;
	v6.to = tcp->to;
	return bpf_skc_lookup_tcp(ctx, &v6, sizeof(v6), (u64)BPF_F_CURRENT_NETNS, 0);
}

/* Names the connection of a packet from the peer. */
INLINE void name_connection(struct name *name, const void *addresses, u32 words,
			    const struct tcp *tcp)
{
	const u32 *address = addresses;

	__builtin_memset(name, 0, sizeof(*name));
	if (words == 2) {
		name->local[2] = name->remote[2] = net32(0xffff);
		name->remote[3] = address[0];
		name->local[3] = address[1];
	} else {
		for (int i = 0; i < 4; i++) {
			name->remote[i] = address[i];
			name->local[i] = address[4 + i];
		}
	}
	name->remote_port = net16(tcp->from);
	name->local_port = net16(tcp->to);
}
