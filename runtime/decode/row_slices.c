/* SPDX-License-Identifier: MIT */
/* row_slices.c - see row_slices.h. Sizes are tested once, together: what follows a directory
 * that was found right cannot lead out of the stream, nor out of what a tensor stores. */
#include "core/build_choice.h"
#include "decode/row_slices.h"

/* What the directory is of. */
struct sliced_tensor {
    struct stream stream;
    uint64_t rows, cols, nnz; /* cols: at most ADAPTIVE_MAX, so elements are below 2^59 */
    bool sparse, cut, counted;
};

/* 0: there are not two slices. */
static uint64_t slice_rows(struct reader *r, uint64_t rows)
{
    uint64_t rows_each = rd_varint(r, rows - 1);
    return r->bad ? 0 : rows_each;
}

/* The last slice stores what the others have left, if it has so many elements. */
static bool read_directory(struct row_slices *s, const struct sliced_tensor *t)
{
    struct reader r = s->sizes;
    uint64_t bytes = 0, n_stored = 0, last = (s->behind - 1) % s->each + 1;
    for (uint64_t at = s->each; at < s->behind && !r.bad; at += s->each) {
        bytes +=
            rd_varint(&r, r.left); /* < 2^28 terms below 2^32, or too much for the test below */
        n_stored += t->counted ? rd_varint(&r, s->each) : 0;
    }
    s->bytes = r;
    s->last = t->sparse ? t->nnz - n_stored : last;
    return !r.bad && bytes <= r.left && (!t->counted || (n_stored <= t->nnz && s->last <= last));
}

/* Of a tensor that is not cut nothing is read. */
static bool open(struct row_slices *s, const struct sliced_tensor *t)
{
    struct reader r = reader_of(t->stream.bytes, t->stream.n_bytes);
    s->behind = s->each = t->rows * t->cols;
    s->last = t->nnz;
    s->bytes = r;
    s->counted = BUILT_PART(SLICES) && t->counted;
    if (!BUILT_PART(SLICES) || !t->cut)
        return s->each > 0;
    s->each = slice_rows(&r, t->rows) * t->cols;
    s->sizes = r;
    return s->each > 0 && read_directory(s, t);
}

bool pith_slices_open(struct row_slices *s, const struct weight *w)
{
    uint64_t rows = adaptive_rows(w);
    bool sparse = w->support != SUPPORT_DENSE;
    struct sliced_tensor t = {.stream = w->index_stream,
                              .rows = rows,
                              .cols = w->count / rows,
                              .nnz = w->nnz,
                              .sparse = sparse,
                              .cut = w->sliced,
                              .counted = sparse && w->sliced && w->code == CODE_ADAPTIVE};
    return open(s, &t);
}

bool pith_slices_of_source(struct row_slices *s, const struct weight *w)
{
    bool counted = w->source_nnz > 0;
    struct sliced_tensor t = {.stream = w->source_stream,
                              .rows = w->source_rows,
                              .cols = ADAPTIVE_MAX,
                              .nnz = counted ? w->source_nnz : 1,
                              .sparse = counted,
                              .cut = w->source_sliced,
                              .counted = counted};
    return open(s, &t);
}

struct row_slice pith_slices_next(struct row_slices *s)
{
    bool last = !BUILT_PART(SLICES) || s->behind <= s->each;
    struct row_slice one = {.n = last ? s->behind : s->each};
    size_t bytes = last ? s->bytes.left : (size_t)rd_varint(&s->sizes, s->bytes.left);
    one.stored = last ? s->last : s->counted ? rd_varint(&s->sizes, s->each) : one.n;
    one.bytes = reader_of(rd_bytes(&s->bytes, bytes), bytes);
    s->behind -= one.n;
    return one;
}

uint64_t pith_slice_elements(const struct weight *w)
{
    struct reader r = reader_of(w->index_stream.bytes, w->index_stream.n_bytes);
    uint64_t rows = adaptive_rows(w);
    return w->sliced ? slice_rows(&r, rows) * (w->count / rows) : w->count;
}

uint32_t pith_slice_pieces(const struct weight *w)
{
    uint64_t each = w->sliced ? pith_slice_elements(w) : 0;
    uint64_t slices = each ? (w->count + each - 1) / each : 0;
    return slices < SLICE_PIECES ? (uint32_t)slices : SLICE_PIECES;
}

uint64_t pith_slices_stored(const struct weight *w, uint64_t n)
{
    struct row_slices s;
    uint64_t sum = 0;
    if (!pith_slices_open(&s, w))
        return 0;
    while (n-- > 0 && s.behind > 0)
        sum += pith_slices_next(&s).stored;
    return sum;
}
