/* SPDX-License-Identifier: MIT */
/* grad_batch_norm.c - batch normalisation. In training its mean and variance are those of the whole
 * batch, added up over slices, and the running ones follow them (by a tenth of the way, variance
 * n / (n - 1) as PyTorch has it); else the running ones are used, and the gradient knows them as
 * constants.
 *
 * With h = (x - mean) / deviation and n elements in the batch (Ioffe and Szegedy 2015, section 3):
 *     dscale = sum dy h,  dbias = sum dy,
 *     dx = scale / deviation (dy - (dbias + h dscale) / n),  frozen: scale / deviation dy
 * The sums are of x - shift, shift being the running mean: what is squared is then small.
 *
 * A Relu behind it, also with an Add between the two, is done in the same passes: y is written
 * once. Backward, where dy counts follows from x and, with a residual, from y. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>
#include <stdlib.h>

static const double momentum = 0.1;

/* The last two: the first two times scale, which may be a slice's own where it is computed. */
enum { SUM = 0, SECOND = 1, SCALED_SUM = 2, SCALED_SECOND = 3, SUMS = 4 };

/* Of a slice; each list [C]. */
struct batch_norm {
    float *shift, *mean, *inverse;
    float *s, *t;     /* y = x s + t */
    float *a, *b, *d; /* dx = dy a + x b + d */
    size_t rows;
};

enum { LISTS = 8 };

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    (void)scratch_bytes;
    size_t c = n->channels;
    if (n->in[BN_MEAN]->grad || n->in[BN_VAR]->grad)
        return PITH_ERR_UNSUPPORTED;
    struct batch_norm *s = calloc(1, sizeof *s);
    float *lists = calloc(LISTS * c + 1, sizeof *lists);
    if (!s || !lists) {
        free(s);
        free(lists);
        return PITH_ERR_MEMORY;
    }
    float **list[LISTS] = {&s->shift, &s->mean, &s->inverse, &s->s, &s->t, &s->a, &s->b, &s->d};
    for (size_t i = 0; i < LISTS; i++)
        *list[i] = lists + i * c;
    s->rows = grad_count(n->in[0]) / c;
    n->state = s;
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    struct batch_norm *s = n->state;
    free(s->shift);
    free(s);
}

static double *own(const struct grad_node *n, int which)
{
    return grad_own_sums(n, SUMS) + (size_t)which * n->channels;
}

static const double *all(const struct grad_node *n, int which)
{
    return grad_all_sums(n, SUMS) + (size_t)which * n->channels;
}

static void forward_sums(struct grad_node *n)
{
    struct batch_norm *s = n->state;
    size_t c = n->channels;
    if (!n->training)
        return;
    memset(own(n, SUM), 0, SUMS * c * sizeof(double));
    memcpy(s->shift, n->in[BN_MEAN]->data, c * sizeof(float));
    n->rows->moments(n->in[0]->data, s->shift, s->rows, c, own(n, SUM), own(n, SECOND));
}

static double batch_of(const struct grad_node *n)
{
    return (double)((const struct batch_norm *)n->state)->rows * n->n_slices;
}

static void moments_of(const struct grad_node *n, size_t c, double *mean, double *variance)
{
    const struct batch_norm *s = n->state;
    double count = batch_of(n), shifted = all(n, SUM)[c] / count;
    *mean = (double)s->shift[c] + shifted;
    *variance = fmax(all(n, SECOND)[c] / count - shifted * shifted, 0.0);
}

/* The running ones follow. */
static void forward_joined(struct grad_node *n)
{
    float *mean = n->in[BN_MEAN]->data, *variance = n->in[BN_VAR]->data;
    double count = batch_of(n), m, v;
    for (size_t c = 0; c < n->channels && n->training; c++) {
        moments_of(n, c, &m, &v);
        v = count > 1 ? v * count / (count - 1) : v;
        mean[c] = (float)((double)mean[c] + momentum * (m - (double)mean[c]));
        variance[c] = (float)((double)variance[c] + momentum * (v - (double)variance[c]));
    }
}

/* Mean and 1 / deviation of channel c. */
static void statistics(const struct grad_node *n, size_t c)
{
    struct batch_norm *s = n->state;
    double m, v;
    if (n->training) {
        moments_of(n, c, &m, &v);
    } else {
        m = (double)((const float *)n->in[BN_MEAN]->data)[c];
        v = (double)((const float *)n->in[BN_VAR]->data)[c];
    }
    s->mean[c] = (float)m;
    s->inverse[c] = (float)(1.0 / sqrt(v + (double)attr_f32(n->attr, ATTR_BN_EPSILON)));
}

static void forward(struct grad_node *n)
{
    struct batch_norm *s = n->state;
    const float *scale = n->in[BN_SCALE]->data, *bias = n->in[BN_BIAS]->data;
    for (size_t c = 0; c < n->channels; c++) {
        statistics(n, c);
        s->s[c] = scale[c] * s->inverse[c];
        s->t[c] = bias[c] - s->mean[c] * s->s[c];
    }
    const struct channel_affine a = {.x = n->in[0]->data,
                                     .s = s->s,
                                     .t = s->t,
                                     .beside = n->residual ? n->residual->data : NULL,
                                     .y = n->out[0]->data,
                                     .rows = s->rows,
                                     .c = n->channels};
    if (n->rectifies)
        n->rows->affine_relu(&a);
    else
        n->rows->affine(&a);
}

/* Rows that are gone through twice are in the cache at the second time. */
static size_t chunk_rows(const struct grad_node *n)
{
    const size_t elements = 16384, whole_run = 32; /* sums do not depend on chunks */
    return elements / n->channels / whole_run * whole_run + whole_run;
}

static void backward_sums(struct grad_node *n)
{
    struct batch_norm *s = n->state;
    memset(own(n, SUM), 0, SUMS * n->channels * sizeof(double));
    const float *x = n->in[0]->data, *y = n->out[0]->data;
    float *dy = n->out[0]->grad;
    const bool kink = n->rectifies && !n->residual;
    size_t chunk = chunk_rows(n), c_all = n->channels;
    for (size_t row = 0; row < s->rows; row += chunk) {
        size_t rows = s->rows - row < chunk ? s->rows - row : chunk, at = row * c_all;
        if (n->rectifies && n->residual)
            n->rows->rectify_in_place(y + at, dy + at, rows * c_all);
        n->rows->products(&(struct channel_sums){.dy = dy + at,
                                                 .x = x + at,
                                                 .mean = s->mean,
                                                 .s = kink ? s->s : NULL,
                                                 .t = s->t,
                                                 .sum = own(n, SUM),
                                                 .product = own(n, SECOND),
                                                 .rows = rows,
                                                 .c = c_all});
    }
    const float *scale = n->in[BN_SCALE]->data;
    for (size_t c = 0; c < n->channels; c++) {
        own(n, SCALED_SUM)[c] = own(n, SUM)[c] * (double)scale[c];
        own(n, SCALED_SECOND)[c] = own(n, SECOND)[c] * (double)scale[c];
    }
}

/* To x, and to the residual what the sums left of dy. */
static void pass_on(const struct grad_node *n)
{
    const struct batch_norm *s = n->state;
    const bool kink = n->rectifies && !n->residual;
    float *residual = n->residual ? n->residual->grad : NULL, *dx = n->in[0]->grad;
    struct channel_mix m = {.dy = n->out[0]->grad,
                            .x = n->in[0]->data,
                            .a = s->a,
                            .b = s->b,
                            .d = s->d,
                            .s = kink ? s->s : NULL,
                            .t = kink ? s->t : NULL,
                            .dx = dx,
                            .set = n->sets[0],
                            .c = n->channels};
    size_t chunk = chunk_rows(n);
    for (size_t row = 0; row < s->rows; row += chunk) {
        m.rows = s->rows - row < chunk ? s->rows - row : chunk;
        size_t count = m.rows * m.c;
        if (dx)
            n->rows->mix(&m);
        if (residual && n->sets_residual)
            memcpy(residual + row * m.c, m.dy, count * sizeof *residual);
        else if (residual)
            n->rows->add(residual + row * m.c, m.dy, count);
        m.dy += count;
        m.x += count;
        m.dx = dx ? m.dx + count : NULL;
    }
}

static void backward(struct grad_node *n)
{
    struct batch_norm *s = n->state;
    const float *scale = n->in[BN_SCALE]->data;
    float *dscale = grad_of(n, BN_SCALE), *dbias = grad_of(n, BN_BIAS);
    double count = batch_of(n);
    for (size_t c = 0; c < n->channels; c++) {
        double inverse = (double)s->inverse[c];
        double sum = all(n, SCALED_SUM)[c] * inverse / count;
        double slope = all(n, SCALED_SECOND)[c] * inverse * inverse * inverse / count;
        s->a[c] = (float)((double)scale[c] * inverse);
        s->b[c] = n->training ? (float)-slope : 0.0f;
        s->d[c] = n->training ? (float)(slope * (double)s->mean[c] - sum) : 0.0f;
        if (dscale)
            dscale[c] =
                (n->sets[BN_SCALE] ? 0.0f : dscale[c]) + (float)(own(n, SECOND)[c] * inverse);
        if (dbias)
            dbias[c] = (n->sets[BN_BIAS] ? 0.0f : dbias[c]) + (float)own(n, SUM)[c];
    }
    pass_on(n);
}

const struct grad_op pith_grad_batch_norm = {.op = PITH_OP_BATCH_NORM,
                                             .layout = GRAD_CHANNELS_LAST,
                                             .sets = true,
                                             .takes_tail = true,
                                             .prepare = prepare,
                                             .release = release,
                                             .forward = forward,
                                             .backward = backward,
                                             .shared_sums = SUMS,
                                             .forward_sums = forward_sums,
                                             .forward_joined = forward_joined,
                                             .backward_sums = backward_sums};
