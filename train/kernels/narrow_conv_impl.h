/* SPDX-License-Identifier: MIT */
/* narrow_conv_impl.h - the loops behind narrow_conv_kernels.h, included once for each instruction
 * set, with the vector operations (vec, rvec, LANES, ...), MOST_TAPS (sums in registers beside
 * three other vectors; 9 at least) and TABLE (the table's name) defined. */
#include "train_kernels.h"

#include <stdbool.h>

#define INLINE static inline __attribute__((always_inline))

enum { PIXELS = 8, HALF = sizeof(rvec) / sizeof(float) };

#define VEC vec
#define V(name) vec_##name
#include "narrow_conv_pass.h"
#undef VEC
#undef V
#define VEC rvec
#define V(name) rvec_##name
#include "narrow_conv_pass.h"

static void forward(const struct narrow_picture *p, const float *w, float *y)
{
    int64_t at = 0;
    for (; at + LANES <= p->o; at += LANES)
        vec_forward(p, w + at, vmask_range(0, LANES), true, y + at);
    const int left = (int)(p->o - at);
    if (left > HALF)
        vec_forward(p, w + at, vmask_range(0, left), false, y + at);
    else if (left > 0)
        rvec_forward(p, w + at, vmask_range(0, left), false, y + at);
}

static void weights(const struct narrow_picture *p, const float *dy, float *dw)
{
    int64_t at = 0;
    for (; at + LANES <= p->o; at += LANES)
        vec_weights(p, dy + at, vmask_range(0, LANES), true, dw + at);
    const int left = (int)(p->o - at);
    if (left > HALF)
        vec_weights(p, dy + at, vmask_range(0, left), false, dw + at);
    else if (left > 0)
        rvec_weights(p, dy + at, vmask_range(0, left), false, dw + at);
}

const struct narrow_kernels TABLE = {LANES, forward, weights};
