/* SPDX-License-Identifier: MIT */
/* large_memory.h - memory for weights and arenas. Internal. */
#ifndef PITH_LARGE_MEMORY_H
#define PITH_LARGE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* aligned_alloc() of at least `bytes`; free() returns it. Blocks of some MiB ask the system for
 * large pages, if it has them (Linux: madvise). A product of one row reads weights from memory at
 * 33 GB/s then, at 20 with pages of 4 KiB (Zen 4), and memory that is used for the first time costs
 * fewer page faults. NULL: there is no such memory. */
void *pith_large_memory(uint64_t align, uint64_t bytes);

#endif
