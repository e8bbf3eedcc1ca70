/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * The kernel types that these programs use. Only the members that are read or written are declared:
 * the loader finds each member in the running kernel by its name (CO-RE), so one object serves all
 * kernels and no vmlinux.h is needed.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef long long s64;
typedef _Bool bool;
enum { false = 0, true = 1 };

#define SEC(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline)) inline

/* Declarations of maps, as BTF describes them. */
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_F_MMAPABLE = 1024 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };

/* enum tcp_ca_state */
enum { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };
/* enum tcp_ca_event */
enum { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART };
/* net/ipv4/tcp_input.c */
enum { FLAG_ECE = 0x40, FLAG_SND_UNA_ADVANCED = 0x400 };

enum { AF_INET = 2, AF_INET6 = 10 };
enum { SOL_TCP = 6, TCP_CONGESTION = 13 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u8 icsk_retransmits;
	u64 icsk_ca_priv[13];
};

struct tcp_options_received {
	u32 rcv_tsval;
	u16 tstamp_ok : 1;
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

struct sk_buff {
	struct rb_node rbnode;
	u64 skb_mstamp_ns;
	char cb[48];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una, snd_nxt, srtt_us, mss_cache;
	u32 packets_out, retrans_out, sacked_out, lost_out, max_packets_out;
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_clamp;
	u32 delivered, lost, data_segs_out, total_retrans, tsoffset;
	u64 bytes_received, first_tx_mstamp;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
	u8 tcp_usec_ts : 1;
	struct tcp_options_received rx_opt;
	struct sk_buff *retransmit_skb_hint;
};

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	u32 acked_sacked;
	u32 prior_in_flight;
	bool is_app_limited;
	bool is_retrans;
};

/* It lies in sk_buff.cb. */
struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
	u8 sacked;
};

#pragma clang attribute pop

/* include/uapi/linux/bpf.h */
struct bpf_sock_ops {
	u32 op;
	union {
		u32 args[4];
		u32 reply;
		u32 replylong[4];
	};
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port; /* the lower half of it in network byte order, in the upper 16 bits */
	u32 local_port; /* host byte order */
};
enum {
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_NEEDS_ECN = 6,
};

/* A member that is a bit field: where it lies is known only when the program is loaded. */
enum {
	FIELD_BYTE_OFFSET = 0,
	FIELD_BYTE_SIZE = 1,
	FIELD_EXISTS = 2,
	FIELD_LSHIFT_U64 = 4,
	FIELD_RSHIFT_U64 = 5,
};
#define FIELD_INFO(s, field, info) __builtin_preserve_field_info((s)->field, info)
#define READ_BITS(s, field)                                                     \
	({                                                                      \
		const void *p_ = (const void *)(s) +                            \
				 FIELD_INFO(s, field, FIELD_BYTE_OFFSET);       \
		u64 v_ = 0;                                                     \
		asm volatile("" : "+r"(p_));                                    \
		switch (FIELD_INFO(s, field, FIELD_BYTE_SIZE)) {                \
		case 1: v_ = *(const u8 *)p_; break;                            \
		case 2: v_ = *(const u16 *)p_; break;                           \
		case 4: v_ = *(const u32 *)p_; break;                           \
		case 8: v_ = *(const u64 *)p_; break;                           \
		}                                                               \
		v_ <<= FIELD_INFO(s, field, FIELD_LSHIFT_U64);                  \
		v_ >> FIELD_INFO(s, field, FIELD_RSHIFT_U64);                   \
	})
