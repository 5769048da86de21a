/* SPDX-License-Identifier: MIT */
/* pith_tune.h - which kernels run a model fastest on this machine: timed, not estimated.
 *
 * Where several kernels can do a step, planning takes the one that a model of costs says is
 * cheapest (struct pith_costs, of a class of machines). Tuning runs the model with each of them and
 * keeps the fastest of every step in a plan file, which pith_engine_opts.plan_file, `pith run
 * --plan` and pith_plan_file_open take. Nothing else is tuned: planning without such a file gives
 * the same kernels at every run.
 *
 *     struct pith_tuned t;
 *     pith_tune(&packed, &opts, NULL, &t, &err);
 *     write t.plan_file
 *     pith_tuned_free(&t);
 *
 * Kernels that add in another order give sums that differ in their last bits: outputs by a tuned
 * plan are as exact as others, but not the same bits. */
#ifndef PITH_TUNE_H
#define PITH_TUNE_H

#include "pith_measure.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_tune_opts {
    uint32_t size_bytes;
    double seconds; /* of measuring, about; each kernel runs 7 times at least. 0: 10 */
    /* done: of PITH_TUNE_PARTS; NULL: no callback. */
    const struct pith_watch *watch;
};
#define PITH_TUNE_PARTS 100u

/* A kernel that a step could run with. */
struct pith_tuned_kernel {
    uint32_t step;      /* i of pith_plan_layer */
    uint32_t choice;    /* its number in the operator's list (pith_opts.choices) */
    const char *kernel; /* as pith_layer; several numbers may share a name */
    uint64_t ns;        /* its fastest run */
    bool planned;       /* the costs' choice */
    bool taken;         /* that of the plan file */
};

struct pith_tuned {
    struct pith_tuned_kernel *kernel; /* owned: of steps with several kernels, by step */
    uint32_t n_kernels;
    /* Runs of the whole model, the two in turn. Where the choices together were not faster than
     * what was planned, the plan file holds what was planned, and both are the same. */
    struct pith_timing planned, tuned;
    struct pith_buffer plan_file; /* owned */
};

/* packed and opts as for pith_engine_open_packed (threads, batch, cpu_mask, stop count; profile,
 * observe and plan_file must not be set). Takes the memory of two plans. *tuned is untouched on
 * failure: PITH_ERR_STOPPED where the watch or opts.stop ended it, PITH_ERR_MEMORY, and what
 * opening and running return. */
enum pith_status pith_tune(const struct pith_packed *packed, const struct pith_engine_opts *opts,
                           const struct pith_tune_opts *tune, struct pith_tuned *tuned,
                           struct pith_error *err);
/* How many entries from `from` on, the first of its step, are of that step. */
uint32_t pith_tuned_of_step(const struct pith_tuned *tuned, uint32_t from);
void pith_tuned_free(struct pith_tuned *tuned); /* leaves it zeroed */

/* The batch with the most samples a second among 1, 2, 4 ... 256 whose 90th percentile stays within
 * max_ms (0: no limit), by the planned kernels: what takes longer, and what follows two doublings
 * without gain, is not tried. A model whose batch is fixed has 1. PITH_ERR_GOAL: one sample takes
 * longer already, in err; else as pith_tune. */
enum pith_status pith_tune_batch(const struct pith_packed *packed,
                                 const struct pith_engine_opts *opts,
                                 const struct pith_tune_opts *tune, double max_ms, uint32_t *batch,
                                 struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
