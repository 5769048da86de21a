/* SPDX-License-Identifier: MIT */
/* fuzz_stages.c - any bytes as a network, of any kind that import takes, that one stage then works
 * on: weights are pruned or clustered, or all becomes integers, with ranges of activations that the
 * bytes choose, dead ones among them. A stage reports why it fails, or leaves a model that packs.
 * What a stage decides from samples is not run here. Changes are of the graph (onnx_mutator.h), and
 * in one of eight of bytes. */
#include <stdlib.h>
#include <string.h>
#include "onnx_mutator.h"
#include "kernels/crc32c.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "pith_prune.h"
#include "pith_quantize.h"

#define MAX_BYTES (1u << 20)

static void must(int ok)
{
    if (!ok)
        abort();
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t n = seed % 8 ? mutate_onnx(data, size, max_size, seed / 8) : 0;
    return n ? n : LLVMFuzzerMutate(data, size, max_size);
}

/* As if samples had been observed. */
static void set_ranges(struct pith_model *m, uint32_t random)
{
    static const float far[] = {1, 0, 1e-41f, 6, 1e30f, 0.01f, 3, 1e-20f};
    for (uint32_t v = 0; v < m->n_values; v++) {
        struct pith_value *x = &m->values[v];
        if (x->constant || x->type != PITH_F32)
            continue;
        random = random * 1664525u + 1013904223u;
        x->min = -far[random >> 29];
        x->max = far[random >> 26 & 7];
        x->n_observed = 1;
    }
}

static enum pith_status run_stage(struct pith_model *m, uint32_t random, struct pith_error *err)
{
    const struct pith_prune_opts prune = {.size_bytes = sizeof prune, .sparsity = 0.5};
    const struct pith_cluster_opts cluster = {.size_bytes = sizeof cluster,
                                              .n_centroids = 3,
                                              .per = random & 4 ? PITH_CLUSTER_PER_CHANNEL
                                                                : PITH_CLUSTER_PER_TENSOR};
    const struct pith_quantize_opts quantize = {.size_bytes = sizeof quantize,
                                                .weight_bits = random & 4 ? 4 : 0,
                                                .fixed_bits = random & 8 ? 8 : 0,
                                                .per_tensor = random & 16};
    if (random % 4 == 0)
        return pith_prune(m, &prune, NULL, NULL, err);
    if (random % 4 == 1)
        return pith_cluster(m, &cluster, NULL, NULL, err);
    set_ranges(m, random);
    return pith_quantize(m, &quantize, NULL, NULL, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = MAX_BYTES};
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    struct pith_buffer file;
    if (pith_model_read(bytes, n, "fuzz.onnx", &opts, &m, &err) != PITH_OK)
        return 0;
    const enum pith_status st = run_stage(m, pith_crc32c(0, bytes, n), &err);
    if (st) {
        must(err.status != PITH_OK && err.text[0] != 0);
    } else {
        must(pith_model_pack(m, NULL, &file, &err) == PITH_OK);
        pith_buffer_free(&file);
    }
    pith_model_free(m);
    return 0;
}
