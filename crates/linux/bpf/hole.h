/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * The hole: the first segment that is lost and was not retransmitted.
 *
 * The kernel's retransmit_skb_hint is where its search for that segment begins. It is often a
 * segment before it: one that was acknowledged selectively, or one that nothing is known of. So
 * this goes on through the tree of unacknowledged segments, in their order.
 */
#pragma once
#include "helpers.h"

/* Segments between the hint and the hole. Neighbours that were acknowledged selectively are one. */
#define MAX_WALK 32
/* The tree of 2^20 segments is at most twice as deep as a full one. */
#define MAX_DEPTH 40

/* enum tcp_skb_cb_sacked_flags */
#define SACKED_RETRANS 0x02
#define SACKED_LOST 0x04

struct hole {
	u32 seq, end;
	u64 sent;
};

#define PROBE(to, s, field) \
	bpf_probe_read_kernel(&(to), sizeof(to), __builtin_preserve_access_index(&(s)->field))

/* The node behind this one, as lib/rbtree.c's rb_next() finds it; 0 if there is none. */
static __attribute__((noinline)) u64 next_node(u64 address)
{
	struct rb_node *node = (struct rb_node *)address, *near;
	unsigned long parent;

	if (PROBE(near, node, rb_right))
		return 0;
	if (near) {
		for (int i = 0; i < MAX_DEPTH; i++) {
			node = near;
			if (PROBE(near, node, rb_left))
				return 0;
			if (!near)
				return (u64)node;
		}
		return 0;
	}
	for (int i = 0; i < MAX_DEPTH; i++) {
		if (PROBE(parent, node, __rb_parent_color))
			return 0;
		/* The lowest two bits are the node's colour. */
		parent &= ~3ul;
		if (!parent || PROBE(near, (struct rb_node *)parent, rb_right))
			return 0;
		if (near != node)
			return parent;
		node = (struct rb_node *)parent;
	}
	return 0;
}

/* Whether there is a hole near the hint. */
INLINE bool find_hole(struct sk_buff *hint, struct hole *hole)
{
	struct sk_buff *skb = hint;
	u64 to_node = (u64)__builtin_preserve_access_index(&hint->rbnode) - (u64)hint;

	for (int i = 0; i < MAX_WALK && skb; i++) {
		struct tcp_skb_cb *cb =
			(struct tcp_skb_cb *)__builtin_preserve_access_index(&skb->cb);
		u8 sacked;
		u64 node;

		if (PROBE(sacked, cb, sacked))
			return false;
		if ((sacked & (SACKED_LOST | SACKED_RETRANS)) == SACKED_LOST)
			return !PROBE(hole->seq, cb, seq) && !PROBE(hole->end, cb, end_seq) &&
			       !PROBE(hole->sent, skb, skb_mstamp_ns);
		node = next_node((u64)skb + to_node);
		skb = node ? (struct sk_buff *)(node - to_node) : 0;
	}
	return false;
}
