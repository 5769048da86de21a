/* SPDX-License-Identifier: MIT */
#include "parametrization.h"

#include "numeric/entropy.h"
#include "model/fold_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t *alive_of(const struct parametrization *f)
{
    return f->pruned ? f->pruned->alive : f->c->mask;
}

/* Number of the centroid of element k. */
static uint64_t centroid_of(const struct pith_codebook *b, uint64_t k)
{
    return k / b->group_elems * b->n_centroids + b->index[k];
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void learn_step(struct parametrization *f, double rate)
{
    const uint8_t *alive = alive_of(f);
    const float *fisher = f->pruned ? f->pruned->importance : NULL;
    struct grid_fit fit = {0, 0};
    for (uint64_t k = 0; k < f->n; k++) {
        double q = alive && !alive[k] ? 0 : (double)pith_grid_level(f->grid, f->value[k]);
        double weight = fisher ? (double)fisher[k] : 1;
        fit.xk += weight * (double)f->value[k] * q;
        fit.kk += weight * q * q;
    }
    pith_grid_learn(f->grid, &fit, rate);
}

#define MOST_MAGNITUDE 128 /* of a level of a byte */

static void count_levels(struct parametrization *f)
{
    const uint8_t *alive = alive_of(f);
    double n[MOST_MAGNITUDE + 1], sum = 0;
    for (int k = 1; k <= f->grid->levels; k++)
        n[k] = 0.5;
    for (uint64_t k = 0; k < f->n; k++) {
        int32_t q = alive && !alive[k] ? 0 : pith_grid_level(f->grid, f->value[k]);
        n[q < 0 ? -q : q] += q != 0;
    }
    for (int k = 1; k <= f->grid->levels; k++)
        sum += n[k];
    for (int k = 1; k <= f->grid->levels; k++)
        f->magnitude[k] = (float)(log2(sum / n[k]) + 1);
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct pith_codebook *new_codebook(struct pith_model *m, uint64_t count, uint64_t n_groups,
                                          uint32_t n_centroids)
{
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct pith_codebook){.n_centroids = n_centroids,
                                .group_elems = count / n_groups,
                                .n_groups = n_groups,
                                .centroid =
                                    pith_model_alloc(m, n_groups * n_centroids, sizeof(float)),
                                .index = pith_model_alloc(m, count, 1)};
    return b->centroid && b->index ? b : NULL;
}

/* A codebook that is a uniform grid already, as an earlier run left it (a file has perhaps fewer
 * levels): the step of group g, else 0. */
static float step_of(const struct pith_codebook *b, uint64_t g, uint32_t levels)
{
    uint32_t n = b->n_centroids;
    return n / 2 <= levels ? pith_grid_symmetric_step(b->centroid + g * n, n) : 0;
}

/* Steps that a codebook of uniform grids with so many levels has, a group each; 0: it is none. */
static uint64_t had_steps(const struct pith_codebook *b, uint32_t levels)
{
    for (uint64_t g = 0; b && g < b->n_groups; g++)
        if (!(step_of(b, g, levels) > 0))
            return 0;
    return b ? b->n_groups : 0;
}

/* 0 where nothing is alive (NULL: all are) or other than 0. */
static double mean_step(const struct pith_train_opts *o, uint64_t n, const float *x,
                        const uint8_t *alive)
{
    uint64_t there = 0;
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        if (!alive || alive[k]) {
            sum += fabs((double)x[k]);
            there++;
        }
    return sum / (double)(there + !there) * (double)o->first_step;
}

static double largest(uint64_t n, const float *x, const uint8_t *alive)
{
    double most = 0;
    for (uint64_t k = 0; k < n; k++)
        if (!alive || alive[k])
            most = fmax(most, fabs((double)x[k]));
    return most;
}

static float first_step(const struct pith_train_opts *o, const struct parametrization *f)
{
    const uint8_t *alive = alive_of(f);
    double step = f->p->is_weight ? mean_step(o, f->n, f->p->data, alive)
                                  : largest(f->n, f->p->data, alive) / (double)o->bias_levels;
    const double least = 1e-12;  /* a tensor of zeros has no step of its own */
    const float instead = 1e-3f; /* the size of a weight of some hundred inputs */
    return step > least && isfinite(step) ? (float)step : instead;
}

/* Rows' steps, those of the codebook `was`, become a grid of about their mean, and factors. What is
 * in f->value becomes latent. */
static bool open_factors(struct parametrization *f, const struct pith_codebook *was, uint64_t rows,
                         uint32_t levels, float *step)
{
    double sum = 0;
    f->cols = f->n / rows;
    f->factor = malloc((size_t)rows * sizeof *f->factor);
    for (uint64_t r = 0; r < rows && f->factor; r++) {
        f->factor[r] = step_of(was, r, levels);
        sum += log2((double)f->factor[r]) / (double)rows;
    }
    *step = (float)exp2(rint(sum)); /* a power of two: factors are exact */
    for (uint64_t r = 0; r < rows && f->factor; r++)
        f->factor[r] /= *step;
    for (uint64_t k = 0; k < f->n && f->factor; k++)
        f->value[k] /= f->factor[k / f->cols];
    return f->factor != NULL;
}

/* The grid that an earlier run, or a fold, left goes on, whatever the options say of first steps.
 */
static bool open_grid(struct pith_model *m, const struct pith_train_opts *o, uint32_t levels,
                      struct parametrization *f)
{
    uint64_t had = had_steps(f->c->codebook, levels);
    const struct pith_codebook *was = had ? f->c->codebook : NULL;
    uint64_t groups = had ? had : 1;
    float step = had ? step_of(was, 0, levels) : first_step(o, f);
    f->grid = malloc(sizeof *f->grid);
    f->value = malloc((size_t)f->n * sizeof *f->value);
    struct pith_codebook *b = new_codebook(m, f->n, groups, 2 * levels + 1);
    if (!f->grid || !f->value || !b)
        return false;
    memcpy(f->value, f->p->data, (size_t)f->n * sizeof *f->value);
    if (groups > 1 && !open_factors(f, was, groups, levels, &step))
        return false;
    pith_grid_init(f->grid, levels, step);
    f->c->codebook = b;
    return true;
}

static bool open_codebook(struct parametrization *f)
{
    const struct pith_codebook *b = f->c->codebook;
    f->n = b->n_groups * b->n_centroids;
    f->value = malloc((size_t)f->n * sizeof *f->value);
    if (f->value)
        memcpy(f->value, b->centroid, (size_t)f->n * sizeof *f->value);
    return f->value != NULL;
}

/* Numbers of the weights, then of their rows' steps. */
static bool open_fake(struct pith_model *m, const struct pith_train_opts *o,
                      const struct pith_train_weight *request, struct parametrization *f)
{
    uint64_t count = f->p->count, rows = m->values[f->p->value].dim[0],
             n = request->by_row ? rows : 1;
    f->n = count + n;
    f->value = malloc((size_t)f->n * sizeof *f->value);
    struct pith_codebook *b =
        new_codebook(m, count, n, (uint32_t)(request->highest - request->lowest) + 1);
    if (!f->value || !b)
        return false;
    const struct float_weight from = {f->p->data, alive_of(f), rows, count};
    f->fake = pith_fake_weight_new(request, o->integers->radix, &from, f->value);
    f->c->codebook = b;
    return f->fake != NULL;
}

bool pith_latent_open(struct pith_model *m, const struct pith_train_opts *o,
                      struct parametrization *f)
{
    uint32_t levels = f->p->is_weight ? o->levels : o->bias_levels;
    bool ok = true;
    f->n = f->p->count;
    f->value = f->p->data;
    f->grad = f->p->grad;
    const struct pith_train_weight *request = pith_fake_weight_request(o, f->p->value);
    f->own = levels > 0 || f->c->codebook || request;
    if (request)
        ok = open_fake(m, o, request, f);
    else if (levels)
        ok = open_grid(m, o, levels, f);
    else if (f->c->codebook)
        ok = open_codebook(f);
    if (f->own) {
        f->grad = calloc((size_t)f->n + 1, sizeof *f->grad);
        ok = ok && f->grad;
    }
    if (ok && f->pruned && !f->c->mask) {
        f->c->mask = pith_model_alloc(m, f->p->count, 1);
        ok = f->c->mask != NULL;
        if (ok)
            memset(f->c->mask, 1, (size_t)f->p->count);
    }
    if (ok) {
        if (f->grid)
            count_levels(f);
        pith_latent_spread(f, f->value, f->p->data);
    }
    return ok;
}

void pith_latent_close(struct parametrization *f)
{
    if (f->own) {
        free(f->value);
        free(f->grad);
    }
    free(f->grid);
    free(f->factor);
    free(f->fake);
    free(f->first);
    free(f->second);
}

void pith_latent_state(struct parametrization *f, uint32_t number, struct checkpoint *c)
{
    pith_checkpoint_add_f32(c, "tensor", number, CHECKPOINT_NOT_NAN, f->p->data, f->p->count);
    pith_checkpoint_add_f32(c, "value", number, CHECKPOINT_NOT_NAN, f->own ? f->value : NULL, f->n);
    pith_checkpoint_add_f32(c, "first", number, CHECKPOINT_NOT_NAN, f->first, f->n);
    pith_checkpoint_add_f32(c, "second", number, CHECKPOINT_NOT_NEGATIVE, f->second, f->n);
    if (!f->grid) /* whose number of levels is of the options */
        return;
    pith_checkpoint_add_f32(c, "grid step", number, CHECKPOINT_POSITIVE, &f->grid->step, 1);
    pith_checkpoint_add_f32(c, "exact step", number, CHECKPOINT_POSITIVE, &f->grid->exact, 1);
    if (f->factor)
        pith_checkpoint_add_f32(c, "factor", number, CHECKPOINT_POSITIVE, f->factor,
                                f->n / f->cols);
    pith_checkpoint_add_f32(c, "magnitude", number, CHECKPOINT_NOT_NEGATIVE, f->magnitude,
                            (uint64_t)f->grid->levels + 1);
}

/* ---- there and back -------------------------------------------------------------------------- */

bool pith_latent_each_alone(const struct parametrization *f)
{
    return !f->fake && (f->grid || !f->c->codebook);
}

static void scale_and_observe(struct parametrization *f, float scale, uint64_t begin, uint64_t end)
{
    float *grad = f->p->grad;
    for (uint64_t k = begin; k < end; k++)
        grad[k] *= scale;
    for (uint64_t k = begin; k < end && f->factor; k++)
        grad[k] *= f->factor[k / f->cols]; /* of what is latent, from here on */
    if (f->pruned && f->pruned->is_weight)
        pith_gradual_observe(f->pruned, begin, end, grad);
}

void pith_latent_gather_range(struct parametrization *f, float scale, uint64_t begin, uint64_t end)
{
    const uint8_t *alive = alive_of(f);
    float *grad = f->p->grad, *to = f->grad;
    scale_and_observe(f, scale, begin, end);
    if (to != grad)
        memcpy(to + begin, grad + begin, (size_t)(end - begin) * sizeof *to);
    for (uint64_t k = begin; alive && k < end; k++)
        if (!alive[k])
            to[k] = 0;
    if (f->grid)
        pith_grid_gradient(f->grid, end - begin, f->value + begin, alive ? alive + begin : NULL,
                           to + begin);
}

void pith_latent_gather(struct parametrization *f, float scale)
{
    const uint8_t *alive = alive_of(f);
    const struct pith_codebook *b = f->c->codebook;
    scale_and_observe(f, scale, 0, f->p->count);
    if (f->fake) {
        for (uint64_t k = 0; k < f->p->count && alive; k++)
            f->p->grad[k] = alive[k] ? f->p->grad[k] : 0;
        pith_fake_weight_gradient(f->fake, f->value, f->p->data, f->p->grad, f->grad);
        return;
    }
    memset(f->grad, 0, (size_t)f->n * sizeof *f->grad);
    for (uint64_t k = 0; k < f->p->count; k++)
        if (!alive || alive[k])
            f->grad[centroid_of(b, k)] += f->p->grad[k];
}

void pith_latent_spread(const struct parametrization *f, const float *value, float *to)
{
    const uint8_t *alive = alive_of(f);
    const struct pith_codebook *b = f->c->codebook;
    if (f->fake) {
        pith_fake_weight_values(f->fake, value, alive, to);
        return;
    }
    for (uint64_t k = 0; k < f->p->count; k++) {
        if (alive && !alive[k])
            to[k] = 0;
        else if (f->grid)
            to[k] = (float)pith_grid_level(f->grid, value[k]) *
                    (f->grid->step * pith_latent_factor(f, k));
        else
            to[k] = b ? value[centroid_of(b, k)] : value[k];
    }
}

/* ---- rate ------------------------------------------------------------------------------------ */

void pith_latent_damp(struct parametrization *f, float share, uint64_t begin, uint64_t end)
{
    const uint8_t *alive = alive_of(f);
    if (!f->grid || !(share > 0))
        return;
    for (uint64_t k = begin; k < end; k++)
        if (!alive || alive[k])
            f->value[k] += share * ((float)pith_grid_level(f->grid, f->value[k]) * f->grid->step -
                                    f->value[k]);
}

void pith_latent_fit_grid(struct parametrization *f, double rate)
{
    if (!f->grid)
        return;
    if (!f->factor)
        learn_step(f, rate);
    count_levels(f);
}

struct level_counts {
    uint64_t kept, live_rows, live_cols;
    uint32_t *row, *col;
};

static void count_rows(const struct parametrization *f, struct level_counts *n)
{
    uint64_t rows = f->pruned->rows, cols = f->pruned->cols, k = 0;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols; j++, k++) {
            uint32_t there = f->p->data[k] != 0;
            n->row[i] += there;
            n->col[j] += there;
        }
    for (uint64_t i = 0; i < rows; i++) {
        n->kept += n->row[i];
        n->live_rows += n->row[i] > 0;
    }
    for (uint64_t j = 0; j < cols; j++)
        n->live_cols += n->col[j] > 0;
}

/* Where the nonzeros are, as contexts of row and column would code it. */
static double support_bits(const struct parametrization *f, const struct level_counts *n)
{
    uint64_t rows = f->pruned->rows, cols = f->pruned->cols;
    double bits = (double)rows * pith_place_entropy((double)n->live_rows / (double)rows) +
                  (double)cols * pith_place_entropy((double)n->live_cols / (double)cols);
    const double most = 0.98; /* a product of densities may exceed 1 */
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols && n->row[i]; j++) {
            double p = (double)n->row[i] * n->col[j] / (double)(n->kept + !n->kept);
            bits += n->col[j] ? pith_place_entropy(fmin(p, most)) : 0;
        }
    return bits;
}

double pith_latent_bytes(const struct parametrization *f)
{
    if (!f->grid)
        return (double)f->p->count * (f->given ? 1 : 4);
    double bits = f->factor ? 4.0 * (double)(f->n / f->cols) : 16;
    if (f->pruned && f->pruned->is_weight) {
        struct level_counts n = {.row = calloc((size_t)f->pruned->rows, sizeof *n.row),
                                 .col = calloc((size_t)f->pruned->cols, sizeof *n.col)};
        if (n.row && n.col) {
            count_rows(f, &n);
            bits += support_bits(f, &n);
        }
        free(n.row);
        free(n.col);
    }
    for (uint64_t k = 0; k < f->n; k++) {
        int32_t q = f->p->data[k] != 0 ? pith_grid_level(f->grid, f->value[k]) : 0;
        bits += q ? (double)f->magnitude[q < 0 ? -q : q] : 0;
    }
    return bits / 8;
}

/* ---- the end --------------------------------------------------------------------------------- */

struct ranked {
    float value;
    uint32_t was;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->was < y->was ? -1 : x->was > y->was;
}

static void permute(float *a, const struct ranked *order, uint32_t n)
{
    float was[256];
    if (!a)
        return;
    memcpy(was, a, n * sizeof *a);
    for (uint32_t i = 0; i < n; i++)
        a[i] = was[order[i].was];
}

/* Centroids may have passed each other: sorted again, with them the indices and what the optimizer
 * knows of each. Equal ones are set apart by the next representable value, for codebooks are
 * strictly ascending. */
static void store_codebook(struct parametrization *f)
{
    struct pith_codebook *b = f->c->codebook;
    for (uint64_t group = 0; group < b->n_groups; group++) {
        uint64_t at = group * b->n_centroids;
        struct ranked r[256];
        uint8_t now[256];
        for (uint32_t i = 0; i < b->n_centroids; i++)
            r[i] = (struct ranked){f->value[at + i], i};
        qsort(r, b->n_centroids, sizeof *r, by_value);
        for (uint32_t i = 0; i < b->n_centroids; i++) {
            now[r[i].was] = (uint8_t)i;
            b->centroid[at + i] = r[i].value;
            if (i > 0 && b->centroid[at + i] <= b->centroid[at + i - 1])
                b->centroid[at + i] = nextafterf(b->centroid[at + i - 1], INFINITY);
        }
        for (uint64_t k = group * b->group_elems; k < (group + 1) * b->group_elems; k++)
            b->index[k] = now[b->index[k]];
        float *all[] = {f->value, f->first, f->second};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            permute(all[i] ? all[i] + at : NULL, r, b->n_centroids);
    }
}

static void store_grid(const struct parametrization *f, const float *value)
{
    struct pith_codebook *b = f->c->codebook;
    int32_t levels = f->grid->levels;
    for (uint64_t g = 0; g < b->n_groups; g++) {
        float step = f->grid->step * pith_latent_factor(f, g * b->group_elems);
        pith_grid_write(&(struct uniform_grid){step, (uint32_t)levels}, b->n_centroids,
                        b->centroid + g * b->n_centroids);
    }
    for (uint64_t k = 0; k < f->n; k++)
        b->index[k] = (uint8_t)(pith_grid_level(f->grid, value[k]) + levels);
}

/* Weights that are 0 on the grid of a network that shrinks are stored as removed. */
static void store_mask(const struct parametrization *f)
{
    const float *data = f->c->data;
    for (uint64_t k = 0; k < f->p->count; k++)
        f->c->mask[k] = f->pruned->alive[k] && (!f->grid || data[k] != 0);
}

void pith_latent_store(struct parametrization *f)
{
    const float *value = f->value;
    if (f->fake) {
        pith_fake_weight_store(f->fake, value, f->c->codebook);
    } else if (f->grid) {
        store_grid(f, value);
    } else if (f->c->codebook) {
        store_codebook(f);
        value = f->c->codebook->centroid;
    }
    pith_latent_spread(f, value, f->c->data);
    if (f->pruned)
        store_mask(f);
}
