/* SPDX-License-Identifier: MIT */
/* direct.cu - convolutions of f32 with few terms an output: depthwise, and narrow groups. A thread
 * has up to four outputs below one another, two where windows are two rows apart, so that lanes read
 * and write side by side; they share the divisions that find them, the weights and, windows of 3 x
 * 3, what they read of x. Terms are added tap by tap. */
#include "device_map.cuh"

#define EACH_DIRECT CONV_DIRECT_EACH

/* Where a thread's outputs lie: the first of them, how many there are, their plane of y, the channel
 * of the weight, and the plane of x where their group begins. */
struct direct_place {
    int32_t oh, ow;
    uint32_t there, plane, o, group;
};

DEVICE struct direct_place direct_place_of(const struct conv_args *arg, uint32_t i, uint32_t each)
{
    const uint32_t in_plane = ((uint32_t)arg->oh + each - 1) / each;
    const uint32_t all = arg->groups * arg->outputs;
    const uint32_t strip = i / (uint32_t)arg->ow, plane = strip / in_plane, image = plane / all;
    struct direct_place p = {(int32_t)((strip - plane * in_plane) * each),
                             (int32_t)(i - strip * (uint32_t)arg->ow), each, plane,
                             plane - image * all, 0};
    if (p.oh + (int32_t)each > arg->oh)
        p.there = (uint32_t)(arg->oh - p.oh);
    p.group = image * arg->groups + (arg->outputs == 1u ? p.o : p.o / arg->outputs);
    return p;
}

DEVICE bool lies_below(int32_t at, int32_t end)
{
    return (uint32_t)at < (uint32_t)end;
}

/* Any window, of one channel. */
DEVICE void add_window(const struct conv_args *arg, const void *x, uint32_t type, const float *w,
                       int32_t ih, int32_t iw, uint32_t each, float sum[EACH_DIRECT])
{
    for (int32_t kh = 0; kh < arg->kh; kh++)
        for (int32_t kw = 0; kw < arg->kw; kw++, w++) {
            const int32_t column = iw + kw * arg->dil_w;
            UNROLLED
            for (uint32_t j = 0; j < each; j++) {
                const int32_t row = ih + (int32_t)j * arg->stride_h + kh * arg->dil_h;
                const bool inside = lies_below(row, arg->h) && lies_below(column, arg->width);
                const uint32_t at = (uint32_t)(row * arg->width + column);
                sum[j] = fmaf(*w, inside ? value_at(x, at, type) : 0.0f, sum[j]);
            }
        }
}

/* Windows of 3 x 3 that are not dilated, `stride` rows apart: each row of x is read once, and all of
 * it is on its way before the first is used. */
DEVICE void add_window_of_three(const struct conv_args *arg, const void *x, uint32_t type,
                                const float *w, int32_t ih, int32_t iw, uint32_t each,
                                uint32_t stride, float sum[EACH_DIRECT])
{
    float v[EACH_DIRECT + 2][3], factor[9];
    const uint32_t rows = (each - 1) * stride + 3;
    UNROLLED
    for (uint32_t r = 0; r < rows; r++) {
        const int32_t row = ih + (int32_t)r;
        const bool inside = lies_below(row, arg->h);
        UNROLLED
        for (uint32_t k = 0; k < 3; k++) {
            const int32_t column = iw + (int32_t)k;
            const uint32_t at = (uint32_t)(row * arg->width + column);
            v[r][k] = inside && lies_below(column, arg->width) ? value_at(x, at, type) : 0.0f;
        }
    }
    UNROLLED
    for (uint32_t k = 0; k < 9; k++)
        factor[k] = w[k];
    UNROLLED
    for (uint32_t k = 0; k < 9; k++)
        UNROLLED
        for (uint32_t j = 0; j < each; j++)
            sum[j] = fmaf(factor[k], v[j * stride + k / 3][k % 3], sum[j]);
}

/* each and whether type is VALUE_F32: constants where this is called, as below; `stride` the one
 * that goes with each. */
DEVICE void direct_sums(const struct conv_args *arg, const struct direct_place *p, uint32_t type,
                        uint32_t each, uint32_t stride, float sum[EACH_DIRECT])
{
    const uint32_t plane = (uint32_t)(arg->h * arg->width), taps = (uint32_t)(arg->kh * arg->kw);
    const void *x = values_from(arg->x, (size_t)(p->group * arg->channels) * plane, type);
    const float *w = arg->w + p->o * arg->channels * taps;
    const int32_t ih = p->oh * arg->stride_h - arg->pad_top;
    const int32_t iw = p->ow * arg->stride_w - arg->pad_left;
    const bool three = arg->kh == 3 && arg->kw == 3 && arg->dil_h == 1 && arg->dil_w == 1;
    for (uint32_t c = 0; c < arg->channels; c++, w += taps) {
        if (three && (each == 1 || arg->stride_h == (int32_t)stride))
            add_window_of_three(arg, x, type, w, ih, iw, each, stride, sum);
        else
            add_window(arg, x, type, w, ih, iw, each, sum);
        x = values_from(x, plane, type);
    }
}

DEVICE void put_direct(const struct conv_args *arg, const struct direct_place *p, uint32_t each,
                       float sum[EACH_DIRECT])
{
    const uint32_t pixels = (uint32_t)(arg->oh * arg->ow), row = (uint32_t)arg->ow;
    const uint32_t at = p->plane * pixels + (uint32_t)(p->oh * arg->ow + p->ow);
    const float bias = arg->bias ? arg->bias[p->o] : 0.0f;
    UNROLLED
    for (uint32_t j = 0; j < each; j++) {
        sum[j] = arg->bias ? sum[j] + bias : sum[j];
        if (arg->residual && j < p->there)
            sum[j] += value_at(arg->residual, at + j * row, arg->residual_type);
    }
    activate_short(arg->act, arg->act_a, arg->act_b, each, sum);
    UNROLLED
    for (uint32_t j = 0; j < each; j++)
        if (j < p->there)
            put_value(arg->y, at + j * row, arg->y_type, sum[j]);
    NOT_UNROLLED
    for (uint32_t j = is_long(arg->act) ? 0 : each; j < each; j++)
        if (j < p->there)
            activate_at(arg->y, at + j * row, arg->y_type, arg->act, arg->act_a, arg->act_b);
}

DEVICE void direct(const struct conv_args *arg, uint32_t each, uint32_t stride)
{
    const uint32_t planes = arg->n / (uint32_t)(arg->oh * arg->ow);
    FOR_EACH(i, planes * (((uint32_t)arg->oh + each - 1) / each) * (uint32_t)arg->ow)
    {
        const struct direct_place p = direct_place_of(arg, i, each);
        float sum[EACH_DIRECT] = {0.0f};
        if (arg->x_type == VALUE_F32)
            direct_sums(arg, &p, VALUE_F32, each, stride, sum);
        else
            direct_sums(arg, &p, arg->x_type, each, stride, sum);
        put_direct(arg, &p, each, sum);
    }
}

KERNEL_OF(conv_direct_f32, conv_args, LAUNCH_THREADS, 4)
{
    if (!IN_PROGRAM && arg->each == EACH_DIRECT)
        direct(arg, EACH_DIRECT, 1);
    else if (!IN_PROGRAM && arg->each == 2)
        direct(arg, 2, 2);
    else
        direct(arg, 1, 1);
}
