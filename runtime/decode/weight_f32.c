/* SPDX-License-Identifier: MIT */
/* weight_f32.c - see weight_f32.h. */
#include "decode/weight_f32.h"
#include "core/bytes.h"
#include "decode/weight_cut.h"

const float *pith_weight_f32_borrow(const struct weight *w)
{
    return w->type == PITH_F32 ? pith_weight_borrow(w) : NULL;
}

/* Values first, then the decoder's scratch. */
enum pith_status pith_weight_f32_scratch(const struct weight *w, uint64_t *bytes)
{
    uint64_t values, total;
    if (pith_weight_f32_borrow(w)) {
        *bytes = 0;
        return PITH_OK;
    }
    if (!mul_ok(w->count, sizeof(float), &values) || !align_ok(values, 64, &values) ||
        !add_ok(values, pith_weight_scratch_bytes(w), &total) || !align_ok(total, 64, &total))
        return PITH_ERR_LIMIT;
    *bytes = total;
    return PITH_OK;
}

/* Called by prepare() of operators that pack f32. */
enum pith_status pith_weight_f32(const struct op_env *env, const struct weight *w,
                                 const float **values)
{
    const float *borrowed = pith_weight_f32_borrow(w);
    if (borrowed) {
        *values = borrowed;
        return PITH_OK;
    }
    size_t value_bytes = ((size_t)w->count * sizeof(float) + 63) & ~(size_t)63;
    float *dst = env->scratch;
    enum pith_status status =
        pith_weight_cut_f32(env, w, dst, (uint8_t *)env->scratch + value_bytes);
    if (status == PITH_OK)
        *values = dst;
    return status;
}
