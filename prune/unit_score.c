/* SPDX-License-Identifier: MIT */
/* unit_score.c - see unit_score.h. */
#include "unit_score.h"

#include <float.h>
#include <math.h>

#include "core/bytes.h"
#include "base/error_fill.h"

static enum pith_status refuse(const struct pith_weight_ref *ref, const char *what, uint64_t unit,
                               uint64_t n, const char *of, struct pith_error *err)
{
    return pith_error_fill(err, PITH_ERR_ARGUMENT,
                           "cannot prune '%s': %s %llu does not divide %llu %s", ref->layer, what,
                           (unsigned long long)unit, (unsigned long long)n, of);
}

/* Columns of one input channel: all trailing axes after [O, C]. */
static uint64_t channel_cols(const struct pith_value *v)
{
    uint64_t n = 1;
    for (uint32_t i = 2; i < v->rank; i++)
        n *= v->dim[i];
    return n;
}

enum pith_status pith_unit_grid(const struct pith_model *m, const struct pith_weight_ref *ref,
                                const struct pith_pattern *pattern, struct unit_grid *grid,
                                struct pith_error *err)
{
    struct unit_grid g = {.rows = ref->rows, .cols = ref->cols, .unit_rows = 1, .unit_cols = 1};
    switch (pattern->kind) {
    case PITH_PATTERN_ANY:
    case PITH_PATTERN_BALANCED:
        break;
    case PITH_PATTERN_N_OF_M:
        if (g.cols % pattern->b != 0)
            return refuse(ref, "group", pattern->b, g.cols, "columns", err);
        break;
    case PITH_PATTERN_BLOCK:
        if (g.rows % pattern->a != 0)
            return refuse(ref, "block", pattern->a, g.rows, "rows", err);
        if (g.cols % pattern->b != 0)
            return refuse(ref, "block", pattern->b, g.cols, "columns", err);
        g.unit_rows = pattern->a;
        g.unit_cols = pattern->b;
        break;
    case PITH_PATTERN_ROW:
        g.unit_cols = g.cols;
        break;
    case PITH_PATTERN_CHANNEL:
        g.unit_rows = g.rows;
        g.unit_cols = channel_cols(&m->values[ref->value]);
        break;
    }
    g.grid_rows = g.rows / g.unit_rows;
    g.grid_cols = g.cols / g.unit_cols;
    g.n_units = g.grid_rows * g.grid_cols;
    *grid = g;
    return PITH_OK;
}

uint32_t pith_unit_key(float score)
{
    return 1 + (f32_bits(score) & 0x7fffffffu);
}

/* The score of a block: summed in row-major order, in double, where squares of floats neither
 * overflow nor underflow. Only a block of zeros scores 0. */
static float root_mean_square(double sum, uint64_t n)
{
    float score = (float)sqrt(sum / (double)n);
    return sum > 0 && score == 0 ? FLT_TRUE_MIN : score;
}

static uint32_t block_key(const struct unit_grid *g, const float *w, const uint8_t *mask)
{
    double sum = 0;
    bool alive = mask == NULL;
    for (uint64_t r = 0; r < g->unit_rows; r++) {
        for (uint64_t c = 0; c < g->unit_cols; c++) {
            uint64_t i = r * g->cols + c;
            sum += (double)w[i] * (double)w[i];
            alive = alive || mask[i];
        }
    }
    return alive ? pith_unit_key(root_mean_square(sum, g->unit_rows * g->unit_cols)) : 0;
}

void pith_unit_keys(const struct unit_grid *g, const float *w, const uint8_t *mask, uint32_t *keys)
{
    if (g->unit_rows == 1 && g->unit_cols == 1) {
        for (uint64_t i = 0; i < g->n_units; i++)
            keys[i] = !mask || mask[i] ? pith_unit_key(w[i]) : 0;
        return;
    }
    for (uint64_t r = 0; r < g->grid_rows; r++) {
        for (uint64_t c = 0; c < g->grid_cols; c++) {
            uint64_t at = r * g->unit_rows * g->cols + c * g->unit_cols;
            keys[r * g->grid_cols + c] = block_key(g, w + at, mask ? mask + at : NULL);
        }
    }
}

void pith_unit_drop(const struct unit_grid *g, const uint8_t *keep, uint8_t *mask)
{
    for (uint64_t r = 0; r < g->rows; r++) {
        const uint8_t *row_keep = keep + r / g->unit_rows * g->grid_cols;
        for (uint64_t u = 0; u < g->grid_cols; u++) {
            if (!row_keep[u])
                memset(mask + r * g->cols + u * g->unit_cols, 0, g->unit_cols);
        }
    }
}
