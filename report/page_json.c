/* SPDX-License-Identifier: MIT */
/* page_json.c - all numbers of a report as one object. What JSON cannot say is null. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape_text.h"
#include "report/chart/chart_text.h"
#include "compress/recipe/json_value.h"
#include "facts.h"

enum { MOST_LEVELS = 32, MOST_PREDICTIONS = 2000, MOST_RESULTS = 1000 };

/* With six significant digits: more would say nothing and fill the page. */
static json_t *number(double x)
{
    if (!isfinite(x))
        return json_null();
    const double digits = x != 0 ? 5 - floor(log10(fabs(x))) : 0;
    const double ten = pow(10, fabs(digits));
    return json_real(digits < 0 ? round(x / ten) * ten : round(x * ten) / ten);
}

static json_t *whole(uint64_t x)
{
    return json_integer((json_int_t)x);
}

static json_t *energy_json(const struct report_energy *e)
{
    return json_pack("{s:o, s:o, s:o}", "arithmetic_j", number(e->arithmetic), "weights_j",
                     number(e->weights), "activations_j", number(e->activations));
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

static json_t *layer_json(const struct report_layer *l)
{
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:s?, s:o, s:o}",
        "name", l->name, "op", l->op, "shape", l->shape, "weights", whole(l->count), "nonzeros",
        whole(l->nonzeros), "before_bytes", whole(l->before_bytes), "bytes", whole(l->bytes),
        "bits", number(l->bits), "grid", l->grid, "code", l->code, "levels",
        l->weights.n_levels ? whole(l->weights.n_levels) : json_null(), "weight_snr_db",
        number(l->weight_db), "alone_snr_db", number(l->alone_db), "result_snr_db",
        number(l->layer_db), "kernel", l->kernel, "macs", whole(l->macs), "ms", number(l->ms));
    pith_json_put(&o, "energy_before", energy_json(&l->before));
    pith_json_put(&o, "energy", energy_json(&l->after));
    if (l->weights.n_levels && l->weights.n_levels <= MOST_LEVELS) {
        pith_json_put(&o, "level", numbers_json(l->weights.level, l->weights.n_levels));
        pith_json_put(&o, "level_count", counts_json(l->weights.level_count, l->weights.n_levels));
    }
    pith_json_put(&o, "histogram",
                  json_pack("{s:o, s:o, s:o, s:o}", "low", number(l->weights.low), "high",
                            number(l->weights.high), "before",
                            counts_json(l->weights.bin[0], l->weights.has_before ? REPORT_BINS : 0),
                            "after", counts_json(l->weights.bin[1], REPORT_BINS)));
    return o;
}

static json_t *side_json(const struct report *r, uint32_t side)
{
    const struct report_side *s = &r->side[side];
    char name[512]; /* of a file: perhaps no UTF-8, which JSON is */
    if (!s->m)
        return json_null();
    pith_escape_text(s->name, name, sizeof name);
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", name, "bytes",
                     whole(s->file_bytes), "macs", whole(s->macs), "plan_bytes",
                     whole(s->need.bytes), "arena_bytes", whole(s->need.arena_bytes), "ms",
                     number(s->ms > 0 ? s->ms : (double)NAN), "labelled", whole(s->labelled),
                     "correct", whole(s->correct), "top1",
                     number((double)s->correct / (double)s->labelled), "psnr",
                     number(r->accuracy[side].samples ? r->accuracy[side].psnr : (double)NAN));
}

static json_t *sections_json(const struct report_side *s)
{
    json_t *o = json_object();
    for (uint32_t i = 0; i < PITH_SECTIONS && !s->onnx; i++)
        pith_json_put(&o, pith_section_name((enum pith_section)i), whole(s->account->section[i]));
    return o;
}

static json_t *class_or_null(int64_t c)
{
    return c == PITH_NO_LABEL ? json_null() : json_integer(c);
}

static json_t *changes_json(const struct report *r)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < r->n_changes; i++) {
        const struct report_change *c = &r->change[i];
        pith_json_append(&a, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "sample", whole(c->sample),
                                       "label", class_or_null(c->label), "before", whole(c->top[0]),
                                       "after", whole(c->top[1]), "probability_before",
                                       number((double)c->probability[0]), "probability_after",
                                       number((double)c->probability[1])));
    }
    return a;
}

/* Label, prediction before (null: no such model) and after, of each sample. */
static json_t *predictions_json(const struct report *r)
{
    const uint32_t *was = r->side[0].top;
    json_t *a = json_array();
    for (uint64_t i = 0; i < r->n_samples && i < MOST_PREDICTIONS; i++)
        pith_json_append(
            &a, json_pack("[o, o, o]", class_or_null(r->label ? r->label[i] : PITH_NO_LABEL),
                          was ? whole(was[i]) : json_null(), whole(r->side[1].top[i])));
    return a;
}

static json_t *sweep_json(const struct report *r)
{
    json_t *a = json_array();
    for (uint32_t i = 0; i < r->sweep.n && i < MOST_RESULTS; i++) {
        const struct pith_sweep_point *p = &r->sweep.point[i];
        pith_json_append(&a, json_pack("{s:o, s:o, s:o, s:b}", "combination", whole(p->combination),
                                       "bytes", whole(p->bytes), "quality", number(p->quality),
                                       "front", i < r->n_front));
    }
    return a;
}

static json_t *curve_json(const struct report *r)
{
    static const char *const name[] = {"epoch", "loss", "top1", "val_loss", "val_top1"};
    json_t *o = json_object();
    for (uint32_t c = 0; c < sizeof name / sizeof *name; c++)
        pith_json_put(&o, c == 0 && r->curve_of_files ? "bytes" : name[c],
                      numbers_json(r->curve[c], r->n_epochs));
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
    json_t *o =
        json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pith", 1, "before", side_json(r, 0),
                  "after", side_json(r, 1), "samples", whole(r->n_samples), "energy_before",
                  energy_json(&r->before), "energy", energy_json(&r->after), "sections",
                  sections_json(&r->side[1]), "layers", layers_json(r));
    if (r->n_classes) {
        pith_json_put(&o, "classes", whole(r->n_classes));
        if (r->side[0].top)
            pith_json_put(&o, "agree", whole(r->agree));
        pith_json_put(&o, "predictions", predictions_json(r));
        pith_json_put(&o, "changed", changes_json(r));
    }
    if (r->compared.samples) {
        pith_json_put(&o, "output_snr_db", number(r->compared.output.snr_db));
        pith_json_put(&o, "kl", number(r->compared.classes ? r->compared.kl : (double)NAN));
        pith_json_put(&o, "random_inputs", json_boolean(r->random));
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
    char *text = root ? pith_json_text(root, JSON_COMPACT) : NULL;
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
