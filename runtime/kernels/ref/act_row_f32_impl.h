/* SPDX-License-Identifier: MIT */
/* act_row_f32_impl.h - template of the second pass over what a kernel has stored, for activations
 * that are no clamp. Once a level: inlined into each kernel it would be half a kilobyte there. */
#include "kernels/kernel_row.h"
#include "kernels/ref/simd_act.h"

/* Row kernels of the same level: the same functions as Sigmoid and kin of their own. */
static row_f32_fn *row_of(enum act_kind kind)
{
    switch (kind) {
    case ACT_SIGMOID:
        return ISA(pith_sigmoid_row_f32);
    case ACT_SWISH:
        return ISA(pith_swish_row_f32);
    case ACT_TANH:
        return ISA(pith_tanh_row_f32);
    case ACT_GELU:
        return ISA(pith_gelu_row_f32);
    case ACT_GELU_TANH:
        return ISA(pith_gelu_tanh_row_f32);
    default:
        return NULL;
    }
}

/* HardSwish is x * clamp(x / 6 + 1/2); HardSigmoid the clamp of a x + b. */
static inline vec gated(vec x, vec a, vec b, bool swish, bool leaky)
{
    if (leaky)
        return vec_below_zero(x, vec_mul(a, x), x);
    const vec gate = vec_min(vec_set1(1.0f), vec_max(vec_zero(), vec_add(vec_mul(a, x), b)));
    return swish ? vec_mul(x, gate) : gate;
}

void ISA(pith_act_row_f32)(const struct dense_act *act, float *y, size_t n)
{
    row_f32_fn *row = row_of(act->kind);
    if (row) {
        row(y, y, n);
        return;
    }
    const bool swish = act->kind == ACT_HARD_SWISH, leaky = act->kind == ACT_LEAKY;
    const vec a = vec_set1(swish ? 1.0f / 6.0f : act->a), b = vec_set1(swish ? 0.5f : act->b);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) /* masked stores of AVX2 are slow */
        vec_store(y + i, gated(vec_load(y + i), a, b, swish, leaky));
    if (i < n) {
        const vmask m = vmask_range(0, (int)(n - i));
        vec_store_some(y + i, m, gated(vec_load_some(y + i, m), a, b, swish, leaky));
    }
}

/* Rows from `from` to `to`, which may lie anywhere, but not over each other. Vector by vector of
 * all rows: a loop over the few of one row ends too often. The last vector of a row begins in the
 * one before it, for masked stores of AVX2 are slow. */
static void copy_rows(float *to, size_t to_ld, const float *from, size_t from_ld, size_t rows,
                      size_t n)
{
    const vmask m = vmask_range(0, (int)n);
    for (size_t k = 0; k < n && n >= LANES; k += LANES) {
        const size_t i = k + LANES <= n ? k : n - LANES;
        for (size_t r = 0; r < rows; r++)
            vec_store(to + r * to_ld + i, vec_load(from + r * from_ld + i));
    }
    for (size_t r = 0; r < rows && n < LANES; r++)
        vec_store_some(to + r * to_ld, m, vec_load_some(from + r * from_ld, m));
}

#define TOGETHER 1024u /* floats */
#define BLOCK 16u      /* of row kernels: what is left of a row takes as long as one */
#define SHORT 64u      /* fewer are no whole group of a row kernel */

/* Short rows, and rows that are no whole blocks, are put side by side, so that one block is broken
 * and not each row's last. */
void ISA(pith_act_rows_f32)(const struct dense_act *act, float *y, size_t ld, size_t rows, size_t n)
{
    float beside[TOGETHER];
    const bool alone = (n % BLOCK == 0 && n >= SHORT) || n > TOGETHER || n == 0;
    row_f32_fn *row = alone ? NULL : row_of(act->kind);
    size_t k = row ? TOGETHER / n : 1;
    for (; rows > 0; rows -= k, y += k * ld) {
        k = k < rows ? k : rows;
        if (!row) {
            ISA(pith_act_row_f32)(act, y, n);
            continue;
        }
        copy_rows(beside, n, y, ld, k, n);
        row(beside, beside, k * n);
        copy_rows(y, ld, beside, n, k, n);
    }
}
