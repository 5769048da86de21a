/* SPDX-License-Identifier: MIT */
/* window.cu - MaxPool and AveragePool, in the CPU's order: the rows of the window under each of its
 * columns first, then the columns. Windows of 2 x 2 and 3 x 3 have a kernel of their own, whose
 * threads have up to four outputs, one below the other: so the lanes of a warp read what lies side
 * by side, and the outputs share rows of x and the divisions that find them. */
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
    const void *x; /* the plane */
    int32_t top, left, kh, kh_end, kw, kw_end;
};

DEVICE float tap_at(const struct pool_args *arg, const struct pool_window *v, int32_t kh, int32_t kw)
{
    const int64_t row = v->top + kh * arg->dil_h;
    return value_at(v->x, (size_t)(row * arg->w + v->left + kw * arg->dil_w), arg->x_type);
}

/* Column by column, each by itself first; or all taps of a row, and on to the next. */
DEVICE float window_value(const struct pool_args *arg, const struct pool_window *v, bool rows,
                          float start)
{
    const int32_t end = rows ? v->kh_end : v->kw_end, line_end = rows ? v->kw_end : v->kh_end;
    float y = start;
    for (int32_t i = rows ? v->kh : v->kw; i < end; i++) {
        float line = rows ? y : start;
        for (int32_t k = rows ? v->kw : v->kh; k < line_end; k++)
            line = tap(arg->is_mean, line, tap_at(arg, v, rows ? i : k, rows ? k : i));
        y = rows ? line : tap(arg->is_mean, y, line);
    }
    return y;
}

/* What a sum of a window is divided by. */
DEVICE int32_t counted_taps(const struct pool_args *arg, int32_t top, int32_t left, int32_t dil_h,
                            int32_t dil_w)
{
    int32_t begin_h, end_h, begin_w, end_w;
    bool pad = arg->include_pad != 0;
    window_taps(top, arg->h, arg->kh, dil_h, pad ? arg->pad_top : 0,
                pad ? arg->pad_bottom : 0, &begin_h, &end_h);
    window_taps(left, arg->w, arg->kw, dil_w, pad ? arg->pad_left : 0,
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
        const size_t plane = i / (uint32_t)arg->ow / (uint32_t)arg->oh;
        v.x = values_from(arg->x, plane * (size_t)arg->h * (size_t)arg->w, arg->x_type);
        v.top = oh * arg->stride_h - arg->pad_top;
        v.left = ow * arg->stride_w - arg->pad_left;
        window_taps(v.top, arg->h, arg->kh, arg->dil_h, 0, 0, &v.kh, &v.kh_end);
        window_taps(v.left, arg->w, arg->kw, arg->dil_w, 0, 0, &v.kw, &v.kw_end);
        float start = arg->is_mean ? 0.0f : f32_from_bits(0xff800000u);
        float y = window_value(arg, &v, arg->rows_first != 0, start);
        int32_t taps = arg->is_mean ? counted_taps(arg, v.top, v.left, arg->dil_h, arg->dil_w) : 1;
        put_value(arg->y, i, arg->y_type, !arg->is_mean ? y : taps > 0 ? y / (float)taps : 0.0f);
    }
}

/* ---- windows of 2 x 2 and 3 x 3 --------------------------------------------------------------
 * size, stride, each, is_mean and whether type is VALUE_F32 are constants where these are called. */

#define MOST_SIDE 3u
#define MOST_ROWS ((POOL_EACH - 1u) * 2u + MOST_SIDE)

struct small_place {
    int32_t first; /* tap: an element of x, or one that lies outside */
    int32_t top, left;
    uint32_t plane, oh, ow;
};

/* Two divisions, neither of which waits for the other. The offset of the first tap fits 32 bits, as
 * a window starts before the end of x and less than three rows before its beginning. */
DEVICE struct small_place small_place_of(const struct pool_args *arg, uint32_t i, uint32_t each)
{
    const uint32_t w = (uint32_t)arg->w, in_plane = ((uint32_t)arg->oh + each - 1) / each;
    const uint32_t row = i / (uint32_t)arg->ow, plane = i / (in_plane * (uint32_t)arg->ow);
    struct small_place p = {.plane = plane,
                            .oh = (row - plane * in_plane) * each,
                            .ow = i - row * (uint32_t)arg->ow};
    p.top = (int32_t)p.oh * arg->stride_h - arg->pad_top;
    p.left = (int32_t)p.ow * arg->stride_w - arg->pad_left;
    p.first = (int32_t)((plane * (uint32_t)arg->h + (uint32_t)p.top) * w + (uint32_t)p.left);
    return p;
}

/* All of them are on their way before one is used. What lies outside is `start`, with which neither
 * a maximum nor a sum changes. inside: none does. */
DEVICE void load_taps(const struct pool_args *arg, const struct small_place *p, uint32_t type,
                      uint32_t rows, uint32_t size, bool inside, float start,
                      float x[MOST_ROWS][MOST_SIDE])
{
    int32_t row = p->first;
    UNROLLED
    for (uint32_t r = 0; r < rows; r++, row += arg->w) {
        const bool in_h = (uint32_t)(p->top + (int32_t)r) < (uint32_t)arg->h;
        UNROLLED
        for (uint32_t c = 0; c < size; c++) {
            const bool in_w = (uint32_t)(p->left + (int32_t)c) < (uint32_t)arg->w;
            x[r][c] = inside || (in_h && in_w) ? value_at(arg->x, (uint32_t)row + c, type) : start;
        }
    }
}

/* Of the window whose first row is x[0]. A column's maximum is never NaN and its sum never -0, so
 * the first column needs no `start`. */
DEVICE float small_window(const float x[][MOST_SIDE], uint32_t size, bool is_mean, float start)
{
    float y = start;
    UNROLLED
    for (uint32_t c = 0; c < size; c++) {
        float column = start;
        UNROLLED
        for (uint32_t r = 0; r < size; r++)
            column = tap(is_mean, column, x[r][c]);
        y = c ? tap(is_mean, y, column) : column;
    }
    return y;
}

DEVICE float small_mean(const struct pool_args *arg, const struct small_place *p, int32_t down,
                        uint32_t size, bool inside, float sum)
{
    if (inside)
        return sum / (float)(size * size);
    const int32_t taps = counted_taps(arg, p->top + down * arg->stride_h, p->left, 1, 1);
    return taps > 0 ? sum / (float)taps : 0.0f;
}

DEVICE void small_outputs(const struct pool_args *arg, const struct small_place *p, uint32_t type,
                          uint32_t size, uint32_t stride, uint32_t each, bool is_mean, bool inside)
{
    const float start = is_mean ? 0.0f : f32_from_bits(0xff800000u);
    float x[MOST_ROWS][MOST_SIDE];
    load_taps(arg, p, type, (each - 1) * stride + size, size, inside, start, x);
    uint32_t y = (p->plane * (uint32_t)arg->oh + p->oh) * (uint32_t)arg->ow + p->ow;
    UNROLLED
    for (uint32_t j = 0; j < each; j++, y += (uint32_t)arg->ow) {
        const float v = small_window(&x[j * stride], size, is_mean, start);
        if (inside || j == 0 || p->oh + j < (uint32_t)arg->oh)
            put_value(arg->y, y, arg->y_type,
                      is_mean ? small_mean(arg, p, (int32_t)j, size, inside, v) : v);
    }
}

/* A window that lies inside is one of y's, as those that y has not would reach beyond x. */
DEVICE void small_windows(const struct pool_args *arg, uint32_t type, uint32_t size,
                          uint32_t stride, uint32_t each, bool is_mean)
{
    const int32_t rows = (int32_t)((each - 1) * stride + size);
    FOR_EACH(i, arg->threads)
    {
        const struct small_place p = small_place_of(arg, i, each);
        if (p.top >= 0 && p.left >= 0 && p.top <= arg->h - rows &&
            p.left <= arg->w - (int32_t)size)
            small_outputs(arg, &p, type, size, stride, each, is_mean, true);
        else
            small_outputs(arg, &p, type, size, stride, each, is_mean, false);
    }
}

DEVICE void pool_side(const struct pool_args *arg, uint32_t type, uint32_t size, bool is_mean)
{
    if (arg->each == 1)
        small_windows(arg, type, size, 1, 1, is_mean);
    else if (arg->stride_h == 1)
        small_windows(arg, type, size, 1, POOL_EACH, is_mean);
    else
        small_windows(arg, type, size, 2, POOL_EACH, is_mean);
}

DEVICE void pool_values(const struct pool_args *arg, uint32_t type)
{
    if (arg->kh == 3 && arg->is_mean)
        pool_side(arg, type, 3, true);
    else if (arg->kh == 3)
        pool_side(arg, type, 3, false);
    else if (arg->is_mean)
        pool_side(arg, type, 2, true);
    else
        pool_side(arg, type, 2, false);
}

KERNEL(pool_small, pool_args)
{
    BODY_OF_TYPE(pool_values, arg)
}
