/* SPDX-License-Identifier: MIT */
/* fine_input.c - a value that 256 steps are too few for becomes two bytes, a coarse one and what it
 * left, in channels of their own:
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
#include "fine_input.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error_fill.h"
#include "integer_plan.h"
#include "node_list.h"
#include "op.h"
#include "radix.h"

#define FINER 12
#define ROOM 4.0
#define ZERO 128
#define STEPS 127 /* on either side of it */

/* ---- which -------------------------------------------------------------------------------------
 */

static bool mixes_all_channels(const struct pith_model *m, const struct pith_node *node)
{
    if (!pith_has_weight(m, node) || m->values[node->in[1]].constant->codebook)
        return false;
    const struct pith_value *w = &m->values[node->in[1]];
    uint32_t rank = m->values[node->in[0]].rank;
    if (node->op == PITH_OP_CONV)
        return node->attr[ATTR_CONV_GROUP] == 1;
    if (node->op == PITH_OP_GEMM)
        return rank == 2 && node->attr[ATTR_GEMM_TRANS_B] && !node->attr[ATTR_GEMM_TRANS_A];
    return node->op == PITH_OP_MATMUL && rank == 2 && w->rank == 2 &&
           node->attr[ATTR_MATMUL_TRANS_B];
}

static int depth_change(const struct pith_node *node)
{
    bool opens = node->op == PITH_OP_LOOP || node->op == PITH_OP_BRANCH;
    bool closes = node->op == PITH_OP_LOOP_END || node->op == PITH_OP_BRANCH_END;
    return opens - closes;
}

bool pith_may_be_fine(const struct pith_model *m, uint32_t v)
{
    int depth = 0;
    bool any = false;
    const struct pith_value *x = &m->values[v];
    if (x->constant || x->type != PITH_F32 || x->rank < 2 || x->dim[1] > UINT32_MAX / 2)
        return false;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        depth += depth_change(node);
        if (node->n_in == 0 || node->in[0] != v || !pith_has_weight(m, node))
            continue;
        if (depth > 0 || !mixes_all_channels(m, node))
            return false;
        any = true;
    }
    return any;
}

/* ---- making them -------------------------------------------------------------------------------
 */

struct expander {
    struct pith_model *m;
    const struct pith_quantize_opts *opts;
    struct node_list list;
    uint32_t *uses; /* owns: [n_values] */
    bool *wanted;   /* owns: [n_values] */
    uint32_t *both; /* owns: [n_values] the value of twice the channels, or PITH_VALUE_NONE: not
                       made yet */
};

/* What steps on either side of zero have to cover. */
static double reach(const struct pith_value *x, const struct pith_grid *g)
{
    double high = (double)(pith_grid_highest(g) - g->zero_point) * (double)g->scale[0];
    double low = (double)(g->zero_point - pith_grid_lowest(g)) * (double)g->scale[0];
    double seen = fmax(fabs((double)x->min), fabs((double)x->max)), cut = fmax(low, high);
    bool known = x->n_observed > 0 && x->min <= x->max;
    return known ? fmax(cut, fmin(seen, ROOM * cut)) : cut;
}

static float wide_step(const struct pith_value *x, const struct pith_grid *g)
{
    double step = reach(x, g) / STEPS;
    return step > 0 ? (float)fmax(step, (double)(FINER * FLT_MIN)) : 1; /* only zeros were seen */
}

static struct pith_grid *grid_of_both(struct expander *e, const struct pith_grid *was, double scale,
                                      uint32_t channels)
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

static uint32_t scalar(struct expander *e, enum pith_type type, const void *data, size_t bytes)
{
    void *copy = pith_model_alloc(e->m, 1, bytes);
    if (copy)
        memcpy(copy, data, bytes);
    return pith_list_constant(&e->list, type, 0, NULL, copy);
}

/* Nor is what v's elements come from, where nobody else reads that. */
static void stop_rounding(struct expander *e, uint32_t v)
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
static uint32_t expand(struct expander *e, uint32_t v, const struct pith_grid *g)
{
    struct node_list *l = &e->list;
    const struct pith_value x = e->m->values[v];
    const char *name = x.name;
    float scale = wide_step(&x, g);
    uint32_t twice[PITH_MAX_RANK];
    memcpy(twice, x.dim, sizeof twice);
    twice[1] *= 2;
    uint32_t step = scalar(e, PITH_F32, &scale, sizeof scale),
             zero = scalar(e, PITH_U8, &(uint8_t){ZERO}, 1);
    uint32_t wide = pith_list_value(l, PITH_U8, x.rank, x.dim),
             h = pith_list_value(l, PITH_F32, x.rank, x.dim);
    uint32_t rest = pith_list_value(l, PITH_F32, x.rank, x.dim),
             both = pith_list_value(l, PITH_F32, x.rank, twice);
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
    struct pith_node *join =
        pith_list_node(l, name, PITH_OP_CONCAT, 2, (uint32_t[]){h, rest}, 1, &both);
    if (join)
        join->attr[ATTR_AXIS] = 1;
    e->m->values[both].grid = grid_of_both(e, g, (double)scale, x.dim[1]);
    stop_rounding(e, v);
    return both;
}

/* Each row twice, channel by channel: elements of `each` bytes. */
static void *twice_the_columns(struct expander *e, const struct pith_value *w, const void *from,
                               size_t each)
{
    size_t row = (size_t)(w->constant->count / w->dim[0]) * each;
    uint8_t *to = pith_model_alloc(e->m, 2 * w->constant->count, each);
    for (uint64_t o = 0; o < w->dim[0] && to; o++)
        for (int i = 0; i < 2; i++)
            memcpy(to + (2 * o + (uint64_t)i) * row, (const uint8_t *)from + o * row, row);
    e->list.failed |= !to;
    return to;
}

static uint32_t weight_of_both(struct expander *e, uint32_t weight)
{
    const struct pith_value w = e->m->values[weight];
    uint32_t dim[PITH_MAX_RANK];
    memcpy(dim, w.dim, sizeof dim);
    dim[1] *= 2;
    uint32_t v = pith_list_constant(&e->list, PITH_F32, w.rank, dim,
                                    twice_the_columns(e, &w, w.constant->data, sizeof(float)));
    if (e->list.failed)
        return v;
    struct pith_const *c = e->m->values[v].constant;
    c->code = w.constant->code;
    if (w.constant->mask)
        c->mask = twice_the_columns(e, &w, w.constant->mask, 1);
    e->m->values[v].name = w.name;
    e->m->values[weight].name = "";
    return v;
}

static enum pith_status copy_node(struct expander *e, const struct pith_node *node,
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
                "cannot quantize: '%.200s' is to read two bytes, but its input was not "
                "calibrated, or channel by channel",
                node->name);
        e->both[v] = expand(e, v, g);
    }
    pith_list_copy(&e->list, node);
    if (fine && !e->list.failed) {
        struct pith_node *copy = &e->list.node[e->list.n - 1];
        copy->in[0] = e->both[v];
        copy->in[1] = weight_of_both(e, node->in[1]);
    }
    return e->list.failed ? pith_error_no_memory(err) : PITH_OK;
}

static enum pith_status find_wanted(struct expander *e, bool *used, struct pith_error *err)
{
    const struct pith_quantize_opts fine = {.keep = e->opts->fine, .n_keep = e->opts->n_fine};
    for (uint32_t i = 0; i < e->m->n_nodes; i++) {
        const struct pith_node *node = &e->m->nodes[i];
        if (!pith_has_weight(e->m, node) || !pith_is_kept(e->m, &fine, node, used))
            continue;
        if (!pith_may_be_fine(e->m, node->in[0]))
            return pith_error_fill(
                err, PITH_ERR_ARGUMENT,
                "cannot quantize: '%.200s' cannot read two bytes: not all layers that "
                "read what it reads mix all channels, outside of loops",
                node->name);
        e->wanted[node->in[0]] = true;
    }
    for (uint32_t i = 0; i < fine.n_keep; i++)
        if (!used[i])
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot quantize: no layer matches '%s'",
                                   fine.keep[i]);
    return PITH_OK;
}

enum pith_status pith_expand_fine_inputs(struct pith_model *m,
                                         const struct pith_quantize_opts *opts,
                                         struct pith_error *err)
{
    struct expander e = {.m = m, .opts = opts};
    if (opts->n_fine == 0)
        return PITH_OK;
    uint32_t n = m->n_values;
    bool *used = calloc(opts->n_fine + (size_t)1, sizeof *used);
    e.uses = calloc(n + (size_t)1, sizeof *e.uses);
    e.wanted = calloc(n + (size_t)1, sizeof *e.wanted);
    e.both = malloc((n + (size_t)1) * sizeof *e.both);
    bool room =
        used && e.wanted && e.both &&
        pith_node_list_begin(&e.list, m, 4 * (uint64_t)m->n_nodes, 7 * (uint64_t)m->n_nodes);
    enum pith_status st = room ? find_wanted(&e, used, err) : pith_error_no_memory(err);
    if (e.uses)
        pith_model_count_uses(m, n, e.uses, NULL);
    for (uint32_t v = 0; v < n && room; v++)
        e.both[v] = PITH_VALUE_NONE;
    for (uint32_t i = 0; i < m->n_nodes && !st; i++)
        st = copy_node(&e, &m->nodes[i], err);
    free(used);
    free(e.uses);
    free(e.wanted);
    free(e.both);
    return st ? st : pith_node_list_end(&e.list, err);
}

bool pith_reads_fine(const struct pith_model *m, const struct pith_node *node)
{
    const struct pith_grid *g = m->values[node->in[0]].grid;
    return g && g->n > 1 && g->zero_point == ZERO && g->n % 2 == 0 &&
           g->scale[g->n / 2] == (float)((double)g->scale[0] / FINER);
}
