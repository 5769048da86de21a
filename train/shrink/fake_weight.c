/* SPDX-License-Identifier: MIT */
#include "fake_weight.h"
#include "train/kernels/train_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct pith_train_weight *pith_fake_weight_request(const struct pith_train_opts *opts,
                                                         uint32_t value)
{
    const struct pith_train_integers *q = opts->integers;
    for (uint32_t i = 0; q && i < q->n_weights; i++)
        if (q->weights[i].value == value)
            return &q->weights[i];
    return NULL;
}

static struct fake_grid grid_of(const struct fake_weight *w, uint64_t row)
{
    return (struct fake_grid){w->first[row], w->lowest, w->highest, w->radix};
}

static struct fake_step step_of(const struct fake_weight *w, const float *x, uint64_t row)
{
    const struct fake_grid g = grid_of(w, row);
    return (struct fake_step){pith_fake_step(&g, x[w->n_rows * w->cols + row]), w->lowest,
                              w->highest};
}

struct fake_weight *pith_fake_weight_new(const struct pith_train_weight *request, bool radix,
                                         const struct float_weight *from, float *v)
{
    const uint64_t n_rows = request->by_row ? from->rows : 1, count = from->count;
    const float *x = from->x;
    const unsigned char *alive = from->alive;
    struct fake_weight *w = malloc(sizeof *w + (size_t)n_rows * sizeof *w->first);
    if (!w)
        return NULL;
    *w = (struct fake_weight){.n_rows = n_rows,
                              .cols = count / n_rows,
                              .lowest = (float)request->lowest,
                              .highest = (float)request->highest,
                              .radix = radix};
    memcpy(v, x, (size_t)count * sizeof *v);
    for (uint64_t r = 0; r < n_rows; r++) {
        const struct fake_grid g = {1, w->lowest, w->highest, radix};
        w->first[r] = pith_fake_first_step(&g, x + r * w->cols, alive ? alive + r * w->cols : NULL,
                                           (size_t)w->cols);
        v[count + r] = 1;
    }
    return w;
}

void pith_fake_weight_values(const struct fake_weight *w, const float *x,
                             const unsigned char *alive, float *to)
{
    const struct fake_rows *rows = pith_train_kernels().fake;
    for (uint64_t r = 0; r < w->n_rows; r++) {
        const struct fake_step s = step_of(w, x, r);
        rows->round(&s, x + r * w->cols, (size_t)w->cols, to + r * w->cols);
    }
    for (uint64_t k = 0; alive && k < w->n_rows * w->cols; k++)
        if (!alive[k])
            to[k] = 0;
}

void pith_fake_weight_gradient(const struct fake_weight *w, const float *x, const float *y,
                               const float *grad, float *by_x)
{
    const struct fake_rows *rows = pith_train_kernels().fake;
    for (uint64_t r = 0; r < w->n_rows; r++) {
        const struct fake_grid g = grid_of(w, r);
        const struct fake_step s = step_of(w, x, r);
        const uint64_t at = r * w->cols;
        struct fake_gradient d = {.x = x + at,
                                  .dy = grad + at,
                                  .y = y + at,
                                  .n = (size_t)w->cols,
                                  .dx = by_x + at,
                                  .set = true};
        rows->back(&s, &d);
        by_x[w->n_rows * w->cols + r] = (float)(d.by_step * pith_fake_gain(&g, (double)w->cols));
    }
}

void pith_fake_weight_store(const struct fake_weight *w, const float *x, struct pith_codebook *b)
{
    for (uint64_t r = 0; r < w->n_rows; r++) {
        const struct fake_step s = step_of(w, x, r);
        for (uint32_t i = 0; i < b->n_centroids; i++)
            b->centroid[r * b->n_centroids + i] = ((float)i + w->lowest) * s.step;
        for (uint64_t k = r * w->cols; k < (r + 1) * w->cols; k++) {
            float q = nearbyintf(x[k] / s.step);
            q = q > w->lowest ? q : w->lowest;
            b->index[k] = (uint8_t)((q < w->highest ? q : w->highest) - w->lowest);
        }
    }
}
