/* SPDX-License-Identifier: MIT */
#ifndef PITH_ENGINE_H
#define PITH_ENGINE_H

#include "pith_measure.h"
#include "pith_runtime.h"

struct pith_cuda;
struct pith_cuda_plan;

struct pith_engine {
    struct pith_buffer packed; /* owns: the image, where a model was packed */
    const uint8_t *image;      /* borrows: checked */
    size_t image_bytes;
    struct pith_opts opts;
    bool shares_threads;      /* those of opts are another engine's */
    struct pith_plans *plans; /* owns */
    struct pith_plan *plan;
    const struct pith_plan *from_file; /* the plan that a plan file made; NULL: there is no file */
    struct pith_cuda *cuda;            /* owns; NULL: it runs on the CPU */
    struct pith_cuda_plan *device;     /* owns */
    bool device_or_fail;
    struct pith_error note; /* why it is not the requested device */
    uint64_t
        *layer_ns; /* owns: a layer's fastest run in pith_time. NULL: not profiled, not timed */
};

/* Frees the plan and makes another with e->opts, which have changed. */
enum pith_status pith_engine_replan(struct pith_engine *e, struct pith_error *err);

/* e->plan is that for the open sizes which m, the same network, has now. */
enum pith_status pith_engine_follow_sizes(struct pith_engine *e, const struct pith_model *m,
                                          struct pith_error *err);

/* engine_device.c: puts the plan on the device that opts name. A device that cannot be had is a
 * failure with opts->device_or_fail, else a note. */
enum pith_status pith_engine_open_device(struct pith_engine *e, const struct pith_engine_opts *opts,
                                         struct pith_error *err);
void pith_engine_close_device(struct pith_engine *e);

/* e->plan is that of `batch` rows for inputs of these shapes. PITH_ERR_ARGUMENT: they do not fit,
 * or have other sizes than a plan file; PITH_ERR_UNSUPPORTED: it runs on a device, which has one
 * plan. */
enum pith_status pith_engine_fit_sizes(struct pith_engine *e, uint32_t batch,
                                       const struct pith_tensor *inputs, uint32_t n_inputs,
                                       struct pith_error *err);

/* One run, wherever it is; as pith_run_with_error, and PITH_ERR_UNSUPPORTED where the device was
 * lost. */
enum pith_status pith_engine_run(struct pith_engine *e, struct pith_error *err);

/* pith_plan_run; err->text says where it ended early: after how many steps, before which layer.
 * PITH_ERR_LIMIT, PITH_ERR_STOPPED. */
enum pith_status pith_run_with_error(struct pith_plan *plan, struct pith_error *err);
/* What ended it, in words, where the status is one of these. */
enum pith_status pith_fill_run_error(const struct pith_plan *plan, enum pith_status st,
                                     struct pith_error *err);

#endif
