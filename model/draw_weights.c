/* SPDX-License-Identifier: MIT */
/* draw_weights.c - fresh weights for a network that is trained from scratch.
 *
 * Signals keep their size from layer to layer when a weight has the variance 1 / fan-in, or 2 /
 * fan-in where a ReLU throws half of it away. A draw is the sum of twelve uniform numbers less 6,
 * which has variance 1 and hardly differs from a normal one within three deviations: integers only,
 * and a square root, which IEEE 754 rounds the same everywhere; so a seed gives the same weights on
 * every machine, which no libm's logarithm promises. */
#include "base/error_fill.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "op_interface/op_traits.h"
#include "pith_init.h"
#include "base/seeded_random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum role { ROLE_KEEP = 0, ROLE_WEIGHT, ROLE_ZERO, ROLE_ONE };

/* What becomes of a constant. */
struct fate {
    enum role role;
    double deviation; /* ROLE_WEIGHT */
};

/* Mean 0, variance 1 but for 2^-64 parts: each uniform is (k + 1/2) / 2^32, exact in a double. */
static double next_normal(uint64_t *state)
{
    uint64_t sum = 0;
    for (int i = 0; i < 6; i++) {
        uint64_t two = next_random(state);
        sum += (two >> 32) + (two & UINT32_MAX);
    }
    return ((double)sum + 6) * 0x1p-32 - 6;
}

static bool is_relu(uint32_t op)
{
    return pith_op_is(op, TRAIT_RECTIFIES);
}

/* Operators behind which a signal is still the sum that the weights made: normalized, pooled over a
 * small window (the mean of a whole picture is another signal), or all of it in another shape or
 * order. Of operators with several inputs Add alone: a Concat's next layer has more than one. */
static bool passes_on(uint32_t op)
{
    bool pools = op == PITH_OP_MAX_POOL || op == PITH_OP_AVERAGE_POOL;
    bool whole = (pith_op_get(op)->flags & OP_VIEW) != 0 || op == PITH_OP_TRANSPOSE;
    return pith_op_is(op, TRAIT_NORMALIZES) || pools || whole || op == PITH_OP_ADD;
}

/* Whether a ReLU takes what the node computes. reached: room for one flag a value. */
static bool meets_relu(const struct pith_model *m, uint32_t node, uint8_t *reached)
{
    memset(reached, 0, m->n_values);
    reached[m->nodes[node].out[0]] = 1;
    for (uint32_t i = node + 1; i < m->n_nodes; i++) {
        const struct pith_node *n = &m->nodes[i];
        bool takes = false;
        for (uint32_t k = 0; k < n->n_in; k++)
            takes = takes || (n->in[k] != PITH_VALUE_NONE && reached[n->in[k]]);
        if (takes && is_relu(n->op))
            return true;
        if (takes && passes_on(n->op))
            reached[n->out[0]] = 1;
    }
    return false;
}

/* How many products make one output. A transposed convolution spreads its input: of KH * KW taps
 * each output sees one in stride_h * stride_w. */
static double fan_in(const struct pith_model *m, const struct pith_weight_ref *ref)
{
    const struct pith_node *node = &m->nodes[ref->node];
    if (ref->op != PITH_OP_CONV_TRANSPOSE)
        return (double)ref->cols;
    const struct pith_value *w = &m->values[ref->value];
    double taps = (double)w->dim[0] / node->attr[ATTR_CONV_T_GROUP];
    for (uint32_t i = 2; i < w->rank; i++)
        taps *= w->dim[i];
    for (int32_t i = 0; i < node->attr[ATTR_CONV_T_STRIDES]; i++)
        taps /= node->attr[ATTR_CONV_T_STRIDES + 1 + i];
    return fmax(taps, 1);
}

/* Constant f32 inputs of the node from `first` on get the roles of the list, one letter each. */
static void set_roles(const struct pith_model *m, const struct pith_node *node, uint32_t first,
                      const char *roles, struct fate *fate)
{
    for (uint32_t i = 0; roles[i] && first + i < node->n_in; i++) {
        uint32_t v = node->in[first + i];
        if (v != PITH_VALUE_NONE && m->values[v].constant && m->values[v].type == PITH_F32 &&
            fate[v].role == ROLE_KEEP)
            fate[v].role = roles[i] == '1' ? ROLE_ONE : ROLE_ZERO;
    }
}

/* An Add of as many constants as there are channels is a bias; of one, a part of some formula. */
static void set_added(const struct pith_model *m, const struct pith_node *node, struct fate *fate)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct pith_value *v = &m->values[node->in[i]];
        if (v->constant && v->constant->count > 1)
            set_roles(m, node, i, "0", fate);
    }
}

static void set_beside(const struct pith_model *m, const struct pith_node *node, struct fate *fate)
{
    if (pith_op_has_weight(node->op) && pith_node_bias(node) != PITH_VALUE_NONE)
        set_roles(m, node, pith_op_traits(node->op).bias_input, "0", fate);
    else if (pith_op_is(node->op, TRAIT_NORMALIZES))
        set_roles(m, node, 1, "1001",
                  fate); /* scale, bias; of a BatchNormalization mean, variance */
    else if (node->op == PITH_OP_ADD)
        set_added(m, node, fate);
}

static void apply(struct pith_value *v, const struct fate *f, uint64_t *state)
{
    struct pith_const *c = v->constant;
    float *data = c->data;
    for (uint64_t i = 0; i < c->count; i++)
        data[i] = f->role == ROLE_WEIGHT ? (float)(next_normal(state) * f->deviation)
                                         : (float)(f->role == ROLE_ONE);
    c->mask = NULL;
    c->codebook = NULL;
    c->code = PITH_CODE_PLAIN;
}

enum pith_status pith_model_draw_weights(struct pith_model *m, uint64_t seed,
                                         struct pith_error *err)
{
    if (!m)
        return PITH_ERR_ARGUMENT;
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    struct fate *fate = calloc(m->n_values + 1u, sizeof *fate);
    uint8_t *reached = calloc(m->n_values + 1u, 1);
    enum pith_status status = refs && fate && reached ? PITH_OK : pith_error_no_memory(err);
    uint32_t n = status ? 0 : pith_model_weights(m, refs);
    if (!status && n == 0)
        status = pith_error_fill(err, PITH_ERR_UNSUPPORTED, "the network has no weights to draw");
    for (uint32_t i = 0; i < n; i++) {
        double gain = meets_relu(m, refs[i].node, reached) ? 2 : 1;
        fate[refs[i].value] = (struct fate){ROLE_WEIGHT, sqrt(gain / fan_in(m, &refs[i]))};
    }
    for (uint32_t i = 0; i < m->n_nodes && !status; i++)
        set_beside(m, &m->nodes[i], fate);
    for (uint32_t i = 0; i < m->n_values && !status; i++) {
        m->values[i].min = INFINITY;
        m->values[i].max = -INFINITY;
        m->values[i].n_observed = 0;
        m->values[i].stats = NULL;
        m->values[i].grid = NULL;
        if (fate[i].role != ROLE_KEEP)
            apply(&m->values[i], &fate[i], &seed);
    }
    if (!status)
        m->n_history = 0;
    free(refs);
    free(fate);
    free(reached);
    return status;
}
