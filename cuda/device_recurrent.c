/* SPDX-License-Identifier: MIT */
/* device_recurrent.c - RNN, GRU and LSTM: for each step a product h R^T and the gates, launch after
 * launch. Sequences that are shorter than the longest do nothing in the steps behind their end. */
#include "device_product.h"
#include "op_interface/op_attr.h"

enum { IN_X, IN_R, IN_BIAS, IN_LENGTHS, IN_H0, IN_C0, IN_PEEPHOLES };
enum { OUT_Y, OUT_H, OUT_C };

/* Each step is two launches or more, and all are held in memory as actions. */
#define MANY_STEPS 4096u

/* false: an activation that has no kernel. An operator without activations has ONNX's: sigmoid for
 * the gates and tanh for the rest, or tanh alone in an RNN. */
static bool set_activations(struct cell_args *c, const int32_t *attr)
{
    bool rnn = attr[ATTR_RECURRENT_KIND] == RECURRENT_RNN;
    for (uint32_t i = 0; i < 3; i++) {
        int32_t def = i == 0 && !rnn ? RECURRENT_SIGMOID : RECURRENT_TANH;
        c->act[i] = (uint32_t)attr_item(attr, ATTR_RECURRENT_ACT, i, def);
        c->alpha[i] = f32_from_bits((uint32_t)attr_item(attr, ATTR_RECURRENT_ALPHA, i, 0));
        c->beta[i] = f32_from_bits((uint32_t)attr_item(attr, ATTR_RECURRENT_BETA, i, 0));
        if (i < attr_count(attr, ATTR_RECURRENT_ACT) &&
            (c->act[i] == RECURRENT_ELU || c->act[i] == RECURRENT_SOFTPLUS))
            return false;
    }
    return true;
}

/* Working memory: u, then h, then c (LSTM) or r h (GRU). u is [batch, gates * width], each part
 * aligned to 256 bytes. `fresh` lies in u behind the two gates that a GRU has computed by then, so
 * the third needs no room of its own. */
static void set_memory(struct lowering *l, struct cell_args *c)
{
    uint64_t u = ((uint64_t)c->batch * c->gates * c->width * 4 + 255) & ~UINT64_C(255);
    uint64_t h = ((uint64_t)c->n * 4 + 255) & ~UINT64_C(255);
    l->work_kept = u + 2 * h;
    c->u = pith_device_work(l, 0, u);
    c->h = pith_device_work(l, u, h);
    c->c = pith_device_work(l, u + h, h);
    c->fresh = c->u + (size_t)c->batch * 2 * c->width;
}

/* Without a first state it is zeros, as ONNX says. */
static void set_state(struct lowering *l, float *state, const float *from, uint32_t n)
{
    if (from)
        pith_device_copy(l, state, from, (uint64_t)n * sizeof *state);
    else
        pith_device_fill(l, state, 0, (uint64_t)n * sizeof *state);
}

/* to [batch, rows of r from `first` on] = from r^T + bias. R is [gates * width, width], so b is
 * used transposed: its rows are contiguous. */
static void launch_product(struct lowering *l, const struct cell_args *c,
                           const struct op_args *args, const float *from, float *to, uint32_t first,
                           uint32_t rows)
{
    const float *bias = pith_device_optional(l, args, IN_BIAS);
    struct gemm_args g = {.a = from,
                          .c = bias ? bias + first : NULL,
                          .y = to,
                          .m = c->batch,
                          .n = rows,
                          .k = c->width,
                          .a_row = c->width,
                          .a_col = 1,
                          .b_row = 1,
                          .b_col = c->width,
                          .c_col = 1,
                          .alpha = 1.0f,
                          .beta = 1.0f};
    if (pith_device_compressed(l, &g, args->weight, first, false) ||
        pith_device_half(l, &g, args->weight, first))
        return;
    g.b = pith_device_weight_or_data(l, args, IN_R) + (size_t)first * c->width;
    pith_device_product(l, &g);
}

static void launch_cell(struct lowering *l, struct cell_args *c, enum cell_phase phase)
{
    c->phase = phase;
    pith_device_launch(l, LAUNCH_recurrent_cell, c->n, c, sizeof *c);
}

/* Where reset comes after the product (linear_before_reset), all three gates of a GRU are one
 * product; else r h is known only when the first two gates are, and the third gate is a product of
 * its own. */
static void launch_step(struct lowering *l, struct cell_args *c, const struct op_args *args)
{
    const uint32_t n = c->width;
    switch (args->attr[ATTR_RECURRENT_KIND]) {
    case RECURRENT_LSTM:
        launch_product(l, c, args, c->h, c->u, 0, 4 * n);
        launch_cell(l, c, CELL_LSTM);
        break;
    case RECURRENT_RNN:
        launch_product(l, c, args, c->h, c->u, 0, n);
        launch_cell(l, c, CELL_RNN);
        break;
    default:
        if (args->attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET]) {
            launch_product(l, c, args, c->h, c->u, 0, 3 * n);
            launch_cell(l, c, CELL_GRU);
            break;
        }
        launch_product(l, c, args, c->h, c->u, 0, 2 * n);
        launch_cell(l, c, CELL_RESET);
        launch_product(l, c, args, c->c, c->fresh, 2 * n, n);
        launch_cell(l, c, CELL_MIX);
    }
}

/* A sequence of length 0 ends with a state of 0, as on the CPU. */
static void put_state(struct lowering *l, struct cell_args c, float *state, const struct tview *out)
{
    c.h = state;
    c.y = pith_device_data(l, out);
    launch_cell(l, &c, CELL_FINAL);
}

/* The input x already has been multiplied with W: it is [steps, batch, gates * width]. A clip of
 * infinity is none. Places of y behind the end of a sequence are written by no step, so y is
 * cleared first. */
bool pith_device_recurrent(struct lowering *l, const struct step *s)
{
    const struct op_args *args = &s->args;
    const struct shape *x = &args->in[IN_X]->shape;
    struct cell_args c = {.steps = x->dim[0],
                          .batch = x->dim[1],
                          .width = args->in[IN_R]->shape.dim[1],
                          .reverse = (uint32_t)args->attr[ATTR_RECURRENT_REVERSE],
                          .input_forget = (uint32_t)args->attr[ATTR_RECURRENT_INPUT_FORGET],
                          .clip = attr_f32(args->attr, ATTR_RECURRENT_CLIP)};
    /* The largest product of a step: a shape whose tiles fit is always launched. */
    const struct gemm_args most = {.m = c.batch, .n = x->dim[2], .k = c.width};
    uint32_t grid[3];
    if (!set_activations(&c, args->attr) || c.steps > MANY_STEPS || !pith_device_tiles(&most, grid))
        return false;
    c.n = c.batch * c.width;
    c.gates = x->dim[2] / c.width;
    c.clips = c.clip < f32_from_bits(0x7f800000u);
    c.x = pith_device_data(l, args->in[IN_X]);
    c.length = pith_device_optional(l, args, IN_LENGTHS);
    c.peephole = pith_device_optional(l, args, IN_PEEPHOLES);
    c.y = pith_device_data(l, args->out[OUT_Y]);
    set_memory(l, &c);
    set_state(l, c.h, pith_device_optional(l, args, IN_H0), c.n);
    set_state(l, c.c, pith_device_optional(l, args, IN_C0), c.n);
    if (c.length)
        pith_device_fill(l, c.y, 0, (uint64_t)c.steps * c.n * sizeof *c.y);
    for (c.step = 0; c.step < c.steps; c.step++)
        launch_step(l, &c, args);
    if (args->n_out > OUT_H)
        put_state(l, c, c.h, args->out[OUT_H]);
    if (args->n_out > OUT_C)
        put_state(l, c, c.c, args->out[OUT_C]);
    return true;
}
