/* SPDX-License-Identifier: MIT */
/* op_recurrent.c - RNN, GRU and LSTM: one direction of one layer. What depends on the input alone,
 * x W^T for all steps at once, is an ordinary MatMul in front; what is left is a loop over the
 * steps with one product h R^T in each, which recurrent_product.h runs from whatever form of R is
 * fastest.
 *
 * Gates stand side by side in ONNX's order, a row of u is one sequence of the batch:
 *
 *     LSTM  u = x_t + h R^T + b          i o f = f(u_i + P_i C, u_o + P_o C', u_f + P_f C)
 *                                        C' = f C + i g(u_c),  h' = o h(C')
 *     GRU   z r = f(u_z, u_r)            h' = (1 - z) g(u_h) + z h
 *           u_h = x_h + (r h) R_h^T + b_h, or linear before reset x_h + r (h R_h^T + b_h)
 *     RNN   h' = f(u)
 *
 * C' is the new cell: the output gate's peephole sees it. Clip bounds what f and g get, not what
 * h gets. A sequence of length n < T takes its first n steps, in reverse from step n - 1 down; y
 * is 0 beyond. A sequence of length 0 ends with h = c = 0 whatever it began with, as in
 * onnxruntime.
 *
 * ONNX RNN-14, GRU-14, LSTM-14; a bidirectional layer is two of these and a Concat (import).
 * LSTM is that of Hochreiter and Schmidhuber 1997 with the forget gate and peepholes of Gers et
 * al. 2000 and 2002; GRU that of Cho et al. 2014, its second form cuDNN's.
 *
 * Within a step rows of the batch are independent and threads share them; the product h R^T is
 * shared by outputs. Both keep every sum whole, so no result depends on threads. */
#include "kernels/ref/exp_log_f32.h"
#include "kernels/ref/elementary_f32.h"
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/op_range.h"
#include "op_interface/op_attr.h"
#include "products/recurrent_product.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"

#define F32_INF 0x7f800000

/* In the order of the format. IN_X is x W^T already. */
enum { IN_X, IN_R, IN_BIAS, IN_LENGTHS, IN_H0, IN_C0, IN_PEEPHOLES, N_IN };
enum { OUT_Y, OUT_H, OUT_C };
enum { N_ACTS = 3 };

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_RECURRENT_KIND, -1, 0, RECURRENT_END - 1},
    {ATTR_INT, ATTR_RECURRENT_REVERSE, 0, 0, 1},
    {ATTR_INT, ATTR_RECURRENT_LINEAR_BEFORE_RESET, 0, 0, 1},
    {ATTR_INT, ATTR_RECURRENT_INPUT_FORGET, 0, 0, 1},
    {ATTR_FLOAT, ATTR_RECURRENT_CLIP, F32_INF, 0, 1},
    {ATTR_LIST, ATTR_RECURRENT_ACT, 0, 0, RECURRENT_ACT_END - 1},
    {ATTR_LIST, ATTR_RECURRENT_ALPHA, 0, INT32_MIN, INT32_MAX},
    {ATTR_LIST, ATTR_RECURRENT_BETA, 0, INT32_MIN, INT32_MAX},
};

/* Gates whose products stand side by side, and functions a cell has. */
static const uint32_t n_gates[RECURRENT_END] = {1, 3, 4}, n_acts[RECURRENT_END] = {1, 2, 3};

static const struct tview *input(const struct op_args *args, uint32_t i)
{
    return i < args->n_in ? args->in[i] : NULL;
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* Absent, or of this type and shape. By value: shapes are built where they are compared. */
static enum pith_status fits(const struct tview *v, enum pith_type type, struct shape shape)
{
    if (!v)
        return PITH_OK;
    if (v->type != type)
        return PITH_ERR_UNSUPPORTED;
    return pith_shape_equal(&v->shape, &shape) ? PITH_OK : PITH_ERR_CORRUPT;
}

/* A list of floats: empty or one for each activation, all finite. Nan and infinity as alpha
 * would make every later check of ranges void. */
static bool floats_ok(const int32_t *attr, uint32_t slot, uint32_t n)
{
    uint32_t count = attr_count(attr, slot);
    for (uint32_t i = 0; i < count; i++)
        if (((uint32_t)attr[slot + 1 + i] & 0x7fffffffu) >= F32_INF)
            return false;
    return count == 0 || count == n;
}

/* What a kind does not have must be absent, so that no reader has to check again. */
static bool attributes_ok(const struct op_args *args)
{
    const int32_t *attr = args->attr;
    int32_t kind = attr[ATTR_RECURRENT_KIND];
    uint32_t acts = attr_count(attr, ATTR_RECURRENT_ACT);
    bool lstm = kind == RECURRENT_LSTM;
    if (!lstm && (attr[ATTR_RECURRENT_INPUT_FORGET] || input(args, IN_C0) ||
                  input(args, IN_PEEPHOLES) || args->n_out > OUT_C))
        return false;
    if (kind != RECURRENT_GRU && attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET])
        return false;
    return (acts == 0 || acts == n_acts[kind]) && attr_f32(attr, ATTR_RECURRENT_CLIP) >= 0.0f &&
           floats_ok(attr, ATTR_RECURRENT_ALPHA, n_acts[kind]) &&
           floats_ok(attr, ATTR_RECURRENT_BETA, n_acts[kind]);
}

static enum pith_status shape_recurrent(const struct op_args *args)
{
    enum pith_status status = pith_in_f32(args, 2);
    if (status)
        return status;
    const struct shape *x = &args->in[IN_X]->shape, *r = &args->in[IN_R]->shape;
    if (!attributes_ok(args) || x->rank != 3 || r->rank != 2)
        return PITH_ERR_CORRUPT;
    uint32_t n = x->dim[1], h = r->dim[1];
    /* Both factors are below 2^31. */
    uint64_t rows = (uint64_t)n_gates[args->attr[ATTR_RECURRENT_KIND]] * h;
    if (rows != r->dim[0] || rows != x->dim[2])
        return PITH_ERR_CORRUPT;
    const struct shape row = {.rank = 1, .dim = {r->dim[0]}}, state = {.rank = 2, .dim = {n, h}};
    const struct shape batch = {.rank = 1, .dim = {n}};
    status = fits(input(args, IN_BIAS), PITH_F32, row);
    if (!status)
        status = fits(input(args, IN_LENGTHS), PITH_I32, batch);
    for (uint32_t i = IN_H0; i <= IN_C0 && !status; i++)
        status = fits(input(args, i), PITH_F32, state);
    if (!status && input(args, IN_PEEPHOLES)) /* only LSTM has them: 3 h fits, as 4 h does */
        status = fits(input(args, IN_PEEPHOLES), PITH_F32, (struct shape){1, {3 * h}});
    const struct shape y = {.rank = 3, .dim = {x->dim[0], n, h}};
    if (!status)
        status = pith_out_set(args->out[OUT_Y], PITH_F32, &y);
    for (uint32_t i = OUT_H; i < args->n_out && !status; i++)
        status = pith_out_set(args->out[i], PITH_F32, &state);
    return status;
}

/* ---- memory --------------------------------------------------------------------------------- */

static void set_product(const struct op_args *args, struct recurrent_product *p)
{
    const struct shape *r = &args->in[IN_R]->shape;
    const int32_t *attr = args->attr;
    *p = (struct recurrent_product){.batch = args->in[IN_X]->shape.dim[1],
                                    .hidden = r->dim[1],
                                    .rows = r->dim[0],
                                    .has_bias = input(args, IN_BIAS) != NULL};
    /* The hidden gate's product waits for the reset gate. split: columns of the first product;
     * those behind it are run when r is known. */
    if (attr[ATTR_RECURRENT_KIND] == RECURRENT_GRU && !attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET])
        p->split = 2 * p->hidden;
}

static struct recurrent_data recurrent_data_of(const struct op_args *args)
{
    const struct tview *bias = input(args, IN_BIAS);
    return (struct recurrent_data){.r = args->in[IN_R]->data,
                                   .weight = args->weight,
                                   .bias = bias ? bias->data : NULL,
                                   .prep = args->prep};
}

_Static_assert(sizeof(struct recurrent_product) <= OP_LOWERED_MAX, "planning reserves more");

static uint32_t recurrent_lowered_bytes(const struct op_args *args, const struct op_env *env)
{
    (void)args;
    (void)env;
    return sizeof(struct recurrent_product);
}

/* Floats, in units of 16: u [N, G*H], h [N, H], and c (LSTM) or r h (GRU) [N, H]. Rounded to a
 * cache line, so that states and products never share one. */
struct state_size {
    uint64_t u, h;
};

static struct state_size state_size(const struct recurrent_product *p)
{
    struct state_size s = {((uint64_t)p->batch * p->rows + 15) & ~UINT64_C(15),
                           ((uint64_t)p->batch * p->hidden + 15) & ~UINT64_C(15)};
    return s; /* x holds as many elements as u: these cannot overflow */
}

static enum pith_status need_recurrent(const struct op_args *args, const struct op_env *env,
                                       struct op_need *need)
{
    struct recurrent_product *p = args->lowered;
    set_product(args, p);
    enum pith_status status = pith_recurrent_product_need(p, args->weight, env, need);
    if (status)
        return status;
    /* What is made of R depends on the batch, too: few rows are streamed, many use panels. */
    need->prep_form = prep_form(PREP_RECURRENT, p->batch << 1 | (p->split != 0)); /* batch < 2^31 */
    struct state_size s = state_size(p);
    if (!mul_ok(need->macs, args->in[IN_X]->shape.dim[0], &need->macs))
        need->macs = UINT64_MAX;
    return add_ok(need->scratch_bytes, (s.u + 2 * s.h) * sizeof(float), &need->scratch_bytes)
               ? PITH_OK
               : PITH_ERR_LIMIT;
}

/* Without a constant R there is nothing to make. */
static enum pith_status prepare_recurrent(const struct op_args *args, const struct op_env *env)
{
    struct recurrent_data d = recurrent_data_of(args);
    return args->weight ? pith_recurrent_product_prepare(args->lowered, &d, env) : PITH_OK;
}

/* ---- gates ---------------------------------------------------------------------------------- */

struct activation {
    enum recurrent_act kind;
    float alpha, beta;
};

/* Loops this short are clearer as one macro than as twelve functions. */
#define EACH(value)                                                                                \
    for (size_t i = 0; i < n; i++)                                                                 \
    x[i] = (value)

/* What networks seldom have; built for size. They cost calls a step, which does not show beside
 * the product. */
static __attribute__((cold, noinline)) void
rare_activation(const struct row_kernels *row, struct activation act, float *x, size_t n)
{
    const float a = act.alpha, b = act.beta;
    switch (act.kind) {
    case RECURRENT_RELU:
        EACH(choose(x[i] < 0.0f, 0.0f, x[i]));
        break;
    case RECURRENT_AFFINE:
        EACH(a * x[i] + b);
        break;
    case RECURRENT_LEAKY_RELU:
        EACH(choose(x[i] < 0.0f, a * x[i], x[i]));
        break;
    case RECURRENT_THRESHOLDED:
        EACH(choose(x[i] > a || x[i] != x[i], x[i], 0.0f));
        break;
    case RECURRENT_SCALED_TANH:
        EACH(b * x[i]);
        /* The scaled tanh by the same tanh as all others, hence the same bits on every machine. */
        row->tanh(x, x, n);
        EACH(a * x[i]);
        break;
    case RECURRENT_HARD_SIGMOID:
        EACH(a * x[i] + b);
        EACH(choose(x[i] < 0.0f, 0.0f, x[i]));
        EACH(choose(x[i] > 1.0f, 1.0f, x[i]));
        break;
    case RECURRENT_ELU:
        pith_elu_row_f32(1.0f, a, 1.0f, x, x, n);
        break;
    case RECURRENT_SOFTSIGN:
        EACH(x[i] / (1.0f + choose(x[i] < 0.0f, -x[i], x[i])));
        break;
    case RECURRENT_SOFTPLUS:
        pith_softplus_row_f32(x, x, n);
        break;
    case RECURRENT_SIGMOID:
    case RECURRENT_TANH:
    case RECURRENT_ACT_END:
        break;
    }
}

/* x[i] = act(x[i]), i < n. */
static void activate(const struct row_kernels *row, struct activation act, float *x, size_t n)
{
    if (act.kind == RECURRENT_SIGMOID)
        row->sigmoid(x, x, n);
    else if (act.kind == RECURRENT_TANH)
        row->tanh(x, x, n);
    else
        rare_activation(row, act, x, n);
}

/* Views into inputs, outputs and scratch of one run. Shapes: T steps, N sequences, H wide, G
 * gates. */
struct recurrent {
    const struct row_kernels *row;
    enum recurrent_kind kind;
    bool reverse, input_forget;
    uint32_t n_steps, batch, width; /* T, N, H */
    uint32_t rows;                  /* G * H */
    float clip;
    bool clips;
    struct activation act[N_ACTS];
    const float *x;        /* [T, N, G*H] */
    const int32_t *length; /* [N] or NULL: all T */
    const float *peephole; /* [3, H] or NULL */
    float *u;              /* [N, G*H]; GRU whose product waits: [N, 2H], then [N, H] */
    float *h, *c;          /* [N, H]; GRU: c holds r h */
    float *y;              /* [T, N, H] */
    uint32_t step;
};

/* A clip is ONNX's guard against exploding gates; exporters hardly ever write it. */
static __attribute__((cold, noinline)) void clip(const struct recurrent *s, float *x, size_t n)
{
    const float lo = -s->clip, hi = s->clip;
    EACH(choose(x[i] < lo, lo, x[i]));
    EACH(choose(x[i] > hi, hi, x[i]));
}

/* Clip first, as ONNX defines it: it bounds what the function gets. */
static void gate(const struct recurrent *s, uint32_t act, float *x, size_t n)
{
    if (s->clips)
        clip(s, x, n);
    activate(s->row, s->act[act], x, n);
}

static void add(float *u, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        u[i] += x[i];
}

static void add_product(float *u, const float *p, const float *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        u[i] += p[i] * c[i];
}

/* x: one row [4H] of the input's part; u, h, c: of this sequence. */
static void lstm_row(const struct recurrent *s, const float *x, float *u, float *h, float *c)
{
    const size_t n = s->width;
    float *in = u, *out = u + n, *forget = u + 2 * n, *cell = u + 3 * n;
    const float *p = s->peephole;
    /* Input and forget gate see the old cell, the output gate the new one, so with peepholes
     * they are not activated together. */
    add(u, x, 4 * n);
    if (p) {
        add_product(in, p, c, n);
        add_product(forget, p + 2 * n, c, n);
        gate(s, 0, in, n);
        gate(s, 0, forget, n);
    } else {
        gate(s, 0, u, 3 * n);
    }
    /* CIFG (Greff et al. 2017): the forget gate is what the input gate leaves. */
    if (s->input_forget)
        for (size_t i = 0; i < n; i++)
            forget[i] = 1.0f - in[i];
    gate(s, 1, cell, n);
    for (size_t i = 0; i < n; i++)
        c[i] = forget[i] * c[i] + in[i] * cell[i];
    if (p) {
        add_product(out, p + n, c, n);
        gate(s, 0, out, n);
    }
    /* h(C') in the room of the cell gate, which is used up. */
    memcpy(cell, c, n * sizeof *c);
    activate(s->row, s->act[2], cell, n);
    for (size_t i = 0; i < n; i++)
        h[i] = out[i] * cell[i];
}

/* h' of z and the new value. (1 - z) first: the roundings of ONNX's formula in its order. */
static void gru_mix(const float *z, const float *fresh, float *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h[i] = (1.0f - z[i]) * fresh[i] + z[i] * h[i];
}

/* The reset gate scales a product that is known, so one product a step is enough. */
static void gru_linear_row(const struct recurrent *s, const float *x, float *u, float *h)
{
    const size_t n = s->width;
    float *r = u + n, *fresh = u + 2 * n;
    add(u, x, 2 * n);
    gate(s, 0, u, 2 * n);
    for (size_t i = 0; i < n; i++)
        fresh[i] = x[2 * n + i] + r[i] * fresh[i];
    gate(s, 1, fresh, n);
    gru_mix(u, fresh, h, n);
}

/* The first half of the other form: r h, which the second product needs. */
static void gru_reset_row(const struct recurrent *s, const float *x, float *u, const float *h,
                          float *reset)
{
    const size_t n = s->width;
    add(u, x, 2 * n);
    gate(s, 0, u, 2 * n);
    for (size_t i = 0; i < n; i++)
        reset[i] = u[n + i] * h[i];
}

static void rnn_row(const struct recurrent *s, const float *x, float *u, float *h)
{
    add(u, x, s->width);
    gate(s, 0, u, s->width);
    memcpy(h, u, s->width * sizeof *h);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Lengths are data of a running network: out of range ones are brought into it. They are
 * unchecked, since they arrive with the data. */
static uint32_t length_of(const struct recurrent *s, size_t row)
{
    int32_t n = s->length ? s->length[row] : (int32_t)s->n_steps;
    return n < 0 ? 0 : (uint32_t)n > s->n_steps ? s->n_steps : (uint32_t)n;
}

/* *at: row of [T, N] that this step of sequence `row` reads and writes. false: it has ended.
 * Reversed sequences start at their own last step, not at T. */
static bool place_of(const struct recurrent *s, size_t row, size_t *at)
{
    uint32_t length = length_of(s, row);
    if (s->step >= length)
        return false;
    size_t t = s->reverse ? length - 1 - s->step : s->step;
    *at = t * s->batch + row;
    return true;
}

/* Sequences that have ended keep their state. */
static void step_rows(void *arg, size_t begin, size_t end)
{
    const struct recurrent *s = arg;
    const size_t n = s->width;
    size_t at;
    for (size_t row = begin; row < end; row++) {
        if (!place_of(s, row, &at))
            continue;
        const float *x = s->x + at * s->rows;
        float *u = s->u + row * s->rows, *h = s->h + row * n;
        if (s->kind == RECURRENT_LSTM)
            lstm_row(s, x, u, h, s->c + row * n);
        else if (s->kind == RECURRENT_GRU)
            gru_linear_row(s, x, u, h);
        else
            rnn_row(s, x, u, h);
        memcpy(s->y + at * n, h, n * sizeof *h);
    }
}

static void reset_rows(void *arg, size_t begin, size_t end)
{
    const struct recurrent *s = arg;
    const size_t n = s->width;
    size_t at;
    for (size_t row = begin; row < end; row++)
        if (place_of(s, row, &at))
            gru_reset_row(s, s->x + at * s->rows, s->u + row * 2 * n, s->h + row * n,
                          s->c + row * n);
}

/* The second half: the product of r h is there. */
static void mix_rows(void *arg, size_t begin, size_t end)
{
    const struct recurrent *s = arg;
    const size_t n = s->width;
    size_t at;
    for (size_t row = begin; row < end; row++) {
        if (!place_of(s, row, &at))
            continue;
        float *fresh = s->u + (size_t)s->batch * 2 * n + row * n, *h = s->h + row * n;
        add(fresh, s->x + at * s->rows + 2 * n, n);
        gate(s, 1, fresh, n);
        gru_mix(s->u + row * 2 * n, fresh, h, n);
        memcpy(s->y + at * n, h, n * sizeof *h);
    }
}

/* An exponential costs as much as touching some ten elements. Used for the division of work only.
 */
#define WORK_OF_GATE 10u

/* The GRU that waits for its reset gate takes two products and two passes a step. */
static void run_step(struct recurrent *s, const struct recurrent_run *p, const struct op_env *env)
{
    size_t work = (size_t)s->rows * WORK_OF_GATE;
    pith_recurrent_product_run(p, 0, s->h, s->u, env);
    if (p->p->split) {
        pith_op_range(env, s->batch, work, reset_rows, s);
        pith_recurrent_product_run(p, 1, s->c, s->u + (size_t)s->batch * p->p->split, env);
        pith_op_range(env, s->batch, work, mix_rows, s);
    } else {
        pith_op_range(env, s->batch, work, step_rows, s);
    }
}

/* ONNX's defaults: sigmoid for gates, tanh for what they let through. */
static struct activation activation_of(const int32_t *attr, uint32_t i)
{
    enum recurrent_kind kind = (enum recurrent_kind)attr[ATTR_RECURRENT_KIND];
    int32_t def = i == 0 && kind != RECURRENT_RNN ? RECURRENT_SIGMOID : RECURRENT_TANH;
    return (struct activation){(enum recurrent_act)attr_item(attr, ATTR_RECURRENT_ACT, i, def),
                               f32_from_bits((uint32_t)attr_item(attr, ATTR_RECURRENT_ALPHA, i, 0)),
                               f32_from_bits((uint32_t)attr_item(attr, ATTR_RECURRENT_BETA, i, 0))};
}

static const void *data_of(const struct op_args *args, uint32_t i)
{
    const struct tview *v = input(args, i);
    return v ? v->data : NULL;
}

static struct recurrent recurrent_of(const struct op_args *args)
{
    const int32_t *attr = args->attr;
    const struct shape *x = &args->in[IN_X]->shape;
    struct recurrent s = {.kind = (enum recurrent_kind)attr[ATTR_RECURRENT_KIND],
                          .reverse = attr[ATTR_RECURRENT_REVERSE] != 0,
                          .input_forget = attr[ATTR_RECURRENT_INPUT_FORGET] != 0,
                          .n_steps = x->dim[0],
                          .batch = x->dim[1],
                          .width = args->in[IN_R]->shape.dim[1],
                          .rows = x->dim[2],
                          .clip = attr_f32(attr, ATTR_RECURRENT_CLIP),
                          .x = args->in[IN_X]->data,
                          .length = data_of(args, IN_LENGTHS),
                          .peephole = data_of(args, IN_PEEPHOLES),
                          .y = args->out[OUT_Y]->data};
    s.clips = s.clip < f32_from_bits(F32_INF);
    for (uint32_t i = 0; i < n_acts[s.kind]; i++)
        s.act[i] = activation_of(attr, i);
    return s;
}

static void set_state(float *state, const float *from, size_t n)
{
    if (from)
        memcpy(state, from, n * sizeof *state);
    else
        memset(state, 0, n * sizeof *state);
}

/* The last states, 0 where a sequence has no step. As onnxruntime does it; ONNX leaves it open. */
static void put_state(const struct recurrent *s, const float *state, float *to)
{
    const size_t n = s->width;
    for (size_t row = 0; row < s->batch; row++)
        set_state(to + row * n, length_of(s, row) ? state + row * n : NULL, n);
}

static void run_recurrent(const struct op_args *args, const struct op_env *env)
{
    struct recurrent s = recurrent_of(args);
    struct recurrent_data data = recurrent_data_of(args);
    struct recurrent_run p;
    struct state_size size = state_size(args->lowered);
    struct op_env rest = *env;
    s.row = pith_row_kernels(env->kernels);
    s.u = env->scratch;
    s.h = s.u + size.u;
    s.c = s.h + size.h;
    /* What is left of scratch belongs to the product. */
    rest.scratch = s.c + size.h;
    pith_recurrent_product_begin(args->lowered, &data, &rest, &p);
    set_state(s.h, data_of(args, IN_H0), (size_t)s.batch * s.width);
    set_state(s.c, data_of(args, IN_C0), (size_t)s.batch * s.width);
    uint32_t longest = 0;
    for (size_t row = 0; row < s.batch; row++)
        longest = length_of(&s, row) > longest ? length_of(&s, row) : longest;
    /* Only with lengths is there anything behind the last step. */
    if (s.length)
        memset(s.y, 0, (size_t)s.n_steps * s.batch * s.width * sizeof *s.y);
    for (s.step = 0; s.step < longest; s.step++)
        run_step(&s, &p, &rest);
    if (args->n_out > OUT_H)
        put_state(&s, s.h, args->out[OUT_H]->data);
    if (args->n_out > OUT_C)
        put_state(&s, s.c, args->out[OUT_C]->data);
}

const struct op_info pith_op_recurrent = {
    .op = PITH_OP_RECURRENT,
    .n_in_min = 2,
    .n_in_max = N_IN,
    .n_out_min = 1,
    .n_out_max = 3,
    .n_fields = sizeof fields / sizeof *fields,
    .n_slots = ATTR_RECURRENT_BETA + PITH_LIST_SLOTS,
    .flags = OP_WEIGHT,
    .fields = fields,
    .traits = {.flags = TRAIT_RECURS,
               .weight_input = 1,
               .bias_input = 2,
               .row_axis = 0,
               .trans_slot = OP_NO_SLOT,
               .group_slot = OP_NO_SLOT,
               .integer_op = 0,
               .parameters = 1u << 1 | 1u << 2 | 1u << 6},
    .shape = shape_recurrent,
    .lowered_most = OP_LOWERED_MAX,
    .lowered_bytes = recurrent_lowered_bytes,
    .need = need_recurrent,
    .prepare = prepare_recurrent,
    .run = run_recurrent,
};
