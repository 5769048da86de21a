/* SPDX-License-Identifier: MIT */
/* grad_recurrent.c - RNN, GRU and LSTM through time. Forward is the runtime's; what backward needs
 * of it is computed again: the states before all steps are known from y, so the products of all
 * steps are one. Only the way back, dh R, goes step by step.
 *
 * Rows are [T, N]; u holds the gates after their activations, in the order of op_recurrent.c, whose
 * formulas these are the derivatives of. Per step, with a' the slope of an activation:
 *     LSTM  do = dh h(C') o',  dC' += dh o h' + do P_o,  di = dC' g i',  df = dC' C f',
 *           dg = dC' i g',  dC = dC' f + di P_i + df P_f
 *     GRU   dn = dh (1 - z) n',  dz = dh (h - n) z',  dh += dh z; the reset gate by what it scales
 *     RNN   du = dh h' */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

enum { IN_X, IN_R, IN_BIAS, IN_LENGTHS, IN_H0, IN_C0, IN_PEEPHOLES };
enum { OUT_Y, OUT_H, OUT_C };
enum { ACT_F, ACT_G, ACT_H, N_ACTS };

struct activation {
    int32_t kind;
    float a, b;
};

struct recurrent {
    const struct grad_node *n;
    int32_t kind;
    bool reverse, linear_reset, input_forget;
    size_t steps, batch, width, rows; /* T, N, H, G*H */
    struct activation act[N_ACTS];
    const float *r, *peephole;
    float *dpeephole;
    float *before;         /* [T*N, H] h before the step */
    float *u;              /* [T*N, G*H] gates */
    float *cell;           /* [T*N, H] LSTM: C'; GRU: what the reset gate scales, or has scaled */
    float *du;             /* [T*N, G*H] gradients of the products h R^T */
    float *fresh;          /* [T*N, H] GRU: gradient of the new value's sum */
    float *now;            /* [N, G*H] du of one step, without gaps */
    float *dh, *dc, *back; /* [N, H] carried; back: what now R gives */
};

/* ---- activations ----------------------------------------------------------------------------- */

static float activated(struct activation f, float x)
{
    switch (f.kind) {
    case RECURRENT_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case RECURRENT_TANH:
        return tanhf(x);
    case RECURRENT_RELU:
        return x > 0.0f ? x : 0.0f;
    case RECURRENT_AFFINE:
        return f.a * x + f.b;
    case RECURRENT_LEAKY_RELU:
        return x < 0.0f ? f.a * x : x;
    case RECURRENT_THRESHOLDED:
        return x > f.a ? x : 0.0f;
    case RECURRENT_SCALED_TANH:
        return f.a * tanhf(f.b * x);
    case RECURRENT_HARD_SIGMOID:
        return fminf(fmaxf(f.a * x + f.b, 0.0f), 1.0f);
    case RECURRENT_ELU:
        return x > 0.0f ? x : f.a * expm1f(x);
    case RECURRENT_SOFTSIGN:
        return x / (1.0f + fabsf(x));
    default: /* RECURRENT_SOFTPLUS */
        return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
    }
}

/* From the value y alone. */
static float slope_at(struct activation f, float y)
{
    switch (f.kind) {
    case RECURRENT_SIGMOID:
        return y * (1.0f - y);
    case RECURRENT_TANH:
        return 1.0f - y * y;
    case RECURRENT_RELU:
        return y > 0.0f ? 1.0f : 0.0f;
    case RECURRENT_AFFINE:
        return f.a;
    case RECURRENT_LEAKY_RELU:
        return y < 0.0f ? f.a : 1.0f;
    case RECURRENT_THRESHOLDED:
        return y != 0.0f ? 1.0f : 0.0f;
    case RECURRENT_SCALED_TANH:
        return f.a != 0.0f ? f.b * (f.a - y * y / f.a) : 0.0f;
    case RECURRENT_HARD_SIGMOID:
        return y > 0.0f && y < 1.0f ? f.a : 0.0f;
    case RECURRENT_ELU:
        return y > 0.0f ? 1.0f : y + f.a;
    case RECURRENT_SOFTSIGN:
        return (1.0f - fabsf(y)) * (1.0f - fabsf(y));
    default: /* RECURRENT_SOFTPLUS */
        return 1.0f - expf(-y);
    }
}

static void activate(struct activation f, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = activated(f, x[i]);
}

/* ---- what it works on ------------------------------------------------------------------------ */

static size_t lines(size_t floats)
{
    return (floats + 15) & ~(size_t)15;
}

static struct recurrent recurrent_of(const struct grad_node *n)
{
    const struct shape *x = &n->in[IN_X]->shape;
    const int32_t *attr = n->attr;
    struct recurrent s = {.n = n,
                          .kind = attr[ATTR_RECURRENT_KIND],
                          .reverse = attr[ATTR_RECURRENT_REVERSE] != 0,
                          .linear_reset = attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET] != 0,
                          .input_forget = attr[ATTR_RECURRENT_INPUT_FORGET] != 0,
                          .steps = x->dim[0],
                          .batch = x->dim[1],
                          .width = n->in[IN_R]->shape.dim[1],
                          .rows = x->dim[2],
                          .r = n->in[IN_R]->data,
                          .peephole = grad_data(n, IN_PEEPHOLES),
                          .dpeephole = grad_of(n, IN_PEEPHOLES)};
    for (uint32_t i = 0; i < N_ACTS; i++) {
        bool gate = i == ACT_F && s.kind != RECURRENT_RNN;
        uint32_t alpha = (uint32_t)attr_item(attr, ATTR_RECURRENT_ALPHA, i, 0);
        uint32_t beta = (uint32_t)attr_item(attr, ATTR_RECURRENT_BETA, i, 0);
        s.act[i] = (struct activation){
            attr_item(attr, ATTR_RECURRENT_ACT, i, gate ? RECURRENT_SIGMOID : RECURRENT_TANH),
            f32_from_bits(alpha), f32_from_bits(beta)};
    }
    size_t all = s.steps * s.batch;
    s.before = n->scratch;
    s.u = s.before + lines(all * s.width);
    s.cell = s.u + lines(all * s.rows);
    s.du = s.cell + lines(all * s.width);
    s.fresh = s.du + lines(all * s.rows);
    s.now = s.fresh + lines(all * s.width);
    s.dh = s.now + lines(s.batch * s.rows);
    s.dc = s.dh + lines(s.batch * s.width);
    s.back = s.dc + lines(s.batch * s.width);
    return s;
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct recurrent s = recurrent_of(n);
    if (attr_f32(n->attr, ATTR_RECURRENT_CLIP) < INFINITY)
        return PITH_ERR_UNSUPPORTED;
    uint64_t all = (uint64_t)s.steps * s.batch;
    *scratch_bytes =
        (all * (2 * s.rows + 3 * s.width) + s.batch * (s.rows + 3 * s.width) + 9 * 16) *
        sizeof(float);
    return PITH_OK;
}

static size_t length_of(const struct recurrent *s, size_t row)
{
    const struct grad_node *n = s->n;
    const int32_t *length =
        n->n_in > IN_LENGTHS && n->in[IN_LENGTHS] ? n->in[IN_LENGTHS]->data : NULL;
    int64_t l = length ? length[row] : (int64_t)s->steps;
    return l < 0 ? 0 : l > (int64_t)s->steps ? s->steps : (size_t)l;
}

/* As in op_recurrent.c: false when sequence `row` has ended before this step. */
static bool place_of(const struct recurrent *s, size_t row, size_t step, size_t *at)
{
    size_t length = length_of(s, row);
    if (step >= length)
        return false;
    *at = (s->reverse ? length - 1 - step : step) * s->batch + row;
    return true;
}

/* ---- forward again --------------------------------------------------------------------------- */

static void states_before(const struct recurrent *s)
{
    const float *y = s->n->out[OUT_Y]->data, *h0 = grad_data(s->n, IN_H0);
    size_t at, last = 0, n = s->width;
    memset(s->before, 0, s->steps * s->batch * n * sizeof(float));
    for (size_t row = 0; row < s->batch; row++)
        for (size_t step = 0; place_of(s, row, step, &at); step++, last = at) {
            const float *from = step ? y + last * n : h0 ? h0 + row * n : NULL;
            if (from)
                memcpy(s->before + at * n, from, n * sizeof *from);
        }
}

/* c (+)= rows of h times `count` rows of R from `first` on, for all steps. */
static void product(const struct recurrent *s, const float *h, size_t first, size_t count, float *c,
                    size_t ld)
{
    pith_prim_gemm(
        s->n->prim,
        (struct prim_size){(int64_t)(s->steps * s->batch), (int64_t)count, (int64_t)s->width}, 1.0f,
        (struct prim_matrix){h, (int64_t)s->width, false},
        (struct prim_matrix){s->r + first * s->width, (int64_t)s->width, true},
        (struct prim_result){c, (int64_t)ld, false});
}

static void add_row(float *to, const float *part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += part[i];
}

static void lstm_again(const struct recurrent *s, size_t at, const float *c)
{
    size_t n = s->width;
    float *u = s->u + at * s->rows, *cell = s->cell + at * n;
    const float *p = s->peephole;
    for (size_t i = 0; i < n; i++) {
        float before = c ? c[i] : 0.0f;
        float in = activated(s->act[ACT_F], u[i] + (p ? p[i] * before : 0.0f));
        float forget = u[2 * n + i] + (p ? p[2 * n + i] * before : 0.0f);
        forget = s->input_forget ? 1.0f - in : activated(s->act[ACT_F], forget);
        float fresh = activated(s->act[ACT_G], u[3 * n + i]);
        cell[i] = forget * before + in * fresh;
        float out = u[n + i] + (p ? p[n + i] * cell[i] : 0.0f);
        u[i] = in;
        u[n + i] = activated(s->act[ACT_F], out);
        u[2 * n + i] = forget;
        u[3 * n + i] = fresh;
    }
}

/* The cell before a step, NULL: zeros. */
static const float *cell_before(const struct recurrent *s, size_t row, size_t step)
{
    const float *c0 = grad_data(s->n, IN_C0);
    size_t at;
    if (step == 0)
        return c0 ? c0 + row * s->width : NULL;
    place_of(s, row, step - 1, &at);
    return s->cell + at * s->width;
}

/* u: x + h R^T + b, but of the GRU's new value x alone; cell: its h R^T + b, or r h. */
static void gates_before(const struct recurrent *s)
{
    const float *x = s->n->in[IN_X]->data, *bias = grad_data(s->n, IN_BIAS);
    size_t all = s->steps * s->batch, n = s->width;
    bool gru = s->kind == RECURRENT_GRU;
    size_t joint = gru ? 2 * n : s->rows;
    product(s, s->before, 0, joint, s->u, s->rows);
    if (gru && s->linear_reset)
        product(s, s->before, 2 * n, n, s->cell, n);
    for (size_t at = 0; at < all; at++) {
        float *u = s->u + at * s->rows;
        if (gru)
            memset(u + joint, 0, n * sizeof *u);
        add_row(u, x + at * s->rows, s->rows);
        if (bias)
            add_row(u, bias, gru && s->linear_reset ? joint : s->rows);
        if (bias && gru && s->linear_reset)
            add_row(s->cell + at * n, bias + joint, n);
    }
}

static void gru_again(const struct recurrent *s)
{
    size_t all = s->steps * s->batch, n = s->width;
    for (size_t at = 0; at < all; at++) {
        float *u = s->u + at * s->rows, *cell = s->cell + at * n;
        activate(s->act[ACT_F], u, 2 * n);
        for (size_t i = 0; i < n; i++)
            if (s->linear_reset)
                u[2 * n + i] += u[n + i] * cell[i];
            else
                cell[i] = u[n + i] * s->before[at * n + i];
    }
    if (!s->linear_reset)
        product(s, s->cell, 2 * n, n, s->fresh, n);
    for (size_t at = 0; at < all; at++) {
        float *u = s->u + at * s->rows + 2 * n;
        if (!s->linear_reset)
            add_row(u, s->fresh + at * n, n);
        activate(s->act[ACT_G], u, n);
    }
}

static void gates_again(const struct recurrent *s)
{
    size_t at;
    gates_before(s);
    if (s->kind == RECURRENT_GRU)
        gru_again(s);
    else if (s->kind == RECURRENT_RNN)
        activate(s->act[ACT_F], s->u, s->steps * s->batch * s->rows);
    else
        for (size_t row = 0; row < s->batch; row++)
            for (size_t step = 0; place_of(s, row, step, &at); step++)
                lstm_again(s, at, cell_before(s, row, step));
}

/* ---- one step back --------------------------------------------------------------------------- */

static void lstm_back(const struct recurrent *s, size_t row, size_t step, size_t at)
{
    size_t n = s->width;
    const float *u = s->u + at * s->rows, *c = cell_before(s, row, step), *p = s->peephole;
    float *du = s->now + row * s->rows, *dh = s->dh + row * n, *dc = s->dc + row * n;
    for (size_t i = 0; i < n; i++) {
        float in = u[i], out = u[n + i], forget = u[2 * n + i], fresh = u[3 * n + i];
        float cell = s->cell[at * n + i], shown = activated(s->act[ACT_H], cell);
        float before = c ? c[i] : 0.0f;
        float d_out = dh[i] * shown * slope_at(s->act[ACT_F], out);
        float d_cell =
            dc[i] + dh[i] * out * slope_at(s->act[ACT_H], shown) + (p ? d_out * p[n + i] : 0.0f);
        float d_in = d_cell * (s->input_forget ? fresh - before : fresh);
        d_in *= slope_at(s->act[ACT_F], in);
        float d_forget = s->input_forget ? 0.0f : d_cell * before * slope_at(s->act[ACT_F], forget);
        du[i] = d_in;
        du[n + i] = d_out;
        du[2 * n + i] = d_forget;
        du[3 * n + i] = d_cell * in * slope_at(s->act[ACT_G], fresh);
        dc[i] = d_cell * forget + (p ? d_in * p[i] + d_forget * p[2 * n + i] : 0.0f);
        if (s->dpeephole) {
            s->dpeephole[i] += d_in * before;
            s->dpeephole[n + i] += d_out * cell;
            s->dpeephole[2 * n + i] += d_forget * before;
        }
        dh[i] = 0.0f;
    }
}

/* What does not wait for a product; the rest of the reset gate: gru_reset_back. */
static void gru_back(const struct recurrent *s, size_t row, size_t at)
{
    size_t n = s->width;
    const float *u = s->u + at * s->rows, *h = s->before + at * n;
    float *du = s->now + row * s->rows, *dh = s->dh + row * n;
    for (size_t i = 0; i < n; i++) {
        float z = u[i], r = u[n + i], fresh = u[2 * n + i];
        float d_fresh = dh[i] * (1.0f - z) * slope_at(s->act[ACT_G], fresh);
        s->fresh[at * n + i] = d_fresh;
        du[i] = dh[i] * (h[i] - fresh) * slope_at(s->act[ACT_F], z);
        du[n + i] =
            s->linear_reset ? d_fresh * s->cell[at * n + i] * slope_at(s->act[ACT_F], r) : 0.0f;
        du[2 * n + i] = s->linear_reset ? d_fresh * r : d_fresh;
        dh[i] *= z;
    }
}

/* back (+)= now's columns from `first` on times R's rows from there on */
static void product_back(const struct recurrent *s, size_t first, size_t count)
{
    pith_prim_gemm(s->n->prim,
                   (struct prim_size){(int64_t)s->batch, (int64_t)s->width, (int64_t)count}, 1.0f,
                   (struct prim_matrix){s->now + first, (int64_t)s->rows, false},
                   (struct prim_matrix){s->r + first * s->width, (int64_t)s->width, false},
                   (struct prim_result){s->back, (int64_t)s->width, false});
}

static void gru_reset_back(const struct recurrent *s, size_t step)
{
    size_t at, n = s->width;
    product_back(s, 2 * n, n); /* the gradient of r h */
    for (size_t row = 0; row < s->batch; row++)
        for (size_t i = 0; i < n && place_of(s, row, step, &at); i++) {
            float r = s->u[at * s->rows + n + i], d = s->back[row * n + i];
            s->now[row * s->rows + n + i] = d * s->before[at * n + i] * slope_at(s->act[ACT_F], r);
            s->dh[row * n + i] += d * r;
        }
}

static void row_back(const struct recurrent *s, size_t row, size_t step, size_t at)
{
    size_t n = s->width;
    const float *dy = s->n->out[OUT_Y]->grad + at * n;
    bool last = step + 1 == length_of(s, row);
    for (size_t i = 0; i < n; i++) {
        s->dh[row * n + i] += dy[i];
        if (last && s->n->n_out > OUT_H)
            s->dh[row * n + i] += s->n->out[OUT_H]->grad[row * n + i];
        if (last && s->n->n_out > OUT_C)
            s->dc[row * n + i] += s->n->out[OUT_C]->grad[row * n + i];
    }
    if (s->kind == RECURRENT_LSTM) {
        lstm_back(s, row, step, at);
    } else if (s->kind == RECURRENT_GRU) {
        gru_back(s, row, at);
    } else {
        for (size_t i = 0; i < n; i++) {
            s->now[row * n + i] = s->dh[row * n + i] * slope_at(s->act[ACT_F], s->u[at * n + i]);
            s->dh[row * n + i] = 0.0f;
        }
    }
}

static void step_back(const struct recurrent *s, size_t step)
{
    size_t at;
    bool waits = s->kind == RECURRENT_GRU && !s->linear_reset;
    memset(s->now, 0, s->batch * s->rows * sizeof(float));
    for (size_t row = 0; row < s->batch; row++)
        if (place_of(s, row, step, &at))
            row_back(s, row, step, at);
    if (waits)
        gru_reset_back(s, step);
    product_back(s, 0, waits ? 2 * s->width : s->rows);
    for (size_t row = 0; row < s->batch; row++)
        if (place_of(s, row, step, &at)) {
            memcpy(s->du + at * s->rows, s->now + row * s->rows, s->rows * sizeof(float));
            add_row(s->dh + row * s->width, s->back + row * s->width, s->width);
        }
}

/* ---- sums over all steps --------------------------------------------------------------------- */

/* dR's rows from `first` on += du's columns times h */
static void weights_back(const struct recurrent *s, size_t first, size_t count, const float *h)
{
    pith_prim_gemm(
        s->n->prim,
        (struct prim_size){(int64_t)count, (int64_t)s->width, (int64_t)(s->steps * s->batch)}, 1.0f,
        (struct prim_matrix){s->du + first, (int64_t)s->rows, true},
        (struct prim_matrix){h, (int64_t)s->width, false},
        (struct prim_result){s->n->in[IN_R]->grad + first * s->width, (int64_t)s->width, true});
}

static void inputs_back(const struct recurrent *s)
{
    const struct grad_node *n = s->n;
    size_t all = s->steps * s->batch, width = s->width;
    bool waits = s->kind == RECURRENT_GRU && !s->linear_reset;
    if (grad_of(n, IN_R)) {
        weights_back(s, 0, waits ? 2 * width : s->rows, s->before);
        if (waits)
            weights_back(s, 2 * width, width, s->cell);
    }
    for (size_t at = 0; at < all; at++) {
        float *du = s->du + at * s->rows;
        if (grad_of(n, IN_BIAS))
            add_row(grad_of(n, IN_BIAS), du, s->rows);
        if (s->kind == RECURRENT_GRU)
            memcpy(du + 2 * width, s->fresh + at * width, width * sizeof *du);
        if (grad_of(n, IN_X))
            add_row(grad_of(n, IN_X) + at * s->rows, du, s->rows);
    }
    if (grad_of(n, IN_H0))
        add_row(grad_of(n, IN_H0), s->dh, s->batch * width);
    if (grad_of(n, IN_C0))
        add_row(grad_of(n, IN_C0), s->dc, s->batch * width);
}

static void backward(struct grad_node *n)
{
    struct recurrent s = recurrent_of(n);
    size_t all = s.steps * s.batch;
    states_before(&s);
    gates_again(&s);
    memset(s.du, 0, all * s.rows * sizeof *s.du);
    memset(s.fresh, 0, all * s.width * sizeof *s.fresh);
    memset(s.dh, 0, s.batch * s.width * sizeof *s.dh);
    memset(s.dc, 0, s.batch * s.width * sizeof *s.dc);
    for (size_t step = s.steps; step > 0; step--)
        step_back(&s, step - 1);
    inputs_back(&s);
}

const struct grad_op pith_grad_recurrent = {
    .op = PITH_OP_RECURRENT, .prepare = prepare, .backward = backward};
