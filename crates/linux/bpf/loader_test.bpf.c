// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/*
 * For the tests of the loader only: constants, variables, a function that is not inlined, a small
 * ring, and a program that the verifier refuses.
 */
#include "helpers.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct xdp_md {
	u32 data, data_end;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} array SEC(".maps");

const volatile u32 factor = 1;
u64 initialized = 5;
u64 zero;

static __attribute__((noinline)) u64 multiply(u64 value)
{
	return value * factor;
}

/* Returns (factor * array[0] + initialized + zero), and doubles the first byte of the packet. */
SEC("xdp")
int test_values(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u32 first = 0;
	u64 *value = bpf_map_lookup_elem(&array, &first);

	if (!value || (void *)(data + 1) > (void *)(long)ctx->data_end)
		return 0;
	*data *= 2;
	zero++;
	return multiply(*value) + initialized + zero;
}

/* Writes a record of 40 bytes that all have the value of the packet's first byte; discards it if
 * that is odd.
 */
SEC("xdp")
int test_record(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data;
	u8 *record;

	if ((void *)(data + 1) > (void *)(long)ctx->data_end)
		return 0;
	record = bpf_ringbuf_reserve(&ring, 40, 0);
	if (!record)
		return 0;
	__builtin_memset(record, *data, 40);
	if (*data & 1)
		bpf_ringbuf_discard(record, 0);
	else
		bpf_ringbuf_submit(record, 0);
	return 1;
}

SEC("xdp")
int test_refused(struct xdp_md *ctx)
{
	return *(u8 *)(long)ctx->data; /* no check of the end */
}
