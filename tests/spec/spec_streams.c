/* SPDX-License-Identifier: MIT */
/* spec_streams.c - the streams of a tensor (F5, F6). */
#include "spec_streams.h"
#include "spec_chunks.h"
#include "spec_codebook.h"
#include "spec_support.h"
#include "spec_tables.h"

static void cut_elements(struct tensor *t, struct span *data)
{
    uint64_t n = coded_indices(t) || t->adaptive ? t->index_bytes : plain_bytes(t);
    uint64_t align = n < 64 ? type_bytes[t->type] : 64;
    while (!compact && t->grid == 0 && !t->adaptive && n > 0 && data->at % align != 0) {
        const uint64_t at = data->at;
        must(u8(data) == 0, at, "bytes before plain elements must be zero");
    }
    t->elements = cut(data, n);
}

/* The order of the streams in DATA lets a reader cut them while it reads the tensor; the bitmap
 * must even be counted here, since its nnz decides what follows. */
void read_streams(struct span *s, struct tensor *t, struct span *data)
{
    t->nnz = t->count;
    if (t->support == CODED) {
        t->nnz = varint_in(s, 0, t->count, "nnz is at most the number of elements");
    }
    if (t->support == SPARSE) {
        t->nnz = varint_in(s, 1, t->count, "nnz is 1 to the number of elements");
    }
    if (t->grid != 0) {
        t->codebook = cut(data, varint_in(s, 1, UINT64_MAX, "a codebook has bytes"));
    }
    if (t->support == BITMAP) {
        t->support_data = cut(data, (t->count + 7) / 8);
        t->nnz = ones_of_bitmap(t->support_data, t->count);
    }
    bool with_support = t->support == CODED && t->nnz > 0;
    bool with_index = coded_indices(t) && t->nnz > 0;
    if (with_support || with_index) {
        uint64_t at = s->at;
        uint32_t references = u8(s);
        must(with_support || (references & 15) == 0, at, "0 where no support table is used");
        must(with_index || references >> 4 == 0, at, "0 where no index table is used");
        if (with_support) {
            t->support_table = table_reference(s, references & 15, FOR_SUPPORT);
        }
        if (with_index) {
            t->index_table = table_reference(s, references >> 4,
                                             t->rans      ? FOR_RANS
                                             : t->classes ? FOR_CLASSES
                                                          : FOR_INDICES);
        }
    }
    t->support_bytes = with_support ? varint(s) : 0;
    t->index_bytes = with_index || t->adaptive ? varint(s) : 0;
    if (t->support == CODED) {
        t->support_data = cut(data, t->support_bytes);
    }
    cut_elements(t, data);
}

/* F5, adaptive. The codebook is read to find where it ends. */
void read_adaptive_streams(struct span *s, struct tensor *t, bool is_last, struct span *data)
{
    t->elements = cut(data, is_last ? left(data) : varint(s));
    if (t->grid != 0) {
        t->codebook = t->elements;
        t->codebook.end = t->codebook.at + codebook_bytes(t);
        t->elements.at = t->codebook.end;
    }
}
