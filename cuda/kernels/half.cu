/* SPDX-License-Identifier: MIT */
/* half.cu - products of few rows with a weight of f16 or bf16 numbers, which are exact in f32: half
 * the bytes. */
#include "device_map.cuh"

/* Eight terms of the weight are a load, four of which are on their way at once. */
#define OCTET 8u
#define OCTETS 4u
#define OCTETS_STEP (32u * OCTET) /* of a warp */

DEVICE float octet_value(const struct words *o, uint32_t i, uint32_t is_bf16)
{
    const uint32_t two = o->word[i / 2u];
    return half_value(i % 2u ? two >> 16 : two & 0xffffu, is_bf16);
}

/* From element k of a on. */
DEVICE float add_octet(float sum, const void *a, uint32_t k, uint32_t a_type, const struct words *b,
                       uint32_t is_bf16)
{
    float x[OCTET];
    if (a_type == VALUE_F32) {
        load_eight(x, values_from(a, k, a_type));
    } else {
        const struct words o = *(const struct words *)values_from(a, k, a_type);
        UNROLLED
        for (uint32_t i = 0; i < OCTET; i++)
            x[i] = octet_value(&o, i, a_type == VALUE_BF16);
    }
    UNROLLED
    for (uint32_t i = 0; i < OCTET; i++)
        sum = fmaf(x[i], octet_value(b, i, is_bf16), sum);
    return sum;
}

/* Of rows that begin at 16 bytes; terms behind the last eight are a lane's each. */
DEVICE float wide_sum(const struct gemm_half_args *arg, const void *a, uint32_t a_type,
                      const uint16_t *b, uint32_t is_bf16)
{
    const uint32_t lane = THREAD % 32u, whole = arg->g.k / OCTET * OCTET;
    const struct words none = {{0}};
    float sum = 0.0f;
    for (uint32_t k = OCTET * lane; k < whole; k += OCTETS * OCTETS_STEP) {
        struct words w[OCTETS];
        UNROLLED
        for (uint32_t i = 0; i < OCTETS; i++) {
            const uint32_t at = k + OCTETS_STEP * i;
            w[i] = at < whole ? *(const struct words *)(const void *)(b + at) : none;
        }
        UNROLLED
        for (uint32_t i = 0; i < OCTETS; i++)
            if (k + OCTETS_STEP * i < whole)
                sum = add_octet(sum, a, k + OCTETS_STEP * i, a_type, &w[i], is_bf16);
    }
    if (whole + lane < arg->g.k)
        sum = fmaf(value_at(a, whole + lane, a_type), half_value(b[whole + lane], is_bf16), sum);
    return sum;
}

/* A loop for each pair of types that is common, without a test at each term. */
DEVICE float half_sum(const struct gemm_half_args *arg, const void *a, const uint16_t *b)
{
    const uint32_t type = arg->g.a_type;
    float sum = 0.0f;
    if (arg->whole && type == VALUE_F32)
        return arg->is_bf16 ? wide_sum(arg, a, VALUE_F32, b, 1u)
                            : wide_sum(arg, a, VALUE_F32, b, 0u);
    if (arg->whole)
        return type == VALUE_F16 ? wide_sum(arg, a, VALUE_F16, b, arg->is_bf16)
                                 : wide_sum(arg, a, VALUE_BF16, b, arg->is_bf16);
    for (uint32_t k = THREAD % 32u; k < arg->g.k; k += 32u)
        sum = fmaf(value_at(a, k, type), half_value(b[k], arg->is_bf16), sum);
    return sum;
}

KERNEL(gemv_half, gemm_half_args)
{
    const uint32_t lane = THREAD % 32u, column = BLOCK_X * GEMV_ROWS + THREAD / 32u;
    const bool there = column < arg->g.n;
    const void *a = values_from(arg->g.a, (size_t)BLOCK_Y * arg->g.a_row, arg->g.a_type);
    float sum = half_sum(arg, a, arg->w + (size_t)(there ? column : arg->g.n - 1u) * arg->g.b_col);
    sum = warp_sum(sum);
    if (there && lane == 0)
        put_typed(&arg->g, arg->g.y_type, arg->g.residual_type, 0, BLOCK_Y, column, sum);
}
