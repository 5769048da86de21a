/* SPDX-License-Identifier: MIT */
/* recurrent.cu - gates of RNN, GRU and LSTM (ops/op_recurrent.c): a thread has one place of the
 * state; what it reads of u, h and c is its own. */
#include "device_map.cuh"

enum { G_SIGMOID, G_TANH, G_RELU, G_AFFINE, G_LEAKY, G_THRESHOLDED, G_SCALED_TANH, G_HARD_SIGMOID };
enum { G_SOFTSIGN = 9 };

DEVICE float cell_activated(const struct cell_args *arg, uint32_t which, float x)
{
    const float a = arg->alpha[which], b = arg->beta[which];
    switch (arg->act[which]) {
    case G_SIGMOID:
        return sigmoid_f32(x);
    case G_TANH:
        return tanh_f32(x);
    case G_RELU:
        return choose(x < 0.0f, 0.0f, x);
    case G_AFFINE:
        return a * x + b;
    case G_LEAKY:
        return choose(x < 0.0f, a * x, x);
    case G_THRESHOLDED:
        return choose(x > a || x != x, x, 0.0f);
    case G_SCALED_TANH:
        return a * tanh_f32(b * x);
    case G_HARD_SIGMOID:
        x = a * x + b;
        x = choose(x < 0.0f, 0.0f, x);
        return choose(x > 1.0f, 1.0f, x);
    default: /* G_SOFTSIGN */
        return x / (1.0f + choose(x < 0.0f, -x, x));
    }
}

DEVICE float gated(const struct cell_args *arg, uint32_t which, float x)
{
    if (arg->clips) {
        x = choose(x < -arg->clip, -arg->clip, x);
        x = choose(x > arg->clip, arg->clip, x);
    }
    return cell_activated(arg, which, x);
}

/* x, u: at this place of gate 0; n: from gate to gate. */
DEVICE float lstm(const struct cell_args *arg, const float *x, const float *u, uint32_t j, float *c)
{
    const uint32_t n = arg->width;
    const float *p = arg->peephole;
    float in = u[0] + x[0], out = u[n] + x[n], forget = u[2 * n] + x[2 * n];
    float cell = u[3 * n] + x[3 * n];
    if (p) {
        in += p[j] * *c;
        forget += p[2 * n + j] * *c;
    }
    in = gated(arg, 0, in);
    forget = arg->input_forget ? 1.0f - in : gated(arg, 0, forget);
    cell = gated(arg, 1, cell);
    *c = forget * *c + in * cell;
    if (p)
        out += p[n + j] * *c;
    return gated(arg, 0, out) * cell_activated(arg, 2, *c);
}

DEVICE float gru_mixed(float z, float fresh, float h)
{
    return (1.0f - z) * fresh + z * h;
}

DEVICE uint32_t length_of(const struct cell_args *arg, uint32_t row)
{
    int32_t n = arg->length ? arg->length[row] : (int32_t)arg->steps;
    return n < 0 ? 0 : (uint32_t)n > arg->steps ? arg->steps : (uint32_t)n;
}

DEVICE float next_state(const struct cell_args *arg, const float *x, uint32_t i, uint32_t row,
                        uint32_t j)
{
    const uint32_t n = arg->width;
    const float *u = arg->u + (size_t)row * arg->gates * n + j;
    float h = arg->h[i], z, r, fresh;
    switch (arg->phase) {
    case CELL_LSTM:
        return lstm(arg, x, u, j, &arg->c[i]);
    case CELL_GRU:
        z = gated(arg, 0, u[0] + x[0]);
        r = gated(arg, 0, u[n] + x[n]);
        fresh = gated(arg, 1, x[2 * n] + r * u[2 * n]);
        return gru_mixed(z, fresh, h);
    case CELL_MIX:
        fresh = gated(arg, 1, arg->fresh[i] + x[2 * n]);
        return gru_mixed(arg->u[(size_t)row * 2 * n + j], fresh, h);
    default: /* CELL_RNN */
        return gated(arg, 0, u[0] + x[0]);
    }
}

DEVICE void reset(const struct cell_args *arg, const float *x, uint32_t i, uint32_t row, uint32_t j)
{
    const uint32_t n = arg->width;
    float *u = arg->u + (size_t)row * 2 * n + j;
    u[0] = gated(arg, 0, u[0] + x[0]);
    u[n] = gated(arg, 0, u[n] + x[n]);
    arg->c[i] = u[n] * arg->h[i];
}

KERNEL(recurrent_cell, cell_args)
{
    FOR_EACH(i, arg->n)
    {
        const uint32_t row = i / arg->width, j = i % arg->width, length = length_of(arg, row);
        if (arg->phase == CELL_FINAL) {
            arg->y[i] = length ? arg->h[i] : 0.0f;
            continue;
        }
        if (arg->step >= length)
            continue;
        const uint32_t t = arg->reverse ? length - 1 - arg->step : arg->step;
        const size_t at = (size_t)t * arg->batch + row;
        const float *x = arg->x + at * arg->gates * arg->width + j;
        if (arg->phase == CELL_RESET) {
            reset(arg, x, i, row, j);
            continue;
        }
        float h = next_state(arg, x, i, row, j);
        arg->h[i] = h;
        arg->y[at * arg->width + j] = h;
    }
}
