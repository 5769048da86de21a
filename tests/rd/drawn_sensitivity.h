/* SPDX-License-Identifier: MIT */
/* drawn_sensitivity.h - a sensitivity of all weights of a network that no gradient was taken for:
 * rows of random sensitivity, and together. Included behind conv_chain.h. */
#ifndef DRAWN_SENSITIVITY_H
#define DRAWN_SENSITIVITY_H

#include <stdlib.h>

#include "base/kept_values.h"
#include "layers/sensitivity.h"

enum { DRAWN_SAMPLES = 20, DRAWN_EACH = 2 };

/* Draws of one weight: what all rows have in common, and something of each row's own. */
static inline enum pith_status draw_rows(struct pith_sensitivity *s, uint32_t v,
                                         struct test_random *r, struct pith_error *err)
{
    struct pith_row_sensitivity *of = &s->of[v];
    const size_t n = (size_t)of->rows, bytes = n * sizeof(float);
    float *x = malloc(bytes);
    enum pith_status status = x ? PITH_OK : PITH_ERR_MEMORY;
    of->row = calloc(n, sizeof *of->row);
    of->n_draws = DRAWN_EACH;
    of->n_places = 2; /* more than one; none are kept */
    for (uint64_t i = 0; i < DRAWN_SAMPLES * DRAWN_EACH && !status && of->row; i++) {
        const float common = test_gauss(r);
        for (size_t k = 0; k < n; k++) {
            x[k] = common * ((float)k - 1.6f) + 0.5f * test_gauss(r);
            of->row[k] += (double)x[k] * (double)x[k] / (DRAWN_SAMPLES * DRAWN_EACH);
        }
        status = pith_kept_open(s->draw, v, DRAWN_SAMPLES * DRAWN_EACH * bytes, err);
        if (!status)
            status = pith_kept_write(s->draw, v, i * bytes, x, bytes, err);
    }
    free(x);
    return of->row ? status : PITH_ERR_MEMORY;
}

static inline enum pith_status drawn_sensitivity(const struct pith_model *m, uint64_t seed,
                                                 struct pith_sensitivity *s, struct pith_error *err)
{
    struct pith_weight_ref *refs = malloc((m->n_nodes + (size_t)1) * sizeof *refs);
    struct test_random r = {seed * 2 + 1};
    *s = (struct pith_sensitivity){.n = m->n_values, .n_samples = DRAWN_SAMPLES};
    s->of = calloc(m->n_values + (size_t)1, sizeof *s->of);
    s->draw = pith_kept_new(m->n_values, 1 << 16);
    enum pith_status status = refs && s->of && s->draw ? PITH_OK : PITH_ERR_MEMORY;
    const uint32_t n = status ? 0 : pith_model_weights(m, refs);
    for (uint32_t i = 0; i < n && !status; i++) {
        s->of[refs[i].value].rows = refs[i].rows;
        status = draw_rows(s, refs[i].value, &r, err);
    }
    free(refs);
    return status;
}

static inline void free_drawn(struct pith_sensitivity *s)
{
    for (uint32_t v = 0; v < s->n && s->of; v++)
        free(s->of[v].row);
    free(s->of);
    pith_kept_free(s->draw);
    *s = (struct pith_sensitivity){0};
}

#endif
