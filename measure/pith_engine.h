/* SPDX-License-Identifier: MIT */
#ifndef PITH_ENGINE_H
#define PITH_ENGINE_H

#include "pith_measure.h"

struct pith_engine {
    struct pith_buffer packed; /* owns: the image, where a model was packed */
    const uint8_t *image;      /* borrows: checked */
    size_t image_bytes;
    struct pith_opts opts;
    struct pith_need need;
    void *memory; /* owns: the plan lives here */
    struct pith_plan *plan;
    uint64_t
        *layer_ns; /* owns: a layer's fastest run in pith_time. NULL: not profiled, not timed */
};

/* pith_plan_run; what ended it early is told: after how many steps, before which layer.
 * PITH_ERR_LIMIT, PITH_ERR_STOPPED. */
enum pith_status pith_run_or_tell(struct pith_plan *plan, struct pith_error *err);

#endif
