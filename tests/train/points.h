/* SPDX-License-Identifier: MIT */
/* points.h - samples without labels. One test program includes it behind cmocka's header. */
#ifndef POINTS_H
#define POINTS_H

#include "sample_models.h"
#include "pith_train.h"

static inline struct pith_data *points_of(uint64_t seed, uint32_t samples, uint32_t inputs)
{
    float *x = malloc((size_t)samples * inputs * sizeof *x);
    struct sample_random r = sample_random_of(seed);
    struct pith_buffer npy;
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    assert_non_null(x);
    for (uint32_t i = 0; i < samples * inputs; i++)
        x[i] = sample_gauss(&r);
    assert_int_equal(
        pith_npy_write(PITH_F32, 2, (const uint32_t[]){samples, inputs}, x, &npy, &err), PITH_OK);
    free(x);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "points.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .rank = 2,
                               .dim = {1, inputs}};
    SUCCEEDS(pith_data_open(&o, &data, &err));
    pith_buffer_free(&npy);
    return data;
}

#endif
