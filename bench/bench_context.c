/* SPDX-License-Identifier: MIT */
/* bench_context.c - the integers of a network's weights by the two codes that adapt: bytes of the
 * indices alone beside the order-0 entropy of each tensor, and how fast contexts are decoded.
 *
 *     bench_context [--grid SHARE] MODEL.pith|MODEL.onnx ...
 *     bench_context --slices N MODEL.pith ...
 *
 * Weights that have a codebook, or, with --grid, all of two axes or more: rounded to multiples of
 * that share of the tensor's standard deviation (population), at most 127 of them to either side. A
 * speed is of one thread, all tensors one after the other, the best of 9. With --slices dense
 * tensors are cut into slices of rows with N elements or more, of both codes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "pith_adaptive_encode.h"
#include "pith_context_encode.h"
#include "pith_huffman.h"
#include "pith_load.h"

#define ROUNDS 9
#define MOST 127.0

static const uint32_t level[] = {0, PITH_CPU_AVX2};
static const char *const level_name[] = {"scalar", "AVX2"};

struct totals {
    double elements, entropy, context, adaptive, seconds[2];
};

static uint64_t least; /* elements of a slice; 0: no slices */

static void require(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_context: %s\n", what);
        exit(1);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double entropy_bytes(const uint8_t *mask, const uint8_t *index, uint64_t n)
{
    double bits = 0, count[257] = {0};
    for (uint64_t i = 0; i < n; i++)
        count[mask && !mask[i] ? 256 : index[i]]++;
    for (uint32_t v = 0; v < 257; v++)
        if (count[v] > 0)
            bits -= count[v] * log2(count[v] / (double)n);
    return bits / 8;
}

static double decode(const struct weight *w, uint32_t features)
{
    struct context_stream *s = malloc(sizeof *s);
    void *columns = malloc(pith_context_bytes(w));
    uint8_t *index = malloc(w->nnz);
    uint32_t *pos = malloc(w->nnz * sizeof *pos);
    struct weight with = *w;
    double best = HUGE_VAL;
    with.cpu = features;
    for (int i = 0; i < ROUNDS; i++) {
        double start = seconds();
        require(!pith_context_open(s, &with, columns) &&
                    !(w->support == SUPPORT_DENSE
                          ? pith_context_next(s, index, w->nnz)
                          : pith_context_stored(s, pos, index, (uint32_t)w->nnz)),
                "a stream is refused");
        double spent = seconds() - start;
        best = spent < best ? spent : best;
    }
    free(s);
    free(columns);
    free(index);
    free(pos);
    return best;
}

/* Rows of a slice; 0: one stream. */
static uint64_t rows_of_slice(const struct weight *w)
{
    uint64_t rows = w->shape.rank < 2 ? 1 : w->shape.dim[0], n = least ? w->count / least : 1;
    n = n < rows ? n : rows;
    return n < 2 || w->support != SUPPORT_DENSE ? 0 : (rows + n - 1) / n;
}

static enum pith_status context_encode(const struct weight *w, const uint8_t *mask,
                                       const uint8_t *index, uint8_t *dst, size_t cap,
                                       size_t *bytes)
{
    uint64_t rows = rows_of_slice(w);
    return rows ? pith_context_encode_sliced(w, rows, mask, index, dst, cap, bytes)
                : pith_context_encode(w, mask, index, dst, cap, bytes);
}

/* Of slices as if there were some: each a tensor, and three bytes of a directory. */
static double adaptive_bytes(const struct weight *w, const uint8_t *mask, const uint8_t *index)
{
    uint64_t all = w->shape.rank < 2 ? 1 : w->shape.dim[0], rows = rows_of_slice(w);
    double sum = 0;
    for (uint64_t at = 0; at < all; at += rows ? rows : all) {
        struct weight one = *w;
        size_t bytes, begin = (size_t)(at * (w->count / all));
        if (rows) {
            one.shape.dim[0] = (uint32_t)(all - at < rows ? all - at : rows);
            one.count = one.nnz = one.group_elems = one.shape.dim[0] * (w->count / all);
        }
        struct adaptive_input in = {
            .w = &one, .mask = mask, .index = index + begin}; /* masks have no slices */
        require(!pith_adaptive_encode(&in, NULL, 0, &bytes), "a weight is refused");
        sum += (double)bytes + (rows ? 3 : 0);
    }
    return sum;
}

static void add_weight(struct totals *t, struct weight *w, const uint8_t *mask,
                       const uint8_t *index)
{
    uint8_t *stream;
    size_t bytes;
    require(!context_encode(w, mask, index, NULL, 0, &bytes), "a weight is refused");
    size_t room = bytes + 5 * 4096; /* sizes of slices are written when all are known */
    stream = malloc(room);
    require(!context_encode(w, mask, index, stream, room, &bytes), "a weight is refused");
    w->sliced = rows_of_slice(w) > 0;
    w->index_stream = (struct stream){stream, bytes};
    t->elements += (double)w->count;
    t->context += (double)bytes;
    t->entropy += entropy_bytes(mask, index, w->count);
    for (uint32_t l = 0; l < 2; l++)
        if (!(level[l] & ~pith_cpu_features()))
            t->seconds[l] += decode(w, level[l]);
    t->adaptive += adaptive_bytes(w, mask, index);
    free(stream);
}

static void add_codebook(struct totals *t, const struct pith_value *v, const uint8_t *mask,
                         const struct pith_codebook *b)
{
    struct weight w = {.type = PITH_F32,
                       .shape = {.rank = v->rank},
                       .count = v->constant->count,
                       .support = mask ? SUPPORT_ADAPTIVE : SUPPORT_DENSE,
                       .grid = GRID_CODEBOOK,
                       .n_centroids = b->n_centroids,
                       .group_elems = b->group_elems,
                       .n_groups = b->n_groups};
    size_t cap = pith_codebook_bound(b->n_groups, b->n_centroids);
    uint8_t *codebook = malloc(cap);
    memcpy(w.shape.dim, v->dim, v->rank * sizeof *v->dim);
    for (uint64_t i = 0; i < w.count; i++)
        w.nnz += !mask || mask[i];
    require(!pith_codebook_encode(b->centroid, b->n_groups, b->n_centroids, codebook, cap,
                                  &w.codebook.n_bytes),
            "a codebook is refused");
    w.codebook.bytes = codebook;
    if (pith_context_allows(&w))
        add_weight(t, &w, mask, b->index);
    free(codebook);
}

static void add_rounded(struct totals *t, const struct pith_value *v, double share)
{
    const float *x = v->constant->data;
    uint64_t n = v->constant->count;
    double sum = 0, squares = 0, low = 0, high = 0;
    int8_t *q = malloc(n);
    for (uint64_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    double step = share * sqrt(squares / (double)n - sum / (double)n * (sum / (double)n));
    for (uint64_t i = 0; i < n; i++) {
        double k = step > 0 ? rint((double)x[i] / step) : 0;
        k = k > MOST ? MOST : k < -MOST ? -MOST : k;
        low = k < low ? k : low;
        high = k > high ? k : high;
        q[i] = (int8_t)k;
    }
    float centroid[256];
    struct pith_codebook b = {.n_centroids = (uint32_t)(high - low) + 1,
                              .group_elems = n,
                              .n_groups = 1,
                              .centroid = centroid,
                              .index = malloc(n)};
    for (uint32_t i = 0; i < b.n_centroids; i++)
        centroid[i] = (float)((low + i) * (step > 0 ? step : 1));
    for (uint64_t i = 0; i < n; i++)
        b.index[i] = (uint8_t)(q[i] - (int)low);
    add_codebook(t, v, NULL, &b);
    free(b.index);
    free(q);
}

static void bench(const char *path, double share)
{
    struct pith_model *m;
    struct pith_error err;
    struct totals t = {0};
    require(!pith_model_load(path, NULL, &m, &err), err.text);
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_value *v = &m->values[i];
        const struct pith_const *c = v->constant;
        if (c && c->codebook && !(share > 0))
            add_codebook(&t, v, c->mask, c->codebook);
        else if (c && share > 0 && v->rank >= 2 && v->type == PITH_F32)
            add_rounded(&t, v, share);
    }
    printf("| %s | %.0f | %.0f | %.0f | %.0f |", path, t.elements, t.entropy, t.context,
           t.adaptive);
    for (uint32_t l = 0; l < 2; l++)
        printf(" %.1f |", t.seconds[l] > 0 ? t.elements / t.seconds[l] * 1e-6 : 0);
    printf("\n");
    pith_model_free(m);
}

int main(int argc, char **argv)
{
    double share = argc > 2 && !strcmp(argv[1], "--grid") ? atof(argv[2]) : 0;
    printf("| file | integers | entropy, bytes | context | adaptive | %s, M/s | %s |\n",
           level_name[0], level_name[1]);
    printf("|---|---|---|---|---|---|---|\n");
    least = argc > 2 && !strcmp(argv[1], "--slices") ? strtoull(argv[2], NULL, 10) : 0;
    for (int i = share > 0 || least ? 3 : 1; i < argc; i++)
        bench(argv[i], share);
    return 0;
}
