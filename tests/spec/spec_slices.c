/* SPDX-License-Identifier: MIT */
/* spec_slices.c - slices (S11). */
#include "spec_slices.h"

uint64_t rows_of(const struct tensor *t)
{
    return t->rank < 2 ? 1 : t->dim[0];
}

/* What is not sliced is one slice. */
struct slices slices_of(const struct tensor *t)
{
    struct slices s = {t->elements,
                       t->elements,
                       rows_of(t),
                       rows_of(t),
                       0,
                       t->nnz,
                       t->adaptive && t->support != 0};
    if (t->sliced) {
        must(s.rows > 1, s.rest.at, "two slices have two rows");
        s.each = varint_in(&s.rest, 1, s.rows - 1, "a slice has rows, and not all of them");
    }
    s.sizes = s.rest;
    for (uint64_t row = s.each; row < s.rows; row += s.each) {
        varint(&s.rest);
        if (s.counted) {
            varint(&s.rest);
        }
    }
    return s;
}

/* false: there was a last one */
bool next_slice(const struct tensor *t, struct slices *s, struct slice *one)
{
    bool last = s->rows - s->at <= s->each;
    if (s->at == s->rows) {
        return false;
    }
    *one = (struct slice){.first = s->at, .rows = last ? s->rows - s->at : s->each};
    one->bytes = cut(&s->rest, last ? left(&s->rest) : varint(&s->sizes));
    one->stored = one->rows * (t->count / s->rows);
    if (s->counted) {
        uint64_t n = last ? s->stored : varint(&s->sizes);
        must(n <= one->stored && n <= s->stored, s->sizes.at,
             "a slice stores no more than it has elements, all slices as many as nnz says");
        one->stored = n;
        s->stored -= n;
    }
    s->at += one->rows;
    return true;
}
