/* SPDX-License-Identifier: MIT */
/* grid_choice.c - a candidate as a grid of the model, and numbers put on it. */
#include "grid_choice.h"

#include <math.h>

#include "core/bytes.h"
#include "base/normal_scale.h"

static struct pith_grid *new_grid(struct pith_model *m, const struct candidate *from, uint32_t bits,
                                  uint32_t n)
{
    struct pith_grid *g = pith_model_alloc(m, 1, sizeof *g);
    float *scale = pith_model_alloc(m, n, sizeof *scale);
    if (!g || !scale)
        return NULL;
    *g = (struct pith_grid){.type = from->grid.type,
                            .bits = (uint8_t)bits,
                            .method = from->method,
                            .zero_point = from->grid.zero_point,
                            .n = n,
                            .scale = scale};
    scale[0] = from->grid.scale;
    return g;
}

static struct range channel_range(const struct pith_channel_stats *c, const struct range *whole)
{
    return (struct range){fmax(fmin((double)c->min, 0), whole->low),
                          fmin(fmax((double)c->max, 0), whole->high)};
}

/* The scale at which r fits with this zero point; 0 for an empty range. */
static double scale_at(const struct range *r, const struct simple_grid *g, int32_t zero_point)
{
    double above = g->highest - zero_point, below = zero_point - g->lowest;
    double up = r->high > 0 ? r->high / above : 0, down = r->low < 0 ? -r->low / below : 0;
    return up > down ? up : down;
}

/* One zero point for all channels: where the squares of their steps sum to the least. */
static int32_t common_zero_point(const struct grid_choice *c, const struct candidate *k)
{
    const struct simple_grid *g = &k->grid;
    double least = HUGE_VAL;
    int32_t best = g->zero_point;
    for (int32_t z = g->lowest; z <= g->highest; z++) {
        double sum = 0;
        for (uint32_t i = 0; i < c->d.s->n_channels && sum < least; i++) {
            struct range r = channel_range(&c->d.s->channel[i], &k->range);
            double s = scale_at(&r, g, z);
            sum += s * s;
        }
        if (sum < least) {
            least = sum;
            best = z;
        }
    }
    return best;
}

static float channel_scale(double scale, const struct grid_kind *kind, float whole)
{
    struct range r = {0, scale * ((1 << kind->bits) - 1)};
    return scale > 0 ? pith_channel_scale((double)pith_grid_of_range(&r, kind).scale, whole)
                     : whole;
}

struct pith_grid *pith_choice_grid(struct pith_model *m, const struct grid_choice *c, uint32_t k,
                                   const struct grid_kind *kind)
{
    const struct candidate *from = &c->candidate[k];
    uint32_t n = c->by_channel ? c->d.s->n_channels : 1;
    struct pith_grid *g = new_grid(m, from, kind->bits, n);
    if (!g || n == 1)
        return g;
    g->axis = c->d.s->channel_axis;
    if (!kind->symmetric && !kind->radix && from->range.low < 0)
        g->zero_point = common_zero_point(c, from);
    for (uint32_t i = 0; i < n; i++) {
        struct range r = channel_range(&c->d.s->channel[i], &from->range);
        g->scale[i] =
            channel_scale(scale_at(&r, &from->grid, g->zero_point), kind, from->grid.scale);
    }
    return g;
}

/* Below 2^22, adding this leaves no room for a fraction: what is rounded off is rounded to even. */
#define ROUNDING 12582912.0f /* 1.5 * 2^23 */

static void put_on_grid(float *x, size_t n, const struct pith_grid *g, float scale)
{
    float low = (float)(pith_grid_lowest(g) - g->zero_point);
    float high = (float)(pith_grid_highest(g) - g->zero_point);
    for (size_t i = 0; i < n; i++) {
        float t = x[i] / scale;
        t = t < low ? low : t;
        t = t > high ? high : t;
        x[i] = (t + ROUNDING - ROUNDING) * scale;
    }
}

void pith_choice_apply(const struct pith_model *m, const struct grid_choice *c,
                       const struct pith_grid *grid, float *x, size_t n)
{
    const struct pith_value *v = &m->values[c->value];
    size_t inner = 1;
    if (grid->n == 1) {
        put_on_grid(x, n, grid, grid->scale[0]);
        return;
    }
    for (uint32_t i = grid->axis + 1; i < v->rank; i++)
        inner *= v->dim[i];
    for (size_t at = 0, k = 0; at < n; at += inner, k++)
        put_on_grid(x + at, inner, grid, grid->scale[k % grid->n]);
}
