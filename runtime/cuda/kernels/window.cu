/* SPDX-License-Identifier: MIT */
/* window.cu - MaxPool and AveragePool, a thread an output, in the CPU's order: the rows of the
 * window under each of its columns first, then the columns. */
#include "device_map.cuh"

/* Taps [*begin, *end) of a window that starts at `start` that lie in [-before, in + after). */
DEVICE void window_taps(int32_t start, int32_t in, int32_t kernel, int32_t dilation, int32_t before,
                        int32_t after, int32_t *begin, int32_t *end)
{
    int32_t low = -before - start, high = in + after - start;
    *begin = low <= 0 ? 0 : (low + dilation - 1) / dilation;
    *end = high <= 0 ? 0 : (high + dilation - 1) / dilation;
    *end = *end > kernel ? kernel : *end;
}

DEVICE float tap(bool is_mean, float y, float x)
{
    return is_mean ? y + x : x > y ? x : y;
}

struct pool_window {
    const float *x;
    int32_t top, left, kh, kh_end, kw, kw_end;
};

DEVICE float by_columns(const struct pool_args *arg, const struct pool_window *v, float start)
{
    float y = start;
    for (int32_t kw = v->kw; kw < v->kw_end; kw++) {
        float column = start;
        for (int32_t kh = v->kh; kh < v->kh_end; kh++)
            column = tap(arg->is_mean, column,
                         v->x[(int64_t)(v->top + kh * arg->dil_h) * arg->w + v->left +
                              kw * arg->dil_w]);
        y = tap(arg->is_mean, y, column);
    }
    return y;
}

DEVICE float by_rows(const struct pool_args *arg, const struct pool_window *v, float start)
{
    float y = start;
    for (int32_t kh = v->kh; kh < v->kh_end; kh++)
        for (int32_t kw = v->kw; kw < v->kw_end; kw++)
            y = tap(arg->is_mean, y,
                    v->x[(int64_t)(v->top + kh * arg->dil_h) * arg->w + v->left + kw * arg->dil_w]);
    return y;
}

/* What a sum of a window is divided by. */
DEVICE int32_t counted_taps(const struct pool_args *arg, const struct pool_window *v)
{
    int32_t begin_h, end_h, begin_w, end_w;
    bool pad = arg->include_pad != 0;
    window_taps(v->top, arg->h, arg->kh, arg->dil_h, pad ? arg->pad_top : 0,
                pad ? arg->pad_bottom : 0, &begin_h, &end_h);
    window_taps(v->left, arg->w, arg->kw, arg->dil_w, pad ? arg->pad_left : 0,
                pad ? arg->pad_right : 0, &begin_w, &end_w);
    return (end_h > begin_h ? end_h - begin_h : 0) * (end_w > begin_w ? end_w - begin_w : 0);
}

KERNEL(pool, pool_args)
{
    FOR_EACH(i, arg->n)
    {
        const int32_t ow = (int32_t)(i % (uint32_t)arg->ow);
        const int32_t oh = (int32_t)(i / (uint32_t)arg->ow % (uint32_t)arg->oh);
        struct pool_window v;
        v.x = arg->x + (int64_t)(i / (uint32_t)arg->ow / (uint32_t)arg->oh) * arg->h * arg->w;
        v.top = oh * arg->stride_h - arg->pad_top;
        v.left = ow * arg->stride_w - arg->pad_left;
        window_taps(v.top, arg->h, arg->kh, arg->dil_h, 0, 0, &v.kh, &v.kh_end);
        window_taps(v.left, arg->w, arg->kw, arg->dil_w, 0, 0, &v.kw, &v.kw_end);
        float start = arg->is_mean ? 0.0f : f32_from_bits(0xff800000u);
        float y = arg->rows_first ? by_rows(arg, &v, start) : by_columns(arg, &v, start);
        int32_t taps = arg->is_mean ? counted_taps(arg, &v) : 1;
        arg->y[i] = !arg->is_mean ? y : taps > 0 ? y / (float)taps : 0.0f;
    }
}
