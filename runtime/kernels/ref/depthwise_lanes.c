/* SPDX-License-Identifier: MIT */
/* depthwise_lanes.c - see depthwise_lanes.h. */
#include "kernels/ref/depthwise_lanes.h"

/* Whether turning planes takes less than what rows cost beside: idle lanes, copies, ends. In
 * multiply-adds of a vector, as measured with AVX2 on planes of 5 to 28 pixels a row and windows of
 * 2 to 9; on wide planes, or of few taps, rows are faster. */
static bool lanes_pay(const struct conv_geom *g, uint64_t lanes)
{
    const uint64_t taps = g->kh * g->kw, pixels = g->oh * g->ow, input = (uint64_t)g->h * g->w;
    const uint64_t row = window_slides(g) && g->kh == 5 ? 2 * lanes : lanes; /* side by side */
    const uint64_t across = (g->ow + row - 1) / row * row;
    const uint64_t copies = (window_slides(g) ? 6 : 25) * (g->oh * lanes + g->stride_w * input);
    const uint64_t beside = columns_fit(g) ? 12 * g->oh * lanes : copies;
    return pixels * taps + 13 * lanes / 16 * (input + pixels + taps) <
           g->oh * across * taps + beside;
}

bool pith_depthwise_lanes(struct depthwise_lanes *l, const struct depthwise_f32_job *job,
                          uint32_t lanes)
{
    const struct conv_geom *g = job->g;
    const uint64_t rows = (uint64_t)(g->oh - 1) * g->stride_h + (g->kh - 1) * g->dil_h + 1;
    const uint64_t columns = (uint64_t)(g->ow - 1) * g->stride_w + (g->kw - 1) * g->dil_w + 1;
    const uint64_t taps = g->kh * g->kw, floats = DEPTHWISE_FLOATS / lanes;
    if (!job->x_step || job->planes < lanes || rows > floats || columns > floats ||
        rows * columns + taps > floats || g->pad_top > rows || g->pad_left > columns ||
        (uint64_t)g->oh * g->ow + LANES_ABREAST > DEPTHWISE_SUMS / 2 / lanes ||
        !lanes_pay(g, lanes))
        return false;
    l->rows = (uint32_t)rows;
    l->columns = (uint32_t)columns;
    l->taps = (uint32_t)taps;
    l->pixels = g->oh * g->ow;
    for (uint32_t k = 0; k < l->taps; k++)
        l->offset[k] = (k / g->kw * g->dil_h * l->columns + k % g->kw * g->dil_w) * lanes;
    for (uint32_t i = 0; i < l->pixels + LANES_ABREAST; i++) {
        const uint32_t p = i < l->pixels ? i : l->pixels - 1;
        l->under[i] = (p / g->ow * g->stride_h * l->columns + p % g->ow * g->stride_w) * lanes;
    }
    return true;
}
