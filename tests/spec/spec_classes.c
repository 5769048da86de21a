/* SPDX-License-Identifier: MIT */
/* spec_classes.c - tensors whose stream holds support and indices: by classes (S11) or adaptive
 * (S8), which has the walk and the averages of S11. */
#include "spec_classes.h"
#include <stdlib.h>
#include <string.h>
#include "spec_adaptive.h"
#include "spec_codebook.h"
#include "spec_model.h"
#include "spec_rans.h"
#include "spec_tables.h"

enum { SCORES = 1024 };

struct classes {
    int64_t w[8], v[6], odds[8][4];
    struct rans table[24];
    uint32_t of[2][SCORES];
};

/* ---- model -------------------------------------------------------------------------------- */

static uint32_t read_quantizer(struct span *s, struct classes *m, uint32_t z, uint32_t first)
{
    uint32_t n = u8(s);
    uint64_t score = 0;
    must(n >= 1 && first + n <= 24, s->at, "1 to 24 classes");
    for (uint32_t i = 0; i < n; i++) {
        uint64_t end = i + 1 < n ? score + varint_in(s, 0, SCORES, "scores of a class") : SCORES;
        must(end <= SCORES, s->at, "there are 1024 scores");
        for (; score < end; score++) {
            m->of[z][score] = first + i;
        }
        uint64_t bytes = u8(s);
        struct span table = cut(s, bytes);
        struct bits b = bits_of(table);
        read_rans(&b, &m->table[first + i]);
        padding(&b);
        must(!m->table[first + i].escapes && m->table[first + i].n_symbols <= 30, table.at,
             "a class has 30 symbols without an escape");
    }
    return n;
}

static void read_model(struct span s, struct classes *m, bool trellis)
{
    uint32_t leans = u8(&s);
    must(leans <= 1, s.at, "leans is 0 or 1");
    for (uint32_t i = 0; i < 8; i++) {
        m->w[i] = u8(&s);
        must(m->w[i] <= 31, s.at, "a weight is at most 31");
    }
    for (uint32_t i = 0; i < 6; i++) {
        m->v[i] = leans ? u8(&s) : 0;
        m->v[i] -= m->v[i] > 127 ? 256 : 0;
    }
    for (uint32_t i = 0; i < 32; i++) {
        m->odds[i / 4][i % 4] = leans ? u8(&s) : 128;
        must(m->odds[i / 4][i % 4] > 0, s.at, "odds are at least 1");
    }
    uint32_t n = read_quantizer(&s, m, 0, 0);
    if (trellis) {
        read_quantizer(&s, m, 1, n);
    }
    must(left(&s) == 0, s.at, "bytes behind a model");
}

/* ---- arithmetic --------------------------------------------------------------------------- */

static int64_t sign(int64_t v)
{
    return v < 0 ? -1 : v > 0 ? 1 : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t part(int64_t n)
{
    return 65536 / n;
}

int64_t lg(int64_t x)
{
    int64_t e = 0;
    while (x >> (e + 1) > 0) {
        e++;
    }
    return 8 * e + ((x << 3) >> e) % 8;
}

static void next_word(struct walk *k, struct lane *l)
{
    if (l->x < 65536) {
        l->x = (l->x << 16) + fixed(&k->words, 2);
    }
}

/* ---- one element -------------------------------------------------------------------------- */

int64_t size_of(int64_t v)
{
    return v < 0 ? -v : v;
}

int64_t Q(const struct walk *k, uint64_t c, uint64_t back)
{
    return c >= back ? k->column[c - back].q : 0;
}

struct around look_around(const struct walk *k, uint64_t c)
{
    uint64_t pos = c % k->place, x = pos % k->line;
    struct around s = {.left = Q(k, c, 1), .above = k->column[c].q};
    s.beside = x > 0 ? s.left : 0;
    s.up = pos >= k->line ? Q(k, c, k->line) : 0;
    s.corner = pos >= k->line && x > 0 ? Q(k, c, k->line + 1) : 0;
    return s;
}

static void decode_symbol(struct walk *k, struct lane *l, uint64_t c)
{
    const struct classes *m = k->m;
    const struct column *col = &k->column[c];
    const struct around s = look_around(k, c);
    l->lean = m->v[0] * s.beside + m->v[1] * s.up + m->v[2] * s.corner + m->v[3] * s.above +
              shifted(m->v[4] * col->G, 5) + shifted(m->v[5] * k->balance, 7);
    int64_t near =
        4 + 4 * (m->w[3] * size_of(s.left) + m->w[4] * size_of(s.above) + m->w[5] * size_of(s.up)) +
        m->w[6] * l->B + m->w[7] * shifted(size_of(l->lean), 2);
    int64_t score = (m->w[0] * lg(k->R) + m->w[1] * lg(col->C) + m->w[2] * lg(near)) / 16;
    const struct rans *t = &m->table[m->of[k->state % 2][least(score, SCORES - 1)]];
    uint64_t slot = l->x % 4096;
    l->s = t->single ? t->n_symbols - 1 : 0;
    while (!t->single && slot >= t->begin[l->s + 1]) {
        l->s++;
    }
    if (!t->single) {
        l->x = (t->begin[l->s + 1] - t->begin[l->s]) * (l->x / 4096) + slot - t->begin[l->s];
    }
    next_word(k, l);
}

static void decode_value(struct walk *k, struct lane *l)
{
    static const uint32_t L[] = {16, 17, 19, 21, 25, 29, 37, 45, 61, 77, 109, 141, 205, 269};
    static const uint32_t b[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7};
    uint32_t bits = l->s < 16 ? 0 : b[l->s - 16];
    int64_t level = (int64_t)(l->s < 16 ? l->s : L[l->s - 16]) + (int64_t)(l->x % (1u << bits));
    l->q = 0;
    if (l->s == 0) {
        return;
    }
    l->x >>= bits;
    uint64_t p = (uint64_t)k->m->odds[least(size_of(l->lean) * 5 >> 6, 7)][least(l->s, 4) - 1];
    uint64_t t = l->x % 256;
    bool agrees = t < p;
    l->x = agrees ? p * (l->x / 256) + t : (256 - p) * (l->x / 256) + t - p;
    next_word(k, l);
    l->q = k->t->trellis ? 2 * level - k->state % 2 : level;
    must(l->q <= 255, k->words.at, "an integer is at most 255");
    l->q = agrees == (l->lean >= 0) ? l->q : -l->q;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void learn_step(struct walk *k, uint64_t step)
{
    int64_t sum = 0, signs = 0, n = 0;
    for (uint64_t i = 0; i < k->lanes; i++) {
        struct lane *l = &k->lane[i];
        if (l->there) {
            sum += 256 * size_of(l->q) + 32 - k->R;
            signs += sign(l->q);
            n++;
            l->B = (l->B + 8 * size_of(l->q)) / 2;
            k->column[i * k->run + step].q = l->q;
        }
    }
    k->R += shifted(sum * part(4 + least(k->n_read, 40)), 16);
    k->balance += 64 * signs - n * shifted(k->balance, 4);
    k->n_read += n;
    if (k->t->trellis) {
        int64_t level = (size_of(k->lane[0].q) + k->state % 2) / 2;
        uint32_t f = k->t->trellis == 8 ? 5 : 9, z = k->state % 2;
        k->state = (k->state >> 1) ^ (z * f) ^ (2 * (uint32_t)(level % 2));
    }
}

static void read_row(struct walk *k, int64_t r)
{
    k->R = k->M;
    k->balance = k->n_read = 0;
    k->state = 0;
    for (uint64_t i = 0; i < k->lanes; i++) {
        k->lane[i].B = 0;
    }
    for (uint64_t step = 0; step < k->run; step++) {
        for (uint64_t i = 0; i < k->lanes; i++) {
            k->lane[i].there = i * k->run + step < k->cols;
            if (k->lane[i].there && k->adaptive != NULL) {
                k->lane[i].q = read_integer(k->adaptive, k, step);
            } else if (k->lane[i].there) {
                decode_symbol(k, &k->lane[i], i * k->run + step);
            }
        }
        for (uint64_t i = 0; i < k->lanes; i++) {
            if (k->lane[i].there && k->adaptive == NULL) {
                decode_value(k, &k->lane[i]);
            }
        }
        learn_step(k, step);
    }
    for (uint64_t c = 0; c < k->cols; c++) {
        struct column *col = &k->column[c];
        int64_t half = part(3 + least(r, 40)) / 2;
        col->C += shifted((256 * size_of(col->q) + 32 - col->C) * half, 15);
        col->G += shifted(64 * sign(col->q) - col->G, 3);
    }
    k->M += shifted((k->R - k->M) * part(2 + least(r, 14)), 16);
}

/* The index of q among the centroids of a group; the first bit of a centroid is its sign. */
static uint32_t index_of(const struct tensor *t, const uint32_t *centroid, int64_t q, uint64_t at)
{
    int64_t n = t->n_centroids, below = 0;
    while (below < n && centroid[below] >> 31 == 1) {
        below++;
    }
    int64_t zero = below < n && centroid[below] == 0;
    int64_t index = q < 0 ? below + q : q == 0 ? below : below + zero + q - 1;
    must(index >= 0 && index < n && (q != 0 || zero == 1), at, "there is no such centroid");
    return (uint32_t)index;
}

void read_class_values(const struct tensor *t, uint8_t *value)
{
    struct walk *k = zeroed(1, sizeof *k);
    uint32_t *centroid = read_codebook(t);
    uint64_t stored = 0, each = t->count / t->n_groups;
    k->t = t;
    k->words = t->elements;
    k->rows = t->rank < 2 ? 1 : t->dim[0];
    k->cols = t->count / k->rows;
    k->place = 1;
    for (uint32_t i = 2; i < t->rank; i++) {
        k->place *= t->dim[i];
    }
    k->line = k->place > 1 ? t->dim[t->rank - 1] : UINT64_MAX;
    k->place = k->place > 1 ? k->place : UINT64_MAX;
    k->lanes = 1;
    if (t->classes) {
        k->m = zeroed(1, sizeof *k->m);
        read_model(tables[t->index_table].model, k->m, t->trellis != 0);
        k->lanes = u8(&k->words);
        must(k->lanes == 1 || (k->lanes == 4 && t->trellis == 0), t->elements.at, "1 or 4 lanes");
        for (uint64_t i = 0; i < k->lanes; i++) {
            k->lane[i].x = fixed(&k->words, 4);
        }
    } else {
        k->adaptive = open_adaptive(k);
    }
    k->run = (k->cols + k->lanes - 1) / k->lanes;
    k->M = 256;
    k->column = zeroed(k->cols, sizeof *k->column);
    for (uint64_t c = 0; c < k->cols; c++) {
        k->column[c].C = 256;
    }
    for (uint64_t i = 0; i < t->count; i++) {
        if (i % k->cols == 0) {
            read_row(k, (int64_t)(i / k->cols));
        }
        int64_t q = k->column[i % k->cols].q;
        if (q != 0 || t->support == 0) {
            const uint32_t *group = centroid + i / each * t->n_centroids;
            write_value(t, value, i, group[index_of(t, group, q, t->elements.at)]);
            stored++;
        }
    }
    must(stored == t->nnz, t->elements.at, "nnz elements are stored");
    if (t->adaptive) {
        close_adaptive(k->adaptive, t);
    }
    for (uint64_t i = 0; i < k->lanes && t->classes; i++) {
        must(k->lane[i].x == 65536, k->words.at, "a state must end at 2^16");
    }
    must(t->adaptive || left(&k->words) == 0, k->words.at, "words behind the last one");
    free(k->column);
    free(k->m);
    free(centroid);
    free(k);
}
