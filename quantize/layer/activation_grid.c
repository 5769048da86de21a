/* SPDX-License-Identifier: MIT */
/* activation_grid.c - grids of activations: real = (q - zero_point) * scale. 0 is always one of the
 * numbers a grid holds, for padding, and Relu, depend on it. */
#include "activation_grid.h"

#include <math.h>
#include <string.h>

#include "base/normal_scale.h"
#include "radix.h"

/* Of the few numbers of one channel that samples show, the largest is exceeded by others far sooner
 * than that of the tensor is. On 63 samples 1.3 to 1.6 gave the least error (docs/quantize.md). */
#define CHANNEL_MARGIN 1.5

static struct pith_grid *new_grid(struct pith_model *m, const struct pith_grid *like, uint32_t n)
{
    struct pith_grid *g = pith_model_alloc(m, 1, sizeof *g);
    if (!g)
        return NULL;
    *g = *like;
    g->n = n;
    g->scale = pith_model_alloc(m, n, sizeof *g->scale);
    return g->scale ? g : NULL;
}

static double steps_of(const struct pith_grid *g)
{
    return (double)(pith_grid_highest(g) - pith_grid_lowest(g));
}

/* Of like's type, over [low, high], which contains 0. */
static struct pith_grid *grid_over(struct pith_model *m, const struct pith_grid *like, double low,
                                   double high)
{
    struct pith_grid *g = new_grid(m, like, 1);
    if (!g)
        return NULL;
    g->axis = 0;
    g->scale[0] = high > low ? pith_normal_scale((high - low) / steps_of(g)) : 1; /* of zeros: 1 */
    double zero = pith_grid_lowest(g) + nearbyint(-low / (double)g->scale[0]);
    g->zero_point = (int32_t)fmin(fmax(zero, pith_grid_lowest(g)), pith_grid_highest(g));
    return g;
}

enum pith_status pith_activation_grid(struct pith_model *m, const struct pith_value *v,
                                      const struct pith_grid **grid)
{
    static const struct pith_grid bytes = {
        .type = PITH_U8, .bits = 8, .method = PITH_RANGE_MAX, .n = 1};
    *grid = v->grid;
    if (v->grid || !(v->min <= v->max) || v->n_observed == 0)
        return PITH_OK;
    double low = fmin((double)v->min, 0), high = fmax((double)v->max, 0);
    if (!isfinite(low) || !isfinite(high))
        return PITH_OK;
    *grid = grid_over(m, &bytes, low, high);
    return *grid ? PITH_OK : PITH_ERR_MEMORY;
}

static double lowest(const struct pith_grid *g, uint32_t channel)
{
    return (double)(pith_grid_lowest(g) - g->zero_point) * (double)g->scale[channel];
}

static double highest(const struct pith_grid *g, uint32_t channel)
{
    return (double)(pith_grid_highest(g) - g->zero_point) * (double)g->scale[channel];
}

static enum pith_type type_of(uint32_t bits, bool has_sign)
{
    if (bits > 8)
        return has_sign ? PITH_I16 : PITH_U16;
    return has_sign ? PITH_I8 : PITH_U8;
}

/* The smallest power of two with which `to` covers [low, high]. */
static double covering_radix(const struct pith_grid *to, double low, double high)
{
    double below = pith_grid_lowest(to) < 0 ? low / pith_grid_lowest(to) : 0;
    return pith_radix_above(fmax(high / pith_grid_highest(to), below));
}

enum pith_status pith_grid_of_kind(struct pith_model *m, const struct pith_grid *g,
                                   const struct pith_grid_kind *kind, const struct pith_grid **fit)
{
    double low = 0, high = 0;
    for (uint32_t c = 0; c < g->n; c++) {
        low = fmin(low, lowest(g, c));
        high = fmax(high, highest(g, c));
    }
    struct pith_grid like = {.bits = (uint8_t)kind->bits,
                             .type = type_of(kind->bits, kind->radix && low < 0),
                             .method = g->method};
    if (!kind->radix) {
        *fit = grid_over(m, &like, low, high);
        return *fit ? PITH_OK : PITH_ERR_MEMORY;
    }
    struct pith_grid *to = new_grid(m, &like, 1);
    if (!to)
        return PITH_ERR_MEMORY;
    to->scale[0] = (float)covering_radix(to, low, high);
    *fit = to;
    return PITH_OK;
}

/* With one zero point the wider grid is simply the one with the larger scale, which keeps scales
 * that are powers of two. */
enum pith_status pith_grid_union(struct pith_model *m, const struct pith_grid *a,
                                 const struct pith_grid *b, const struct pith_grid **both)
{
    if (a->type == b->type && a->zero_point == b->zero_point) {
        *both = a->scale[0] >= b->scale[0] ? a : b;
        return PITH_OK;
    }
    *both = grid_over(m, a, fmin(lowest(a, 0), lowest(b, 0)), fmax(highest(a, 0), highest(b, 0)));
    return *both ? PITH_OK : PITH_ERR_MEMORY;
}

/* Within half a step of an end, rounding gives the end's integer whether cut or not. */
bool pith_grid_cuts(const struct pith_grid *g, float low, float high)
{
    for (uint32_t c = 0; c < g->n; c++) {
        double half = (double)g->scale[c] / 2;
        if (!(lowest(g, c) > (double)low - half && highest(g, c) < (double)high + half))
            return false;
    }
    return true;
}

enum pith_status pith_grid_by_channel(struct pith_model *m, const struct pith_grid *g,
                                      const struct pith_value_stats *stats, bool radix,
                                      const struct pith_grid **by_channel)
{
    struct pith_grid *c = new_grid(m, g, stats->n_channels);
    if (!c)
        return PITH_ERR_MEMORY;
    c->axis = 1;
    double steps = (double)(pith_grid_highest(g) - g->zero_point);
    for (uint32_t i = 0; i < c->n; i++) {
        double scale = CHANNEL_MARGIN * (double)stats->channel[i].max / steps;
        if (radix && scale > 0)
            scale = pith_radix_above(scale);
        c->scale[i] = scale > 0 ? pith_channel_scale(scale, g->scale[0]) : g->scale[0];
    }
    *by_channel = c;
    return PITH_OK;
}
