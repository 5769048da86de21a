/* SPDX-License-Identifier: MIT */
/* kernels_row.c - fills the row part of the kernel table, worst level to best; activations by it.
 */
#include "activate.h"
#include "build_choice.h"
#include "pith_kernels.h"

#define TABLE(suffix)                                                                              \
    {                                                                                              \
        .relu = pith_relu_row_f32##suffix, .tanh = pith_tanh_row_f32##suffix,                      \
        .sigmoid = pith_sigmoid_row_f32##suffix, .erf = pith_erf_row_f32##suffix,                  \
        .gelu = pith_gelu_row_f32##suffix, .gelu_tanh = pith_gelu_tanh_row_f32##suffix,            \
        .clip = pith_clip_row_f32##suffix, .exp = pith_exp_row_f32##suffix,                        \
        .softmax = pith_softmax_row_f32##suffix, .layer_norm = pith_layer_norm_row_f32##suffix,    \
        .softmax_columns = pith_softmax_columns_f32##suffix, .where = pith_where_row_b32##suffix   \
    }

static const struct row_kernels reference = TABLE();

void pith_row_kernels_fill(struct row_kernels *k, uint32_t features)
{
    *k = reference;
#ifdef __x86_64__
    features &= PITH_BUILD_CPU;
    if (features & PITH_CPU_AVX2)
        *k = (struct row_kernels)TABLE(_avx2);
    if (features & PITH_CPU_AVX512)
        *k = (struct row_kernels)TABLE(_avx512);
#else
    (void)features;
#endif
}

const struct row_kernels *pith_row_kernels(const struct pith_kernels *kernels)
{
    return kernels ? &kernels->row : &reference;
}

void pith_activate_by(const struct row_kernels *row, enum act_kind act, float a, float b,
                      const float *x, float *y, size_t n)
{
    if (act == ACT_RELU)
        row->relu(x, y, n);
    else if (act == ACT_CLIP)
        row->clip(x, a, b, y, n);
    else if (act == ACT_SIGMOID)
        row->sigmoid(x, y, n);
    else if (act == ACT_TANH)
        row->tanh(x, y, n);
    else
        pith_activate_row(act, a, b, x, y, n);
}
