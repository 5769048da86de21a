/* SPDX-License-Identifier: MIT */
/* facts_models.c - the two models: bytes by weight, which weight of one is which of the other, and
 * what their numbers are. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "base/number_text.h"
#include "base/snr.h"
#include "core/tensor.h"
#include "facts.h"
#include "op_interface/op_traits.h"
#include "pith_host.h"
#include "pith_huffman.h"

/* ---- a side ---------------------------------------------------------------------------------- */

static uint64_t tensor_bytes(const struct pith_tensor_bytes *b)
{
    return b->support + b->codebook + b->index + b->values + b->table;
}

/* What describes the plan is that of one thread, which every machine of a kind has. */
static enum pith_status open_engine(struct report *r, struct report_side *s)
{
    struct pith_engine_opts opts = {.size_bytes = sizeof opts,
                                    .threads = 1,
                                    .cpu_mask = r->o->cpu_mask,
                                    .flags = PITH_FLAG_OUTLINE};
    enum pith_status st = pith_engine_open_packed(s->packed, &opts, &s->outline, r->err);
    if (st)
        return st;
    s->need = pith_engine_need(s->outline);
    struct pith_layer l;
    for (uint32_t i = 0; !pith_plan_layer(pith_engine_plan(s->outline), i, &l); i++)
        s->macs += l.macs;
    opts.flags = 0;
    opts.threads = r->o->threads;
    opts.profile = r->o->seconds > 0;
    return pith_engine_open_packed(s->packed, &opts, &s->engine, r->err);
}

static enum pith_status list_weights(struct report_side *s, struct pith_error *err)
{
    s->ref = calloc(s->m->n_nodes + (size_t)1, sizeof *s->ref);
    s->bytes = calloc(s->m->n_nodes + (size_t)1, sizeof *s->bytes);
    if (!s->ref || !s->bytes)
        return pith_error_no_memory(err);
    s->n_refs = pith_model_all_weights(s->m, s->ref);
    for (uint32_t i = 0; i < s->n_refs; i++)
        s->bytes[i] = s->onnx ? pith_stored_bytes(&s->m->values[s->ref[i].value])
                              : tensor_bytes(&s->account->tensor[s->ref[i].value - s->m->n_inputs]);
    return PITH_OK;
}

enum pith_status pith_report_open_side(struct report *r, uint32_t side)
{
    struct report_side *s = &r->side[side];
    s->name = side ? r->o->name : r->o->vs_name;
    s->packed = side ? r->o->packed : r->o->vs;
    if (!s->packed)
        return PITH_OK;
    const uint64_t onnx_bytes = side ? r->o->onnx_bytes : r->o->vs_onnx_bytes;
    s->onnx = onnx_bytes > 0;
    s->file_bytes = s->onnx ? onnx_bytes : s->packed->bytes;
    enum pith_status st =
        pith_byte_account_new(s->packed->data, s->packed->bytes, &s->account, r->err);
    if (!st)
        st = pith_model_read(s->packed->data, s->packed->bytes, s->packed->name, NULL, &s->m,
                             r->err);
    if (!st)
        st = pith_model_same_sizes(s->m, r->o->packed->outline, r->err);
    if (!st && !side)
        st = pith_model_same_sizes(s->packed->outline, r->o->packed->outline, r->err);
    if (!st)
        st = list_weights(s, r->err);
    return st ? st : open_engine(r, s);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Operator of the same products on floats. */
static uint32_t float_op(uint32_t op)
{
    for (uint32_t f = 0; f < 256; f++)
        if (pith_op_traits(f).integer_op == op && op)
            return f;
    return op;
}

static bool same_weight(const struct report *r, const struct pith_weight_ref *a,
                        const struct pith_weight_ref *b)
{
    const struct pith_model *const *m = (const struct pith_model *[]){r->side[0].m, r->side[1].m};
    return m[0]->values[a->value].constant->count == m[1]->values[b->value].constant->count;
}

/* By the name of the layer, then of the tensor; what is left in the order of execution, where both
 * models have as many weights and this one is as large. */
static uint32_t find_other(const struct report *r, const struct pith_weight_ref *ref, uint32_t i)
{
    const struct report_side *before = &r->side[0];
    for (uint32_t k = 0; k < before->n_refs; k++)
        if (*ref->layer && strcmp(before->ref[k].layer, ref->layer) == 0 &&
            same_weight(r, &before->ref[k], ref))
            return k;
    for (uint32_t k = 0; k < before->n_refs; k++)
        if (*ref->tensor && strcmp(before->ref[k].tensor, ref->tensor) == 0 &&
            same_weight(r, &before->ref[k], ref))
            return k;
    return before->n_refs == r->side[1].n_refs && same_weight(r, &before->ref[i], ref) ? i
                                                                                       : UINT32_MAX;
}

static void fill_layer(struct report *r, uint32_t i)
{
    const struct report_side *s = &r->side[1];
    const struct pith_weight_ref *ref = &s->ref[i];
    const struct pith_value *v = &s->m->values[ref->value];
    const struct pith_tensor_bytes *b = &s->account->tensor[ref->value - s->m->n_inputs];
    struct report_layer *l = &r->layer[i];
    *l = (struct report_layer){.op = pith_op_text(float_op(ref->op)),
                               .count = v->constant->count,
                               .bytes = s->bytes[i],
                               .vs = UINT32_MAX,
                               .node = ref->node,
                               .weight_db = NAN,
                               .alone_db = NAN,
                               .layer_db = NAN,
                               .ms = NAN};
    snprintf(l->own_name, sizeof l->own_name, "%s %u", l->op, ref->node);
    l->name = ref->layer && *ref->layer ? ref->layer : l->own_name;
    pith_shape_text(v->dim, v->rank, l->shape);
    l->before_bytes = l->count * sizeof(float);
    if (r->side[0].m)
        l->vs = find_other(r, ref, i);
    if (l->vs != UINT32_MAX)
        l->before_bytes = r->side[0].bytes[l->vs];
    if (s->onnx) {
        l->bits = l->count ? 8 * (double)l->bytes / (double)l->count : 0;
        l->grid = pith_type_text(v->type);
        l->code = "plain";
        return;
    }
    l->bits =
        b->n_centroids ? pith_index_bits(b->n_centroids) : 8 * (uint32_t)pith_type_bytes(b->stored);
    l->grid = b->n_centroids ? "codebook" : pith_type_text(b->stored);
    l->code = b->trellis                      ? "trellis"
              : b->code == PITH_CODE_ADAPTIVE ? "adaptive"
              : b->code == PITH_CODE_RANS     ? "rans"
              : b->code == PITH_CODE_HUFFMAN  ? "huffman"
                                              : "plain";
}

/* Both with their normalizations in the weights: only so do weights of one name compare. Values
 * keep their numbers. */
static enum pith_status fold(struct report *r, struct report_side *s)
{
    uint32_t n;
    enum pith_status st = pith_model_fold_batch_norm(s->m, &n, r->err);
    if (st)
        return st;
    const uint32_t had = s->n_refs;
    s->n_refs = pith_model_all_weights(s->m, s->ref);
    return s->n_refs == had ? PITH_OK
                            : pith_error_fill(r->err, PITH_ERR_UNSUPPORTED,
                                              "%s: folding changed the list of weights", s->name);
}

enum pith_status pith_report_layers(struct report *r)
{
    r->n_layers = r->side[1].n_refs;
    r->layer = calloc(r->n_layers + (size_t)1, sizeof *r->layer);
    if (!r->layer)
        return pith_error_no_memory(r->err);
    for (uint32_t i = 0; i < r->n_layers; i++)
        fill_layer(r, i);
    for (uint32_t side = 0; side < 2; side++) {
        enum pith_status st = r->side[side].m ? fold(r, &r->side[side]) : PITH_OK;
        if (st)
            return st;
    }
    return PITH_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void count_bins(const struct report_layer *l, const float *x, uint64_t n, uint64_t *bin)
{
    const double scale = REPORT_BINS / (l->weights.high - l->weights.low);
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        const double at = ((double)x[i] - l->weights.low) * scale;
        bin[at < 0 ? 0 : at >= REPORT_BINS ? REPORT_BINS - 1 : (uint32_t)at]++;
    }
}

/* sorted: [n]. */
static void find_levels(struct report_layer *l, const float *sorted, uint64_t n)
{
    uint32_t found = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            if (found == REPORT_LEVELS)
                return;
            l->weights.level[found++] = (double)sorted[i];
            l->weights.level_count[found - 1] = 0;
        }
        l->weights.level_count[found - 1]++;
    }
    l->weights.n_levels = found;
}

static void widen(struct report_layer *l, const float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            l->weights.low = fmin(l->weights.low, (double)x[i]);
            l->weights.high = fmax(l->weights.high, (double)x[i]);
        }
}

static double weight_snr(const float *a, const float *b, uint64_t n)
{
    double signal = 0, noise = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double d = (double)a[i] - (double)b[i];
        signal += (double)a[i] * (double)a[i];
        noise += d * d;
    }
    return pith_snr_db(signal, noise);
}

/* x: [count] of this model; was: of the other, NULL: none. */
static void describe(struct report_layer *l, const float *x, const float *was)
{
    l->weights.low = DBL_MAX;
    l->weights.high = -DBL_MAX;
    widen(l, x, l->count);
    if (was)
        widen(l, was, l->count);
    if (l->weights.low > l->weights.high)
        l->weights.low = l->weights.high = 0;
    if (!(l->weights.high > l->weights.low)) {
        l->weights.low -= 0.5;
        l->weights.high += 0.5;
    }
    for (uint64_t i = 0; i < l->count; i++)
        l->nonzeros += x[i] != 0;
    count_bins(l, x, l->count, l->weights.bin[1]);
    if (was) {
        count_bins(l, was, l->count, l->weights.bin[0]);
        l->weights.has_before = true;
        l->weight_db = weight_snr(was, x, l->count);
    }
}

/* The other model's weight of the layer as floats; *was NULL: there is none, or it is no floats. */
static enum pith_status read_other(const struct report *r, const struct report_layer *l,
                                   float **was)
{
    const struct report_side *before = &r->side[0];
    bool integers = false;
    *was = NULL;
    if (l->vs == UINT32_MAX)
        return PITH_OK;
    *was = malloc((size_t)l->count * sizeof **was + 1);
    if (!*was)
        return PITH_ERR_MEMORY;
    if (pith_weight_numbers(before->m, &before->ref[l->vs], NULL, *was, &integers) || integers) {
        free(*was);
        *was = NULL;
    }
    return PITH_OK;
}

static enum pith_status describe_layer(struct report *r, uint32_t i)
{
    struct report_layer *l = &r->layer[i];
    const struct report_side *s = &r->side[1];
    float *x = malloc((size_t)l->count * sizeof *x + 1), *was = NULL;
    enum pith_status st = x ? read_other(r, l, &was) : PITH_ERR_MEMORY;
    if (!st)
        st = pith_weight_numbers(s->m, &s->ref[i], was, x, &l->integers);
    if (!st) {
        describe(l, x, was);
        qsort(x, (size_t)l->count, sizeof *x, by_value);
        if (l->count == 0 || isfinite(x[0]))
            find_levels(l, x, l->count);
    } else if (st == PITH_ERR_UNSUPPORTED) { /* neither floats nor bytes */
        l->nonzeros = l->count;
        st = PITH_OK;
    }
    free(x);
    free(was);
    return st;
}

enum pith_status pith_report_weights(struct report *r)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < r->n_layers && !st; i++)
        st = describe_layer(r, i);
    return st;
}

/* ---- steps of the plan ----------------------------------------------------------------------- */

static bool has_name(const struct pith_layer *step, const char *name)
{
    return step->name_bytes == strlen(name) && memcmp(step->name, name, step->name_bytes) == 0;
}

/* The layer of a step that multiplies, by its name (a recurrent layer has two weights and steps),
 * else the n-th one, where as many steps multiply as there are layers. */
static struct report_layer *layer_of(const struct report *r, const struct pith_layer *step,
                                     uint32_t nth, bool as_many)
{
    for (uint32_t i = 0; i < r->n_layers; i++)
        if (!r->layer[i].kernel && step->macs && has_name(step, r->layer[i].name))
            return &r->layer[i];
    return as_many && step->macs && !r->layer[nth].kernel ? &r->layer[nth] : NULL;
}

static double elements_of(const struct pith_tensor *t)
{
    return (double)t->bytes / (double)pith_type_bytes(t->type);
}

struct traffic {
    double bytes, elements;
    bool integers;
};

static struct traffic traffic_of(const struct pith_plan *plan, uint32_t step)
{
    struct traffic t = {0};
    struct pith_operand o;
    for (uint32_t i = 0; !pith_plan_operand(plan, step, i, &o); i++) {
        if (o.place != PITH_PLACE_ARENA ||
            (o.role != PITH_ROLE_INPUT && o.role != PITH_ROLE_RESIDUAL &&
             o.role != PITH_ROLE_OUTPUT))
            continue;
        t.bytes += (double)o.tensor.bytes;
        t.elements += elements_of(&o.tensor);
        if (o.role == PITH_ROLE_INPUT && o.index == 0)
            t.integers = o.tensor.type == PITH_I8 || o.tensor.type == PITH_U8;
    }
    return t;
}

static void add_energy(struct report_energy *to, const struct report_energy *e)
{
    to->arithmetic += e->arithmetic;
    to->weights += e->weights;
    to->activations += e->activations;
}

/* Products with weights of 0 are skipped after compression. */
static void take_step(struct report *r, const struct pith_layer *step, struct report_layer *l)
{
    const struct report_side *s = &r->side[1];
    const struct traffic t = traffic_of(pith_engine_plan(s->outline), step->step);
    const double macs = (double)step->macs;
    const double kept = l && l->count ? (double)l->nonzeros / (double)l->count : 1;
    const struct report_energy before =
        pith_energy_45nm(macs, l ? 4 * (double)l->count : 0, 4 * t.elements, false);
    const struct report_energy after =
        pith_energy_45nm(macs * kept, l ? (double)l->bytes : 0, t.bytes, t.integers);
    add_energy(&r->before, &before);
    add_energy(&r->after, &after);
    if (!l)
        return;
    l->before = before;
    l->after = after;
    l->kernel = step->kernel;
    l->macs = step->macs;
    if (r->o->seconds > 0 && pith_plan_layer_count(pith_engine_plan(s->engine)) ==
                                 pith_plan_layer_count(pith_engine_plan(s->outline)))
        l->ms = (double)pith_engine_layer_ns(s->engine, step->step) / 1e6;
}

enum pith_status pith_report_steps(struct report *r)
{
    const struct pith_plan *plan = pith_engine_plan(r->side[1].outline);
    struct pith_layer step;
    uint32_t n = 0;
    for (uint32_t i = 0; !pith_plan_layer(plan, i, &step); i++)
        n += step.macs > 0;
    const bool as_many = n == r->n_layers;
    n = 0;
    for (uint32_t i = 0; !pith_plan_layer(plan, i, &step); i++) {
        take_step(r, &step, layer_of(r, &step, n, as_many));
        n += step.macs > 0;
    }
    return PITH_OK;
}

enum pith_status pith_report_times(struct report *r)
{
    enum pith_status st = PITH_OK;
    for (uint32_t side = 0; side < 2 && r->o->seconds > 0 && !st; side++) {
        struct pith_timing t;
        if (!r->side[side].engine)
            continue;
        st = pith_report_progress(r, "time", side, 2);
        if (!st)
            st = pith_time(r->side[side].engine, r->o->seconds, &t, r->err);
        if (!st)
            r->side[side].ms = t.ms_median;
    }
    return st;
}
