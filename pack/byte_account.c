/* SPDX-License-Identifier: MIT */
/* byte_account.c - every byte of a file in exactly one section. What chunks and streams take is
 * read off the validated graph; padding is what remains, and a test holds that against the rules.
 */
#include <stdlib.h>
#include "base/error_fill.h"
#include "core/build_choice.h"
#include "model/model_sizes.h"
#include "pack.h"
#include "validate/format.h"
#include "pith_pack.h"
#include "pith_runtime.h"
#include "core/op_number.h"

const char *pith_section_name(enum pith_section section)
{
    static const char *const name[PITH_SECTIONS] = {
        [PITH_SECTION_HEADER] = "header",       [PITH_SECTION_GRAPH] = "graph",
        [PITH_SECTION_NAMES] = "names",         [PITH_SECTION_TABLES] = "tables",
        [PITH_SECTION_CODEBOOKS] = "codebooks", [PITH_SECTION_SUPPORTS] = "supports",
        [PITH_SECTION_INDICES] = "indices",     [PITH_SECTION_VALUES] = "values",
        [PITH_SECTION_BIASES] = "biases",       [PITH_SECTION_META] = "meta",
        [PITH_SECTION_HISTORY] = "history",     [PITH_SECTION_RANGES] = "ranges",
        [PITH_SECTION_OTHER] = "other",         [PITH_SECTION_PADDING] = "padding",
        [PITH_SECTION_CHECKSUMS] = "checksums",
    };
    return section < PITH_SECTIONS ? name[section] : "?";
}

static const enum pith_section chunk_section[CHUNK_KINDS] = {
    [CHUNK_DATA] = PITH_SECTION_PADDING, /* streams are taken out of it below */
    [CHUNK_GRAPH] = PITH_SECTION_GRAPH,     [CHUNK_TABLES] = PITH_SECTION_TABLES,
    [CHUNK_HISTORY] = PITH_SECTION_HISTORY, [CHUNK_META] = PITH_SECTION_META,
    [CHUNK_NAMES] = PITH_SECTION_NAMES,     [CHUNK_STATS] = PITH_SECTION_RANGES,
};

/* Tables are introduced in the order of their bytes, so a new one lies behind all before it. */
static void charge_table(const struct huff_table *t, const uint8_t **newest,
                         struct pith_tensor_bytes *b)
{
    if (t->n_bytes == 0)
        return;
    if (*newest && t->bytes <= *newest) {
        b->shared++;
        return;
    }
    *newest = t->bytes;
    b->table += (uint32_t)t->n_bytes + (t->n_bytes >= 0x80 ? 2 : 1); /* with its length */
}

static void charge_tensor(struct pith_byte_account *a, const struct weight *w,
                          struct pith_tensor_bytes *b)
{
    b->codebook = w->codebook.n_bytes;
    b->support = w->support_stream.n_bytes;
    a->section[PITH_SECTION_CODEBOOKS] += b->codebook;
    a->section[PITH_SECTION_SUPPORTS] += b->support;
    if (w->grid == GRID_CODEBOOK) {
        b->index = w->index_stream.n_bytes;
        a->section[PITH_SECTION_INDICES] += b->index;
    } else {
        b->values = w->index_stream.n_bytes;
        a->section[w->shape.rank >= 2 ? PITH_SECTION_VALUES : PITH_SECTION_BIASES] += b->values;
    }
    a->section[PITH_SECTION_PADDING] -= b->codebook + b->support + w->index_stream.n_bytes;
}

static void describe_tensor(const struct weight *w, struct pith_tensor_bytes *b)
{
    b->kept = w->nnz;
    b->n_centroids = w->grid == GRID_CODEBOOK && w->type == PITH_F32 ? pith_whole_centroids(w) : 0;
    b->stored = w->scaled ? (enum pith_type)w->scaled : w->type;
    b->code = pith_code_of(w);
    b->trellis = w->trellis;
}

static uint32_t part_if(bool needed, enum build_part part)
{
    return needed ? UINT32_C(1) << part : 0;
}

static uint32_t parts_of_weight(const struct weight *w)
{
    return part_if(w->grid == GRID_CODEBOOK, BUILD_CODEBOOKS) |
           part_if(w->support == SUPPORT_BITMAP, BUILD_BITMAPS) |
           part_if(w->support == SUPPORT_GAPS, BUILD_GAPS) |
           part_if(w->code == CODE_HUFFMAN, BUILD_HUFFMAN) |
           part_if(w->code == CODE_PLANES, BUILD_PLANES) |
           part_if(w->code == CODE_RANS || w->code == CODE_CLASSES, BUILD_RANS) |
           part_if(w->code == CODE_ADAPTIVE, BUILD_ADAPTIVE) | part_if(w->trellis, BUILD_TRELLIS) |
           part_if(w->scaled, BUILD_WORDS);
}

/* value: types of all values of g. */
static uint32_t parts_of(const struct image *im, const struct graph *g, const struct tview *value)
{
    const char *sizes;
    size_t n_sizes;
    uint32_t parts =
        part_if(!pith_blob_meta(im->blob, im->bytes, PITH_META_SIZES, &sizes, &n_sizes),
                BUILD_SIZES) |
        part_if(im->chunk[CHUNK_NAMES].bytes || im->chunk[CHUNK_META].bytes ||
                    im->chunk[CHUNK_HISTORY].bytes,
                BUILD_TEXTS) |
        part_if(im->chunk[CHUNK_STATS].bytes, BUILD_RANGES);
    for (uint32_t i = 0; i < g->n_weights; i++)
        parts |= parts_of_weight(&g->weights[i]);
    for (uint32_t v = 0; v < g->n_values; v++)
        parts |= part_if(value[v].type == PITH_I16 || value[v].type == PITH_U16, BUILD_WORDS);
    for (uint32_t n = 0; n < g->n_nodes; n++)
        parts |= part_if(g->nodes[n].info->op == PITH_OP_QUANTIZE &&
                             value[g->nodes[n].in[0]].type == PITH_I32,
                         BUILD_WORDS);
    return parts;
}

static uint64_t sum(const struct pith_byte_account *a)
{
    uint64_t total = 0;
    for (uint32_t s = 0; s < PITH_SECTIONS; s++)
        total += a->section[s];
    return total;
}

/* Bytes between two known chunks are padding; of chunks that are not known here, their table says
 * the length, and the reader has tested that all is contiguous. */
static uint64_t unknown_bytes(const struct image *im)
{
    uint64_t total = 0;
    uint32_t n = im->compact ? 0 : load_le32(im->blob + FULL_COUNT_AT);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *entry = im->blob + FULL_TABLE_AT + i * FULL_ENTRY_BYTES;
        uint32_t k = 0;
        while (k < CHUNK_KINDS && pith_chunk_tag(k) != load_le32(entry))
            k++;
        total += k == CHUNK_KINDS ? load_le64(entry + 16) : 0;
    }
    return total;
}

static void charge_all(struct pith_byte_account *a, const struct image *im, const struct graph *g)
{
    const uint8_t *newest = NULL;
    a->total = im->bytes;
    a->section[PITH_SECTION_HEADER] = im->header_bytes;
    a->section[PITH_SECTION_CHECKSUMS] =
        im->compact ? COMPACT_CRC_BYTES : FULL_CRC_BYTES + 4 * load_le32(im->blob + FULL_COUNT_AT);
    a->section[PITH_SECTION_OTHER] = unknown_bytes(im);
    for (uint32_t k = 0; k < CHUNK_KINDS; k++)
        a->section[chunk_section[k]] += im->chunk[k].n_bytes;
    for (uint32_t i = 0; i < g->n_weights; i++) {
        charge_tensor(a, &g->weights[i], &a->tensor[i]);
        describe_tensor(&g->weights[i], &a->tensor[i]);
        charge_table(&g->weights[i].gap_table, &newest, &a->tensor[i]);
        charge_table(&g->weights[i].index_table, &newest, &a->tensor[i]);
    }
    /* What no chunk holds lies before the data of a full file, or is an unknown compact chunk. */
    a->section[im->compact ? PITH_SECTION_OTHER : PITH_SECTION_PADDING] += a->total - sum(a);
}

static enum pith_status account(const void *file, size_t n, const struct graph *g,
                                const struct tview *value, struct pith_byte_account **result,
                                struct pith_error *err)
{
    struct image im;
    struct pith_byte_account *a = calloc(1, sizeof *a);
    enum pith_status st = pith_image_open(file, n, PITH_FLAG_NO_CHECKSUM, &im, err);
    if (a)
        a->tensor = calloc(g->n_weights + 1u, sizeof *a->tensor);
    if (!st && (!a || !a->tensor))
        st = pith_error_no_memory(err);
    if (st) {
        pith_byte_account_free(a);
        return st;
    }
    a->n_tensors = g->n_weights;
    charge_all(a, &im, g);
    for (uint32_t i = 0; i < g->n_weights; i++)
        a->coded |= parts_of_weight(&g->weights[i]) != 0;
    a->parts = parts_of(&im, g, value);
    *result = a;
    return PITH_OK;
}

enum pith_status pith_byte_account_new(const void *file, size_t n,
                                       struct pith_byte_account **result, struct pith_error *err)
{
    if (!file || !result)
        return PITH_ERR_ARGUMENT;
    uint64_t need;
    struct graph g;
    struct tview *shapes;
    enum pith_status st = pith_graph_need(file, n, 0, &need, err);
    if (st)
        return st;
    void *mem = aligned_alloc(64, (size_t)((need + 64) & ~UINT64_C(63)));
    if (!mem)
        return pith_error_no_memory(err);
    st = pith_graph_read((struct graph_bytes){file, n, PITH_FLAG_NO_CHECKSUM}, NULL,
                         (struct graph_room){mem, need}, &g, &shapes, err);
    if (!st)
        st = account(file, n, &g, shapes, result, err);
    free(mem);
    return st;
}

void pith_byte_account_free(struct pith_byte_account *a)
{
    if (!a)
        return;
    free(a->tensor);
    free(a);
}
