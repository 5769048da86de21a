/* SPDX-License-Identifier: MIT */
/* small_net.h - y = x W^T with weights chosen by the test, and data sets in memory for it. */
#ifndef SMALL_NET_H
#define SMALL_NET_H

#include <stdlib.h>
#include <string.h>
#include "sample_models.h"
#include "pith_measure.h"
#include "core/op_number.h"

/* A Gemm "fc" without bias; w: [n_out, n_in]; open batch. relu: "act" follows. */
static inline struct pith_model *small_net(uint32_t n_in, uint32_t n_out, const float *w, bool relu)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, n_in}), y;
    m->batch_open = true;
    y = add_constant(m, &r, "w", 2, (const uint32_t[]){n_out, n_in});
    memcpy(m->values[y].constant->data, w, sizeof *w * n_in * n_out);
    y = add_node(m, PITH_OP_GEMM, "fc", "fc.out", 2, (const uint32_t[]){x, y})->out[0];
    if (relu)
        y = add_node(m, PITH_OP_RELU, "act", "act.out", 1, &y)->out[0];
    return sample_done(m, y);
}

static inline struct pith_model *identity_net(uint32_t n)
{
    float *w = calloc((size_t)n * n, sizeof *w);
    for (uint32_t i = 0; i < n; i++)
        w[i * n + i] = 1;
    struct pith_model *m = small_net(n, n, w, false);
    free(w);
    return m;
}

static inline struct pith_engine *engine_of(const struct pith_model *m)
{
    struct pith_engine *e = NULL;
    struct pith_error err = {0};
    if (pith_engine_open(m, NULL, &e, &err))
        print_error("%s\n", err.text);
    assert_non_null(e);
    return e;
}

/* Rows of n_in floats as an .npy; labels (NULL: none) from a text file of one integer a line. */
static inline struct pith_data *rows_of(const float *x, uint32_t n_rows, uint32_t n_in,
                                        const char *labels)
{
    struct pith_buffer npy = {0};
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write(PITH_F32, 2, (const uint32_t[]){n_rows, n_in}, x, &npy, &err),
                     PITH_OK);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "rows.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .labels = labels,
                               .rank = 2,
                               .dim = {1, n_in}};
    if (pith_data_open(&o, &data, &err))
        print_error("%s\n", err.text);
    assert_non_null(data);
    pith_buffer_free(&npy);
    return data;
}

/* A text file in the temporary folder; the caller removes it. */
static inline char *text_file(const char *text)
{
    static char path[64];
    strcpy(path, "/tmp/pith-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fputs(text, f);
    fclose(f);
    return path;
}

#endif
