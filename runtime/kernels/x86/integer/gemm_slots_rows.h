/* SPDX-License-Identifier: MIT */
/* gemm_slots_rows.h - the walk of gemm_slots over panels and rows of x. Parameters: ROWS of x that
 * share a panel's slots, CACHED_BYTES of x that stay beside a panel in the first-level cache,
 * panel_run(). */
#ifndef GEMM_SLOTS_ROWS_H
#define GEMM_SLOTS_ROWS_H

/* A panel's weights are read once for as many rows of x as stay in the first-level cache. */
static inline void slots_rows(const struct gemm_i8_job *job)
{
    const uint32_t fit = CACHED_BYTES / (job->steps * SLOTS_STEP) / ROWS * ROWS;
    const uint32_t block = fit > ROWS ? fit : ROWS;
    for (uint32_t begin = 0; begin < job->m; begin += block) {
        const uint32_t end = job->m - begin < block ? job->m : begin + block;
        for (uint32_t p = 0; p * SLOTS_NR < job->n; p++) {
            uint32_t i = begin;
            for (; i + ROWS <= end; i += ROWS)
                panel_run(job, i, p, ROWS);
            for (; i < end; i++)
                panel_run(job, i, p, 1);
        }
    }
}

#endif
