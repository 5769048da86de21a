/* SPDX-License-Identifier: MIT */
/* conv_coded.c - see conv_coded.h. */
#include "products/conv_coded.h"
#include "kernels/ref/activate.h"

/* Outputs of one axis whose tap lies inside the image: [begin, end), the first at input `at`. */
struct outputs {
    size_t begin, end, at;
};

static struct outputs outputs_of(size_t tap, size_t n, size_t stride, size_t dil, size_t pad,
                                 size_t size)
{
    size_t from = tap * dil; /* output 0 sees from - pad, output i i * stride more */
    struct outputs o = {0, n, 0};
    if (from < pad)
        o.begin = (pad - from + stride - 1) / stride;
    if (from >= pad + size)
        o.end = 0;
    else if ((pad + size - 1 - from) / stride + 1 < n)
        o.end = (pad + size - 1 - from) / stride + 1;
    if (o.begin < o.end)
        o.at = o.begin * stride + from - pad;
    return o;
}

static void add_row(const float *restrict x, size_t stride, float weight, float *restrict y,
                    size_t n)
{
    if (stride == 1)
        for (size_t i = 0; i < n; i++)
            y[i] += weight * x[i];
    else
        for (size_t i = 0; i < n; i++)
            y[i] += weight * x[i * stride];
}

static void add_weight(const struct conv_geom *g, const float *x, uint32_t k, float weight,
                       float *y)
{
    uint32_t taps = g->kh * g->kw, tap = k % taps; /* few: both are dims of a weight */
    struct outputs rows = outputs_of(tap / g->kw, g->oh, g->stride_h, g->dil_h, g->pad_top, g->h);
    struct outputs cols = outputs_of(tap % g->kw, g->ow, g->stride_w, g->dil_w, g->pad_left, g->w);
    if (cols.begin >= cols.end)
        return;
    x += (size_t)(k / taps) * g->h * g->w + rows.at * g->w + cols.at;
    y += cols.begin;
    for (size_t oy = rows.begin; oy < rows.end; oy++, x += (size_t)g->stride_h * g->w)
        add_row(x, g->stride_w, weight, y + oy * g->ow, cols.end - cols.begin);
}

/* y[i] = act(y[i] + bias + residual[i]) */
static void finish_plane(const struct conv_coded_job *job, const float *residual, float *y)
{
    for (size_t i = 0; i < job->pixels; i++) {
        float sum = y[i];
        if (job->bias)
            sum += *job->bias;
        if (residual)
            sum += residual[i];
        y[i] = pith_activate(job->act.kind, job->act.a, job->act.b, sum);
    }
}

void pith_conv_coded_filter(const struct conv_coded_job *job, struct weight_rows *rows)
{
    uint32_t k;
    float weight;
    for (size_t i = 0; i < job->images; i++)
        memset(job->y + i * job->y_image, 0, job->pixels * sizeof *job->y);
    pith_weight_rows_begin(rows, job->k);
    while (pith_weight_rows_next(rows, &k, &weight))
        for (size_t i = 0; i < job->images; i++)
            add_weight(job->g, job->x + i * job->x_image, k, weight, job->y + i * job->y_image);
    for (size_t i = 0; i < job->images; i++)
        finish_plane(job, job->residual ? job->residual + i * job->y_image : NULL,
                     job->y + i * job->y_image);
}
