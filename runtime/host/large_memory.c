/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* madvise */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "host/large_memory.h"

#define LARGE_PAGE (UINT64_C(2) << 20) /* of x86-64, and of AArch64 with pages of 4 KiB */

void *pith_large_memory(uint64_t align, uint64_t bytes)
{
    const bool large = bytes >= 2 * LARGE_PAGE;
    if (large && align < LARGE_PAGE)
        align = LARGE_PAGE;
    if (bytes > SIZE_MAX - align)
        return NULL;
    void *p = aligned_alloc((size_t)align, (size_t)((bytes + align - 1) / align * align));
#ifdef MADV_HUGEPAGE
    /* The last part of a page is not worth a large one. */
    if (p && large)
        (void)madvise(p, (size_t)(bytes / LARGE_PAGE * LARGE_PAGE), MADV_HUGEPAGE);
#endif
    return p;
}
