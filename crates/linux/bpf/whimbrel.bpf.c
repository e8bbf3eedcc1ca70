// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/*
 * A congestion control for Linux TCP that decides nothing: it reports events to user space and
 * applies the window and pacing rate that user space last answered.
 *
 * Sections: aya-obj knows no section for struct_ops, so these programs are in sections of another
 * type and the loader gives them their real one. Member names of tcp_congestion_ops are in the
 * loader too.
 *
 * Who owns what: the kernel detects losses, retransmits and measures RTT. Its machine of states
 * (Open, Disorder, CWR, Recovery, Loss) runs as usual, but its reductions change nothing, because
 * ssthresh() returns the threshold that was already set, and cong_control() sets the window.
 */
#include "helpers.h"
#include "hold.h"
#include "hole.h"
#include "prr.h"
#include "wire.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* No algorithm means more packets; the kernel's arithmetic on windows is signed. */
#define MAX_WINDOW (1u << 20)
#define NO_SLOT (~0u)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct command);
} commands SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, SLOTS);
	__type(value, u32);
} idle SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rules);
} rules SEC(".maps");

u32 generations = 0;
/* Slots that no connection has had yet begin here. */
u32 fresh = 0;

/* Never used: they keep the structures in the object; a test compares them with src/wire.rs. */
struct start *start_layout;
struct nack *nack_layout;

/* Set by the loader. Names are two words each: clang folds the initializer of a constant array into
 * a copy of it, volatile or not.
 */
const volatile u64 fallback[2] = { 0x6f6e6572 /* "reno" */ };
const volatile u64 chosen[2] = { 1 };
const volatile u32 needs_ecn = 0;
const volatile u32 wire_version = WIRE_VERSION;

/* The state of a connection, in icsk_ca_priv. */
struct flow {
	u32 slot;
	u32 generation; /* 0: init() was not called yet; the kernel may call others before it */
	u32 number;
	u32 lost; /* packets lost at the last event */
	struct prr prr;
	u32 sent; /* segments sent until the reduction; the kernel's prr_out restarts in a recovery */
	u32 reductions; /* the number of the last reduction that was applied */
	u64 answers; /* the time of the event that the last applied command answers */
	u64 waits; /* the time of a loss that has no answer yet; 0: none */
	u64 applied_after;
	u64 reported; /* the time of the last event */
	u32 hold; /* the window until that answer comes, see hold.h */
	u8 states, paced, fell_back;
};
_Static_assert(sizeof(struct flow) <= 104, "icsk_ca_priv has 104 bytes");

INLINE struct flow *flow_of(struct tcp_sock *tp)
{
	return (void *)tp->inet_conn.icsk_ca_priv;
}

INLINE struct control *the_control(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

INLINE bool has_slot(struct flow *f)
{
	return f->generation && f->slot < SLOTS;
}

INLINE u32 in_flight(struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

INLINE bool is_alive(struct control *c, u64 now)
{
	return (s64)(now - *(volatile u64 *)&c->heartbeat) < (s64)c->silence;
}

INLINE void add(u64 *count)
{
	__sync_fetch_and_add(count, 1);
}

/* Gives the connection to the kernel's own algorithm, which goes on from the present window. */
INLINE void fall_back(struct tcp_sock *tp, u64 *count)
{
	u64 name[2] = { fallback[0], fallback[1] };

	if (count)
		add(count);
	flow_of(tp)->fell_back = 1;
	/* Its recovery must not go on to a threshold of an earlier time. */
	if (READ_BITS(tp, inet_conn.icsk_ca_state) >= CA_CWR)
		tp->snd_ssthresh = tp->snd_cwnd < 2 ? 2 : tp->snd_cwnd;
	bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
}

INLINE void fill(struct event *e, struct tcp_sock *tp, struct flow *f, u8 kind, int ack_flags,
		 const struct rate_sample *rs, u64 now)
{
	__builtin_memset(e, 0, sizeof(*e));
	e->time = now;
	e->slot = f->slot;
	e->generation = f->generation;
	e->number = f->number;
	e->kind = kind;
	e->ca_state = READ_BITS(tp, inet_conn.icsk_ca_state);
	e->states_entered = f->states;
	e->ack_flags = ack_flags;
	e->mss = tp->mss_cache;
	e->delivered = tp->delivered;
	e->lost = tp->lost;
	e->in_flight = in_flight(tp);
	e->cwnd = tp->snd_cwnd;
	e->max_packets_out = tp->max_packets_out;
	e->srtt_us = tp->srtt_us >> 3;
	e->rtt_us = ~0u;
	e->snd_una = tp->snd_una;
	e->snd_nxt = tp->snd_nxt;
	e->segments_out = tp->data_segs_out;
	e->retransmitted = tp->total_retrans;
	e->backoff = tp->inet_conn.icsk_retransmits;
	e->rcv_tsval = tp->rx_opt.rcv_tsval;
	e->newest_sent_us = tp->first_tx_mstamp;
	e->received = tp->bytes_received;
	e->applied_after = f->applied_after;
	if (READ_BITS(tp, is_cwnd_limited))
		e->flags |= FLAG_CWND_LIMITED;
	if (f->fell_back)
		e->flags |= FLAG_FALLBACK;
	if (rs) {
		e->acked = rs->acked_sacked;
		e->prior_in_flight = rs->prior_in_flight;
		e->prior_delivered = rs->prior_delivered;
		if (rs->rtt_us > 0)
			e->rtt_us = rs->rtt_us;
		if (rs->interval_us > 0 && rs->delivered > 0) {
			e->rate_delivered = rs->delivered;
			e->rate_interval_us = rs->interval_us;
		}
		if (rs->is_app_limited)
			e->flags |= FLAG_APP_LIMITED;
		if (rs->is_retrans)
			e->flags |= FLAG_RETRANSMISSION;
	} else {
		e->prior_in_flight = tp->packets_out - tp->sacked_out;
	}
	/* Only here; the verifier takes long for it. */
	if ((kind == KIND_ACK || kind == KIND_TIMEOUT) && tp->lost != f->lost) {
		struct hole hole;

		if (find_hole(tp->retransmit_skb_hint, &hole)) {
			e->lost_seq = hole.seq;
			e->lost_end = hole.end;
			e->lost_sent = hole.sent;
			e->flags |= FLAG_LOST_KNOWN;
		}
	}
	f->states = 0;
	f->applied_after = 0;
	f->lost = tp->lost;
}

/* How user space is woken: only if it sleeps. A wake-up costs far more than an event. Called after
 * the record was reserved and `events` counted, an atomic operation: user space says that it sleeps
 * and then looks at the ring, so one of the two sees the other.
 */
INLINE u64 waking(struct control *c)
{
	if (!*(volatile u64 *)&c->sleeping)
		return BPF_RB_NO_WAKEUP;
	*(volatile u64 *)&c->sleeping = 0;
	return BPF_RB_FORCE_WAKEUP;
}

INLINE void report(struct tcp_sock *tp, u8 kind, int ack_flags, const struct rate_sample *rs, u64 now)
{
	struct flow *f = flow_of(tp);
	struct control *c = the_control();
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	f->number++;
	f->reported = now;
	if (!c) {
		if (e)
			bpf_ringbuf_discard(e, 0);
		return;
	}
	if (!e) {
		add(&c->dropped);
		return;
	}
	fill(e, tp, f, kind, ack_flags, rs, now);
	add(&c->events);
	bpf_ringbuf_submit(e, waking(c));
}

INLINE void report_start(struct tcp_sock *tp, u64 now)
{
	struct flow *f = flow_of(tp);
	struct control *c = the_control();
	struct sock_common *sk = &tp->inet_conn.icsk_inet.sk.__sk_common;
	struct start *s = bpf_ringbuf_reserve(&events, sizeof(*s), 0);

	f->number++;
	f->reported = now;
	if (!c) {
		if (s)
			bpf_ringbuf_discard(s, 0);
		return;
	}
	if (!s) {
		add(&c->dropped);
		return;
	}
	__builtin_memset(s, 0, sizeof(*s));
	fill(&s->event, tp, f, KIND_START, 0, 0, now);
	if (sk->skc_family == AF_INET6) {
		for (int i = 0; i < 4; i++) {
			s->local[i] = sk->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			s->remote[i] = sk->skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		s->local[2] = s->remote[2] = __builtin_bswap32(0xffff);
		s->local[3] = sk->skc_rcv_saddr;
		s->remote[3] = sk->skc_daddr;
	}
	s->local_port = sk->skc_num;
	s->remote_port = __builtin_bswap16(sk->skc_dport);
	s->timestamp_offset = tp->tsoffset;
	s->timestamps = READ_BITS(tp, rx_opt.tstamp_ok);
	if (FIELD_INFO(tp, tcp_usec_ts, FIELD_EXISTS))
		s->timestamps_us = READ_BITS(tp, tcp_usec_ts);
	s->ecn = tp->ecn_flags & 1; /* TCP_ECN_OK */
	add(&c->events);
	bpf_ringbuf_submit(s, waking(c));
}

/* The window after this acknowledgment, which user space has answered in advance; 0: it has not,
 * or the acknowledgment is not one that it answered. `cwnd`: without this answer.
 */
INLINE u32 answered_ahead(struct tcp_sock *tp, u64 ahead, int ack_flags,
			  const struct rate_sample *rs, u32 cwnd, u64 ssthresh)
{
	bool used = READ_BITS(tp, is_cwnd_limited) || rs->prior_in_flight >= tp->snd_cwnd ||
		    (cwnd < ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);

	if (!used || !(ack_flags & FLAG_SND_UNA_ADVANCED) || (ack_flags & FLAG_ECE))
		return 0;
	if (!rs->acked_sacked)
		return 0;
	return (u16)(rs->acked_sacked == 1 ? ahead : ahead >> 16);
}

/* Applies the last command. `rs`: of the acknowledgment that is processed, if any. `prior`: the
 * time of the event before it.
 */
INLINE void apply(struct tcp_sock *tp, struct flow *f, struct control *c, int ack_flags,
		  const struct rate_sample *rs, u32 newly_lost, u64 now, u64 prior)
{
	struct sock *sk = (struct sock *)tp;
	u32 slot = f->slot, flight = in_flight(tp), target, cwnd, ssthresh;
	u32 most = tp->snd_cwnd_clamp; /* ~0 unless somebody set it */
	struct command *command = bpf_map_lookup_elem(&commands, &slot);
	u64 word, pacing, reduction, answers, ahead, ahead_pacing;
	u8 state = READ_BITS(tp, inet_conn.icsk_ca_state);

	if (!command)
		return;
	ahead = *(volatile u64 *)&command->ahead;
	word = *(volatile u64 *)&command->window;
	if ((u32)(word >> 32) != f->generation)
		return; /* nothing was answered about this connection yet */
	pacing = *(volatile u64 *)&command->pacing;
	reduction = *(volatile u64 *)&command->reduction;
	answers = *(volatile u64 *)&command->answers;
	ssthresh = *(volatile u64 *)&command->ssthresh;
	ahead_pacing = *(volatile u64 *)(rs && rs->acked_sacked == 1 ? &command->ahead_pacing[0] :
									&command->ahead_pacing[1]);
	if (*(volatile u64 *)&command->ahead != ahead)
		ahead = 0; /* it was written just now */
	if (answers != f->answers) {
		f->answers = answers;
		f->applied_after = now - answers;
	}

	target = (u32)word;
	if (most > MAX_WINDOW)
		most = MAX_WINDOW;
	if (target < 1 || target > most) {
		add(&c->clamped);
		target = target < 1 ? 1 : most;
	}
	tp->snd_ssthresh = ssthresh < 2 ? 2 : ssthresh;

	cwnd = target;
	if ((u32)(reduction >> 1) != f->reductions) {
		f->reductions = reduction >> 1;
		f->prr.delivered = 0;
		f->prr.flight = rs && rs->prior_in_flight ? rs->prior_in_flight : 1;
		f->sent = tp->data_segs_out;
	}
	if (rs && (reduction & 1) && (state == CA_RECOVERY || state == CA_CWR) && f->prr.flight)
		cwnd = prr_window(&f->prr, target, flight, rs->acked_sacked,
				  tp->data_segs_out - f->sent,
				  (ack_flags & FLAG_SND_UNA_ADVANCED) && !newly_lost);
	if (rs && ahead && answers == prior && !(reduction & 1) && !newly_lost) {
		u32 window = answered_ahead(tp, ahead, ack_flags, rs, cwnd, ssthresh);

		if (window > cwnd) {
			cwnd = window;
			if (ahead_pacing)
				pacing = ahead_pacing;
		}
	}
	/* Until a loss is answered the flight does not grow. */
	if (f->waits && (s64)(answers - f->waits) >= 0)
		f->waits = 0;
	if (rs && f->waits && cwnd > f->hold)
		cwnd = f->hold;
	if (cwnd < 1)
		cwnd = 1;
	if (cwnd > most)
		cwnd = most;
	tp->snd_cwnd = cwnd;

	if (pacing) {
		u64 least = (u64)tp->mss_cache * 2; /* two segments a second */

		if (pacing < least) {
			pacing = least;
			add(&c->clamped);
		}
		if (pacing > sk->sk_max_pacing_rate)
			pacing = sk->sk_max_pacing_rate;
		sk->sk_pacing_rate = pacing;
		if (!f->paced) {
			f->paced = 1;
			/* SK_PACING_NEEDED: TCP's own timers, unless the qdisc fq paces. */
			if (sk->sk_pacing_status == 0)
				sk->sk_pacing_status = 1;
		}
	} else if (tp->srtt_us) {
		/* It sizes TSO bursts only: what tcp_update_pacing_rate() sets. */
		u64 ratio = target < ssthresh / 2 ? 200 : 120;
		u32 packets = target > tp->packets_out ? target : tp->packets_out;
		u64 rate = (u64)tp->mss_cache * packets * ratio * 80000ull / tp->srtt_us;

		if (rate > sk->sk_max_pacing_rate)
			rate = sk->sk_max_pacing_rate;
		sk->sk_pacing_rate = rate;
	}
}

/* A slot that a connection gave back, or one that none has had. */
INLINE bool take_slot(u32 *slot)
{
	if (!bpf_map_pop_elem(&idle, slot))
		return true;
	if (*(volatile u32 *)&fresh >= SLOTS)
		return false;
	*slot = __sync_fetch_and_add(&fresh, 1);
	return *slot < SLOTS;
}

SEC("raw_tp/whim_init")
int whim_init(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *f = flow_of(tp);
	struct control *c = the_control();
	u64 now = bpf_ktime_get_ns();
	u32 slot;

	f->slot = NO_SLOT;
	f->generation = 1;
	if (!c) {
		fall_back(tp, 0);
		return 0;
	}
	if (!is_alive(c, now)) {
		fall_back(tp, &c->fallbacks);
		return 0;
	}
	if (!take_slot(&slot)) {
		fall_back(tp, &c->refused);
		return 0;
	}
	f->slot = slot;
	f->generation = (__sync_fetch_and_add(&generations, 1) & 0x7fffffff) + 1;
	f->number = 0;
	f->lost = tp->lost;
	f->prr.delivered = f->prr.flight = f->sent = f->reductions = 0;
	f->answers = f->waits = f->applied_after = 0;
	f->hold = 0;
	f->states = f->paced = f->fell_back = 0;
	report_start(tp, now);
	return 0;
}

SEC("raw_tp/whim_release")
int whim_release(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *f = flow_of(tp);
	u32 slot = f->slot;

	if (!has_slot(f))
		return 0;
	report(tp, KIND_END, 0, 0, bpf_ktime_get_ns());
	bpf_map_push_elem(&idle, &slot, 0);
	f->slot = NO_SLOT;
	return 0;
}

/* Called when the kernel begins an episode. The controller decides, later. */
SEC("raw_tp/whim_ssthresh")
int whim_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	u32 ssthresh = tp->snd_ssthresh;

	return ssthresh < 2 ? 2 : ssthresh;
}

SEC("raw_tp/whim_set_state")
int whim_set_state(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *f = flow_of(tp);
	u8 state = ctx[1];

	if (!has_slot(f))
		return 0;
	f->states |= 1 << (state & 7);
	if (state == CA_LOSS)
		report(tp, KIND_TIMEOUT, 0, 0, bpf_ktime_get_ns());
	return 0;
}

/* The kernel restores a window when a reduction proves spurious. The controller decides, later, so
 * the window stays. Not below 1: the kernel warns of it.
 */
SEC("raw_tp/whim_undo")
int whim_undo(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *f = flow_of(tp);
	u32 cwnd = tp->snd_cwnd;

	if (has_slot(f))
		report(tp, KIND_SPURIOUS, 0, 0, bpf_ktime_get_ns());
	return cwnd < 1 || cwnd > MAX_WINDOW ? 1 : cwnd;
}

/* Sending resumes after everything was acknowledged: the answer since then applies now. */
SEC("raw_tp/whim_event")
int whim_event(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct flow *f = flow_of(tp);
	struct control *c = the_control();
	u64 now;

	if (ctx[1] != CA_EVENT_TX_START || !c || !has_slot(f))
		return 0;
	now = bpf_ktime_get_ns();
	if (!is_alive(c, now))
		return 0; /* the next acknowledgment moves the connection */
	apply(tp, f, c, 0, 0, 0, now, 0);
	report(tp, KIND_RESUME, 0, 0, now);
	return 0;
}

SEC("raw_tp/whim_control")
int whim_control(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	int ack_flags = ctx[2];
	const struct rate_sample *rs = (void *)ctx[3];
	struct flow *f = flow_of(tp);
	struct control *c = the_control();
	u64 now = bpf_ktime_get_ns();
	u32 newly_lost = tp->lost - f->lost;
	u64 prior = f->reported;

	if (!c || !f->generation)
		return 0;
	if (f->slot >= SLOTS || !is_alive(c, now)) {
		fall_back(tp, &c->fallbacks);
		return 0;
	}
	report(tp, KIND_ACK, ack_flags, rs, now);
	if (newly_lost && f->waits) {
		f->hold = hold_reduce(f->hold, newly_lost);
	} else if (newly_lost) {
		f->waits = now;
		f->hold = hold_begin(f->paced, tp->snd_cwnd, in_flight(tp), rs->acked_sacked,
				     newly_lost);
	}
	apply(tp, f, c, ack_flags, rs, newly_lost, now, prior);
	return 0;
}

INLINE bool is_chosen(struct bpf_sock_ops *ops)
{
	u32 zero = 0, remote[4] = { 0, 0, __builtin_bswap32(0xffff), 0 };
	u32 local_port = ops->local_port, remote_port = __builtin_bswap32(ops->remote_port);
	u32 remote_ip4 = ops->remote_ip4;
	struct rules *r = bpf_map_lookup_elem(&rules, &zero);
	bool found;

	/* The verifier wants constant offsets into ops: do not merge this with the read of remote_ip6. */
	asm volatile("" : "+r"(remote_ip4));
	if (!r)
		return true;
	if (ops->family == AF_INET6) {
		remote[0] = ops->remote_ip6[0];
		remote[1] = ops->remote_ip6[1];
		remote[2] = ops->remote_ip6[2];
		remote[3] = ops->remote_ip6[3];
	} else {
		remote[3] = remote_ip4;
	}
	found = !r->ports;
	for (u32 i = 0; i < MAX_RULES; i++)
		if (i < r->ports && (r->port[i] == local_port || r->port[i] == remote_port))
			found = true;
	if (!found)
		return false;
	found = !r->networks;
	for (u32 i = 0; i < MAX_RULES; i++) {
		struct network *n = &r->network[i];

		if (i < r->networks &&
		    !((remote[0] & n->mask[0]) ^ n->address[0]) &&
		    !((remote[1] & n->mask[1]) ^ n->address[1]) &&
		    !((remote[2] & n->mask[2]) ^ n->address[2]) &&
		    !((remote[3] & n->mask[3]) ^ n->address[3]))
			found = true;
	}
	return found;
}

/* The first five bytes of the names of all instances, as the loader sets them: "whim_". */
#define NAME_MASK 0xffffffffffull
#define NAME_PREFIX 0x5f6d696877ull

/* Whether another instance has chosen the connection already. The kernel runs the programs of an
 * inner cgroup before those of the ones around it, and in one cgroup in the order in which they
 * were attached: the innermost cgroup decides, and in it the first.
 */
INLINE bool is_taken(struct bpf_sock_ops *ops)
{
	u64 name[2] = { 0, 0 };

	if (bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		return false;
	return (name[0] & NAME_MASK) == NAME_PREFIX;
}

/* For the connections of one cgroup: chooses the algorithm when they are established. */
SEC("sockops")
int whim_choose(struct bpf_sock_ops *ops)
{
	u64 name[2] = { chosen[0], chosen[1] };
	struct control *c = the_control();
	u32 op = ops->op;

	if (op == BPF_SOCK_OPS_NEEDS_ECN) {
		if (needs_ecn && is_chosen(ops))
			ops->reply = 1;
		return 1;
	}
	if (op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	if (!c || !is_chosen(ops) || is_taken(ops))
		return 1;
	if (bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		add(&c->not_chosen);
	else
		add(&c->chosen);
	return 1;
}

/* For measuring only: events like those of a connection that sends as fast as events are answered.
 * Its generation is one that no connection has.
 */
u32 flood_count = 0;
SEC("xdp")
int whim_flood(void *ctx)
{
	struct control *c = the_control();
	u64 now = bpf_ktime_get_ns();
	u32 n = __sync_fetch_and_add(&flood_count, 1) + 1;
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!c || !e) {
		if (e)
			bpf_ringbuf_discard(e, 0);
		else if (c)
			add(&c->dropped);
		return 2;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->time = now;
	e->slot = 0;
	e->generation = FLOOD_GENERATION;
	e->number = n;
	e->kind = KIND_ACK;
	e->flags = FLAG_CWND_LIMITED;
	e->ack_flags = FLAG_SND_UNA_ADVANCED;
	e->mss = 1448;
	e->acked = 2;
	e->delivered = 2 * n;
	e->prior_delivered = 2 * n - 1000;
	e->in_flight = 1000;
	e->prior_in_flight = 1002;
	e->cwnd = 1000;
	e->srtt_us = 50000;
	e->rtt_us = 50000 + (n & 1023);
	e->rate_delivered = 1000;
	e->rate_interval_us = 50000;
	e->snd_una = n * 2896;
	e->snd_nxt = e->snd_una + 1000 * 1448;
	e->segments_out = 2 * n;
	e->newest_sent_us = now / 1000 - 50000;
	add(&c->events);
	bpf_ringbuf_submit(e, waking(c));
	return 2; /* XDP_PASS */
}

/* For tests only: prr_window() on the arguments that the packet carries. */
struct prr_test {
	u8 ethernet[14], pad[2];
	u32 delivered, flight0, target, flight, acked;
	s32 out;
	u32 safe, window;
};
struct xdp_md {
	u32 data, data_end;
};
SEC("xdp")
int whim_prr_test(struct xdp_md *ctx)
{
	struct prr_test *t = (void *)(long)ctx->data;
	struct prr p;

	if ((void *)(t + 1) > (void *)(long)ctx->data_end || !t->flight0)
		return 1; /* XDP_DROP */
	p.delivered = t->delivered;
	p.flight = t->flight0;
	t->window = prr_window(&p, t->target, t->flight, t->acked, t->out, t->safe);
	t->delivered = p.delivered;
	return 2;
}

/* For tests only: hold_begin() and hold_reduce() on the arguments that the packet carries. */
struct hold_test {
	u8 ethernet[14], pad[2];
	u32 paced, cwnd, flight, acked, newly_lost, then_lost;
	u32 begins, reduced;
};
SEC("xdp")
int whim_hold_test(struct xdp_md *ctx)
{
	struct hold_test *t = (void *)(long)ctx->data;

	if ((void *)(t + 1) > (void *)(long)ctx->data_end)
		return 1; /* XDP_DROP */
	t->begins = hold_begin(t->paced, t->cwnd, t->flight, t->acked, t->newly_lost);
	t->reduced = hold_reduce(t->begins, t->then_lost);
	return 2;
}
