/* SPDX-License-Identifier: MIT */
/* int16_input.c - a value that 256 steps are too few for becomes two bytes, a coarse one and what
 * it left, in channels of their own:
 *
 *     x -> W          becomes        h = x to the nearest of 255 wide steps
 *                                    [h, x - h] -> [W, W]
 *
 * (Yvinec et al., "REx: Data-Free Residual Quantization Error Expansion", 2023, has weights
 * expanded so; here it is the activations.) All is done by operators that integers have anyway: the
 * second half of the channels has a scale FINER times as small, which the weights take up
 * (integer_layer.c), so that the layer's kernel runs on twice the channels. Its second half of the
 * weights has few of its 8 bits left; with a scale 8 to 16 times as small both roundings together
 * are least, a tenth of what one byte makes. That leaves room for the numbers which the range of
 * one byte had to cut off: the wide steps cover ROOM times as much, or all there was.
 *
 * x itself is no longer rounded for those who read it besides, the Add of a residual block for one.
 */
#include "int16_input.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "quantize/layer/integer_plan.h"
#include "op_interface/op_semantics.h"
#include "quantize/layer/radix.h"
#include "two_inputs.h"

#define FINER 12
#define ROOM 4.0
#define ZERO 128
#define STEPS 127 /* on either side of it */

/* What steps on either side of zero have to cover. */
static double reach(const struct pith_value *x, const struct pith_grid *g)
{
    double high = (double)(pith_grid_highest(g) - g->zero_point) * (double)g->scale[0];
    double low = (double)(g->zero_point - pith_grid_lowest(g)) * (double)g->scale[0];
    double observed = fmax(fabs((double)x->min), fabs((double)x->max)), cut = fmax(low, high);
    bool known = x->n_observed > 0 && x->min <= x->max;
    return known ? fmax(cut, fmin(observed, ROOM * cut)) : cut;
}

static float wide_step(const struct pith_value *x, const struct pith_grid *g)
{
    double step = reach(x, g) / STEPS;
    return step > 0 ? (float)fmax(step, (double)(FINER * FLT_MIN))
                    : 1; /* only zeros were observed */
}

static struct pith_grid *grid_of_both(struct two_inputs *e, const struct pith_grid *was,
                                      double scale, uint32_t channels)
{
    struct pith_grid *g = pith_model_alloc(e->m, 1, sizeof *g);
    float *scales = pith_model_alloc(e->m, 2 * (uint64_t)channels, sizeof *scales);
    e->list.failed |= !g || !scales;
    if (e->list.failed)
        return NULL;
    for (uint32_t c = 0; c < 2 * channels; c++)
        scales[c] = (float)(c < channels ? scale : scale / FINER);
    *g = (struct pith_grid){.type = PITH_U8,
                            .bits = 8,
                            .method = was->method,
                            .axis = 1,
                            .n = 2 * channels,
                            .zero_point = ZERO,
                            .scale = scales};
    return g;
}

static uint32_t scalar(struct two_inputs *e, enum pith_type type, const void *data, size_t bytes)
{
    void *copy = pith_model_alloc(e->m, 1, bytes);
    if (copy)
        memcpy(copy, data, bytes);
    return pith_list_constant(&e->list, type, 0, NULL, copy);
}

/* Nor is what v's elements come from, where nothing else reads that. */
static void stop_rounding(struct two_inputs *e, uint32_t v)
{
    const struct pith_node *from = pith_model_producer(e->m, v);
    e->m->values[v].grid = NULL;
    e->m->values[v].n_observed = 0;
    uint32_t n = !from || !pith_takes_grid(from) ? 0 : from->op == PITH_OP_CONCAT ? from->n_in : 1;
    for (uint32_t k = 0; k < n; k++)
        if (!e->m->values[from->in[k]].constant && e->uses[from->in[k]] == 1)
            stop_rounding(e, from->in[k]);
}

/* x -> h, x - h -> both */
static uint32_t expand(struct two_inputs *e, uint32_t v, const struct pith_grid *g)
{
    struct node_list *l = &e->list;
    const struct pith_value x = e->m->values[v];
    const char *name = x.name;
    float scale = wide_step(&x, g);
    uint32_t step = scalar(e, PITH_F32, &scale, sizeof scale),
             zero = scalar(e, PITH_U8, &(uint8_t){ZERO}, 1);
    uint32_t wide = pith_list_value(l, PITH_U8, x.rank, x.dim),
             h = pith_list_value(l, PITH_F32, x.rank, x.dim);
    uint32_t rest = pith_list_value(l, PITH_F32, x.rank, x.dim);
    struct pith_node *to =
        pith_list_node(l, name, PITH_OP_QUANTIZE, 3, (uint32_t[]){v, step, zero}, 1, &wide);
    if (to) {
        to->attr[ATTR_QUANTIZE_AXIS] = 1;
        to->attr[ATTR_QUANTIZE_TYPE] = PITH_U8;
    }
    struct pith_node *from =
        pith_list_node(l, name, PITH_OP_DEQUANTIZE, 3, (uint32_t[]){wide, step, zero}, 1, &h);
    if (from)
        from->attr[ATTR_QUANTIZE_AXIS] = 1;
    pith_list_node(l, name, PITH_OP_SUB, 2, (uint32_t[]){v, h}, 1, &rest);
    uint32_t both = pith_list_join(l, name, h, rest);
    e->m->values[both].grid = grid_of_both(e, g, (double)scale, x.dim[1]);
    stop_rounding(e, v);
    return both;
}

static enum pith_status copy_node(struct two_inputs *e, const struct pith_node *node,
                                  struct pith_error *err)
{
    uint32_t v = node->n_in ? node->in[0] : PITH_VALUE_NONE;
    bool fine = v != PITH_VALUE_NONE && e->wanted[v] && pith_has_weight(e->m, node) &&
                !pith_is_kept(e->m, e->opts, node, NULL);
    const struct pith_grid *g = NULL;
    if (fine && e->both[v] == PITH_VALUE_NONE) {
        if (pith_fitting_grid(e->m, e->opts, &e->m->values[v], &g))
            return pith_error_no_memory(err);
        if (!g || g->n > 1)
            return pith_error_fill(
                err, PITH_ERR_ARGUMENT,
                "cannot quantize: '%.200s' cannot have 16-bit activations: its input has no "
                "range, or one per channel",
                node->name);
        e->both[v] = expand(e, v, g);
    }
    if (fine)
        pith_list_layer_of_both(&e->list, node, e->both[v]);
    else
        pith_list_copy(&e->list, node);
    return PITH_OK;
}

enum pith_status pith_expand_int16_inputs(struct pith_model *m,
                                          const struct pith_quantize_opts *opts,
                                          struct pith_error *err)
{
    const struct two_inputs_way way = {.pattern = opts->int16,
                                       .n = opts->n_int16,
                                       .may = pith_readers_mix_channels,
                                       .what = "have 16-bit activations: not all layers "
                                               "with this input mix all channels, outside of loops",
                                       .nodes = 4,
                                       .values = 7,
                                       .copy = copy_node};
    return pith_give_two_inputs(m, opts, &way, err);
}
