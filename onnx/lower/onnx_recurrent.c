/* SPDX-License-Identifier: MIT */
/* onnx_recurrent.c - RNN, GRU and LSTM as what the runtime has: for each direction
 *
 *     x [T,N,I] -- MatMul(W_d) --(+ bias)-- RECURRENT(R_d) --> y [T,N,H], h [N,H], c [N,H]
 *
 * and around it what brings the operands of that direction out of ONNX's stacked ones, and the
 * results into its outputs. Operands that are constant are cut apart here and now (onnx_fold.c);
 * others when the network runs.
 *
 * Both biases are added up and ride on the recurrent product, which adds them for free; only a GRU
 * that is linear before its reset needs them apart: the input's is then added to the product of
 * the input. */
#include "onnx/graph/onnx.h"
#include "op_interface/op_attr.h"

#include <stdio.h>

enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H0, IN_C0, IN_P };

struct layer {
    enum recurrent_kind kind;
    bool batch_first; /* layout 1 */
    bool linear_before_reset;
    uint32_t n_directions, n_gates, n_acts;
    bool reverse; /* of a single direction */
    uint32_t h;
    uint32_t x;                      /* [T,N,I] */
    uint32_t out[2][3];              /* by direction: y, h, c */
    bool wanted[3];                  /* of the node's outputs */
    int64_t act[2][3];               /* enum recurrent_act */
    int64_t alpha[2][3], beta[2][3]; /* bits */
    bool acts_given;
};

struct act_name {
    const char *name; /* lower case: exporters do not agree on it */
    bool takes_alpha, takes_beta;
    float alpha, beta;
};

/* Defaults of alpha and beta are onnxruntime's. */
static const struct act_name act_names[RECURRENT_ACT_END] = {
    [RECURRENT_SIGMOID] = {"sigmoid", false, false, 0.0f, 0.0f},
    [RECURRENT_TANH] = {"tanh", false, false, 0.0f, 0.0f},
    [RECURRENT_RELU] = {"relu", false, false, 0.0f, 0.0f},
    [RECURRENT_AFFINE] = {"affine", true, true, 0.0f, 0.0f},
    [RECURRENT_LEAKY_RELU] = {"leakyrelu", true, false, 0.01f, 0.0f},
    [RECURRENT_THRESHOLDED] = {"thresholdedrelu", true, false, 1.0f, 0.0f},
    [RECURRENT_SCALED_TANH] = {"scaledtanh", true, true, 0.0f, 0.0f},
    [RECURRENT_HARD_SIGMOID] = {"hardsigmoid", true, true, 0.2f, 0.5f},
    [RECURRENT_ELU] = {"elu", true, false, 1.0f, 0.0f},
    [RECURRENT_SOFTSIGN] = {"softsign", false, false, 0.0f, 0.0f},
    [RECURRENT_SOFTPLUS] = {"softplus", false, false, 0.0f, 0.0f},
};

/* ---- attributes ----------------------------------------------------------------------------- */

static bool same_name(const char *name, const ProtobufCBinaryData *text)
{
    size_t n = strlen(name);
    if (text->len != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = (char)text->data[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != name[i])
            return false;
    }
    return true;
}

static enum pith_status find_act(struct onnx_lower *l, const ProtobufCBinaryData *text,
                                 int64_t *act)
{
    for (*act = 0; *act < RECURRENT_ACT_END; ++*act)
        if (same_name(act_names[*act].name, text))
            return PITH_OK;
    return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "activation '%.*s' is not known",
                               text->len < 40 ? (int)text->len : 40,
                               text->data ? (const char *)text->data : "");
}

/* The next of a list of alphas or betas that only functions which have one take from. */
static int64_t next_float(const Onnx__AttributeProto *a, bool takes, float def, size_t *at)
{
    float v = def;
    if (takes && a && *at < a->n_floats)
        v = a->floats[(*at)++];
    return (int32_t)f32_bits(v);
}

static enum pith_status read_activations(struct onnx_lower *l, struct layer *y)
{
    const Onnx__AttributeProto *names = pith_onnx_attr(l, "activations");
    const Onnx__AttributeProto *alpha = pith_onnx_attr(l, "activation_alpha");
    const Onnx__AttributeProto *beta = pith_onnx_attr(l, "activation_beta");
    size_t at_alpha = 0, at_beta = 0, n = (size_t)y->n_directions * y->n_acts;
    if (!names || names->n_strings == 0)
        return PITH_OK;
    if (names->n_strings != n)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has %zu activations, not %zu",
                                   names->n_strings, n);
    y->acts_given = true;
    for (uint32_t d = 0; d < y->n_directions; d++)
        for (uint32_t i = 0; i < y->n_acts; i++) {
            enum pith_status status =
                find_act(l, &names->strings[d * y->n_acts + i], &y->act[d][i]);
            if (status)
                return status;
            const struct act_name *act = &act_names[y->act[d][i]];
            y->alpha[d][i] = next_float(alpha, act->takes_alpha, act->alpha, &at_alpha);
            y->beta[d][i] = next_float(beta, act->takes_beta, act->beta, &at_beta);
        }
    return PITH_OK;
}

static enum pith_status set_activations(struct onnx_lower *sub, const struct layer *y, uint32_t d)
{
    bool any_alpha = false, any_beta = false;
    if (!y->acts_given)
        return PITH_OK;
    for (uint32_t i = 0; i < y->n_acts; i++) {
        any_alpha = any_alpha || act_names[y->act[d][i]].takes_alpha;
        any_beta = any_beta || act_names[y->act[d][i]].takes_beta;
    }
    enum pith_status status =
        pith_onnx_set_ints(sub, "activations", ATTR_RECURRENT_ACT, y->act[d], y->n_acts);
    if (!status && any_alpha)
        status = pith_onnx_set_ints(sub, "activation_alpha", ATTR_RECURRENT_ALPHA, y->alpha[d],
                                    y->n_acts);
    if (!status && any_beta)
        status =
            pith_onnx_set_ints(sub, "activation_beta", ATTR_RECURRENT_BETA, y->beta[d], y->n_acts);
    return status;
}

/* ---- operands ------------------------------------------------------------------------------- */

static enum pith_status check_rank(struct onnx_lower *l, uint32_t i, const char *name,
                                   uint32_t rank, uint32_t dim0)
{
    if (!pith_onnx_has_input(l, i))
        return PITH_OK;
    const struct shape *s = pith_onnx_in_shape(l, i);
    if (l->im->values[l->in[i]].empty || s->rank != rank)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %s does not have %u dims", name,
                                   rank);
    if (dim0 && s->dim[0] != dim0)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %s has %u for %u directions", name,
                                   s->dim[0], dim0);
    return PITH_OK;
}

static enum pith_status check_operands(struct onnx_lower *l, struct layer *y)
{
    uint32_t d = y->n_directions;
    for (uint32_t i = IN_X; i <= IN_R; i++)
        if (!pith_onnx_has_input(l, i))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input %u is missing", i);
    enum pith_status status = check_rank(l, IN_X, "X", 3, 0);
    if (!status)
        status = check_rank(l, IN_W, "W", 3, d);
    if (!status)
        status = check_rank(l, IN_R, "R", 3, d);
    if (!status)
        status = check_rank(l, IN_B, "B", 2, d);
    if (!status)
        status = check_rank(l, IN_H0, "initial_h", 3, y->batch_first ? 0 : d);
    if (!status && y->kind == RECURRENT_LSTM)
        status = check_rank(l, IN_C0, "initial_c", 3, y->batch_first ? 0 : d);
    if (!status && y->kind == RECURRENT_LSTM)
        status = check_rank(l, IN_P, "P", 2, d);
    if (status)
        return status;
    const struct shape *r = pith_onnx_in_shape(l, IN_R), *w = pith_onnx_in_shape(l, IN_W);
    const struct shape *x = pith_onnx_in_shape(l, IN_X);
    y->h = r->dim[2];
    uint64_t rows = (uint64_t)y->n_gates * y->h;
    int64_t hidden;
    status = pith_onnx_get_int(l, "hidden_size", y->h, &hidden);
    if (status)
        return status;
    if (hidden != y->h || r->dim[1] != rows || w->dim[1] != rows || w->dim[2] != x->dim[2])
        return pith_onnx_node_fail(
            l, PITH_ERR_CORRUPT,
            "W %ux%ux%u and R %ux%ux%u do not fit %u gates of %lld on inputs of %u", w->dim[0],
            w->dim[1], w->dim[2], r->dim[0], r->dim[1], r->dim[2], y->n_gates, (long long)hidden,
            x->dim[2]);
    return PITH_OK;
}

/* One step of operator `op` on *value, which it replaces. */
static enum pith_status open_on(struct onnx_lower *l, enum pith_op op, uint32_t *value,
                                uint32_t *in, struct onnx_lower *sub)
{
    *in = *value;
    enum pith_status status = pith_onnx_open_step(l, op, false, sub, value);
    sub->in = in;
    return status;
}

/* [begin, end) of an axis. */
static enum pith_status slice(struct onnx_lower *l, uint32_t axis, uint64_t begin, uint64_t end,
                              uint32_t *value)
{
    struct onnx_lower sub;
    uint32_t in;
    enum pith_status status = open_on(l, PITH_OP_SLICE, value, &in, &sub);
    const int64_t a = axis, b = (int64_t)begin, e = (int64_t)end;
    if (!status)
        status = pith_onnx_set_ints(&sub, "axes", ATTR_SLICE_AXES, &a, 1);
    if (!status)
        status = pith_onnx_set_ints(&sub, "starts", ATTR_SLICE_STARTS, &b, 1);
    if (!status)
        status = pith_onnx_set_ints(&sub, "ends", ATTR_SLICE_ENDS, &e, 1);
    return status ? status : pith_onnx_finish(&sub);
}

static enum pith_status squeeze(struct onnx_lower *l, uint32_t axis, uint32_t *value)
{
    struct onnx_lower sub;
    uint32_t in;
    enum pith_status status = open_on(l, PITH_OP_SQUEEZE, value, &in, &sub);
    sub.attr[ATTR_AXES] = 1;
    sub.attr[ATTR_AXES + 1] = (int32_t)axis;
    return status ? status : pith_onnx_finish(&sub);
}

static enum pith_status swap_batch(struct onnx_lower *l, uint32_t *value)
{
    static const int64_t perm[] = {1, 0, 2};
    struct onnx_lower sub;
    uint32_t in;
    enum pith_status status = open_on(l, PITH_OP_TRANSPOSE, value, &in, &sub);
    if (!status)
        status = pith_onnx_set_ints(&sub, "perm", ATTR_PERM, perm, 3);
    return status ? status : pith_onnx_finish(&sub);
}

static enum pith_status sum(struct onnx_lower *l, uint32_t a, uint32_t b, uint32_t *value)
{
    struct onnx_lower sub;
    uint32_t in[2] = {a, b};
    enum pith_status status = pith_onnx_open_step(l, PITH_OP_ADD, false, &sub, value);
    sub.in = in;
    sub.n_in = 2;
    return status ? status : pith_onnx_finish(&sub);
}

/* A constant part keeps the name its whole has, so that patterns match it and reports name it. */
static enum pith_status keep_name(struct onnx_lower *l, const struct layer *y, uint32_t whole,
                                  uint32_t d, uint32_t part)
{
    const char *name = l->im->values[whole].name;
    if (part == whole || !l->im->values[part].constant)
        return PITH_OK;
    if (y->n_directions > 1) {
        size_t room = strlen(name) + sizeof ".backward";
        char *text = pith_onnx_alloc(&l->im->budget, room, 1);
        if (!text)
            return pith_onnx_no_memory(l->im);
        snprintf(text, room, "%s.%s", name, d ? "backward" : "forward");
        name = text;
    }
    l->im->values[part].name = name;
    return PITH_OK;
}

/* Input i without its axis of directions, the entry of direction d; ONNX_VALUE_NONE: not given. */
static enum pith_status operand(struct onnx_lower *l, const struct layer *y, uint32_t i,
                                uint32_t axis, uint32_t d, uint32_t *value)
{
    *value = ONNX_VALUE_NONE;
    if (!pith_onnx_has_input(l, i))
        return PITH_OK;
    *value = l->in[i];
    enum pith_status status = PITH_OK;
    if (y->n_directions > 1)
        status = slice(l, axis, d, d + 1, value);
    if (!status)
        status = squeeze(l, axis, value);
    return status ? status : keep_name(l, y, l->in[i], d, *value);
}

/* ---- one direction -------------------------------------------------------------------------- */

/* The biases of direction d: of the gates' input (ONNX_VALUE_NONE: all of it is in the other), and
 * of the recurrent product. */
static enum pith_status biases(struct onnx_lower *l, const struct layer *y, uint32_t d,
                               uint32_t *of_input, uint32_t *of_product)
{
    uint32_t both, rows = y->n_gates * y->h;
    *of_input = *of_product = ONNX_VALUE_NONE;
    enum pith_status status = operand(l, y, IN_B, 0, d, &both);
    if (status || both == ONNX_VALUE_NONE)
        return status;
    uint32_t w = both, r = both;
    status = slice(l, 0, 0, rows, &w);
    if (!status)
        status = slice(l, 0, rows, 2 * (uint64_t)rows, &r);
    if (status)
        return status;
    if (!y->linear_before_reset)
        return sum(l, w, r, of_product);
    *of_input = w;
    *of_product = r;
    return PITH_OK;
}

/* x W^T + bias, [T,N,G*H] */
static enum pith_status project(struct onnx_lower *l, const struct layer *y, uint32_t d,
                                uint32_t bias, uint32_t *value)
{
    struct onnx_lower sub;
    uint32_t in[2] = {y->x, ONNX_VALUE_NONE};
    enum pith_status status = operand(l, y, IN_W, 0, d, &in[1]);
    if (!status)
        status = pith_onnx_open_step(l, PITH_OP_MATMUL, false, &sub, value);
    if (status)
        return status;
    sub.in = in;
    sub.n_in = 2;
    sub.attr[ATTR_MATMUL_TRANS_B] = 1;
    status = pith_onnx_finish(&sub);
    if (status || bias == ONNX_VALUE_NONE)
        return status;
    return sum(l, *value, bias, value);
}

static enum pith_status set_attributes(struct onnx_lower *sub, const struct layer *y, uint32_t d)
{
    sub->attr[ATTR_RECURRENT_KIND] = (int32_t)y->kind;
    sub->attr[ATTR_RECURRENT_REVERSE] = d == 1 || y->reverse;
    enum pith_status status = PITH_OK;
    if (pith_onnx_attr(sub, "clip")) /* its default, infinity, is no value that can be given */
        status = pith_onnx_take_float(sub, "clip", ATTR_RECURRENT_CLIP);
    if (!status && y->kind == RECURRENT_GRU)
        status = pith_onnx_take_int(sub, "linear_before_reset", ATTR_RECURRENT_LINEAR_BEFORE_RESET);
    if (!status && y->kind == RECURRENT_LSTM)
        status = pith_onnx_take_int(sub, "input_forget", ATTR_RECURRENT_INPUT_FORGET);
    return status ? status : set_activations(sub, y, d);
}

/* The RECURRENT node, its inputs in `in`. */
static enum pith_status recur(struct onnx_lower *l, struct layer *y, uint32_t d, uint32_t *in)
{
    struct onnx_lower sub;
    enum pith_status status = pith_onnx_open_step(l, PITH_OP_RECURRENT, false, &sub, &y->out[d][0]);
    if (status)
        return status;
    const char *name = l->im->values[y->out[d][0]].name;
    sub.n_out = y->wanted[2] ? 3 : y->wanted[1] ? 2 : 1;
    for (uint32_t i = 1; i < sub.n_out; i++) { /* new values have consecutive numbers */
        y->out[d][i] = pith_onnx_add_value(l->im, name);
        if (y->out[d][i] == ONNX_VALUE_NONE)
            return pith_onnx_no_memory(l->im);
    }
    sub.in = in;
    sub.n_in = y->kind == RECURRENT_LSTM ? 7 : 5;
    status = set_attributes(&sub, y, d);
    return status ? status : pith_onnx_finish(&sub);
}

static enum pith_status lower_direction(struct onnx_lower *l, struct layer *y, uint32_t d)
{
    uint32_t in[7], bias, state_axis = y->batch_first;
    for (uint32_t i = 0; i < 7; i++)
        in[i] = ONNX_VALUE_NONE;
    enum pith_status status = biases(l, y, d, &bias, &in[2]);
    if (!status)
        status = project(l, y, d, bias, &in[0]);
    if (!status)
        status = operand(l, y, IN_R, 0, d, &in[1]);
    if (pith_onnx_has_input(l, IN_LENGTHS))
        in[3] = l->in[IN_LENGTHS];
    if (!status)
        status = operand(l, y, IN_H0, state_axis, d, &in[4]);
    if (!status && y->kind == RECURRENT_LSTM)
        status = operand(l, y, IN_C0, state_axis, d, &in[5]);
    if (!status && y->kind == RECURRENT_LSTM)
        status = operand(l, y, IN_P, 0, d, &in[6]);
    return status ? status : recur(l, y, d, in);
}

/* ---- outputs -------------------------------------------------------------------------------- */

/* The last node of output o of l: its value is the node's own. */
static enum pith_status open_output(struct onnx_lower *l, enum pith_op op, uint32_t o,
                                    struct onnx_lower *sub)
{
    uint32_t out;
    enum pith_status status = pith_onnx_open_step(l, op, true, sub, &out);
    sub->first_out = l->first_out + o;
    return status;
}

static enum pith_status put_output(struct onnx_lower *l, const struct layer *y, uint32_t o)
{
    /* y [T,N,H] -> [T,D,N,H], or [N,T,H] -> [N,T,D,H]; h [N,H] -> [D,N,H] or [N,D,H] */
    uint32_t axis = y->batch_first ? (o == 0 ? 2 : 1) : o == 0 ? 1 : 0;
    uint32_t part[2], in;
    struct onnx_lower sub;
    enum pith_status status = PITH_OK;
    for (uint32_t d = 0; d < y->n_directions && !status; d++) {
        part[d] = y->out[d][o];
        if (o == 0 && y->batch_first)
            status = swap_batch(l, &part[d]);
        in = part[d];
        if (!status && y->n_directions == 1)
            status = open_output(l, PITH_OP_UNSQUEEZE, o, &sub);
        else if (!status)
            status = pith_onnx_open_step(l, PITH_OP_UNSQUEEZE, false, &sub, &part[d]);
        if (status)
            return status;
        sub.in = &in;
        sub.attr[ATTR_AXES] = 1;
        sub.attr[ATTR_AXES + 1] = (int32_t)axis;
        status = pith_onnx_finish(&sub);
    }
    if (status || y->n_directions == 1)
        return status;
    status = open_output(l, PITH_OP_CONCAT, o, &sub);
    sub.in = part;
    sub.n_in = 2;
    sub.attr[ATTR_AXIS] = (int32_t)axis;
    return status ? status : pith_onnx_finish(&sub);
}

/* ---- the node ------------------------------------------------------------------------------- */

static enum pith_status read_layer(struct onnx_lower *l, struct layer *y)
{
    static const char *const directions[] = {"forward", "reverse", "bidirectional", NULL};
    const char *op = l->node->op_type;
    uint32_t direction;
    int64_t layout, linear = 0;
    *y = (struct layer){.kind = op[0] == 'L'   ? RECURRENT_LSTM
                                : op[0] == 'G' ? RECURRENT_GRU
                                               : RECURRENT_RNN};
    y->n_gates = y->kind == RECURRENT_LSTM ? 4 : y->kind == RECURRENT_GRU ? 3 : 1;
    y->n_acts = (uint32_t)y->kind + 1;
    enum pith_status status = pith_onnx_get_choice(l, "direction", directions, 0, &direction);
    if (!status)
        status = pith_onnx_get_int(l, "layout", 0, &layout);
    if (!status && y->kind == RECURRENT_GRU)
        status = pith_onnx_get_int(l, "linear_before_reset", 0, &linear);
    if (status)
        return status;
    if (layout != 0 && layout != 1)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "layout %lld is not 0 or 1",
                                   (long long)layout);
    y->n_directions = direction == 2 ? 2 : 1;
    y->reverse = direction == 1;
    y->batch_first = layout == 1;
    y->linear_before_reset = linear != 0;
    uint32_t n_out = y->kind == RECURRENT_LSTM ? 3 : 2;
    if (l->n_out > n_out)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "it has %u outputs", l->n_out);
    for (uint32_t i = 0; i < l->n_out; i++)
        y->wanted[i] = l->im->values[l->first_out + i].live;
    status = read_activations(l, y);
    return status ? status : check_operands(l, y);
}

enum pith_status pith_lower_recurrent(struct onnx_lower *l)
{
    struct layer y;
    enum pith_status status = read_layer(l, &y);
    if (status)
        return status;
    l->done = true;
    y.x = l->in[IN_X];
    if (y.batch_first)
        status = swap_batch(l, &y.x);
    for (uint32_t d = 0; d < y.n_directions && !status; d++)
        status = lower_direction(l, &y, d);
    for (uint32_t o = 0; o < l->n_out && !status; o++)
        if (y.wanted[o])
            status = put_output(l, &y, o);
    return status;
}
