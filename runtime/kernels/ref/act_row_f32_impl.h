/* SPDX-License-Identifier: MIT */
/* act_row_f32_impl.h - template of the second pass over what a kernel has stored, for activations
 * that are no clamp. Once a level: inlined into each kernel it would be half a kilobyte there. */
#include "pith_kernel_row.h"
#include "simd_act.h"

/* HardSwish is x * clamp(x / 6 + 1/2); HardSigmoid the clamp of a x + b. */
static void gate_row(const struct dense_act *act, float *y, size_t n)
{
    bool swish = act->kind == ACT_HARD_SWISH;
    vec a = vec_set1(swish ? 1.0f / 6.0f : act->a), b = vec_set1(swish ? 0.5f : act->b);
    for (size_t i = 0; i < n; i += LANES) {
        vmask m = vmask_range(0, n - i < LANES ? (int)(n - i) : LANES);
        vec x = vec_load_some(y + i, m);
        vec gate = vec_min(vec_set1(1.0f), vec_max(vec_zero(), vec_add(vec_mul(a, x), b)));
        vec v = swish ? vec_mul(x, gate) : gate;
        if (act->kind == ACT_LEAKY)
            v = vec_below_zero(x, vec_mul(a, x), x);
        vec_store_some(y + i, m, v);
    }
}

/* Others are row kernels of the same level: the same functions as Sigmoid and kin of their own. */
void ISA(pith_act_rows_f32)(const struct dense_act *act, float *y, size_t ld, size_t rows, size_t n)
{
    if (ISA(pith_activate_rows_f32)(act->kind, y, ld, rows, n))
        return;
    for (; rows > 0; rows--, y += ld)
        gate_row(act, y, n);
}
