/* SPDX-License-Identifier: MIT */
/* integer_direct.c - see integer_direct.h.
 *
 *     weights in the image    output after output: a sum for each pixel of the taps inside x
 *     coded [outputs, K]      the same, one filter decoded at a time
 *     coded [K, outputs]      row after row of K, added to sums of all outputs
 * A product with trans_b has its weights as a convolution has them.
 *
 * Padding has the value of the zero point and so adds nothing. Sums are modulo 2^32: their order
 * does not show. */
#include "products/integer_direct.h"
#include "kernels/ref/integer_element.h"
#include "kernels/kernels.h"
#include "decode/weight_rows.h"

struct direct_run {
    const struct integer_conv *c;
    const struct integer_conv_data *data;
    const struct byte_rows *bytes;
    uint32_t cg, og, taps;
    size_t x_row, x_pixel, x_channel, x_image; /* elements of x from one to the next */
    size_t w_channel;                          /* and of a filter */
};

static bool is_matrix(const struct op_args *args)
{
    return args->info->op == PITH_OP_MATMUL_INTEGER && !args->attr[ATTR_MATMUL_TRANS_B];
}

/* One decoded filter: what run_coded_filters keeps beside the reader. */
static size_t filter_bytes(const struct integer_conv *c)
{
    return (size_t)aligned_bytes((uint64_t)c->channels / c->groups * c->kh * c->kw);
}

static bool keeps_sums(const struct integer_conv *c)
{
    return !c->to_values && !c->to_real;
}

/* y has room for the sums, and each lies where its number will: it is read before that is written.
 */
static bool sums_in_y(const struct integer_conv *c)
{
    return keeps_sums(c) || (c->to_real && c->y_step == c->outputs);
}

/* Sums of a product whose rows of K come one after the other. */
static uint64_t sums_bytes(const struct integer_conv *c)
{
    uint64_t sums = (uint64_t)c->oh * c->outputs; /* < 2^31: pith_integer_conv_of_matmul */
    return sums_in_y(c) ? 0 : aligned_bytes(sums * sizeof(uint32_t));
}

bool pith_integer_direct_need(const struct integer_conv *c, const struct op_args *args,
                              struct op_need *need)
{
    if (pith_weight_borrow(args->weight))
        return true;
    const bool matrix = is_matrix(args);
    need->reads_rows = true;
    need->writes_last = matrix && !sums_in_y(c);
    need->prep_scratch_bytes = pith_weight_rows_bytes(args->weight);
    need->scratch_bytes = need->prep_scratch_bytes + (matrix ? sums_bytes(c) : filter_bytes(c));
    return true;
}

/* The difference of x and its zero point has 9 bits, the weight 8: their product fits an int, and
 * only the sum may wrap around, which is why it is unsigned. */
#define DOT(T)                                                                                     \
    static uint32_t dot_##T(const void *values, size_t x_step, const int8_t *w, size_t w_step,     \
                            uint32_t n, int32_t zero)                                              \
    {                                                                                              \
        const T *x = values;                                                                       \
        uint32_t sum = 0;                                                                          \
        for (; n > 0; n--, x += x_step, w += w_step)                                               \
            sum += (uint32_t)((*x - zero) * *w);                                                   \
        return sum;                                                                                \
    }

DOT(int8_t)
DOT(uint8_t)

static uint32_t dot(const struct direct_run *r, size_t x, size_t x_step, const int8_t *w,
                    size_t w_step, uint32_t n)
{
    int32_t zero = r->data->zero_x;
    const uint8_t *at = r->data->x + x;
    return r->c->x_signed ? dot_int8_t(at, x_step, w, w_step, n, zero)
                          : dot_uint8_t(at, x_step, w, w_step, n, zero);
}

/* Taps of one axis that lie inside x for an output: [begin, end). */
struct tap_range {
    uint32_t begin, end;
};

static struct tap_range taps_inside(uint32_t out, uint32_t kernel, uint32_t stride, uint32_t dil,
                                    uint32_t pad, uint32_t size)
{
    struct tap_range t = {0, 0};
    int64_t at = (int64_t)out * stride - pad;
    for (uint32_t k = 0; k < kernel; k++, at += dil) {
        if (at < 0)
            t.begin = k + 1;
        if (at < size)
            t.end = k + 1;
    }
    t.end = t.end < t.begin ? t.begin : t.end;
    return t;
}

/* Of output pixel (oy, ox); x: of its image and group. The inner loop goes along the longer of a
 * pixel's channels and a row's taps; a call for each of the others is what remains. Taps inside x
 * are consecutive, so no element is tested. */
static uint32_t window_sum(const struct direct_run *r, size_t x, uint32_t oy, uint32_t ox,
                           const int8_t *w)
{
    const struct integer_conv *c = r->c;
    struct tap_range ty = taps_inside(oy, c->kh, c->stride_h, c->dil_h, c->pad_top, c->h);
    struct tap_range tx = taps_inside(ox, c->kw, c->stride_w, c->dil_w, c->pad_left, c->w);
    uint32_t sum = 0, across = tx.end - tx.begin;
    for (uint32_t ky = ty.begin; ky < ty.end && across; ky++) {
        size_t row = (size_t)oy * c->stride_h + (size_t)ky * c->dil_h - c->pad_top;
        size_t col = (size_t)ox * c->stride_w + (size_t)tx.begin * c->dil_w - c->pad_left;
        size_t at = x + row * r->x_row + col * r->x_pixel;
        const int8_t *v = w + ky * c->kw + tx.begin;
        if (r->cg > across)
            for (uint32_t kx = 0; kx < across; kx++)
                sum += dot(r, at + kx * c->dil_w * r->x_pixel, r->x_channel, v + kx, r->w_channel,
                           r->cg);
        else
            for (uint32_t k = 0; k < r->cg; k++)
                sum += dot(r, at + k * r->x_channel, c->dil_w * r->x_pixel, v + k * r->w_channel, 1,
                           across);
    }
    return sum;
}

/* By the kernel that adds rows of bytes, for a row of one: it rounds as the packed kernels do. */
static void add_to_residual(const struct direct_run *r, size_t image, size_t pixel, uint32_t o,
                            uint8_t *y)
{
    const struct integer_conv *c = r->c;
    size_t pixels = (size_t)c->oh * c->ow, at = (image * c->outputs + o) * pixels + pixel;
    if (c->y_step)
        at = (image * pixels + pixel) * c->outputs + o;
    r->bytes->combine(
        r->data->add,
        &(struct combined_rows){.a = y, .b = r->data->residual + at, .y = y, .n = 1, .rows = 1});
}

/* Output o of a pixel, from its sum. */
static void put(const struct direct_run *r, size_t image, size_t pixel, uint32_t o, uint32_t sum)
{
    const struct integer_conv *c = r->c;
    const struct integer_conv_data *d = r->data;
    size_t pixels = (size_t)c->oh * c->ow, at = (image * c->outputs + o) * pixels + pixel;
    if (c->y_step)
        at = (image * pixels + pixel) * c->y_step + o;
    sum += d->bias ? ((const uint32_t *)d->bias)[o] : 0;
    if (keeps_sums(c)) {
        memcpy(d->y + at * sizeof sum, &sum, sizeof sum);
        return;
    }
    float real = (float)(int32_t)sum * d->factor[o * d->factor_step];
    if (c->to_real) {
        memcpy(d->y + at * sizeof real, &real, sizeof real);
        return;
    }
    struct integer_range range = integer_range_of(c->y_signed ? PITH_I8 : PITH_U8, d->zero_y);
    d->y[at] = (uint8_t)quantized(&range, real);
    if (d->residual)
        add_to_residual(r, image, pixel, o, d->y + at);
}

/* Output o of all pixels of all images; w: its filter. */
static void run_filter(const struct direct_run *r, uint32_t o, const int8_t *w)
{
    const struct integer_conv *c = r->c;
    for (size_t image = 0; image < c->n; image++) {
        size_t x = image * r->x_image + (size_t)(o / r->og) * r->cg * r->x_channel, pixel = 0;
        for (uint32_t oy = 0; oy < c->oh; oy++)
            for (uint32_t ox = 0; ox < c->ow; ox++, pixel++)
                put(r, image, pixel, o, window_sum(r, x, oy, ox, w));
    }
}

/* step: elements from an output's filter to the next one's. A matrix [K, outputs] has them side by
 * side, and w_channel then goes from row to row. */
static void run_filters(const struct direct_run *r, const int8_t *w, size_t step)
{
    for (uint32_t o = 0; o < r->c->outputs; o++)
        run_filter(r, o, w + o * step);
}

/* A reader goes forward only. So each filter is decoded once, and multiplied with all pixels of all
 * images before the next one comes. */
static void run_coded_filters(const struct direct_run *r, const struct weight *w, void *scratch)
{
    uint32_t n = r->cg * r->taps;
    int8_t *filter = scratch;
    struct weight_rows *rows = pith_weight_rows_open(w, (uint8_t *)scratch + filter_bytes(r->c));
    for (uint32_t o = 0; o < r->c->outputs; o++) {
        pith_weight_rows_i8(rows, filter, n);
        run_filter(r, o, filter);
    }
}

/* sum[i, o] += (x[i, k] - zero) * w[k, o], a row of K at a time. */
static void run_coded_matrix(const struct direct_run *r, const struct weight *w, uint8_t *scratch)
{
    const struct integer_conv *c = r->c;
    uint32_t *sum = (void *)(sums_in_y(c) ? r->data->y : scratch);
    struct weight_rows *rows = pith_weight_rows_open(w, scratch + sums_bytes(c));
    memset(sum, 0, (size_t)c->oh * c->outputs * sizeof *sum);
    for (uint32_t k = 0; k < c->channels; k++) {
        struct weight_rows_column x = {r->data->x + k, c->channels, c->x_signed, r->data->zero_x};
        pith_weight_rows_add(rows, &x, c->oh, sum, c->outputs);
    }
    for (uint32_t i = 0; i < c->oh; i++)
        for (uint32_t o = 0; o < c->outputs; o++)
            put(r, 0, i, o, sum[(size_t)i * c->outputs + o]);
}

void pith_integer_direct_run(const struct integer_conv *c, const struct op_args *args,
                             const struct op_env *env, const struct integer_conv_data *data)
{
    const int8_t *w = pith_weight_borrow(args->weight);
    const bool matrix = is_matrix(args);
    size_t plane = (size_t)c->h * c->w;
    struct direct_run r = {.c = c,
                           .data = data,
                           .bytes = &env->kernels->integer.bytes,
                           .cg = c->channels / c->groups,
                           .og = c->outputs / c->groups,
                           .taps = c->kh * c->kw,
                           .x_row = c->channels_last ? (size_t)c->w * c->channels : c->w,
                           .x_pixel = c->channels_last ? c->channels : 1,
                           .x_channel = c->channels_last ? 1 : plane,
                           .x_image = plane * c->channels};
    r.w_channel = matrix ? c->outputs : r.taps;
    if (w)
        run_filters(&r, w, matrix ? 1 : r.cg * r.taps);
    else if (matrix)
        run_coded_matrix(&r, args->weight, env->scratch);
    else
        run_coded_filters(&r, args->weight, env->scratch);
}
