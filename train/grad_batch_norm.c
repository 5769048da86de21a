/* SPDX-License-Identifier: MIT */
/* grad_batch_norm.c - batch normalisation. In training its mean and variance are those of the whole
 * batch, added up over slices, and the running ones follow them (by a tenth of the way, variance
 * n / (n - 1) as PyTorch has it); else the running ones are used, and the gradient knows them as
 * constants.
 *
 * With h = (x - mean) / deviation and n elements in the batch (Ioffe and Szegedy 2015, section 3):
 *     dscale = sum dy h,  dbias = sum dy,
 *     dx = scale / deviation (dy - (dbias + h dscale) / n),  frozen: scale / deviation dy
 * The sums are of x - shift, shift being the running mean: what is squared is then small. */
#include "grad_add.h"
#include "grad_list.h"

#include <math.h>
#include <stdlib.h>

static const double momentum = 0.1;

/* The last two: the first two times scale, which may be a slice's own where it is computed. */
enum { SUM = 0, SECOND = 1, SCALED_SUM = 2, SCALED_SECOND = 3, SUMS = 4 };

/* Of a slice; each list [C]. */
struct batch_norm {
    float *shift, *mean, *inverse, *a, *b, *d;
    size_t rows;
};

enum { LISTS = 6 };

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
    *s = (struct batch_norm){lists,         lists + c, lists + 2 * c, lists + 3 * c, lists + 4 * c,
                             lists + 5 * c, 0};
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
        s->a[c] = scale[c] * s->inverse[c];
        s->b[c] = bias[c] - s->mean[c] * s->a[c];
    }
    n->rows->affine(n->in[0]->data, s->a, s->b, s->rows, n->channels, n->out[0]->data);
}

static void backward_sums(struct grad_node *n)
{
    struct batch_norm *s = n->state;
    memset(own(n, SUM), 0, SUMS * n->channels * sizeof(double));
    n->rows->products(n->out[0]->grad, n->in[0]->data, s->mean, s->rows, n->channels, own(n, SUM),
                      own(n, SECOND));
    const float *scale = n->in[BN_SCALE]->data;
    for (size_t c = 0; c < n->channels; c++) {
        own(n, SCALED_SUM)[c] = own(n, SUM)[c] * (double)scale[c];
        own(n, SCALED_SECOND)[c] = own(n, SECOND)[c] * (double)scale[c];
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
    if (n->in[0]->grad)
        n->rows->mix(n->out[0]->grad, n->in[0]->data, s->a, s->b, s->d, s->rows, n->channels,
                     n->sets[0], n->in[0]->grad);
}

const struct grad_op pith_grad_batch_norm = {.op = PITH_OP_BATCH_NORM,
                                             .layout = GRAD_CHANNELS_LAST,
                                             .sets = true,
                                             .prepare = prepare,
                                             .release = release,
                                             .forward = forward,
                                             .backward = backward,
                                             .shared_sums = SUMS,
                                             .forward_sums = forward_sums,
                                             .forward_joined = forward_joined,
                                             .backward_sums = backward_sums};
