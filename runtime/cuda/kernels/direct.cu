/* SPDX-License-Identifier: MIT */
/* direct.cu - convolutions of f32 with few terms an output: depthwise, and narrow groups. A thread
 * has up to four neighbours of a row, which share the divisions that find them, the weights and,
 * three taps wide, what they read of x: so it takes some 40 instructions an output where it took
 * 500. Terms are added tap by tap. */
#include "device_map.cuh"

#define EACH_DIRECT CONV_DIRECT_EACH

/* Where a thread's outputs lie: the first of them, how many there are, their plane of y and channel
 * of the weight. */
struct direct_place {
    int32_t oh, ow;
    uint32_t there, plane, o, group;
};

DEVICE struct direct_place direct_place_of(const struct conv_args *arg, uint32_t i, uint32_t each)
{
    const uint32_t in_row = ((uint32_t)arg->ow + each - 1) / each, all = arg->groups * arg->outputs;
    const uint32_t row = i / in_row, plane = row / (uint32_t)arg->oh;
    struct direct_place p = {(int32_t)(row - plane * (uint32_t)arg->oh),
                             (int32_t)((i - row * in_row) * each), each, plane, plane % all, 0};
    if (p.ow + (int32_t)each > arg->ow)
        p.there = (uint32_t)(arg->ow - p.ow);
    p.group = plane / all * arg->groups + p.o / arg->outputs;
    return p;
}

/* A row of taps; the first output's are from column iw of x on. inside: all of them lie in x. */
DEVICE void add_row(const struct conv_args *arg, const float *row, int32_t iw, const float *w,
                    uint32_t each, bool inside, float sum[EACH_DIRECT])
{
    for (int32_t k = 0; k < arg->kw; k++, iw += arg->dil_w) {
        const float factor = w[k];
        UNROLLED
        for (uint32_t j = 0; j < each; j++) {
            const int32_t at = iw + (int32_t)j * arg->stride_w;
            const float x = inside || (at >= 0 && at < arg->width) ? row[at] : 0.0f;
            sum[j] = fmaf(factor, x, sum[j]);
        }
    }
}

/* The same of three taps side by side, all inside, that are `stride` apart from output to output: x
 * is read once. */
DEVICE void add_row_of_three(const float *row, const float *w, uint32_t each, uint32_t stride,
                             float sum[EACH_DIRECT])
{
    float x[2 * EACH_DIRECT + 1];
    UNROLLED
    for (uint32_t i = 0; i < (each - 1) * stride + 3; i++)
        x[i] = row[i];
    UNROLLED
    for (uint32_t k = 0; k < 3; k++) {
        const float factor = w[k];
        UNROLLED
        for (uint32_t j = 0; j < each; j++)
            sum[j] = fmaf(factor, x[j * stride + k], sum[j]);
    }
}

/* each: a constant where this is called, as below. */
DEVICE void direct_sums(const struct conv_args *arg, const struct direct_place *p, uint32_t each,
                        float sum[EACH_DIRECT])
{
    const size_t plane = (size_t)arg->h * (size_t)arg->width;
    const float *x = arg->x + (size_t)p->group * arg->channels * plane;
    const float *w = arg->w + (size_t)p->o * arg->channels * (uint32_t)(arg->kh * arg->kw);
    const int32_t iw = p->ow * arg->stride_w - arg->pad_left;
    const int32_t last = iw + (int32_t)(each - 1) * arg->stride_w + (arg->kw - 1) * arg->dil_w;
    const bool inside = iw >= 0 && last < arg->width;
    const int32_t three = inside && arg->kw == 3 && arg->dil_w == 1 ? arg->stride_w : 0;
    for (uint32_t c = 0; c < arg->channels; c++, x += plane) {
        int32_t ih = p->oh * arg->stride_h - arg->pad_top;
        for (int32_t kh = 0; kh < arg->kh; kh++, w += arg->kw, ih += arg->dil_h) {
            const float *row = x + (int64_t)ih * arg->width;
            if (ih < 0 || ih >= arg->h)
                continue;
            if (three == 1)
                add_row_of_three(row + iw, w, each, 1, sum);
            else if (three == 2)
                add_row_of_three(row + iw, w, each, 2, sum);
            else
                add_row(arg, row, iw, w, each, inside, sum);
        }
    }
}

DEVICE void put_direct(const struct conv_args *arg, const struct direct_place *p, uint32_t each,
                       const float sum[EACH_DIRECT])
{
    const uint32_t pixel = (uint32_t)(p->oh * arg->ow + p->ow);
    float *y = pixel_at(arg, p->plane, pixel);
    UNROLLED
    for (uint32_t j = 0; j < each; j++)
        if (j < p->there)
            y[j] = activated_short(arg->act, arg->act_a, arg->act_b,
                                   pixel_value(arg, p->plane, p->o, pixel + j, sum[j]));
    NOT_UNROLLED
    for (uint32_t j = is_long(arg->act) ? 0 : each; j < each; j++)
        if (j < p->there)
            y[j] = activated(arg->act, arg->act_a, arg->act_b, y[j]);
}

DEVICE void direct(const struct conv_args *arg, uint32_t each)
{
    const uint32_t rows = arg->n / (uint32_t)arg->ow;
    FOR_EACH(i, rows * (((uint32_t)arg->ow + each - 1) / each))
    {
        const struct direct_place p = direct_place_of(arg, i, each);
        float sum[EACH_DIRECT] = {0.0f};
        direct_sums(arg, &p, each, sum);
        put_direct(arg, &p, each, sum);
    }
}

KERNEL(conv_direct_f32, conv_args)
{
    if (arg->each > 1)
        direct(arg, EACH_DIRECT);
    else
        direct(arg, 1);
}
