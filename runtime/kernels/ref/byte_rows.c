/* SPDX-License-Identifier: MIT */
/* byte_rows.c - see byte_rows_impl.h; and what levels have no template of. */
#define ROW(name) name
#define LANES 4u
#include "kernels/ref/byte_rows_impl.h"

#ifdef __x86_64__
void pith_interleave(const struct interleave *job, uint8_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < job->rows; r++)
            for (uint32_t b = 0; b < job->element; b++) {
                const int64_t at = job->at + (int64_t)(i * job->element + b);
                const bool is_there = job->x[r] && at >= 0 && at < (int64_t)job->width;
                *y++ = is_there ? job->x[r][at] ^ job->flip : job->zero;
            }
}
#endif
