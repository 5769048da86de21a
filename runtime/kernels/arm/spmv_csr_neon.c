/* SPDX-License-Identifier: MIT */
/* spmv_csr_neon.c - the row-pointer products, sixteen nonzeros at a time, then four, the last ones
 * of a row one by one. x is collected lane by lane; up to 32 centroids are looked up in
 * registers. */
#include "kernels/ref/csr_rows.h"
#include "kernels/arm/look_up_f32.h"

/* The elements of x under four neighbouring nonzeros, whose columns are one load. */
static inline float32x4_t x_at(const float *x, const uint16_t *col)
{
    return collect(x, load_le64(col), 16);
}

static inline void clear(float32x4_t sum[4])
{
    sum[0] = sum[1] = sum[2] = sum[3] = vdupq_n_f32(0);
}

void pith_spmv_csr_value_neon(const struct run_form *f, const float *x, float *y,
                              uint32_t unit_begin, uint32_t unit_end)
{
    const struct rows m = rows_of(f, unit_begin, unit_end);
    for (uint32_t r = m.begin; r < m.end; r++) {
        float32x4_t sum[4];
        float rest = 0;
        uint32_t i = m.ptr[r], end = m.ptr[r + 1];
        clear(sum);
        for (; end - i >= 16; i += 16)
#pragma GCC unroll 4
            for (uint32_t q = 0; q < 4; q++)
                sum[q] =
                    vfmaq_f32(sum[q], vld1q_f32(m.value + i + 4 * q), x_at(x, m.col + i + 4 * q));
        for (; end - i >= 4; i += 4)
            sum[0] = vfmaq_f32(sum[0], vld1q_f32(m.value + i), x_at(x, m.col + i));
        for (; i < end; i++)
            rest += m.value[i] * x[m.col[i]];
        y[r] = sum_of(sum) + rest;
    }
}

/* planes NULL: a codebook of more than 32 centroids. */
static inline __attribute__((always_inline)) float codebook_row(const struct rows *m, uint32_t r,
                                                                const float *codebook,
                                                                const struct planes32 *planes,
                                                                const float *x)
{
    float32x4_t sum[4];
    float rest = 0;
    uint32_t i = m->ptr[r], end = m->ptr[r + 1];
    clear(sum);
    for (; planes && end - i >= LOOK_UPS; i += LOOK_UPS) {
        float32x4_t v[4];
#pragma GCC unroll 4
        for (uint32_t q = 0; q < 4; q++)
            v[q] = x_at(x, m->col + i + 4 * q);
        add_products(sum, look_up32(planes, vld1q_u8(m->index + i)), v);
    }
    for (; end - i >= 4; i += 4)
        sum[0] =
            vfmaq_f32(sum[0], collect(codebook, load_le32(m->index + i), 8), x_at(x, m->col + i));
    for (; i < end; i++)
        rest += codebook[m->index[i]] * x[m->col[i]];
    return sum_of(sum) + rest;
}

/* A codebook of 16 floats has nothing behind it that may be read: its planes stand twice. */
static inline struct planes32 planes_of(const float *codebook, uint32_t floats)
{
    const struct planes16 low = planes16_of(codebook);
    return (struct planes32){low, floats == 32 ? planes16_of(codebook + 16) : low};
}

void pith_spmv_csr_codebook_neon(const struct run_form *f, const float *x, float *y,
                                 uint32_t unit_begin, uint32_t unit_end)
{
    const struct rows m = rows_of(f, unit_begin, unit_end);
    const float *codebook = form_at(f, f->codebook);
    for (uint32_t r = m.begin; r < m.end; r++) {
        const float *own = codebook + (size_t)r * f->codebook_stride;
        if (f->codebook_floats > 32) {
            y[r] = codebook_row(&m, r, own, NULL, x);
            continue;
        }
        const struct planes32 planes = planes_of(own, f->codebook_floats);
        y[r] = codebook_row(&m, r, own, &planes, x);
    }
}
