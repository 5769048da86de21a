/* SPDX-License-Identifier: MIT */
/* A whole weight from arbitrary bytes: the first bytes choose support, grid, code, counts and the
 * lengths of the streams, the rest is the streams. Accepted or refused, every position must lie in
 * the tensor and every index below n_centroids; the sanitizers watch the rest. */
#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "kernels/crc32c.h"
#include "decode/weight.h"
#include "pith_runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct stream next_stream(struct reader *r, uint32_t share)
{
    size_t n = r->left * share / 256;
    return (struct stream){rd_bytes(r, n), n};
}

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void check_parts(const struct weight *w, void *scratch)
{
    size_t n = (size_t)w->nnz + 1;
    uint32_t *pos = malloc(n * sizeof *pos);
    uint8_t *index = malloc(n);
    float *value = malloc(n * sizeof *value);
    bool codebook = w->grid == GRID_CODEBOOK;
    if (pith_weight_expand_parts(w, pos, codebook ? index : NULL, value, scratch) == PITH_OK)
        for (uint64_t i = 0; i < w->nnz; i++) {
            require(pos[i] < w->count && (i == 0 || pos[i] > pos[i - 1]));
            require(!codebook || index[i] < w->n_centroids);
        }
    free(pos);
    free(index);
    free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum weight_code codes[] = {CODE_PLAIN, CODE_HUFFMAN, CODE_RANS};
    static uint32_t cpu;
    cpu = cpu ? cpu : pith_cpu_features();
    struct reader r = reader_of(data, size);
    uint8_t form = rd_u8(&r);
    struct weight w = {.type = (enum pith_type)(1 + rd_u8(&r) % 11),
                       .support = (enum weight_support)(form % 3),
                       .grid = (enum weight_grid)(form / 3 % 2),
                       .code = codes[form / 6 % 3],
                       .cpu = form & 128 ? cpu : 0};
    /* One in 16 has so many elements that there are several groups of sub-streams. */
    w.count = rd_le32(&r);
    w.count = w.count % (w.count >> 28 ? 6000 : 100000) + 1;
    w.nnz = w.support == SUPPORT_DENSE ? w.count : rd_le32(&r) % (w.count + 1);
    w.n_centroids = rd_u8(&r) + 1u;
    w.index_bits = rd_u8(&r) % 9u;
    w.n_groups = rd_u8(&r) % 8u + 1;
    w.group_elems = w.count / w.n_groups + 1;
    struct stream gap_table = next_stream(&r, rd_u8(&r)), index_table = next_stream(&r, rd_u8(&r));
    w.gap_table = (struct huff_table){gap_table.bytes, gap_table.n_bytes};
    w.index_table = (struct huff_table){index_table.bytes, index_table.n_bytes};
    w.support_stream = next_stream(&r, rd_u8(&r));
    w.codebook = next_stream(&r, rd_u8(&r));
    w.index_stream = next_stream(&r, 256);
    if (r.bad)
        return 0;
    /* One unit of 8, chosen by its bytes, is expanded in all three ways, the others in one. */
    uint32_t turn = pith_crc32c(0, data, size) % 8;
    void *scratch = malloc(pith_weight_scratch_bytes(&w));
    if (turn < 4)
        check_parts(&w, scratch);
    if (turn == 0 || turn > 3) {
        float *dense = malloc((size_t)w.count * 8);
        if (turn == 0 || turn < 6)
            (void)pith_weight_expand_f32(&w, dense, scratch);
        if (turn == 0 || turn > 5)
            (void)pith_weight_expand_plain(&w, dense, scratch);
        free(dense);
    }
    free(scratch);
    return 0;
}
