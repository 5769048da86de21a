/* SPDX-License-Identifier: MIT */
/* spec_heads.c - the heads of tensors (F5). */
#include "spec_heads.h"
#include <string.h>
#include "spec_chunks.h"
#include "spec_streams.h"

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

/* The code that a shape must have; before: NULL for the first tensor. */
static uint32_t shape_code_of(const struct tensor *t, const struct tensor *before)
{
    if (before != NULL && t->rank == 1 && before->rank >= 1 && t->dim[0] == before->dim[0]) {
        return 0;
    }
    if (before != NULL && same_shape(t, before)) {
        return 6;
    }
    if (t->rank == 4 && t->dim[2] == t->dim[3]) {
        return 5;
    }
    return t->rank >= 1 && t->rank <= 4 ? t->rank : 7;
}

static void read_shape(struct span *s, struct tensor *t, const struct tensor *before, uint32_t code)
{
    uint64_t at = s->at;
    must(before != NULL || (code != 0 && code != 6), at, "no tensor before the first one");
    if (code == 6) {
        t->rank = before->rank;
        memcpy(t->dim, before->dim, sizeof t->dim);
    } else if (code == 0) {
        must(before->rank >= 1, at, "the tensor before has no dimension 0");
        t->rank = 1;
        t->dim[0] = before->dim[0];
    } else {
        t->rank = code == 5 ? 4 : code;
        if (code == 7) {
            t->rank = (uint32_t)varint_in(s, 0, MAX_RANK, "rank is 0..8");
        }
        for (uint32_t i = 0; i < t->rank; i++) {
            t->dim[i] = code == 5 && i == 3 ? t->dim[2] : read_dim(s);
        }
    }
    must(shape_code_of(t, before) == code, at, "the first shape code that fits must be used");
    t->count = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        must(t->count <= MAX_ELEMENTS / t->dim[i], at, "a tensor has at most 2^40 elements");
        t->count *= t->dim[i];
    }
}

/* F5, common tensors. `grid` is the `k` of the table there, of all tensors that have a codebook. */
static void read_common(struct span *s, struct tensor *t, uint32_t head, uint64_t at,
                        uint32_t *last_centroids)
{
    bool same = head >= 0x80;
    uint32_t common = (head - (same ? 0x80 : 0)) >> 3;
    must(common <= 14, at, "a type prefix must not be there twice, nor this head with this type");
    t->support = common / 5;
    t->grid = common % 5;
    t->n_groups = 1;
    must(t->grid != 0 || !same, at, "the same centroids need a codebook");
    must(t->grid == 0 || t->type == 1 || t->type == 5, at, "a tensor with a codebook is f32 or i8");
    must(t->support != CODED || t->count < UINT64_C(1) << 32, at, "coded support: below 2^32");
    if (t->grid == 0) {
        return;
    }
    if (same) {
        must(*last_centroids != 0, at, "the same centroids need a codebook before");
        t->n_centroids = *last_centroids;
    } else {
        t->n_centroids = u8(s) + 1u;
        must(t->n_centroids != *last_centroids, at, "the same centroids must be referred to");
    }
    *last_centroids = t->n_centroids;
    if (t->grid >= 3) {
        t->n_groups = varint_in(s, 2, t->count, "groups: at least 2, at most the elements");
        must(t->count % t->n_groups == 0, at, "groups must divide the elements");
    }
}

/* F5, adaptive. */
static void read_form(struct span *s, struct tensor *t, uint32_t form, uint32_t *last_centroids)
{
    uint64_t at = s->at;
    bool codebook = form >> 1 & 1, groups = form >> 2 & 1, same = form >> 3 & 1;
    must(codebook || (!groups && !same), at, "groups and centroids need a codebook");
    must(t->count < UINT64_C(1) << 28, at, "an adaptive tensor has fewer than 2^28 elements");
    t->adaptive = true;
    t->support = form & 1 ? SPARSE : 0;
    t->n_groups = 1;
    t->nnz = t->count;
    t->source_back = form >> 4 & 7;
    must(form < 128, at, "bit 7 of a form is 0");
    if (codebook) {
        t->grid = groups ? 3 : 1;
        t->n_centroids = same ? *last_centroids : u8(s) + 1u;
        must(t->n_centroids != 0 && (same || t->n_centroids != *last_centroids), at,
             "same centroids where they are, and only there");
        *last_centroids = t->n_centroids;
    }
    if (groups) {
        t->n_groups = varint_in(s, 2, t->count, "groups: at least 2, at most the elements");
        must(t->count % t->n_groups == 0, at, "groups must divide the elements");
    }
    if (t->support == SPARSE) {
        t->nnz = varint_in(s, 1, t->count, "nnz of an adaptive tensor is at least 1");
    }
}

/* Rows of the tensor two before, 0 if there are none. */
static uint32_t fed_by(const struct tensor *t, uint64_t i)
{
    return i >= 2 && t[-2].rank >= 2 ? t[-2].dim[0] : 0;
}

/* F5, the table of short heads; 6: none. */
static uint32_t short_kind(const struct tensor *t, uint64_t i)
{
    uint32_t R = fed_by(t, i), code = shape_code_of(t, i > 0 ? t - 1 : NULL);
    bool conv = code == 5;
    if ((code != 2 && !conv) || t->grid != 1) {
        return 6;
    }
    if (t->source_back == 0) {
        return !conv ? 0 : t->dim[1] == 1 ? 5 : 1;
    }
    if (t->source_back != 2 || R < 2 || t->dim[1] % R != 0) {
        return 6;
    }
    return t->dim[1] == R ? (conv ? 3 : 2) : conv ? 6 : 4;
}

static uint32_t short_number(uint32_t head)
{
    static const uint32_t begin[3] = {0x80, 0xA8, 0xD0};
    for (uint32_t i = 0; i < 3; i++) {
        if (head >= begin[i] && head < begin[i] + 8) {
            return 8 * i + head - begin[i];
        }
    }
    return 24;
}

static void read_short(struct span *s, struct tensor *t, uint64_t i, uint32_t number,
                       uint32_t *last_centroids)
{
    uint64_t at = s->at;
    uint32_t kind = number % 6, R = fed_by(t, i);
    bool conv = kind == 1 || kind == 3 || kind == 5;
    t->rank = conv ? 4 : 2;
    t->dim[0] = read_dim(s);
    t->dim[1] = kind == 5 ? 1 : R;
    if (kind < 2) {
        t->dim[1] = read_dim(s);
    } else if (kind == 4) {
        uint64_t q = varint(s);
        must(q >= 2 && R > 0 && q <= MAX_DIM / R, at, "dimension 1 is 2 or more times the rows");
        t->dim[1] = (uint32_t)q * R;
    }
    must(t->dim[1] > 0, at, "the tensor two before has rows");
    if (conv) {
        t->dim[2] = t->dim[3] = read_dim(s);
    }
    t->count = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        must(t->count <= MAX_ELEMENTS / t->dim[k], at, "a tensor has at most 2^40 elements");
        t->count *= t->dim[k];
    }
    uint32_t source = kind >= 2 && kind <= 4 ? 0x20 : 0, same = number / 6 % 2 * 8,
             sparse = number / 12;
    read_form(s, t, source + same + 2 + sparse, last_centroids);
    must(short_kind(t, i) == kind, at, "a short head must be the one that fits");
}

static void unsupported_unless(bool known, uint64_t at, const char *what)
{
    if (!known) {
        refuse("unsupported", at, what);
    }
}

/* F5, the other code: its prefix has been read. */
static void read_other_code(struct span *s, struct tensor *t, uint64_t i, bool is_last,
                            struct span *data, uint32_t *last_centroids)
{
    uint64_t at = s->at;
    uint32_t head = u8(s), common = (head & 0x7F) >> 3, k = common % 5;
    bool planes = head < 8 && t->type == 1;
    bool rans = common < 15 && (k == 2 || k == 4) && (t->type == 1 || t->type == 5);
    bool classes =
        common < 15 && common / 5 != BITMAP && (k == 1 || k == 3) && (t->type == 1 || t->type == 5);
    unsupported_unless(planes || rans || classes, at, "a prefix for a head that has no other code");
    read_shape(s, t, i > 0 ? t - 1 : NULL, head & 7);
    t->planes = planes;
    t->rans = rans;
    t->classes = classes;
    if (planes) {
        t->n_groups = 1;
        t->nnz = t->count;
        t->elements = cut(data, is_last ? left(data) : varint(s));
        return;
    }
    read_common(s, t, head, at, &last_centroids[t->rank < 2 ? 0 : 1]);
    if (classes) {
        must(t->count < 1 << 28, at, "classes are of fewer than 2^28 elements");
        t->grid++; /* its indices are coded, in one stream with its support */
        t->support = t->support == CODED ? SPARSE : 0;
    }
    read_streams(s, t, data);
}

/* Behind the prefixes. */
static void read_head(struct span *s, struct tensor *t, uint64_t i, uint64_t n, struct span *data,
                      uint32_t *last_centroids)
{
    static const uint32_t vector_form[] = {0x10, 0x12, 0x1A};
    uint32_t *last;
    const struct tensor *before = i > 0 ? t - 1 : NULL;
    uint64_t at = s->at;
    uint32_t head = u8(s);
    unsupported_unless(head < 0x7D || head > 0x7F, at, "a prefix behind a prefix");
    if (head == 0x7C) {
        read_other_code(s, t, i, i + 1 == n, data, last_centroids);
        return;
    }
    bool may_have_codebook = t->type == 1 || t->type == 5;
    if (may_have_codebook && short_number(head) < 24) {
        read_short(s, t, i, short_number(head), &last_centroids[1]);
        read_adaptive_streams(s, t - i, t, i + 1 == n, data);
        return;
    }
    bool vector = may_have_codebook && head >= 0x79 && head <= 0x7B;
    must(may_have_codebook || head < 0x78, at, "a tensor with a codebook is f32 or i8");
    read_shape(s, t, before, vector ? 0 : head & 7);
    last = &last_centroids[t->rank < 2 ? 0 : 1];
    if (vector || (may_have_codebook && head >= 0xF8)) {
        uint32_t form = vector ? vector_form[head - 0x79] : u8(s);
        must(vector || (head & 7) != 0 || (form != 0x10 && form != 0x12 && form != 0x1A), at,
             "a form that a head byte holds must be written so");
        read_form(s, t, form, last);
        must(t->type == 1 || t->grid != 0, at, "adaptive integers have a codebook");
        must(short_kind(t, i) == 6, at, "a tensor with a short head must have it");
        read_adaptive_streams(s, t - i, t, i + 1 == n, data);
        return;
    }
    read_common(s, t, head, at, last);
    read_streams(s, t, data);
}

/* F5, scale prefix: it has been read. */
static void read_scaled(struct span *s, struct tensor *t, const struct tensor *before,
                        struct span *data)
{
    uint64_t at = s->at;
    uint32_t head = u8(s);
    unsupported_unless(t->type >= 5 && t->type <= 8 && head < 8, at, "scales of plain integers");
    t->integers = t->type;
    t->type = 1;
    read_shape(s, t, before, head & 7);
    t->nnz = t->count;
    t->n_groups = 1;
    at = s->at;
    uint64_t layout = varint_in(s, 0, 33, "a layout of scales"), n = 1;
    uint32_t place = (uint32_t)(layout / 2);
    if (place > 0) {
        t->axis = (place - 1) / 2;
        must(t->axis < t->rank, at, "scales along an axis of the tensor");
        n = t->dim[t->axis];
        if ((place - 1) % 2 == 1) {
            t->block = varint_in(s, 2, MAX_DIM, "a block is 2..2^31-1");
            n = t->count / n * ((n + t->block - 1) / t->block);
        }
        must(n > 1, at, "one scale is written as one");
    }
    uint32_t each = type_bytes[t->integers];
    t->scales = cut(data, 4 * n);
    t->zero_points = cut(data, layout % 2 == 1 ? n * each : 0);
    bool any = layout % 2 == 0;
    for (uint64_t i = t->zero_points.at; i < t->zero_points.end; i++) {
        any = any || file[i] != 0;
    }
    must(any, t->zero_points.at, "zero points that all are 0 must be left out");
    t->elements = cut(data, t->count * each);
}

/* t: number `i` of n. */
void read_tensor(struct span *s, struct tensor *t, uint64_t i, uint64_t n, struct span *data,
                 uint32_t *last_centroids)
{
    t->type = 1;
    if (left(s) > 0 && file[s->at] == 0x78) {
        s->at++;
        unsupported_unless(left(s) == 0 || file[s->at] <= 11, s->at, "a type above 11");
        t->type = read_type(s);
    }
    if (left(s) > 0 && (file[s->at] == 0x7D || file[s->at] == 0x7E)) {
        t->trellis = u8(s) == 0x7D ? 8 : 16;
    }
    uint64_t at = s->at;
    if (t->trellis == 0 && left(s) > 0 && file[at] == 0x7F) {
        s->at++;
        read_scaled(s, t, i > 0 ? t - 1 : NULL, data);
        return;
    }
    read_head(s, t, i, n, data, last_centroids);
    must(t->trellis == 0 || ((t->adaptive || t->classes) && t->grid != 0), at,
         "levels of a trellis are adaptive or by classes, with a codebook");
}
