/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * Proportional rate reduction, RFC 9937: while losses are repaired, the flight shrinks to the
 * reduced window in step with what arrives. The kernel's own is off under an algorithm that sets
 * the window itself. Counts are packets.
 */
#pragma once
#include "kernel.h"

struct prr {
	u32 delivered; /* since the reduction */
	u32 flight; /* RecoverFS: the flight at the reduction; at least 1 */
};

/* The window for one acknowledgment. `out`: packets sent since the reduction. `safe`: it advances
 * snd_una and reveals no further loss (SafeACK). At least 1: the kernel takes a window of 0 for an
 * error, and undoing it to that window makes it warn.
 */
INLINE u32 prr_window(struct prr *p, u32 target, u32 flight, u32 acked, s32 out, bool safe)
{
	s64 send;

	if (out < 0)
		out = 0;
	p->delivered += acked;
	if (flight > target) {
		u64 share = ((u64)target * p->delivered + p->flight - 1) / p->flight;

		send = (s64)share - out;
	} else {
		s64 room = (s64)target - flight;

		send = (s64)p->delivered - out;
		if (send < acked)
			send = acked;
		if (safe)
			send++;
		if (send > room)
			send = room;
	}
	/* The first acknowledgment of a recovery always allows the fast retransmission. */
	if (send < 1)
		send = out ? 0 : 1;
	send += flight;
	return send < 1 ? 1 : send;
}
