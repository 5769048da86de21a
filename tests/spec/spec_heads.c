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

/* F5, adaptive. */
static void end_adaptive(struct span *s, struct tensor *t, bool is_last, struct span *data)
{
    t->adaptive = true;
    t->nnz = t->count;
    must(t->count < UINT64_C(1) << 28, s->at, "an adaptive tensor has fewer than 2^28 elements");
    if (t->support == SPARSE) {
        t->nnz = varint_in(s, 1, t->count, "nnz of an adaptive tensor is at least 1");
    }
    if (t->grid == 0 && t->support != 0) {
        read_streams(s, t, data);
        must(t->nnz > 0, s->at, "nnz of an adaptive tensor is at least 1");
        return;
    }
    read_adaptive_streams(s, t, is_last, data);
}

/* Behind the prefix 0x7A. */
static void read_other_adaptive(struct span *s, struct tensor *t, uint64_t i, bool is_last,
                                struct span *data, uint32_t *last_centroids)
{
    uint64_t at = s->at;
    uint32_t head = u8(s), common = (head & 0x7F) >> 3, k = common % 5;
    bool floats = head < 0x78 && k == 0;
    bool groups = common < 15 && common / 5 != BITMAP && k == 3;
    unsupported_unless(floats || groups, at, "a prefix for a head that is not adaptive");
    must(head != 0, at, "a vector of floats has a head of its own");
    must(t->type == 1 || (groups && t->type == 5), at, "adaptive floats are f32");
    read_shape(s, t, i > 0 ? t - 1 : NULL, head & 7);
    read_common(s, t, head, at, &last_centroids[t->rank < 2 ? 0 : 1]);
    if (groups && t->support == CODED) {
        t->support = SPARSE;
    }
    end_adaptive(s, t, is_last, data);
}

/* Behind the prefixes. */
static void read_head(struct span *s, struct tensor *t, uint64_t i, uint64_t n, struct span *data,
                      uint32_t *last_centroids)
{
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
    if (head == 0x7A) {
        read_other_adaptive(s, t, i, i + 1 == n, data, last_centroids);
        return;
    }
    unsupported_unless(head != 0x7B, at, "a head without a meaning");
    bool vector = head == 0x79, one = head >= 0x80 && (head & 0x7F) / 8 % 5 == 0;
    must(may_have_codebook || head < 0x78, at, "a tensor with a codebook is f32 or i8");
    must(t->type == 1 || !vector, at, "adaptive floats are f32");
    read_shape(s, t, before, vector ? 0 : head & 7);
    last = &last_centroids[t->rank < 2 ? 0 : 1];
    if (vector || one) {
        uint32_t form = one ? (head & 0x7F) / 40 : 0;
        t->n_groups = 1;
        if (one) {
            t->grid = 1;
            t->n_centroids = form % 2 == 1 ? *last : u8(s) + 1u;
            must(t->n_centroids != 0 && (form % 2 == 1 || t->n_centroids != *last), at,
                 "same centroids where they are, and only there");
            *last = t->n_centroids;
            t->support = form >= 2 ? SPARSE : 0;
        }
        end_adaptive(s, t, i + 1 == n, data);
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
