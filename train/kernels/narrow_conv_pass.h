/* SPDX-License-Identifier: MIT */
/* narrow_conv_pass.h - narrow_conv_impl.h's loops over one vector of output channels, included for
 * whole and for half vectors, with VEC (the type) and V (the name of one of its operations)
 * defined. Lanes of `mask` are there. */

INLINE void V(pixels)(const int count, const struct narrow_picture *p, const float *x,
                      const float *w, vmask mask, const bool full, float *y)
{
    VEC sum[PIXELS];
#pragma GCC unroll 8
    for (int i = 0; i < count; i++)
        sum[i] = V(load)(w);
    w += p->padded;
    for (int64_t row = 0; row < p->rows; row++, x += p->x_row)
        for (int64_t t = 0; t < p->width; t++, w += p->padded) {
            const VEC weight = V(load)(w);
#pragma GCC unroll 8
            for (int i = 0; i < count; i++)
                sum[i] = V(fma)(V(set1)(x[i * p->pixel_step + t]), weight, sum[i]);
        }
#pragma GCC unroll 8
    for (int i = 0; i < count; i++)
        if (full)
            V(store)(y + i * p->o, sum[i]);
        else
            V(store_some)(y + i * p->o, mask, sum[i]);
}

INLINE void V(forward)(const struct narrow_picture *p, const float *w, vmask mask, const bool full,
                       float *y)
{
    for (int64_t h = 0; h < p->out_rows; h++) {
        const float *x = p->x + h * p->row_step;
        int64_t i = 0;
        for (; i + PIXELS <= p->out_columns; i += PIXELS)
            V(pixels)(PIXELS, p, x + i * p->pixel_step, w, mask, full, y + i * p->o);
        for (; i < p->out_columns; i++)
            V(pixels)(1, p, x + i * p->pixel_step, w, mask, full, y + i * p->o);
        y += p->out_columns * p->o;
    }
}

/* Some rows of the window at once, as many as there are registers for; with the first ones, the
 * bias. */
INLINE void V(some_rows)(const int rows, const int width, const struct narrow_picture *p,
                         int64_t first, const float *dy, vmask mask, const bool full, float *dw)
{
    VEC sum[MOST_TAPS], bias = V(set1)(0.0f);
#pragma GCC unroll 32
    for (int t = 0; t < rows * width; t++)
        sum[t] = V(set1)(0.0f);
    for (int64_t h = 0; h < p->out_rows; h++) {
        const float *x = p->x + h * p->row_step + first * p->x_row;
        for (int64_t i = 0; i < p->out_columns; i++, x += p->pixel_step, dy += p->o) {
            const VEC d = full ? V(load)(dy) : V(load_some)(dy, mask);
            bias = V(add)(bias, d);
#pragma GCC unroll 32
            for (int t = 0; t < rows * width; t++)
                sum[t] = V(fma)(V(set1)(x[t / width * p->x_row + t % width]), d, sum[t]);
        }
    }
    if (first == 0)
        V(store)(dw, V(add)(V(load)(dw), bias));
    dw += (1 + first * width) * p->padded;
#pragma GCC unroll 32
    for (int t = 0; t < rows * width; t++, dw += p->padded)
        V(store)(dw, V(add)(V(load)(dw), sum[t]));
}

INLINE void V(all_rows)(const int rows, const int width, const struct narrow_picture *p,
                        const float *dy, vmask mask, const bool full, float *dw)
{
    const int at_once = rows * width <= MOST_TAPS ? rows : MOST_TAPS / width;
    int first = 0;
    for (; first + at_once <= rows; first += at_once)
        V(some_rows)(at_once, width, p, first, dy, mask, full, dw);
    for (; first < rows; first++)
        V(some_rows)(1, width, p, first, dy, mask, full, dw);
}

INLINE void V(weights)(const struct narrow_picture *p, const float *dy, vmask mask, const bool full,
                       float *dw)
{
    if (p->width == 5)
        V(all_rows)(5, 5, p, dy, mask, full, dw);
    else if (p->width == 9)
        V(all_rows)(3, 9, p, dy, mask, full, dw);
    else
        V(all_rows)(3, 3, p, dy, mask, full, dw);
}
