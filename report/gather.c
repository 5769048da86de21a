/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include "facts.h"

/* Pictures become smaller where there are many, so that the page stays small. */
static uint32_t picture_side(const struct report *r)
{
    return r->n_layers <= 12 ? 128 : r->n_layers <= 30 ? 80 : 56;
}

static enum pith_status draw_weights(struct report *r)
{
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const struct report_side *s = &r->side[1];
        const struct pith_value *v = &s->m->values[s->ref[i].value];
        struct pith_weight_array w = {.rank = v->rank, .count = v->constant->count};
        uint32_t side[2] = {0, 0};
        bool integers;
        for (uint32_t d = 0; d < v->rank; d++)
            w.dim[d] = v->dim[d];
        w.x = malloc((size_t)w.count * sizeof *w.x + 1);
        enum pith_status st =
            w.x ? pith_weight_numbers(s->m, &s->ref[i], NULL, w.x, &integers) : PITH_ERR_MEMORY;
        if (!st)
            st = pith_weight_picture(&w, picture_side(r), &r->layer[i].picture.weight, side);
        if (st == PITH_ERR_UNSUPPORTED) /* no weights, or of another type: no picture */
            st = PITH_OK;
        r->layer[i].picture.weight_side[0] = side[0];
        r->layer[i].picture.weight_side[1] = side[1];
        free(w.x);
        if (st)
            return st;
    }
    return PITH_OK;
}

enum pith_status pith_report_gather(struct report *r)
{
    enum pith_status st = pith_report_logs(r);
    if (!st)
        st = pith_report_open_side(r, 0);
    if (!st)
        st = pith_report_open_side(r, 1);
    if (!st)
        st = pith_report_layers(r);
    if (!st)
        st = pith_report_weights(r);
    if (!st)
        st = pith_report_times(r);
    if (!st)
        st = pith_report_steps(r);
    if (!st)
        st = pith_report_runs(r);
    if (!st)
        st = pith_report_errors(r);
    if (!st)
        st = pith_report_activations(r);
    return st ? st : draw_weights(r);
}

static void free_side(struct report_side *s)
{
    pith_model_free(s->m);
    free(s->ref);
    free(s->bytes);
    pith_byte_account_free(s->account);
    pith_engine_close(s->engine);
    pith_engine_close(s->outline);
    free(s->top);
    free(s->probability);
}

void pith_report_free(struct report *r)
{
    for (uint32_t i = 0; r->layer && i < r->n_layers; i++) {
        pith_buffer_free(&r->layer[i].picture.weight);
        pith_buffer_free(&r->layer[i].picture.activation);
    }
    for (uint32_t i = 0; i < r->n_changes; i++)
        pith_buffer_free(&r->change[i].png);
    for (uint32_t c = 0; c < sizeof r->curve / sizeof *r->curve; c++)
        free(r->curve[c]);
    free_side(&r->side[0]);
    free_side(&r->side[1]);
    free(r->layer);
    free(r->label);
    pith_comparison_free(&r->compared);
    pith_sweep_results_free(&r->sweep);
}
