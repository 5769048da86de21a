/* SPDX-License-Identifier: MIT */
/* engine_device.c - an engine on a device: which one, and what happens where it cannot be had. */
#include <stdlib.h>
#include <string.h>
#include "pith_cuda.h"
#include "engine.h"
#include "base/error_fill.h"
#include "pith_host.h"

/* A device by name: auto and cuda:N, each alone or with ",f16" behind it. */
struct wish {
    bool is_auto;
    uint32_t number;
    enum pith_cuda_precision precision;
};

static bool read_wish(const char *text, struct wish *w)
{
    char *end = NULL;
    unsigned long v = 0;
    *w = (struct wish){.is_auto = strncmp(text, "auto", 4) == 0};
    if (w->is_auto)
        text += 4;
    else if (strncmp(text, "cuda:", 5) == 0 && text[5] >= '0' && text[5] <= '9') {
        v = strtoul(text + 5, &end, 10);
        text = end;
    } else
        return false;
    w->number = (uint32_t)v;
    w->precision = *text ? PITH_CUDA_F16 : PITH_CUDA_F32;
    return v < 1024 && (*text == 0 || strcmp(text, ",f16") == 0);
}

bool pith_engine_device_known(const char *text)
{
    if (!text)
        return false;
    struct wish w;
    return strcmp(text, "cpu") == 0 || read_wish(text, &w);
}

void pith_engine_close_device(struct pith_engine *e)
{
    pith_cuda_plan_free(e->device);
    pith_cuda_close(e->cuda);
    e->device = NULL;
    e->cuda = NULL;
}

/* The device failed with e->note: that is a failure, or from now on the CPU runs. */
static enum pith_status give_up(struct pith_engine *e, struct pith_error *err)
{
    pith_engine_close_device(e);
    return e->device_or_fail ? pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s", e->note.text)
                             : PITH_OK;
}

/* Steps that were joined for the CPU have no kernels on the device: where the plan has some, one
 * without them is tried, too. */
static enum pith_status put_plan(struct pith_engine *e, bool may_replan)
{
    uint32_t flags = e->opts.flags;
    enum pith_status st = pith_cuda_plan_new(e->cuda, e->plan, &e->device, &e->note);
    if (st || !may_replan || flags & PITH_FLAG_NO_FUSION ||
        pith_cuda_plan_facts(e->device).cpu_steps == 0)
        return st;
    uint32_t joined = pith_cuda_plan_facts(e->device).cpu_steps;
    for (uint32_t i = 0; i < 2; i++) {
        pith_cuda_plan_free(e->device);
        e->device = NULL;
        e->opts.flags = i == 0 ? flags | PITH_FLAG_NO_FUSION : flags;
        st = pith_engine_replan(e, &e->note);
        if (!st)
            st = pith_cuda_plan_new(e->cuda, e->plan, &e->device, &e->note);
        if (st || pith_cuda_plan_facts(e->device).cpu_steps <= joined)
            return st;
    }
    return st;
}

/* The second of two runs, in ns; 0: it failed. */
static uint64_t time_of(struct pith_engine *e, bool on_device)
{
    uint64_t ns = 0;
    for (int i = 0; i < 2; i++) {
        pith_fill_normal(e->plan, 1);
        uint64_t start = pith_clock_ns(NULL);
        if (on_device ? pith_cuda_plan_run(e->device, &e->note) : pith_plan_run(e->plan))
            return 0;
        ns = pith_clock_ns(NULL) - start;
    }
    return ns + 1;
}

static enum pith_status keep_faster(struct pith_engine *e)
{
    uint64_t there = time_of(e, true), here = there ? time_of(e, false) : 0;
    if (!there || (here && here <= there))
        pith_engine_close_device(e);
    return PITH_OK;
}

/* It runs on the CPU after all, where a group of samples or a band of rows at a time is better. */
static enum pith_status plan_for_cpu(struct pith_engine *e, const struct pith_engine_opts *opts,
                                     struct pith_error *err)
{
    if (opts->flags & PITH_FLAG_WHOLE_BATCH)
        return PITH_OK;
    e->opts.flags &= ~(uint32_t)PITH_FLAG_WHOLE_BATCH;
    return pith_engine_replan(e, err);
}

static enum pith_status open_device(struct pith_engine *e, const struct pith_engine_opts *opts,
                                    struct pith_error *err)
{
    struct wish w;
    if (!read_wish(opts->device, &w))
        return PITH_OK;
    e->device_or_fail = opts->device_or_fail && !w.is_auto;
    enum pith_status st = pith_cuda_open(w.number, &e->cuda, &e->note);
    if (st == PITH_ERR_UNSUPPORTED && w.is_auto) {
        e->note.text[0] = 0; /* there is nothing to choose from */
        return PITH_OK;
    }
    if (!st && opts->blas)
        pith_cuda_allow_blas(e->cuda, opts->blas);
    if (!st) {
        pith_cuda_set_precision(e->cuda, w.precision);
        st = put_plan(e, !opts->plan_file);
    }
    if (st && !e->plan)
        return pith_error_fill(err, st, "%s", e->note.text);
    if (st)
        return give_up(e, err);
    return w.is_auto ? keep_faster(e) : PITH_OK;
}

enum pith_status pith_engine_open_device(struct pith_engine *e, const struct pith_engine_opts *opts,
                                         struct pith_error *err)
{
    enum pith_status st = open_device(e, opts, err);
    return st || e->device ? st : plan_for_cpu(e, opts, err);
}

enum pith_status pith_engine_run(struct pith_engine *e, struct pith_error *err)
{
    if (!e->device)
        return pith_run_with_error(e->plan, err);
    enum pith_status st = pith_cuda_plan_run(e->device, &e->note);
    if (!st || st == PITH_ERR_LIMIT || st == PITH_ERR_STOPPED)
        return pith_fill_run_error(e->plan, st, err);
    st = give_up(e, err);
    return st ? st : pith_run_with_error(e->plan, err);
}

const char *pith_engine_device(const struct pith_engine *e)
{
    if (!e)
        return NULL;
    return e->device ? pith_cuda_name(e->cuda) : NULL;
}

const char *pith_engine_note(const struct pith_engine *e)
{
    if (!e)
        return NULL;
    return e->note.text;
}

bool pith_engine_on_cpu(const struct pith_engine *e, uint32_t layer)
{
    if (!e)
        return false;
    return !e->device || pith_cuda_plan_on_cpu(e->device, layer);
}

uint64_t pith_engine_layer_bytes(const struct pith_engine *e, uint32_t layer)
{
    if (!e)
        return 0;
    return e->device ? pith_cuda_plan_step_bytes(e->device, layer) : 0;
}

enum pith_status pith_engine_copy_speed(struct pith_engine *e, double *bytes_per_s,
                                        struct pith_error *err)
{
    if (!e || !bytes_per_s)
        return PITH_ERR_ARGUMENT;
    *bytes_per_s = 0;
    return e->device ? pith_cuda_copy_speed(e->cuda, bytes_per_s, err) : PITH_OK;
}
