/* SPDX-License-Identifier: MIT */
/* page_json.c - all numbers of a report as one object. What JSON cannot say is null. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/chart/chart_text.h"
#include "compress/recipe/json_value.h"
#include "facts.h"

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *whole(uint64_t x)
{
    return json_integer((json_int_t)x);
}

static json_t *energy_json(const struct report_energy *e)
{
    json_t *o = json_object();
    pith_json_put(&o, "arithmetic_j", number(e->arithmetic));
    pith_json_put(&o, "weights_j", number(e->weights));
    pith_json_put(&o, "activations_j", number(e->activations));
    return o;
}

static json_t *counts_json(const uint64_t *x, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++)
        pith_json_append(&a, whole(x[i]));
    return a;
}

static json_t *numbers_json(const double *x, uint32_t n)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++)
        pith_json_append(&a, number((double)(float)x[i]));
    return a;
}

static json_t *histogram_json(const struct report_layer *l)
{
    json_t *o = json_object();
    pith_json_put(&o, "low", number(l->low));
    pith_json_put(&o, "high", number(l->high));
    if (l->has_before)
        pith_json_put(&o, "before", counts_json(l->bin[0], REPORT_BINS));
    pith_json_put(&o, "after", counts_json(l->bin[1], REPORT_BINS));
    return o;
}

static json_t *layer_json(const struct report_layer *l)
{
    json_t *o = json_object();
    pith_json_put(&o, "name", json_string(l->name));
    pith_json_put(&o, "op", json_string(l->op));
    pith_json_put(&o, "shape", json_string(l->shape));
    pith_json_put(&o, "weights", whole(l->count));
    pith_json_put(&o, "nonzeros", whole(l->nonzeros));
    pith_json_put(&o, "before_bytes", whole(l->before_bytes));
    pith_json_put(&o, "bytes", whole(l->bytes));
    pith_json_put(&o, "bits", number(l->bits));
    pith_json_put(&o, "grid", json_string(l->grid));
    pith_json_put(&o, "code", json_string(l->code));
    pith_json_put(&o, "levels", l->n_levels ? whole(l->n_levels) : json_null());
    pith_json_put(&o, "weight_snr_db", number(l->weight_db));
    pith_json_put(&o, "alone_snr_db", number(l->alone_db));
    pith_json_put(&o, "result_snr_db", number(l->layer_db));
    pith_json_put(&o, "kernel", l->kernel ? json_string(l->kernel) : json_null());
    pith_json_put(&o, "macs", whole(l->macs));
    pith_json_put(&o, "ms", number(l->ms));
    pith_json_put(&o, "energy_before", energy_json(&l->before));
    pith_json_put(&o, "energy", energy_json(&l->after));
    if (l->n_levels && l->n_levels <= 32) {
        pith_json_put(&o, "level", numbers_json(l->level, l->n_levels));
        pith_json_put(&o, "level_count", counts_json(l->level_count, l->n_levels));
    }
    pith_json_put(&o, "histogram", histogram_json(l));
    return o;
}

static json_t *side_json(const struct report *r, uint32_t side)
{
    const struct report_side *s = &r->side[side];
    json_t *o = json_object();
    if (!s->m) {
        json_decref(o);
        return json_null();
    }
    pith_json_put(&o, "name", json_string(s->name));
    pith_json_put(&o, "bytes", whole(s->file_bytes));
    pith_json_put(&o, "macs", whole(s->macs));
    pith_json_put(&o, "plan_bytes", whole(s->need.bytes));
    pith_json_put(&o, "arena_bytes", whole(s->need.arena_bytes));
    pith_json_put(&o, "ms", s->ms > 0 ? number(s->ms) : json_null());
    pith_json_put(&o, "labelled", whole(s->labelled));
    pith_json_put(&o, "correct", whole(s->correct));
    pith_json_put(&o, "top1", number(s->labelled ? (double)s->correct / (double)s->labelled : NAN));
    pith_json_put(&o, "psnr", number(r->accuracy[side].samples ? r->accuracy[side].psnr : NAN));
    return o;
}

static json_t *sections_json(const struct pith_byte_account *a)
{
    json_t *o = json_object();
    for (uint32_t i = 0; i < PITH_SECTIONS; i++)
        pith_json_put(&o, pith_section_name((enum pith_section)i), whole(a->section[i]));
    return o;
}

static json_t *changes_json(const struct report *r)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < r->n_changes; i++) {
        const struct report_change *c = &r->change[i];
        json_t *o = json_object();
        pith_json_put(&o, "sample", whole(c->sample));
        pith_json_put(&o, "label",
                      c->label == PITH_NO_LABEL ? json_null() : json_integer(c->label));
        pith_json_put(&o, "before", whole(c->top[0]));
        pith_json_put(&o, "after", whole(c->top[1]));
        pith_json_put(&o, "probability_before", number((double)c->probability[0]));
        pith_json_put(&o, "probability_after", number((double)c->probability[1]));
        pith_json_append(&a, o);
    }
    return a;
}

/* Pairs that occur: label, prediction before (where there is one) and after, of each sample. */
static json_t *predictions_json(const struct report *r)
{
    json_t *a = json_array();
    for (uint64_t i = 0; i < r->n_samples && i < 2000; i++) {
        json_t *row = json_array();
        pith_json_append(&row, r->label && r->label[i] != PITH_NO_LABEL ? json_integer(r->label[i])
                                                                        : json_null());
        for (uint32_t side = 0; side < 2; side++)
            pith_json_append(&row, r->side[side].top ? whole(r->side[side].top[i]) : json_null());
        pith_json_append(&a, row);
    }
    return a;
}

static json_t *files_json(const struct report *r)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < r->n_files; i++) {
        json_t *o = json_object();
        pith_json_put(&o, "encoder", json_string(r->file[i].encoder));
        pith_json_put(&o, "quality", number(r->file[i].quality));
        pith_json_put(&o, "bytes", number(r->file[i].bytes));
        pith_json_put(&o, "loss", number(r->file[i].loss));
        pith_json_put(&o, "fits", json_boolean(r->file[i].fits));
        pith_json_put(&o, "chosen", json_boolean(r->file[i].chosen));
        pith_json_append(&a, o);
    }
    return a;
}

static json_t *sweep_json(const struct report *r)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < r->sweep.n && i < 1000; i++) {
        json_t *o = json_object();
        pith_json_put(&o, "combination", whole(r->sweep.point[i].combination));
        pith_json_put(&o, "bytes", whole(r->sweep.point[i].bytes));
        pith_json_put(&o, "quality", number(r->sweep.point[i].quality));
        pith_json_put(&o, "front", json_boolean(i < r->n_front));
        pith_json_append(&a, o);
    }
    return a;
}

static json_t *curve_json(const struct report *r)
{
    static const char *const name[] = {"epoch", "loss", "top1", "val_loss", "val_top1"};
    json_t *o = json_object();
    for (uint32_t c = 0; c < sizeof name / sizeof *name; c++)
        pith_json_put(&o, name[c], numbers_json(r->curve[c], r->n_epochs));
    return o;
}

static json_t *layers_json(const struct report *r)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < r->n_layers; i++)
        pith_json_append(&a, layer_json(&r->layer[i]));
    return a;
}

static json_t *all_json(const struct report *r)
{
    static const char *const loss_name[] = {"drop", "kl", "noise_db"};
    json_t *o = json_object();
    pith_json_put(&o, "pith", json_integer(1));
    pith_json_put(&o, "before", side_json(r, 0));
    pith_json_put(&o, "after", side_json(r, 1));
    pith_json_put(&o, "samples", whole(r->n_samples));
    if (r->n_classes) {
        pith_json_put(&o, "classes", whole(r->n_classes));
        if (r->side[0].top)
            pith_json_put(&o, "agree", whole(r->agree));
        pith_json_put(&o, "predictions", predictions_json(r));
        pith_json_put(&o, "changed", changes_json(r));
    }
    if (r->compared.samples) {
        pith_json_put(&o, "output_snr_db", number(r->compared.output.snr_db));
        pith_json_put(&o, "kl", number(r->compared.classes ? r->compared.kl : NAN));
        pith_json_put(&o, "random_inputs", json_boolean(r->random));
    }
    pith_json_put(&o, "energy_before", energy_json(&r->before));
    pith_json_put(&o, "energy", energy_json(&r->after));
    pith_json_put(&o, "sections", sections_json(r->side[1].account));
    pith_json_put(&o, "layers", layers_json(r));
    if (r->n_files) {
        pith_json_put(&o, "loss", json_string(loss_name[r->loss]));
        pith_json_put(&o, "limit", number(r->limit));
        pith_json_put(&o, "files", files_json(r));
    }
    if (r->sweep.n)
        pith_json_put(&o, "sweep", sweep_json(r));
    if (r->n_epochs)
        pith_json_put(&o, "curve", curve_json(r));
    return o;
}

enum pith_status pith_report_json(const struct report *r, struct pith_buffer *out)
{
    struct chart_text t = {0};
    json_t *root = all_json(r);
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(root);
    /* "</script" ends the element wherever it stands */
    for (const char *c = text; c && *c; c++)
        if (*c == '<')
            pith_put(&t, "\\u003c");
        else
            pith_put_bytes(&t, c, 1);
    const bool good = text && !t.failed;
    free(text);
    if (!good) {
        pith_text_free(&t);
        return PITH_ERR_MEMORY;
    }
    *out = (struct pith_buffer){(uint8_t *)t.data, t.bytes};
    return PITH_OK;
}
