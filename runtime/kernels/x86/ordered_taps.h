/* SPDX-License-Identifier: MIT */
/* ordered_taps.h - sum_taps of ordered_f32_impl.h, behind the vectors of a level. Taps outside of
 * the image add 0 * w to a sum that is never -0, which changes nothing. */
#define vec_fma(a, b, sum) vec_add(vec_mul(a, b), sum)
#include "kernels/ref/depthwise_f32_impl.h"

static void sum_taps(const struct depthwise_f32_job *job)
{
    const struct clamp none = clamp_of(&(struct dense_act){.kind = ACT_NONE});
    if (!columns_fit(job->g)) {
        windows_run(job, &none);
        return;
    }
    for (size_t ox = 0; ox < job->g->ow; ox += (size_t)COLUMNS * LANES)
        columns_run(job, &none, ox);
}
