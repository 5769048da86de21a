/* SPDX-License-Identifier: MIT */
/* store_floats.c - what stays float is rounded to the type that the file has for it.
 *
 * The rounding is done here and not when the file is written, so that the model computes what the
 * file will: f32 arithmetic on numbers of f16 or bf16. f16 has 11 significant bits in a range of
 * 2^-14 to 65,504, which trained weights and normalized channels keep to; bf16 has 8 bits and the
 * range of f32. */
#include "store_floats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "quantize/codebook/codebook_build.h"
#include "base/error_fill.h"
#include "model/fold_grid.h"
#include "base/narrow_float.h"
#include "op_interface/op_traits.h"

#define ROW_LEVELS 127u
#define SHORT_STEP_BITS 8u
#define SHORT_STEP_COSTS 1.1      /* of the error with steps of 24 bits */
#define CODEBOOK_LARGEST 32768.0f /* f16 has room for 255 more numbers above */
#define F16_SMALLEST 0x1p-14f     /* below, f16 has fewer bits the smaller the number */

enum { READ = 1, DEFINES_INTEGERS = 2 };

/* Everything but the first input of these: scale and zero point. */
static bool defines_integers(uint32_t op, uint32_t input)
{
    return input > 0 && pith_op_is(op, TRAIT_GRID);
}

/* roles[v]: what nodes read value v as */
static void find_roles(const struct pith_model *m, uint8_t *roles)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] != PITH_VALUE_NONE)
                roles[node->in[k]] |= defines_integers(node->op, k) ? DEFINES_INTEGERS : READ;
    }
}

static bool may_be_narrow(const struct pith_value *v, uint8_t roles)
{
    return roles == READ && v->constant && v->type == PITH_F32 && v->constant->count > 1 &&
           !v->constant->codebook;
}

static bool has_range(enum pith_type type, const struct pith_const *k)
{
    const float *x = k->data;
    float most = 0;
    for (uint64_t i = 0; i < k->count; i++) {
        if (!isfinite(pith_narrow_round(type, x[i])))
            return false;
        most = fmaxf(most, fabsf(x[i]));
    }
    return type == PITH_BF16 || most == 0 || most >= F16_SMALLEST;
}

static void make_narrow(enum pith_type type, struct pith_const *k)
{
    float *x = k->data;
    for (uint64_t i = 0; i < k->count; i++)
        x[i] = pith_narrow_round(type, x[i]);
    k->stored = type;
}

enum pith_status pith_store_floats(struct pith_model *m, enum pith_type type,
                                   struct pith_stored_floats *report, struct pith_error *err)
{
    struct pith_stored_floats sum = {0};
    if (!pith_type_is_narrow(type))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "floats are stored as f16 or bf16");
    uint8_t *roles = calloc(m->n_values + (size_t)1, 1);
    if (!roles)
        return pith_error_no_memory(err);
    find_roles(m, roles);
    for (uint32_t v = 0; v < m->n_values; v++) {
        struct pith_const *k = m->values[v].constant;
        if (!may_be_narrow(&m->values[v], roles[v]))
            continue;
        if (!has_range(type, k)) {
            sum.n_beyond++;
            continue;
        }
        make_narrow(type, k);
        sum.n_tensors++;
        sum.n_numbers += k->count;
    }
    free(roles);
    if (report)
        *report = sum;
    return PITH_OK;
}

/* ---- by codebooks ---------------------------------------------------------------------------- */

bool pith_may_store_codebook(const struct pith_const *c)
{
    const float *x = c->data;
    if (c->stored != PITH_F16 || c->codebook || c->count < PITH_STORE_CODEBOOK_LEAST)
        return false;
    for (uint64_t i = 0; i < c->count; i++)
        if (!(fabsf(x[i]) <= CODEBOOK_LARGEST))
            return false;
    return true;
}

/* Of all kept elements, when they become centroids. */
static double squared_error(const struct pith_const *c, const struct pith_codebook *cb)
{
    const float *x = c->data;
    double sum = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        double d = (double)x[i] - (double)pith_codebook_value(cb, i);
        sum += c->mask && !c->mask[i] ? 0 : d * d;
    }
    return sum;
}

/* A step that reaches the largest of n elements with ROW_LEVELS; 1 where that is no normal number.
 */
static struct uniform_grid grid_of_row(const float *x, uint64_t n, uint32_t mantissa_bits)
{
    double most = 0;
    for (uint64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    float step = pith_grid_round(most / ROW_LEVELS, mantissa_bits);
    return (struct uniform_grid){step > 0 ? step : 1, ROW_LEVELS};
}

/* NULL: no memory. */
static struct pith_codebook *grid_by_row(struct pith_model *m, const struct pith_const *c,
                                         uint32_t rows, uint32_t mantissa_bits)
{
    const uint32_t n = 2 * ROW_LEVELS + 1;
    const float *x = c->data;
    struct pith_codebook *cb = pith_model_alloc(m, 1, sizeof *cb);
    float *centroid = pith_model_alloc(m, (uint64_t)rows * n, sizeof *centroid);
    uint8_t *index = pith_model_alloc(m, c->count, 1);
    if (!cb || !centroid || !index)
        return NULL;
    uint64_t cols = c->count / rows;
    for (uint32_t o = 0; o < rows; o++) {
        struct uniform_grid g = grid_of_row(x + o * cols, cols, mantissa_bits);
        pith_grid_write(&g, n, centroid + (size_t)o * n);
        for (uint64_t i = o * cols; i < (o + 1) * cols; i++) {
            float k = rintf(x[i] / g.step); /* a step that was rounded down may not reach all */
            k = fmaxf(-(float)ROW_LEVELS, fminf((float)ROW_LEVELS, k));
            index[i] = (uint8_t)((int32_t)k + (int32_t)ROW_LEVELS);
        }
    }
    *cb = (struct pith_codebook){.n_centroids = n,
                                 .group_elems = cols,
                                 .n_groups = rows,
                                 .centroid = centroid,
                                 .index = index};
    return cb;
}

/* Short steps, but where those of all digits are better by far: what came from a network of
 * integers lies on them. */
static struct pith_codebook *best_by_row(struct pith_model *m, const struct pith_const *c,
                                         uint32_t rows)
{
    struct pith_codebook *brief = grid_by_row(m, c, rows, SHORT_STEP_BITS);
    struct pith_codebook *full = grid_by_row(m, c, rows, FLT_MANT_DIG - 1);
    if (!brief || !full)
        return NULL;
    return squared_error(c, brief) <= SHORT_STEP_COSTS * squared_error(c, full) ? brief : full;
}

static void install(struct pith_const *c, struct pith_codebook *cb)
{
    float *x = c->data;
    for (uint64_t i = 0; i < c->count; i++)
        if (!c->mask || c->mask[i])
            x[i] = pith_codebook_value(cb, i);
    c->codebook = cb;
    c->stored = 0;
}

enum pith_status pith_store_codebook(struct pith_model *m, uint32_t value, struct pith_error *err)
{
    struct pith_const *c = m->values[value].constant;
    struct codebook_build b = {
        .group_elems = c->count, .wanted = KMEANS_MAX, .init = PITH_CLUSTER_EXACT, .half = true};
    struct pith_codebook *of_all = NULL, *by_row = best_by_row(m, c, m->values[value].dim[0]);
    if (!by_row || pith_codebook_make(&b, m, c, &of_all))
        return pith_error_no_memory(err);
    install(c, squared_error(c, of_all) <= squared_error(c, by_row) ? of_all : by_row);
    return PITH_OK;
}
