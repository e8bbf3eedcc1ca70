/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
 *
 * The kernel's helpers that these programs call, by their numbers (include/uapi/linux/bpf.h).
 */
#pragma once
#include "kernel.h"

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_xdp_adjust_tail)(void *xdp, int delta) = (void *)65;
static long (*bpf_setsockopt)(void *sk, int level, int name, void *value, int length) = (void *)49;
static long (*bpf_getsockopt)(void *sk, int level, int name, void *value, int length) = (void *)57;
static long (*bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void (*bpf_ringbuf_discard)(void *record, u64 flags) = (void *)133;
