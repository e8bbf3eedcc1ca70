// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/*
 * The receiver's end of negative acknowledgments (docs/tcp-nack.md), as XDP: it verifies the
 * checksum of every TCP segment and answers a corrupted one with a NACK (nack.h), which is made in
 * place of the segment and sent back where the segment came from.
 *
 * TCP's checksum covers headers and payload, so it does not locate the error. A NACK that names the
 * wrong connection or segment must not be sent. The segment is therefore compared with what the
 * kernel knows about the connection, and is answered only if
 *
 *   - addresses and ports are those of a connection of this host that can still receive,
 *   - its data are missing: not received in order, in no SACK block, and within the window,
 *   - its length agrees with that of the IP packet, whose own checksum is right (IPv4),
 *   - it has timestamps if the connection uses them, not older than the last one and not far ahead.
 *
 * An error in the sequence number that passes all of this names another segment; the sender
 * compares the echoed timestamp with the time at which it sent that one (src/nack/rules.rs).
 *
 * Every packet that is not answered goes on unchanged. The kernel drops corrupted ones itself.
 *
 * A packet from this machine may have no checksum yet (CHECKSUM_PARTIAL, on a veth device for
 * instance), and one that was merged from several (GRO) has none any more. Both have the
 * pseudo-header's sum in its place. They are counted and not judged.
 */
#include "nack.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct xdp_md {
	u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};
enum { XDP_DROP = 1, XDP_PASS = 2, XDP_TX = 3 };
static u64 (*bpf_xdp_get_buff_len)(void *xdp) = (void *)188;

/* src/nack/counters.rs mirrors it. */
enum counter {
	INTACT,	     /* segments with the right checksum */
	CORRUPTED,   /* segments with a wrong checksum */
	OFFLOADED,   /* segments whose checksum another layer computes or has verified */
	UNVERIFIED,  /* TCP packets that this program cannot verify: options of IPv4, too long */
	NO_DATA,     /* corrupted packets without data, or that open, close or reset a connection */
	UNKNOWN,     /* corrupted segments of no connection of this host */
	IMPLAUSIBLE, /* corrupted segments whose headers do not agree with the connection */
	LIMITED,     /* corrupted segments that exceeded the allowance */
	NACKED,	     /* corrupted segments that were answered */
	COUNTERS,
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

INLINE void count(u32 which)
{
	u64 *value = bpf_map_lookup_elem(&counters, &which);

	if (value)
		__sync_fetch_and_add(value, 1);
}

/* A jumbo frame. Longer segments exist only within a machine. */
enum { MAX_SEGMENT = 9216 };
/* A timestamp that is further ahead of the last one is wrong: 70 minutes for a clock of
 * milliseconds, 4 seconds for one of microseconds.
 */
enum { MAX_TICKS_AHEAD = 1 << 22 };

struct ethernet {
	u16 to[3], from[3];
	u16 protocol;
} __attribute__((packed, aligned(2)));

/* Adds up a segment of `length` bytes at p. Returns false if the packet is shorter than that. */
INLINE bool add_segment(const void *p, const void *end, u32 length, u64 *sum)
{
	u64 total = 0;

	OPAQUE(length);
#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_SEGMENT / 64 && length >= 64; i++) {
		OPAQUE(p);
		if (p + 64 > end)
			return false;
		total += add_words(p, 16);
		p += 64;
		length -= 64;
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < 16 && length >= 4; i++) {
		OPAQUE(p);
		if (p + 4 > end)
			return false;
		total += *(const u32 *)p;
		p += 4;
		length -= 4;
	}
	if (length >= 2) {
		OPAQUE(p);
		if (p + 2 > end)
			return false;
		total += *(const u16 *)p;
		p += 2;
		length -= 2;
	}
	if (length) {
		OPAQUE(p);
		if (p + 1 > end)
			return false;
		total += *(const u8 *)p;
	}
	*sum += total;
	return true;
}

/* What the kernel knows about the connection of a corrupted segment. */
struct known {
	u32 below; /* the sequence number of the NACK */
	u32 intact;
	bool timestamps;
};

enum verdict { ANSWER, NO_CONNECTION, NOT_PLAUSIBLE };

INLINE bool is_missing(struct tcp_sock___nack *tp, u32 seq, u32 length)
{
	u32 received = tp->rcv_nxt, edge = tp->rcv_wup + tp->rcv_wnd;
	u8 blocks = tp->rx_opt.num_sacks;

	if (before(seq, received) || before(edge, seq + length))
		return false;
	for (int i = 0; i < 4; i++) {
		u32 start = tp->selective_acks[i].start_seq, end = tp->selective_acks[i].end_seq;

		if (i < blocks && !before(seq, start) && before(seq, end))
			return false;
	}
	return true;
}

INLINE enum verdict judge(struct tcp_sock___nack *tp, const struct tcp *tcp,
			  const struct stamps *stamps, u32 length, struct known *known)
{
	u8 state = ((struct sock_common___nack *)tp)->skc_state;
	u32 recent;

	if (state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 && state != TCP_FIN_WAIT2)
		return NO_CONNECTION;
	if (!is_missing(tp, net32(tcp->seq), length))
		return NOT_PLAUSIBLE;
	known->timestamps = READ_BITS(tp, rx_opt.tstamp_ok);
	if (known->timestamps) {
		u32 last = tp->rx_opt.rcv_tsval;

		/* Without its option a segment would be dropped for another reason. */
		if (!stamps || stamps->kind != STAMPS)
			return NOT_PLAUSIBLE;
		recent = tp->rx_opt.ts_recent;
		if (before(net32(stamps->value), recent))
			return NOT_PLAUSIBLE;
		if (before(recent, last))
			recent = last;
		if (before(recent + MAX_TICKS_AHEAD, net32(stamps->value)))
			return NOT_PLAUSIBLE;
	}
	known->below = tp->snd_una - 1;
	known->intact = tp->data_segs_in;
	return ANSWER;
}

/* Turns the corrupted segment into its NACK. `ip` has `words` words of addresses and is followed by
 * `tcp`; there is room for timestamps behind it. Returns the NACK's length.
 */
INLINE u32 make_nack(void *ip, u32 words, struct tcp *tcp, struct stamps *stamps,
		     const struct known *known)
{
	u32 length = sizeof(*tcp) + (known->timestamps ? sizeof(*stamps) : 0), total;
	u16 port = tcp->from;
	u32 number = tcp->seq, value;
	u64 sum;

	tcp->from = tcp->to;
	tcp->to = port;
	tcp->seq = net32(known->below);
	tcp->ack = number;
	tcp->offset = (length / 4) << 4 | NACK_MARK;
	tcp->flags = TCP_ACK;
	tcp->window = 0;
	tcp->check = 0;
	tcp->urgent = 0;
	if (words == 2) {
		struct ipv4 *v4 = ip;
		u32 from = v4->from;

		total = sizeof(*v4) + length;
		v4->service &= 0xfc; /* not ECN-capable, as RFC 3168 has acknowledgments */
		v4->length = net16(total);
		v4->id = 0;
		v4->fragment = net16(0x4000); /* don't fragment */
		v4->ttl = 64;
		v4->check = 0;
		v4->from = v4->to;
		v4->to = from;
		v4->check = ~fold(add_words(v4, sizeof(*v4) / 4));
		sum = pseudo_header(&v4->from, 2, length);
	} else {
		struct ipv6 *v6 = ip;

		total = sizeof(*v6) + length;
		v6->version = net32(0x60000000);
		v6->length = net16(length);
		v6->hops = 64;
		for (int i = 0; i < 4; i++) {
			u32 from = v6->from[i];

			v6->from[i] = v6->to[i];
			v6->to[i] = from;
		}
		sum = pseudo_header(v6->from, 8, length);
	}
	sum += add_words(tcp, sizeof(*tcp) / 4);
	if (known->timestamps) {
		value = stamps->value;
		/* The sender's clock is in the segment. This host's is not at hand: the segment's echo
		 * of it is a value that the sender has seen before.
		 */
		stamps->value = stamps->echo;
		stamps->echo = value;
		sum += add_words(stamps, sizeof(*stamps) / 4);
	}
	tcp->check = ~fold(sum);
	return total;
}

/* A segment of `length` bytes, headers included, whose checksum is wrong. */
INLINE int answer(struct xdp_md *md, struct ethernet *ethernet, void *ip, void *addresses,
		  u32 words, struct tcp *tcp, u32 length)
{
	void *end = (void *)(long)md->data_end;
	struct stamps *stamps = (void *)(tcp + 1);
	u32 header = tcp->offset >> 4 << 2, before_ip = ethernet ? sizeof(*ethernet) : 0;
	struct known known = {};
	enum verdict verdict = NO_CONNECTION;
	struct tcp_sock___nack *tp;
	struct name name;
	u32 total;
	void *sk;

	count(CORRUPTED);
	if (header < sizeof(*tcp) || header >= length || !(tcp->flags & TCP_ACK) ||
	    (tcp->flags & (TCP_FIN | TCP_SYN | TCP_RST | TCP_URG)) || (tcp->offset & NACK_MARK)) {
		count(NO_DATA);
		return XDP_PASS;
	}
	/* A segment with timestamps has room for them. */
	OPAQUE(stamps);
	if ((void *)(stamps + 1) > end || header < sizeof(*tcp) + sizeof(*stamps))
		stamps = 0;
	sk = find_connection(md, addresses, words, tcp);
	if (sk) {
		tp = bpf_skc_to_tcp_sock(sk);
		if (tp)
			verdict = judge(tp, tcp, stamps, length - header, &known);
		bpf_sk_release(sk);
	}
	if (verdict != ANSWER) {
		count(verdict == NO_CONNECTION ? UNKNOWN : IMPLAUSIBLE);
		return XDP_PASS;
	}
	name_connection(&name, addresses, words, tcp);
	if (!take(&name, known.intact)) {
		count(LIMITED);
		return XDP_PASS;
	}
	if (known.timestamps) {
		/* Compared once more: the verifier does not see that judge() requires it. */
		if (!stamps)
			return XDP_PASS;
		total = make_nack(ip, words, tcp, stamps, &known);
	} else {
		total = make_nack(ip, words, tcp, 0, &known);
	}
	if (ethernet) {
		for (int i = 0; i < 3; i++) {
			u16 from = ethernet->from[i];

			ethernet->from[i] = ethernet->to[i];
			ethernet->to[i] = from;
		}
	}
	total += before_ip;
	if (bpf_xdp_adjust_tail(md, (int)total - (int)bpf_xdp_get_buff_len(md)))
		return XDP_DROP; /* it is no segment any more */
	count(NACKED);
	return XDP_TX;
}

/* A packet whose IP header is at `ip` and has `words` words of addresses. `length` is that of the
 * TCP segment, headers included.
 */
INLINE int verify(struct xdp_md *md, struct ethernet *ethernet, void *ip, void *addresses,
		  u32 words, struct tcp *tcp, u32 length)
{
	void *end = (void *)(long)md->data_end;
	u64 pseudo, sum = 0;

	if ((void *)(tcp + 1) > end || length < sizeof(*tcp))
		return XDP_PASS;
	if (length > MAX_SEGMENT) {
		count(UNVERIFIED);
		return XDP_PASS;
	}
	pseudo = pseudo_header(addresses, words, length);
	if (tcp->check == fold(pseudo)) {
		count(OFFLOADED);
		return XDP_PASS;
	}
	if (!add_segment(tcp, end, length, &sum))
		return XDP_PASS;
	if (fold(pseudo + sum) == 0xffff) {
		count(INTACT);
		return XDP_PASS;
	}
	return answer(md, ethernet, ip, addresses, words, tcp, length);
}

INLINE int receive_ipv4(struct xdp_md *md, struct ethernet *ethernet, struct ipv4 *ip)
{
	void *end = (void *)(long)md->data_end;
	u32 length;

	if ((void *)(ip + 1) > end || ip->protocol != PROTOCOL_TCP)
		return XDP_PASS;
	/* Options are rare, and a fragment has no segment's checksum. */
	if (ip->version != 0x45 || (ip->fragment & net16(0x3fff))) {
		count(UNVERIFIED);
		return XDP_PASS;
	}
	length = net16(ip->length);
	if (length < sizeof(*ip) || fold(add_words(ip, sizeof(*ip) / 4)) != 0xffff)
		return XDP_PASS;
	return verify(md, ethernet, ip, &ip->from, 2, (void *)(ip + 1), length - sizeof(*ip));
}

INLINE int receive_ipv6(struct xdp_md *md, struct ethernet *ethernet, struct ipv6 *ip)
{
	void *end = (void *)(long)md->data_end;

	/* Extension headers are rare. */
	if ((void *)(ip + 1) > end || ip->next != PROTOCOL_TCP ||
	    (ip->version & net32(0xf0000000)) != net32(0x60000000))
		return XDP_PASS;
	return verify(md, ethernet, ip, ip->from, 8, (void *)(ip + 1), net16(ip->length));
}

/* On a device whose packets begin with an Ethernet header. */
SEC("xdp")
int nack_ethernet(struct xdp_md *md)
{
	struct ethernet *ethernet = (void *)(long)md->data;
	void *end = (void *)(long)md->data_end;

	if ((void *)(ethernet + 1) > end)
		return XDP_PASS;
	if (ethernet->protocol == net16(PROTOCOL_IPV4))
		return receive_ipv4(md, ethernet, (void *)(ethernet + 1));
	if (ethernet->protocol == net16(PROTOCOL_IPV6))
		return receive_ipv6(md, ethernet, (void *)(ethernet + 1));
	return XDP_PASS;
}

/* On a device whose packets begin with the IP header, such as a TUN device. */
SEC("xdp")
int nack_ip(struct xdp_md *md)
{
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;

	if (data + 1 > end)
		return XDP_PASS;
	if (*(u8 *)data >> 4 == 4)
		return receive_ipv4(md, 0, data);
	if (*(u8 *)data >> 4 == 6)
		return receive_ipv6(md, 0, data);
	return XDP_PASS;
}
