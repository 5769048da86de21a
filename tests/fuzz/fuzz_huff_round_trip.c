/* SPDX-License-Identifier: MIT */
/* What the encoders write, the runtime reads back: the input chooses a mask, indices, codebooks and
 * the table parameters. */
#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "pith_huffman.h"
#include "huffman/rans_encode.h"
#include "decode/weight.h"
#include "pith_runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* Elements: each input byte is a run, its low bits the index, its high bits the gap before it. */
static uint64_t make_elements(struct reader *r, uint32_t shift, uint8_t *mask, uint8_t *index,
                              uint64_t cap)
{
    uint64_t at = 0;
    while (r->left && !r->bad) {
        uint8_t b = rd_u8(r);
        at += (uint64_t)(b >> 4) << (b & 1 ? shift : 0);
        if (at >= cap)
            break;
        mask[at] = 1;
        index[at++] = b & 15;
    }
    return at < cap ? at + 1 : cap;
}

static void write_support(struct weight *w, const uint8_t *mask, struct pith_support_profile *p)
{
    struct pith_support_code code;
    pith_support_profile_add(p, mask, w->count);
    require(pith_support_build(p, &code) == PITH_OK);
    size_t cap = pith_support_bound(&code, p);
    uint8_t *table = malloc(PITH_HUFF_TABLE_MAX), *stream = malloc(cap + 1);
    pith_support_table_write(&code, table);
    w->nnz = p->nnz;
    w->support = SUPPORT_GAPS;
    w->gap_table = (struct huff_table){table, pith_support_table_bytes(&code)};
    require(!pith_support_encode(&code, mask, w->count, stream, cap, &w->support_stream.n_bytes));
    w->support_stream.bytes = stream;
}

static void write_indices(struct weight *w, const uint8_t *kept, uint32_t max_len)
{
    struct pith_huff_code code;
    uint64_t hist[PITH_SYMBOLS] = {0};
    pith_histogram_add(hist, kept, w->nnz);
    require(!pith_huff_build_limited(hist, max_len, &code));
    size_t cap = pith_huff_bound(&code, hist, w->nnz);
    uint8_t *table = malloc(PITH_HUFF_TABLE_MAX), *stream = malloc(cap + 1);
    pith_huff_table_write(&code, table);
    w->code = CODE_HUFFMAN;
    w->index_table = (struct huff_table){table, pith_huff_table_bytes(&code)};
    require(!pith_huff_encode(&code, kept, w->nnz, stream, cap, &w->index_stream.n_bytes));
    w->index_stream.bytes = stream;
}

static void write_rans(struct weight *w, const uint8_t *kept)
{
    struct pith_rans_code code;
    uint64_t hist[PITH_SYMBOLS] = {0};
    pith_histogram_add(hist, kept, w->nnz);
    pith_rans_build(hist, &code);
    size_t cap = pith_rans_bound(w->nnz);
    uint8_t *table = malloc(code.table_bytes + 1), *stream = malloc(cap + 1);
    memcpy(table, code.table, code.table_bytes);
    w->code = CODE_RANS;
    w->cpu = pith_cpu_features();
    w->index_table = (struct huff_table){table, code.table_bytes};
    require(!pith_rans_encode(&code, kept, w->nnz, stream, cap, &w->index_stream.n_bytes));
    w->index_stream.bytes = stream;
}

static int compare_f32(const void *a, const void *b)
{
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void write_codebook(struct weight *w, struct reader *r)
{
    float centroid[16];
    uint8_t *out = malloc(pith_codebook_bound(1, 16));
    for (int i = 0; i < 16; i++) {
        uint32_t bits = rd_le32(r);
        bool usable = (bits & 0x7f800000u) != 0x7f800000u && bits << 1 != 0;
        centroid[i] = usable ? f32_from_bits(bits) : 0.0f;
    }
    qsort(centroid, 16, sizeof *centroid, compare_f32);
    w->grid = GRID_CODEBOOK;
    w->n_centroids = 16;
    w->n_groups = 1;
    w->group_elems = w->count;
    require(!pith_codebook_encode(centroid, 1, 16, out, pith_codebook_bound(1, 16),
                                  &w->codebook.n_bytes));
    w->codebook.bytes = out;
    float back[16];
    require(!pith_weight_codebooks(w, back) && !memcmp(back, centroid, sizeof back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { CAP = 1 << 13 };
    struct reader r = reader_of(data, size);
    struct weight w = {.type = PITH_F32, .count = 1};
    uint32_t shift = rd_u8(&r) % 16, coder = rd_u8(&r) % 6u;
    struct pith_support_profile *p = calloc(1, sizeof *p);
    uint8_t *mask = calloc(CAP, 1), *index = calloc(CAP, 1), *kept = malloc(CAP);
    write_codebook(&w, &r);
    w.count = w.group_elems = make_elements(&r, shift, mask, index, CAP);
    write_support(&w, mask, p);
    pith_index_gather(index, mask, w.count, kept);
    if (coder < 5)
        write_indices(&w, kept, 8 + coder);
    else
        write_rans(&w, kept);
    uint32_t *pos = malloc((size_t)(w.nnz + 1) * sizeof *pos);
    uint8_t *back = malloc((size_t)w.nnz + 1);
    void *scratch = malloc(pith_weight_scratch_bytes(&w));
    require(!pith_weight_expand_parts(&w, pos, back, NULL, scratch));
    require(!memcmp(back, kept, (size_t)w.nnz));
    for (uint64_t i = 0, k = 0; i < w.count; i++)
        require(!mask[i] || pos[k++] == i);
    free(pos);
    free(back);
    free(scratch);
    free(p);
    free(mask);
    free(index);
    free(kept);
    free((void *)w.gap_table.bytes);
    free((void *)w.support_stream.bytes);
    free((void *)w.index_table.bytes);
    free((void *)w.index_stream.bytes);
    free((void *)w.codebook.bytes);
    return 0;
}
