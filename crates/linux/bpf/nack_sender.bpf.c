// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/*
 * The sender's end of negative acknowledgments (docs/tcp-nack.md), at ingress of traffic control:
 * it recognizes NACKs (nack.h), passes them to user space through a ring, and drops them, so that
 * TCP never sees one. Other packets cost one read of their headers.
 *
 * Anyone can send a NACK. This program passes on only those that the kernel's own state does not
 * refute: the checksum is right, the connection is one of this host, the named segment is in
 * flight, and the sequence number is one that the receiver could know. It limits how many a
 * connection passes on. The remaining rules need times and are user space's (src/nack/rules.rs).
 *
 * A NACK of no connection of this host goes on: this host may be a router.
 */
#include "nack.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* include/uapi/linux/bpf.h, as far as it is read */
struct __sk_buff {
	u32 len, pkt_type, mark, queue_mapping, protocol;
};
enum { TCX_NEXT = -1, TCX_DROP = 2 };
enum { BPF_HDR_START_NET = 1 };
static long (*bpf_skb_load_bytes_relative)(const void *skb, u32 offset, void *to, u32 length,
					   u32 start) = (void *)68;

/* src/nack/counters.rs mirrors it. */
enum counter {
	PASSED_ON, /* NACKs that user space received */
	MALFORMED, /* NACKs with a wrong checksum or without the options of their connection */
	REFUTED,   /* NACKs that the state of their connection refutes */
	LIMITED,   /* NACKs that exceeded the allowance */
	LOST,	   /* NACKs that found the ring full */
	TRANSIT,   /* NACKs of no connection of this host */
	COUNTERS,
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} nacks SEC(".maps");

INLINE void count(u32 which)
{
	u64 *value = bpf_map_lookup_elem(&counters, &which);

	if (value)
		__sync_fetch_and_add(value, 1);
}

/* A receiver's first unacknowledged number is at most this far behind what this host has received
 * from it: the data that it sent since the acknowledgment that it has seen.
 */
enum { MAX_BEHIND = 1 << 20 };

enum verdict { PASS, OTHER_CONNECTION, REFUTE };

INLINE enum verdict judge(struct tcp_sock___nack *tp, const struct tcp *tcp, bool stamps,
			  u32 *intact)
{
	u8 state = ((struct sock_common___nack *)tp)->skc_state;
	u32 number = net32(tcp->ack), next = net32(tcp->seq) + 1, received = tp->rcv_nxt;

	if (state == TCP_LISTEN)
		return OTHER_CONNECTION;
	if (state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 && state != TCP_CLOSE_WAIT &&
	    state != TCP_CLOSING && state != TCP_LAST_ACK)
		return REFUTE;
	if (stamps != (bool)READ_BITS(tp, rx_opt.tstamp_ok))
		return REFUTE;
	if (before(number, tp->snd_una) || !before(number, tp->snd_nxt))
		return REFUTE;
	if (before(received, next) || before(next, received - MAX_BEHIND))
		return REFUTE;
	*intact = tp->delivered;
	return PASS;
}

/* `packet` has everything behind the addresses of a NACK, as `tcp` and `stamps`. */
INLINE int receive(struct __sk_buff *skb, const void *addresses, u32 words, const struct tcp *tcp,
		   u32 length)
{
	const struct stamps *stamps = (const void *)(tcp + 1);
	bool has_stamps = length > sizeof(*tcp);
	enum verdict verdict = OTHER_CONNECTION;
	struct tcp_sock___nack *tp;
	struct name name;
	struct nack *nack;
	u32 intact = 0;
	u64 sum;
	void *sk;

	sk = find_connection(skb, addresses, words, tcp);
	if (sk) {
		tp = bpf_skc_to_tcp_sock(sk);
		if (tp)
			verdict = judge(tp, tcp, has_stamps, &intact);
		bpf_sk_release(sk);
	}
	if (verdict == OTHER_CONNECTION) {
		count(TRANSIT);
		return TCX_NEXT;
	}
	sum = pseudo_header(addresses, words, length) + add_words(tcp, sizeof(*tcp) / 4);
	if (has_stamps)
		sum += add_words(stamps, sizeof(*stamps) / 4);
	if (fold(sum) != 0xffff || (has_stamps && stamps->kind != STAMPS)) {
		count(MALFORMED);
		return TCX_DROP;
	}
	if (verdict == REFUTE) {
		count(REFUTED);
		return TCX_DROP;
	}
	name_connection(&name, addresses, words, tcp);
	if (!take(&name, intact)) {
		count(LIMITED);
		return TCX_DROP;
	}
	nack = bpf_ringbuf_reserve(&nacks, sizeof(*nack), 0);
	if (!nack) {
		count(LOST);
		return TCX_DROP;
	}
	nack->time = bpf_ktime_get_ns();
	for (int i = 0; i < 4; i++) {
		nack->local[i] = name.local[i];
		nack->remote[i] = name.remote[i];
	}
	nack->local_port = name.local_port;
	nack->remote_port = name.remote_port;
	nack->seq = net32(tcp->ack);
	nack->echo = has_stamps ? net32(stamps->echo) : 0;
	nack->timestamps = has_stamps;
	bpf_ringbuf_submit(nack, 0);
	count(PASSED_ON);
	return TCX_DROP;
}

/* Whether this is a NACK by its form. `length` is that of the TCP packet, headers included. */
INLINE bool is_nack(const struct tcp *tcp, u32 length)
{
	return (tcp->offset & NACK_MARK) && tcp->flags == TCP_ACK &&
	       tcp->offset >> 4 == length / 4 &&
	       (length == sizeof(*tcp) || length == sizeof(*tcp) + sizeof(struct stamps));
}

SEC("classifier")
int nack_sender(struct __sk_buff *skb)
{
	struct {
		struct ipv4 ip;
		struct tcp tcp;
		struct stamps stamps;
	} __attribute__((packed, aligned(4))) v4;
	struct {
		struct ipv6 ip;
		struct tcp tcp;
		struct stamps stamps;
	} __attribute__((packed, aligned(4))) v6;
	u32 length;

	if (skb->protocol == net16(PROTOCOL_IPV4)) {
		if (bpf_skb_load_bytes_relative(skb, 0, &v4, sizeof(v4.ip) + sizeof(v4.tcp),
						BPF_HDR_START_NET) ||
		    v4.ip.version != 0x45 || v4.ip.protocol != PROTOCOL_TCP ||
		    (v4.ip.fragment & net16(0x3fff)))
			return TCX_NEXT;
		length = net16(v4.ip.length) - sizeof(v4.ip);
		if (!is_nack(&v4.tcp, length))
			return TCX_NEXT;
		if (length > sizeof(v4.tcp) &&
		    bpf_skb_load_bytes_relative(skb, sizeof(v4.ip) + sizeof(v4.tcp), &v4.stamps,
						sizeof(v4.stamps), BPF_HDR_START_NET))
			return TCX_NEXT;
		return receive(skb, &v4.ip.from, 2, &v4.tcp, length);
	}
	if (skb->protocol == net16(PROTOCOL_IPV6)) {
		if (bpf_skb_load_bytes_relative(skb, 0, &v6, sizeof(v6.ip) + sizeof(v6.tcp),
						BPF_HDR_START_NET) ||
		    v6.ip.next != PROTOCOL_TCP)
			return TCX_NEXT;
		length = net16(v6.ip.length);
		if (!is_nack(&v6.tcp, length))
			return TCX_NEXT;
		if (length > sizeof(v6.tcp) &&
		    bpf_skb_load_bytes_relative(skb, sizeof(v6.ip) + sizeof(v6.tcp), &v6.stamps,
						sizeof(v6.stamps), BPF_HDR_START_NET))
			return TCX_NEXT;
		return receive(skb, v6.ip.from, 8, &v6.tcp, length);
	}
	return TCX_NEXT;
}
