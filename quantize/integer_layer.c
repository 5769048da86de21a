/* SPDX-License-Identifier: MIT */
/* integer_layer.c - weights, bias and factors of a layer in integers, by rounding to nearest.
 *
 * A row's scale is as small as its largest weight allows, but not so small that the bias would need
 * more than 31 bits with its sign, half of what the sum has (K <= 33,155 products of 255 * 127 take
 * the other half), nor that a factor is no normal number any more. */
#include "integer_layer.h"

#include <float.h>
#include <math.h>

#include "error_fill.h"
#include "op.h"

#define MOST_BIAS 1073741824.0 /* 2^30 */

double pith_layer_input_scale(const struct integer_layer *l, uint64_t o)
{
    return pith_grid_scale(l->x, l->x->n > 1 ? o / (l->shape.rows / l->shape.groups) : 0);
}

static double bias_of(const struct integer_layer *l, uint64_t o)
{
    double b = l->bias ? (double)l->bias[l->n_bias > 1 ? o : 0] * l->bias_factor : 0;
    return b + l->bias_shift[o];
}

static double output_scale(const struct integer_layer *l, uint64_t o)
{
    return l->y ? pith_grid_scale(l->y, o) : 1;
}

static double largest(const struct integer_layer *l, uint64_t first, uint64_t last)
{
    double most = 0;
    for (uint64_t i = first * l->shape.cols; i < last * l->shape.cols; i++)
        most = fmax(most, fabs((double)l->w[i] * l->w_factor));
    return most;
}

double pith_layer_least_scale(const struct integer_layer *l, uint64_t o)
{
    double sx = pith_layer_input_scale(l, o);
    double least = fmax((double)FLT_MIN, (double)FLT_MIN * fmax(output_scale(l, o), 1) / sx);
    return fmax(least, fabs(bias_of(l, o)) / (sx * MOST_BIAS));
}

static void set_scales(struct integer_layer *l, bool per_tensor)
{
    double all = per_tensor ? largest(l, 0, l->shape.rows) : 0;
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        double most = per_tensor ? all : largest(l, o, o + 1), least = pith_layer_least_scale(l, o);
        if (most == 0) /* nothing but a bias, kept to 20 bits */
            l->scale[o] = fmax(least, 1024 * least);
        else
            l->scale[o] = fmax(most / l->most, least);
    }
}

void pith_layer_round_nearest(struct integer_layer *l, uint64_t first, uint64_t last)
{
    for (uint64_t o = first; o < last; o++)
        for (uint64_t i = o * l->shape.cols; i < (o + 1) * l->shape.cols; i++) {
            double q = nearbyint((double)l->w[i] * l->w_factor / l->scale[o]);
            l->q[i] = (int8_t)fmin(fmax(q, -l->most), l->most);
        }
}

static void transpose(struct integer_layer *l)
{
    uint64_t rows = l->shape.rows, cols = l->shape.cols;
    for (uint64_t o = 0; o < rows; o++)
        for (uint64_t k = 0; k < cols; k++)
            l->stored[k * rows + o] = l->q[o * cols + k];
}

void pith_layer_store(struct integer_layer *l)
{
    if (l->stored != l->q)
        transpose(l);
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        double unit = pith_layer_input_scale(l, o) * l->scale[o];
        double b = nearbyint(bias_of(l, o) / unit);
        l->bias_q[o] = (int32_t)fmin(fmax(b, -MOST_BIAS), MOST_BIAS);
        l->factor[o] = (float)(unit / output_scale(l, o));
    }
}

double pith_layer_snr_db(const struct integer_layer *l)
{
    double signal = 0, noise = 0;
    for (uint64_t o = 0; o < l->shape.rows; o++)
        for (uint64_t i = o * l->shape.cols; i < (o + 1) * l->shape.cols; i++) {
            double w = (double)l->w[i] * l->w_factor, d = w - (double)l->q[i] * l->scale[o];
            signal += w * w;
            noise += d * d;
        }
    return noise > 0 ? 10 * log10(signal / noise) : HUGE_VAL;
}

/* ---- from the float layer ---------------------------------------------------------------------- */

static void read_float_layer(const struct integer_plan *p, struct integer_layer *l)
{
    const struct pith_node *node = &p->m->nodes[l->node];
    bool gemm = node->op == PITH_OP_GEMM;
    l->shape = pith_layer_shape(p->m, node);
    l->w = p->m->values[node->in[1]].constant->data;
    l->mask = p->m->values[node->in[1]].constant->mask;
    l->w_factor = gemm ? (double)attr_f32(node->attr, ATTR_GEMM_ALPHA) : 1;
    l->bias_factor = gemm ? (double)attr_f32(node->attr, ATTR_GEMM_BETA) : 1;
    if (node->op != PITH_OP_MATMUL && node->n_in > 2 && node->in[2] != PITH_VALUE_NONE) {
        l->bias = p->m->values[node->in[2]].constant->data;
        l->n_bias = p->m->values[node->in[2]].constant->count;
    }
    l->x = pith_plan_grid(p, node->in[0]);
}

static enum pith_status check_numbers(const struct integer_plan *p, const struct integer_layer *l,
                                      struct pith_error *err)
{
    const char *name = p->m->nodes[l->node].name;
    for (uint64_t i = 0; i < l->shape.rows * l->shape.cols; i++)
        if (!isfinite((double)l->w[i] * l->w_factor))
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "cannot quantize '%.200s': weight %llu is not a finite number", name,
                                   (unsigned long long)i);
    for (uint64_t i = 0; i < l->n_bias; i++)
        if (!isfinite((double)l->bias[i] * l->bias_factor))
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "cannot quantize '%.200s': bias %llu is not a finite number", name,
                                   (unsigned long long)i);
    return PITH_OK;
}

static enum pith_status check_factors(const struct integer_plan *p, const struct integer_layer *l,
                                      struct pith_error *err)
{
    for (uint64_t o = 0; o < l->shape.rows; o++)
        if (!isfinite(l->factor[o]))
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "cannot quantize '%.200s': the factor of channel %llu is beyond f32",
                                   p->m->nodes[l->node].name, (unsigned long long)o);
    return PITH_OK;
}

enum pith_status pith_integer_layer_make(const struct integer_plan *p, uint32_t node, uint32_t out,
                                         struct integer_layer *l, struct pith_error *err)
{
    *l = (struct integer_layer){.node = node};
    read_float_layer(p, l);
    l->y = p->value[out].whole ? pith_plan_grid(p, out) : NULL;
    uint32_t bits = p->opts->weight_bits ? p->opts->weight_bits : 8;
    l->most = (1 << (bits - 1)) - 1;
    l->may_scale = !p->opts->per_tensor;
    uint64_t rows = l->shape.rows;
    l->q = pith_model_alloc(p->m, rows * l->shape.cols, sizeof *l->q);
    l->scale = pith_model_alloc(p->m, rows, sizeof *l->scale);
    l->bias_q = pith_model_alloc(p->m, rows, sizeof *l->bias_q);
    l->bias_shift = pith_model_alloc(p->m, rows, sizeof *l->bias_shift);
    l->factor = pith_model_alloc(p->m, rows, sizeof *l->factor);
    l->stored = p->m->nodes[node].op == PITH_OP_CONV
                    ? l->q
                    : pith_model_alloc(p->m, rows * l->shape.cols, sizeof *l->q);
    if (!l->q || !l->stored || !l->scale || !l->bias_q || !l->bias_shift || !l->factor)
        return pith_error_no_memory(err);
    enum pith_status st = check_numbers(p, l, err);
    if (st)
        return st;
    set_scales(l, p->opts->per_tensor);
    pith_layer_round_nearest(l, 0, rows);
    pith_layer_store(l);
    return check_factors(p, l, err);
}
