/* SPDX-License-Identifier: MIT */
/* bench_gpu_pack.c - what `bench/gpu.sh pack` needs besides the command itself.
 *
 *     bench_gpu_pack half IN.pith OUT.pith      weights of 2 bytes (f16), no codebooks
 *     bench_gpu_pack samples IN.pith PREFIX     PREFIX.NAME.npy for each input: seeded samples
 *
 * Samples are for ranges of activations where there is no data for a network: its integers are then
 * good for bits and times, and say nothing of accuracy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_data.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "base/seeded_random.h"
#include "quantize/store_floats.h"

#define SAMPLES 8u

static int failed(const char *what, const struct pith_error *err)
{
    fprintf(stderr, "bench_gpu_pack: %s: %s\n", what, err->text);
    return 1;
}

/* Values of codebooks are in data, too, and are stored as plain elements then. */
static int store_half(struct pith_model *m, const char *path)
{
    struct pith_error err = {0};
    struct pith_buffer file = {0};
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            m->values[i].constant->codebook = NULL;
    if (pith_store_floats(m, PITH_F16, NULL, &err) || pith_model_pack(m, NULL, &file, &err) ||
        pith_file_write(path, file.data, file.bytes, &err))
        return failed(path, &err);
    pith_buffer_free(&file);
    return 0;
}

/* [SAMPLES, ...]: an axis of 1 in front is the batch and gives way. Indices and flags are 0. */
static int write_samples(const struct pith_value *v, const char *prefix)
{
    struct pith_error err = {0};
    struct pith_buffer file = {0};
    uint32_t dim[PITH_MAX_RANK + 1] = {SAMPLES}, rank = 1;
    uint64_t state = 1, n = SAMPLES;
    char path[1024];
    for (uint32_t i = v->rank && v->dim[0] == 1; i < v->rank; i++) {
        n *= v->dim[i];
        dim[rank++] = v->dim[i];
    }
    float *x = v->type == PITH_F32 ? calloc(n, sizeof *x) : NULL;
    if (!x)
        return v->type != PITH_F32 ? 0 : 1;
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)((double)(next_random(&state) >> 40) / 8388608.0 - 1.0);
    snprintf(path, sizeof path, "%s.%s.npy", prefix, v->name);
    bool bad = pith_npy_write(PITH_F32, rank, dim, x, &file, &err) ||
               pith_file_write(path, file.data, file.bytes, &err);
    free(x);
    pith_buffer_free(&file);
    return bad ? failed(path, &err) : 0;
}

int main(int argc, char **argv)
{
    struct pith_model *m;
    struct pith_error err = {0};
    int bad = 0;
    if (argc != 4 || (strcmp(argv[1], "half") != 0 && strcmp(argv[1], "samples") != 0)) {
        fputs("usage: bench_gpu_pack half IN.pith OUT.pith | samples IN.pith PREFIX\n", stderr);
        return 2;
    }
    if (pith_model_load(argv[2], NULL, &m, &err))
        return failed(argv[2], &err);
    if (strcmp(argv[1], "half") == 0)
        bad = store_half(m, argv[3]);
    for (uint32_t i = 0; strcmp(argv[1], "samples") == 0 && i < m->n_inputs; i++)
        bad |= write_samples(&m->values[m->inputs[i]], argv[3]);
    pith_model_free(m);
    return bad;
}
