/* SPDX-License-Identifier: MIT */
/* A model made ready to run: packed in memory unless it is an image, planned, with threads and a
 * clock. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "engine.h"
#include "model/model_sizes.h"
#include "base/error_fill.h"

static enum pith_status fail(struct pith_error *err, enum pith_status status, const char *what)
{
    return pith_error_fill(err, status, "%s: %s", what, pith_status_text(status));
}

static void fill_opts(struct pith_engine *e, const struct pith_engine_opts *o)
{
    pith_opts_init(&e->opts, sizeof e->opts);
    e->opts.flags = PITH_FLAG_NO_CHECKSUM; /* the caller has validated the image */
    if (!o)
        return;
    e->opts.cpu_mask = o->cpu_mask;
    e->opts.batch = o->batch;
    e->opts.flags |= o->flags;
    if (o->device && strcmp(o->device, "cpu") != 0)
        e->opts.flags |= PITH_FLAG_WHOLE_BATCH; /* devices know no segments and no bands */
    if (o->ordered)
        e->opts.ordered = &pith_ordered_sums;
    e->opts.observe = o->observe;
    e->opts.user = o->user;
    e->opts.max_steps = o->max_steps;
    e->opts.stop = o->stop;
    e->opts.stop_user = o->stop_user;
    e->opts.choices = o->choices;
    e->opts.n_choices = o->n_choices;
    if (o->weights_of)
        e->opts.weights_of = o->weights_of->plan;
    if (o->profile)
        e->opts.clock_ns = pith_clock_ns;
}

static enum pith_status refuse_plan_file(const struct pith_engine_opts *o, enum pith_status st,
                                         const char *why, struct pith_error *err)
{
    return pith_error_fill(err, st, "cannot use the plan file%s%s: %s", o->plan_name ? " " : "",
                           o->plan_name ? o->plan_name : "", why);
}

static enum pith_status open_plan_file(struct pith_engine *e, const struct pith_engine_opts *o,
                                       struct pith_error *err)
{
    const char *why = "";
    if (!o || !o->plan_file)
        return PITH_OK;
    enum pith_status st = pith_plan_file_open(o->plan_file, o->plan_file_bytes, e->image,
                                              e->image_bytes, &e->opts, &why);
    return st ? refuse_plan_file(o, st, why, err) : PITH_OK;
}

/* What a hostile file chose is refused by the operators, and what it placed here. */
static enum pith_status as_in_file(const struct pith_engine *e, const struct pith_engine_opts *o,
                                   enum pith_status st, struct pith_error *err)
{
    if (!o || !o->plan_file)
        return st;
    if (!st)
        st = pith_plan_file_check(o->plan_file, o->plan_file_bytes, e->plan);
    if (st != PITH_ERR_CORRUPT)
        return st;
    if (pith_sizes_count(pith_plans_sizes(e->plans)) > 0)
        return refuse_plan_file(o, PITH_ERR_ARGUMENT,
                                "it was made for other sizes (pith plan and tune take --size)",
                                err);
    return refuse_plan_file(o, st, "it does not fit the model", err);
}

enum pith_status pith_engine_replan(struct pith_engine *e, struct pith_error *err)
{
    pith_plans_forget(e->plans, &e->opts);
    const enum pith_status st = pith_plans_get(e->plans, e->opts.batch, &e->plan, err);
    e->from_file = e->from_file ? e->plan : NULL;
    return st;
}

static enum pith_status take_threads(struct pith_engine *e, const struct pith_engine_opts *o)
{
    if (!o || !o->share)
        return o && o->threads > 1 ? pith_threads_start(&e->opts, o->threads) : PITH_OK;
    e->opts.parallel_for = o->share->opts.parallel_for;
    e->opts.parallel_user = o->share->opts.parallel_user;
    e->opts.threads = o->share->opts.threads;
    e->shares_threads = true;
    return PITH_OK;
}

enum pith_status pith_engine_follow_sizes(struct pith_engine *e, const struct pith_model *m,
                                          struct pith_error *err)
{
    struct pith_sizes *sizes = pith_plans_sizes(e->plans);
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; m && sizes && i < m->n_sizes && !st; i++) {
        st = pith_sizes_set_max(sizes, m->sizes[i].name, INT32_MAX, err);
        st = st ? st : pith_sizes_set(sizes, m->sizes[i].name, m->sizes[i].value, err);
        st = st ? st : pith_sizes_set_max(sizes, m->sizes[i].name, m->sizes[i].max, err);
    }
    return st ? st : pith_plans_get(e->plans, e->opts.batch, &e->plan, err);
}

enum pith_status pith_engine_fit_sizes(struct pith_engine *e, uint32_t batch,
                                       const struct pith_tensor *inputs, uint32_t n_inputs,
                                       struct pith_error *err)
{
    if (e->device)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "a device has the sizes of the file alone");
    enum pith_status st = pith_sizes_fit(pith_plans_sizes(e->plans), inputs, n_inputs, err);
    st = st ? st : pith_plans_get(e->plans, batch, &e->plan, err);
    if (!st && e->from_file && e->plan != e->from_file)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "the plan file is for other sizes: samples of several sizes take "
                               "none");
    return st;
}

/* The plan of e->image, at the sizes that m has. */
static enum pith_status prepare(struct pith_engine *e, const struct pith_model *m,
                                const struct pith_engine_opts *opts, struct pith_error *err)
{
    fill_opts(e, opts);
    enum pith_status st = take_threads(e, opts);
    if (st)
        return fail(err, st, "cannot start threads");
    st = open_plan_file(e, opts, err);
    st = st ? st : pith_plans_open(e->image, e->image_bytes, &e->opts, &e->plans, err);
    st = st ? st : as_in_file(e, opts, pith_engine_follow_sizes(e, m, err), err);
    e->from_file = opts && opts->plan_file ? e->plan : NULL;
    return st;
}

/* Closes e where st or the plan is a failure. */
static enum pith_status finish(struct pith_engine *e, const struct pith_model *m,
                               const struct pith_engine_opts *opts, enum pith_status st,
                               struct pith_engine **engine, struct pith_error *err)
{
    if (!st)
        st = prepare(e, m, opts, err);
    if (!st && opts && opts->device)
        st = pith_engine_open_device(e, opts, err);
    if (st)
        pith_engine_close(e);
    else
        *engine = e;
    return st;
}

enum pith_status pith_engine_open(const struct pith_model *m, const struct pith_engine_opts *opts,
                                  struct pith_engine **engine, struct pith_error *err)
{
    if (!m || !engine || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct pith_engine *e = calloc(1, sizeof *e);
    if (!e)
        return fail(err, PITH_ERR_MEMORY, "cannot open the model");
    const struct pith_pack_opts pack = {.size_bytes = sizeof pack,
                                        .plain = opts && (opts->observe || opts->ordered)};
    const struct pith_engine *other = opts ? opts->weights_of : NULL;
    enum pith_status st = other ? PITH_OK : pith_model_pack(m, &pack, &e->packed, err);
    e->image = other ? other->image : e->packed.data;
    e->image_bytes = other ? other->image_bytes : e->packed.bytes;
    return finish(e, m, opts, st, engine, err);
}

/* Finds which stream is broken: the plan does not report it, the model's reader does.
 */
static enum pith_status explain(const struct pith_packed *packed, struct pith_error *err)
{
    struct pith_model *m = NULL;
    struct pith_error why = {0};
    if (pith_model_read(packed->data, packed->bytes, packed->name, NULL, &m, &why) ==
            PITH_ERR_CORRUPT &&
        err)
        *err = why;
    pith_model_free(m);
    return PITH_ERR_CORRUPT;
}

enum pith_status pith_engine_open_packed(const struct pith_packed *packed,
                                         const struct pith_engine_opts *opts,
                                         struct pith_engine **engine, struct pith_error *err)
{
    if (!packed || !engine || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct pith_engine *e = calloc(1, sizeof *e);
    if (!e)
        return fail(err, PITH_ERR_MEMORY, "cannot open the model");
    e->image = packed->data;
    e->image_bytes = packed->bytes;
    enum pith_status st = finish(e, packed->outline, opts, PITH_OK, engine, err);
    return st == PITH_ERR_CORRUPT && !(opts && opts->plan_file) ? explain(packed, err) : st;
}

void pith_engine_close(struct pith_engine *e)
{
    if (!e)
        return;
    pith_engine_close_device(e);
    if (!e->shares_threads)
        pith_threads_stop(&e->opts);
    pith_plans_close(e->plans);
    free(e->layer_ns);
    pith_buffer_free(&e->packed);
    free(e);
}

struct pith_plan *pith_engine_plan(struct pith_engine *e)
{
    if (!e)
        return NULL;
    return e->plan;
}

uint64_t pith_engine_layer_ns(const struct pith_engine *e, uint32_t layer)
{
    if (!e)
        return 0;
    return e->layer_ns && layer < pith_plan_layer_count(e->plan) ? e->layer_ns[layer] : 0;
}

enum pith_status pith_run_with_error(struct pith_plan *plan, struct pith_error *err)
{
    return pith_fill_run_error(plan, pith_plan_run(plan), err);
}

enum pith_status pith_fill_run_error(const struct pith_plan *plan, enum pith_status st,
                                     struct pith_error *err)
{
    struct pith_layer l = {.name = ""};
    uint64_t steps;
    uint32_t layer;
    if (st != PITH_ERR_LIMIT && st != PITH_ERR_STOPPED)
        return st;
    pith_plan_progress(plan, &steps, &layer);
    pith_plan_layer(plan, layer, &l);
    if (st == PITH_ERR_STOPPED)
        return pith_error_fill(err, st, "interrupted after %" PRIu64 " steps", steps);
    return pith_error_fill(err, st,
                           "cannot run the model: not done after %" PRIu64
                           " steps (--max-steps), next would be layer %" PRIu32 " '%.*s', %s",
                           steps, layer, (int)l.name_bytes, l.name, pith_op_text(l.op));
}

size_t pith_engine_file_bytes(const struct pith_engine *e)
{
    if (!e)
        return 0;
    return e->image_bytes;
}

struct pith_need pith_engine_need(const struct pith_engine *e)
{
    struct pith_need need = {0};
    if (!e)
        return need;
    pith_plans_need(e->plans, e->opts.batch, &need);
    return need;
}
