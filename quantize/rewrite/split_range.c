/* SPDX-License-Identifier: MIT */
/* split_range.c - where 256 steps are too few for what a depthwise convolution gives, 511 are made
 * of two bytes, one for each half of the range:
 *
 *     y = dw(x) + b                     y1 = Clip(dw(x) + b, 0, R)
 *     Clip(y, 0, 2 R) -> W   becomes    y2 = Clip(dw(x) + b - R, 0, R)      [y1, y2] -> [W, W]
 *
 * (that piecewise ranges hold more is known of weights: Fang et al., "Post-training Piecewise
 * Linear Quantization for Deep Neural Networks", 2020). Both halves have one scale, so nothing
 * changes for the weights, which keep the integers they lie on, and all of it runs on the kernels
 * of bytes as it is. The depthwise layer costs little, even twice; the layer behind it has twice
 * its products. Errors of rounding fall by 6 dB. */
#include "pith_split_range.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_integer_plan.h"
#include "pith_op_semantics.h"
#include "radix.h"
#include "pith_two_inputs.h"

#define ROOM 1.25 /* of the range of one byte: what it had to cut off is dearer to 511 steps */
#define STEPS 255

/* Outputs count as readers. */
static uint32_t count_readers(const struct pith_model *m, uint32_t v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            n += m->nodes[i].in[k] == v;
    for (uint32_t i = 0; i < m->n_outputs; i++)
        n += m->outputs[i] == v;
    return n;
}

/* The Relu, or the Clip from 0, that gives v. */
static const struct pith_node *cut_before(const struct pith_model *m, uint32_t v)
{
    const struct pith_node *act = pith_model_producer(m, v);
    bool cuts = act && (act->op == PITH_OP_RELU || (act->op == PITH_OP_CLIP && act->n_in == 1 &&
                                                    attr_f32(act->attr, ATTR_CLIP_MIN) == 0 &&
                                                    attr_f32(act->attr, ATTR_CLIP_MAX) > 0));
    return cuts ? act : NULL;
}

bool pith_may_be_split(const struct pith_model *m, uint32_t v)
{
    const struct pith_node *act = cut_before(m, v);
    const struct pith_node *conv = act ? pith_model_producer(m, act->in[0]) : NULL;
    if (!conv || conv->op != PITH_OP_CONV || !pith_has_weight(m, conv) ||
        !pith_node_is_depthwise(m, conv) || count_readers(m, act->in[0]) != 1 ||
        !pith_readers_mix_channels(m, v))
        return false;
    bool biased = conv->n_in > 2 && conv->in[2] != PITH_VALUE_NONE;
    const struct pith_value *b = biased ? &m->values[conv->in[2]] : NULL;
    if (b && (!b->constant || b->type != PITH_F32 ||
              b->constant->count != m->values[conv->in[1]].dim[0]))
        return false;
    uint32_t layers = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        layers += pith_layer_reads(m, &m->nodes[i], v);
    return layers == count_readers(m, v);
}

/* The convolution again, its bias less by half. */
static uint32_t convolve_upper(struct two_inputs *h, const struct pith_node *conv, float half)
{
    const struct pith_value y = h->m->values[conv->out[0]];
    uint32_t n = h->m->values[conv->in[1]].dim[0];
    bool biased = conv->n_in > 2 && conv->in[2] != PITH_VALUE_NONE;
    const float *bias = biased ? h->m->values[conv->in[2]].constant->data : NULL;
    float *less = pith_model_alloc(h->m, n, sizeof *less);
    for (uint32_t o = 0; o < n && less; o++)
        less[o] = (bias ? bias[o] : 0) - half;
    uint32_t b = pith_list_constant(&h->list, PITH_F32, 1, &n, less);
    uint32_t out = pith_list_value(&h->list, PITH_F32, y.rank, y.dim);
    struct pith_node *node = pith_list_node(&h->list, conv->name, PITH_OP_CONV, 3,
                                            (uint32_t[]){conv->in[0], conv->in[1], b}, 1, &out);
    if (node)
        node->attr = conv->attr;
    return out;
}

static uint32_t cut(struct two_inputs *h, const struct pith_node *act, uint32_t x, float half,
                    struct pith_grid *grid)
{
    const struct pith_value like = h->m->values[act->out[0]];
    uint32_t y = pith_list_value(&h->list, PITH_F32, like.rank, like.dim);
    struct pith_node *clip = pith_list_node(&h->list, act->name, PITH_OP_CLIP, 1, &x, 1, &y);
    if (clip) {
        memcpy(&clip->attr[ATTR_CLIP_MIN], &(float){0}, sizeof(float));
        memcpy(&clip->attr[ATTR_CLIP_MAX], &half, sizeof half);
    }
    h->m->values[y].grid = grid;
    return y;
}

static struct pith_grid *half_grid(struct two_inputs *h, const struct pith_grid *was, float scale)
{
    struct pith_grid *g = pith_model_alloc(h->m, 1, sizeof *g);
    float *scales = pith_model_alloc(h->m, 1, sizeof *scales);
    h->list.failed |= !g || !scales;
    if (h->list.failed)
        return NULL;
    scales[0] = scale;
    *g = (struct pith_grid){
        .type = PITH_U8, .bits = 8, .method = was->method, .n = 1, .scale = scales};
    return g;
}

/* In the place of act. */
static void halve(struct two_inputs *h, const struct pith_node *act, const struct pith_grid *g)
{
    const struct pith_value *v = &h->m->values[act->out[0]];
    const struct pith_node *conv = pith_model_producer(h->m, act->in[0]);
    double range = (double)g->scale[0] * STEPS, seen = v->n_observed > 0 ? (double)v->max : range;
    range = fmax(range, fmin(seen, ROOM * range));
    float scale = (float)fmax(range / (2 * STEPS), (double)FLT_MIN), half = scale * STEPS;
    struct pith_grid *grid = half_grid(h, g, scale);
    uint32_t lower = cut(h, act, act->in[0], half, grid);
    uint32_t upper = cut(h, act, convolve_upper(h, conv, half), half, grid);
    uint32_t both = pith_list_join(&h->list, act->name, lower, upper);
    h->m->values[both].grid = grid;
    h->both[act->out[0]] = both;
}

static enum pith_status copy_node(struct two_inputs *h, const struct pith_node *node,
                                  struct pith_error *err)
{
    uint32_t y = node->n_out ? node->out[0] : PITH_VALUE_NONE;
    const struct pith_grid *g = NULL;
    if (y != PITH_VALUE_NONE && h->wanted[y]) {
        if (pith_fitting_grid(h->m, h->opts, &h->m->values[y], &g))
            return pith_error_no_memory(err);
        if (!g || g->n > 1 || g->zero_point != pith_grid_lowest(g))
            return pith_error_fill(
                err, PITH_ERR_ARGUMENT,
                "cannot quantize: the range of '%.200s' is to be split, but it was "
                "not calibrated, or not from 0 on",
                node->name);
        halve(h, node, g);
    } else if (node->n_in > 0 && node->in[0] != PITH_VALUE_NONE &&
               h->both[node->in[0]] != PITH_VALUE_NONE) {
        pith_list_layer_of_both(&h->list, node, h->both[node->in[0]]);
    } else {
        pith_list_copy(&h->list, node);
    }
    return PITH_OK;
}

enum pith_status pith_split_ranges(struct pith_model *m, const struct pith_quantize_opts *opts,
                                   struct pith_error *err)
{
    const struct two_inputs_way way = {
        .pattern = opts->split,
        .n = opts->n_split,
        .may = pith_may_be_split,
        .what = "read half ranges: it does not read what a depthwise convolution gives "
                "through a Relu, or Clip from 0, to such layers alone",
        .nodes = 5,
        .values = 6,
        .copy = copy_node};
    return pith_give_two_inputs(m, opts, &way, err);
}
