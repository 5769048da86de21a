/* SPDX-License-Identifier: MIT */
/* integer_layer.c - weights, bias and factors of a layer in integers, by rounding to nearest.
 *
 * A row's scale is as small as its largest weight allows, but not so small that the bias would need
 * more than 31 bits with its sign, half of what the sum has, nor that a factor is no normal number
 * any more. The sum of products has the other half: whatever the inputs are, it is at most sum |q|
 * * most_x, and where rows are too long, or inputs too wide, for that to stay within 2^30, the
 * layer becomes wide: weights are stored in 16 bits, so that sums have 64.
 *
 * In fixed point Requantize has to be a shift, rounded to even, to the bit. With 16 places or fewer
 * to shift it is: a sum of 2^24 or more, which f32 rounds, then is beyond what a byte holds on
 * either way, and rounding before or after the shift saturates it. */
#include "integer_layer.h"

#include <float.h>
#include <math.h>

#include "base/error_fill.h"
#include "base/normal_scale.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"
#include "base/snr.h"
#include "radix.h"
#include "radix_weight.h"
#include "trained_grid.h"

#define MOST_NARROW 1073741824.0     /* 2^30 */
#define MOST_WIDE 4503599627370496.0 /* 2^52 */
#define MOST_SHIFT 0x1p-16

/* Of a group that reads several channels the scale of their first is that of its sums, and the
 * others' weights are multiplied by what their scales are more (scaled_weights). */
double pith_layer_input_scale(const struct integer_layer *l, uint64_t o)
{
    uint64_t group = o / (l->shape.rows / l->shape.groups);
    return pith_grid_scale(l->x, l->x->n > 1 ? group * (l->x->n / l->shape.groups) : 0);
}

double pith_layer_bias(const struct integer_layer *l, uint64_t o)
{
    double b =
        l->real.bias ? (double)l->real.bias[l->real.n_bias > 1 ? o : 0] * l->real.bias_factor : 0;
    return b + l->bias_shift[o];
}

static double output_scale(const struct integer_layer *l, uint64_t o)
{
    return l->y ? pith_grid_scale(l->y, o) : 1;
}

static double most_held(const struct integer_layer *l)
{
    return l->wide ? MOST_WIDE : MOST_NARROW;
}

/* ---- what sums may be ------------------------------------------------------------------------ */

/* Of |w| of a row. */
static double row_sum(const struct integer_layer *l, uint64_t o)
{
    double sum = 0;
    for (uint64_t i = o * l->shape.cols; i < (o + 1) * l->shape.cols; i++)
        sum += fabs((double)l->real.w[i] * l->real.w_factor);
    return sum;
}

static struct integer_layer *first_of(struct integer_layer *l)
{
    return l->shared.first ? l->shared.first : l;
}

/* The most that row o of q adds to its bias, whichever of the layers that share it reads x. */
static double most_added(const struct integer_layer *l, uint64_t o)
{
    int64_t sum = 0;
    for (uint64_t i = o * l->shape.cols; i < (o + 1) * l->shape.cols; i++)
        sum += l->q[i] < 0 ? -l->q[i] : l->q[i];
    int32_t widest = l->shared.first ? l->shared.first->shared.widest_x : l->shared.widest_x;
    return (double)sum * (widest > l->most_x ? widest : l->most_x);
}

/* Any weights at all: rows of bytes that are short enough. */
static bool all_are_held(const struct integer_layer *l)
{
    return (double)l->shape.cols * l->most * l->most_x <= most_held(l);
}

/* ---- scales ---------------------------------------------------------------------------------- */

static double largest(const struct integer_layer *l, uint64_t first, uint64_t last)
{
    double most = 0;
    for (uint64_t i = first * l->shape.cols; i < last * l->shape.cols; i++)
        most = fmax(most, fabs((double)l->real.w[i] * l->real.w_factor));
    return most;
}

static double allowed(const struct integer_layer *l, double scale)
{
    return l->radix ? pith_radix_above(scale) : scale;
}

static double least_of_one(const struct integer_layer *l, uint64_t o)
{
    double sx = pith_layer_input_scale(l, o), sy = output_scale(l, o);
    double least = (double)FLT_MIN * fmax(sy, 1) / fmin(sx, 1);
    least = fmax(least, fabs(pith_layer_bias(l, o)) / (sx * most_held(l)));
    if (!all_are_held(l))
        least = fmax(least, row_sum(l, o) * l->most_x / most_held(l));
    if (l->radix && l->y && l->y->bits <= 8 && !l->wide)
        least = fmax(least, sy * MOST_SHIFT / sx);
    return allowed(l, least);
}

double pith_layer_least_scale(const struct integer_layer *l, uint64_t o)
{
    double least = 0;
    for (l = l->shared.first ? l->shared.first : l; l; l = l->shared.next)
        least = fmax(least, least_of_one(l, o));
    return least;
}

static double least_of_rows(const struct integer_layer *l, uint64_t first, uint64_t last)
{
    double least = 0;
    for (uint64_t o = first; o < last; o++)
        least = fmax(least, pith_layer_least_scale(l, o));
    return least;
}

/* With which none of the weights of rows [first, last) is cut; not below pith_layer_least_scale
 * of each. */
static double layer_widest_scale(const struct integer_layer *l, uint64_t first, uint64_t last)
{
    double most = largest(l, first, last), least = least_of_rows(l, first, last);
    const double bias_room = 1024; /* least has 30 bits for the bias, which then keeps 20 */
    if (most == 0)
        return fmax(least, bias_room * least);
    return allowed(l, fmax(most / l->most, least));
}

static void set_scale(struct integer_layer *l, uint64_t first, uint64_t last)
{
    double scale = layer_widest_scale(l, first, last);
    if (l->radix)
        scale = pith_radix_of_weights(l, first, last, NULL, scale, least_of_rows(l, first, last));
    for (uint64_t o = first; o < last; o++)
        l->scale[o] = scale;
}

/* One scale a row; of a layer with one scale each row's is no smaller than the row allows. */
static void set_scales(struct integer_layer *l, bool per_tensor)
{
    if (per_tensor && l->radix) {
        set_scale(l, 0, l->shape.rows);
        return;
    }
    double all = per_tensor ? largest(l, 0, l->shape.rows) : 0;
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        set_scale(l, o, o + 1);
        if (all > 0)
            l->scale[o] = fmax(all / l->most, pith_layer_least_scale(l, o));
    }
}

/* q of rows [first, last) to the nearest integers, by the scales as they are. */
static void layer_round_nearest(struct integer_layer *l, uint64_t first, uint64_t last)
{
    for (uint64_t o = first; o < last; o++)
        for (uint64_t i = o * l->shape.cols; i < (o + 1) * l->shape.cols; i++) {
            double q = nearbyint((double)l->real.w[i] * l->real.w_factor / l->scale[o]);
            l->q[i] = (int16_t)fmin(fmax(q, -l->most), l->most);
        }
}

static void store_weights(struct integer_layer *l, bool transposed)
{
    uint64_t rows = l->shape.rows, cols = l->shape.cols;
    for (uint64_t o = 0; o < rows; o++)
        for (uint64_t k = 0; k < cols; k++) {
            uint64_t to = transposed ? k * rows + o : o * cols + k;
            int16_t q = l->q[o * cols + k];
            if (l->wide)
                ((int16_t *)l->stored)[to] = q;
            else
                ((int8_t *)l->stored)[to] = (int8_t)q;
        }
}

static void store_bias(struct integer_layer *l, uint64_t o, double unit)
{
    double most = most_held(l),
           b = fmin(fmax(nearbyint(pith_layer_bias(l, o) / unit), -most), most);
    if (l->wide)
        ((int64_t *)l->bias_q)[o] = (int64_t)b;
    else
        ((int32_t *)l->bias_q)[o] = (int32_t)b;
}

/* In f32 and in this order, as in ONNX, so that scales written there reproduce it to the bit; a
 * scale by channel moves into the weights. */
static float factor_of(const struct integer_layer *l, uint64_t o)
{
    double x = pith_layer_input_scale(l, o), y = output_scale(l, o), w = l->scale[o];
    bool one_x = l->x->n == 1, one_y = !l->y || l->y->n == 1;
    float s = (float)(w * (one_x ? 1 : x) / (one_y ? 1 : y));
    return (float)(one_x ? x : 1) * s / (float)(one_y ? y : 1);
}

static void store_sums(struct integer_layer *l, uint64_t o)
{
    if (l->apart) {
        first_of(l)->real_scale[o] = pith_normal_scale(l->scale[o]);
        return;
    }
    store_bias(l, o, pith_layer_input_scale(l, o) * l->scale[o]);
    l->factor[o] = factor_of(l, o);
}

void pith_layer_store(struct integer_layer *l)
{
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        while (most_added(l, o) > most_held(l)) {
            l->scale[o] *= 2;
            layer_round_nearest(l, o, o + 1);
            first_of(l)->shared.rescaled = true;
        }
        store_sums(l, o);
    }
    store_weights(l, l->transposed);
}

/* A scale only grows, and the second time round all rows are held. */
void pith_layer_store_all(struct integer_layer *first)
{
    do {
        first->shared.rescaled = false;
        for (struct integer_layer *l = first; l; l = l->shared.next)
            pith_layer_store(l);
    } while (first->shared.rescaled);
}

double pith_layer_most_sum(const struct integer_layer *l)
{
    double most = 0;
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        double bias = l->wide ? (double)((const int64_t *)l->bias_q)[o]
                              : (double)((const int32_t *)l->bias_q)[o];
        most = fmax(most, fabs(bias) + most_added(l, o));
    }
    return most;
}

double pith_layer_snr_db(const struct integer_layer *l)
{
    double signal = 0, noise = 0;
    for (uint64_t o = 0; o < l->shape.rows; o++)
        for (uint64_t i = o * l->shape.cols; i < (o + 1) * l->shape.cols; i++) {
            double w = (double)l->real.w[i] * l->real.w_factor,
                   d = w - (double)l->q[i] * l->scale[o];
            signal += w * w;
            noise += d * d;
        }
    return pith_snr_db(signal, noise);
}

/* Where the weights lie on k * step, that is their scale; but what a row's bias and sums need goes
 * first, and a row of nothing but zeros has none that matters. */
static void take_steps(struct integer_layer *l, const struct pith_const *c)
{
    double *step = l->bias_shift; /* not needed yet, all 0 */
    bool any = pith_trained_steps(c, l->shape.rows, step);
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        double scale = step[o] * l->real.w_factor;
        step[o] = 0;
        if (any && largest(l, o, o + 1) > 0 && scale >= pith_layer_least_scale(l, o))
            l->scale[o] = scale;
    }
}

/* ---- from the float layer -------------------------------------------------------------------- */

static bool per_tensor(const struct pith_quantize_opts *o)
{
    return o->per_tensor || (o->fixed_bits && !o->per_channel);
}

/* Sums over channels have one scale: weights take up what the channels' scales differ by. NULL: no
 * memory. */
static const float *scaled_weights(const struct integer_plan *p, const struct integer_layer *l)
{
    uint64_t per_group = l->x->n / l->shape.groups, taps = l->shape.cols / per_group;
    uint64_t rows_of_group = l->shape.rows / l->shape.groups;
    float *w = pith_model_alloc(p->m, l->shape.rows * l->shape.cols, sizeof *w);
    for (uint64_t i = 0; w && i < l->shape.rows * l->shape.cols; i++) {
        uint64_t o = i / l->shape.cols, k = i % l->shape.cols / taps;
        const float *scale = l->x->scale + o / rows_of_group * per_group;
        w[i] = (float)((double)l->real.w[i] * (double)scale[k] / (double)scale[0]);
    }
    return w;
}

struct weight_factor pith_weight_factor(const struct integer_plan *p, uint32_t i)
{
    const struct pith_node *node = &p->m->nodes[i];
    double alpha = node->op == PITH_OP_GEMM ? (double)attr_f32(node->attr, ATTR_GEMM_ALPHA) : 1;
    uint64_t groups = pith_layer_shape(p->m, node).groups;
    return (struct weight_factor){alpha, pith_plan_grid(p, node->in[0])->n > groups};
}

static void read_float_layer(const struct integer_plan *p, struct integer_layer *l)
{
    const struct pith_node *node = &p->m->nodes[l->node];
    bool gemm = node->op == PITH_OP_GEMM;
    l->shape = pith_layer_shape(p->m, node);
    l->real.w = p->m->values[node->in[1]].constant->data;
    l->real.mask = p->m->values[node->in[1]].constant->mask;
    l->real.w_factor = pith_weight_factor(p, l->node).weight;
    l->real.bias_factor = gemm ? (double)attr_f32(node->attr, ATTR_GEMM_BETA) : 1;
    uint32_t bias = pith_layer_bias_value(p, l->node);
    l->end = pith_layer_end(p, l->node);
    if (bias != PITH_VALUE_NONE) {
        l->real.bias = p->m->values[bias].constant->data;
        l->real.n_bias = p->m->values[bias].constant->count;
    }
    l->x = pith_plan_grid(p, node->in[0]);
    l->most_x = pith_grid_highest(l->x) - l->x->zero_point;
    if (l->x->zero_point - pith_grid_lowest(l->x) > l->most_x)
        l->most_x = l->x->zero_point - pith_grid_lowest(l->x);
    l->transposed = !pith_op_is(node->op, TRAIT_CHANNELS_FIRST);
    uint32_t bits = p->node[l->node].weight_bits;
    l->most = (1 << (bits - 1)) - 1;
    l->lowest = bits < 8 ? -l->most - 1 : -l->most;
    l->radix = p->opts->fixed_bits != 0;
    l->may_scale = !per_tensor(p->opts);
}

/* Of weights rounded to nearest with scales that cut none. In fixed point scales may be half of
 * that, or a quarter: then a row that needs it keeps the wider one (pith_layer_least_scale). */
static bool fits_32_bits(const struct integer_layer *l)
{
    if (all_are_held(l))
        return true;
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        double scale =
            largest(l, l->may_scale ? o : 0, l->may_scale ? o + 1 : l->shape.rows) / l->most;
        if (scale > 0 && row_sum(l, o) / scale * l->most_x > MOST_NARROW)
            return false;
    }
    return true;
}

bool pith_layer_is_wide(const struct integer_plan *p, uint32_t node)
{
    struct integer_layer l = {.node = node};
    read_float_layer(p, &l);
    return pith_weight_bits(p->opts) > 8 || !fits_32_bits(&l);
}

static enum pith_status check_numbers(const struct integer_plan *p, const struct integer_layer *l,
                                      struct pith_error *err)
{
    const char *name = p->m->nodes[l->node].name;
    for (uint64_t i = 0; i < l->shape.rows * l->shape.cols; i++)
        if (!isfinite((double)l->real.w[i] * l->real.w_factor))
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "cannot quantize '%.200s': weight %llu is not a finite number",
                                   name, (unsigned long long)i);
    for (uint64_t i = 0; i < l->real.n_bias; i++)
        if (!isfinite((double)l->real.bias[i] * l->real.bias_factor))
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "cannot quantize '%.200s': bias %llu is not a finite number",
                                   name, (unsigned long long)i);
    return PITH_OK;
}

static enum pith_status check_factors(const struct integer_plan *p, const struct integer_layer *l,
                                      struct pith_error *err)
{
    for (uint64_t o = 0; o < l->shape.rows; o++)
        if (!isfinite(l->factor[o]))
            return pith_error_fill(
                err, PITH_ERR_UNSUPPORTED,
                "cannot quantize '%.200s': the factor of channel %llu is beyond f32",
                p->m->nodes[l->node].name, (unsigned long long)o);
    return PITH_OK;
}

/* Weights of its own, or those of `first`. */
static bool make_room(struct pith_model *m, const struct integer_layer *first,
                      struct integer_layer *l)
{
    uint64_t rows = l->shape.rows, n = rows * l->shape.cols;
    l->q = first ? first->q : pith_model_alloc(m, n, sizeof *l->q);
    l->stored = first ? first->stored : pith_model_alloc(m, n, l->wide ? 2 : 1);
    l->scale = first ? first->scale : pith_model_alloc(m, rows, sizeof *l->scale);
    l->bias_q = pith_model_alloc(m, rows, l->wide ? 8 : 4);
    l->bias_shift = pith_model_alloc(m, rows, sizeof *l->bias_shift);
    l->factor = pith_model_alloc(m, rows, sizeof *l->factor);
    l->real_scale = first || !l->apart ? NULL : pith_model_alloc(m, rows, sizeof *l->real_scale);
    if (l->apart && !first && !l->real_scale)
        return false;
    return l->q && l->stored && l->scale && l->bias_q && l->bias_shift && l->factor;
}

static void find_weights(const struct integer_plan *p, struct integer_layer *l)
{
    if (l->shared.both_ways) {
        for (uint64_t o = 0; o < l->shape.rows; o++)
            l->scale[o] = p->node[l->node].one_scale;
        layer_round_nearest(l, 0, l->shape.rows);
        return;
    }
    set_scales(l, !l->may_scale);
    if (p->opts->as_trained)
        take_steps(l, p->m->values[p->m->nodes[l->node].in[1]].constant);
    layer_round_nearest(l, 0, l->shape.rows);
}

/* Rows are rounded anew whose scale is less than this layer, too, can do with. */
static void join(struct integer_layer *first, struct integer_layer *l)
{
    l->shared.first = first;
    l->shared.next = first->shared.next;
    first->shared.next = l;
    first->shared.widest_x =
        l->most_x > first->shared.widest_x ? l->most_x : first->shared.widest_x;
    if (l->shared.both_ways) /* neither bias nor factor is in the sums, and these are held whatever
                                q is */
        return;
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        double least = least_of_one(l, o);
        if (least <= l->scale[o])
            continue;
        l->scale[o] = least;
        layer_round_nearest(l, o, o + 1);
        first->shared.rescaled = true;
    }
}

enum pith_status pith_integer_layer_make(const struct integer_plan *p, uint32_t out,
                                         struct integer_layer *first, struct integer_layer *l,
                                         struct pith_error *err)
{
    const uint32_t node = l->node;
    read_float_layer(p, l);
    if (pith_weight_factor(p, node).scales_weights)
        l->real.w = scaled_weights(p, l);
    if (!l->real.w)
        return pith_error_no_memory(err);
    l->y = p->value[out].whole ? pith_plan_grid(p, out) : NULL;
    l->wide =
        p->node[p->node[node].weight_of].wide || pith_weight_bits(p->opts) > 8 || !fits_32_bits(l);
    l->shared.widest_x = l->most_x;
    l->apart = p->node[node].apart;
    l->shared.both_ways = p->node[p->node[node].weight_of].one_scale > 0;
    if (!make_room(p->m, first, l))
        return pith_error_no_memory(err);
    enum pith_status st = check_numbers(p, l, err);
    if (st)
        return st;
    if (first)
        join(first, l);
    else
        find_weights(p, l);
    pith_layer_store(l);
    return check_factors(p, l, err);
}
