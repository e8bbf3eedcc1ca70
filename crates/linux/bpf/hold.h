/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * The window between a loss and its answer: user space decides what the loss means, and until then
 * the flight does not grow. Counts are packets.
 *
 * The window is decided once, when the first such loss is found. Where acknowledgments come in
 * batches, a paced sender has not refilled the flight yet when the next one of the batch arrives.
 * A limit of the flight at each acknowledgment would fall through the whole batch, and the sender
 * would pause until the next one. So for a paced sender the window counts, not the flight.
 */
#pragma once
#include "kernel.h"

/* The limit after a loss that is the first without an answer. `flight`: after the acknowledgment,
 * which delivered `acked`. At least 1.
 */
INLINE u32 hold_begin(bool paced, u32 cwnd, u32 flight, u32 acked, u32 newly_lost)
{
	u32 hold = flight + (acked ? acked : 1);

	if (paced && cwnd > newly_lost && cwnd - newly_lost > hold)
		hold = cwnd - newly_lost;
	return hold;
}

/* The limit after further losses. */
INLINE u32 hold_reduce(u32 hold, u32 newly_lost)
{
	return hold > newly_lost ? hold - newly_lost : 1;
}
