/* SPDX-License-Identifier: MIT */
/* spec_adaptive.c - the elements of adaptive tensors (S8). */
#include "spec_adaptive.h"
#include <stdlib.h>
#include "spec_codebook.h"
#include "spec_flags.h"
#include "spec_sizes.h"

static uint32_t last_back(const struct view *v, uint64_t k)
{
    return k > 0 && k <= v->c ? v->column[v->c - k].last : 0;
}

static uint32_t is(uint32_t x)
{
    return x != 0 ? 1 : 0;
}

static uint32_t level(struct counter c)
{
    return (uint32_t)between((stretch(c.P >> 10) + 1536) >> 8, 0, 7);
}

static uint32_t height(uint32_t last)
{
    return last == 0 ? 0 : last < 4 ? 1 : last < 6 ? 2 : 3;
}

/* rest: what the numbers left alone say. */
static uint32_t read_stored(struct model *m, const struct view *v, struct counter rest, bool sparse)
{
    uint64_t pos = v->c % v->place, before = pos < 7 ? pos : 7, ones = 0;
    struct column *col = &v->column[v->c];
    uint32_t next = v->c + 1 < v->cols ? v->column[v->c + 1].last : 0;
    for (uint64_t i = 0; i < before; i++) {
        ones += (uint64_t)(m->run >> i & 1);
    }
    struct counter *c[13] = {
        &col->C,
        &m->r,
        &m->beside[m->quantizer][is(v->left) + 2 * is(v->line) + 4 * is(v->above) +
                                 8 * is(v->channel) + 16 * is(last_back(v, 2)) + 32 * is(next)],
        &m->levels[8 * level(col->C) + level(m->r)],
        &m->places[2 * (pos < 64 ? pos : 0) + is(v->left)],
        &m->before[8 * before + ones],
        m->states > 0 && !sparse ? &m->Q[m->state] : &rest,
        &m->ranks[64 * height(v->left) + 16 * height(v->above) + 4 * height(v->line) +
                  height(v->channel)],
    };
    return mixed_by_size(m, 0, m->quantizer, c, 8);
}

static uint32_t sign_kind(uint32_t last)
{
    return last == 0 ? 0 : 1 + last % 2;
}

static uint32_t read_sign(struct model *m, const struct view *v, uint32_t rank)
{
    struct counter *c[13] = {&v->column[v->c].D,
                             &m->signs[sign_kind(v->left) + 3 * sign_kind(v->line) +
                                       9 * sign_kind(v->above) + 27 * sign_kind(v->channel)],
                             &v->column[v->c - v->c % v->place].map,
                             &m->sign_places[v->c % v->place % 64]};
    return sign_by_size(m, v, c, rank);
}

static uint32_t read_rank_bit(struct model *m, const struct view *v, uint32_t node)
{
    struct counter *c[13] = {&m->K[m->quantizer][node], &m->U[node][between(m->B >> 3, 0, 7)],
                             &m->V[node][between(v->column[v->c].A >> 3, 0, 7)],
                             &m->W[node][4 * height(v->left) + height(v->above)],
                             &m->X[node][8 * level(v->column[v->c].C) + level(m->r)]};
    return mixed_by_size(m, node < 2 ? 2 : 3, 2 + node, c, 5);
}

static uint32_t read_rank(struct model *m, const struct view *v, uint32_t n)
{
    uint32_t k = 0, e = 0, x = 1;
    while (k < 14 && k + 1 < n && read_rank_bit(m, v, k) == 1) {
        k++;
    }
    if (k < 14 || k + 1 == n) {
        return k;
    }
    while (single(m, &m->far_bits[e]) == 1) {
        e++;
        must(e <= 7, m->bytes.at, "a far rank has 7 bits at most");
    }
    for (uint32_t i = 0; i < e; i++) {
        x = 2 * x + (i == 0 ? single(m, &m->far_first[e]) : decide(m, 32768));
    }
    must(13 + x < n, m->bytes.at, "a rank is below the number of centroids");
    return 13 + x;
}

/* What the numbers left alone say of a weight that is not selective: nothing. */
static uint32_t read_zero(struct model *m, const struct view *v)
{
    struct counter rest = new_counter;
    uint32_t b = read_stored(m, v, rest, false);
    m->run = (m->run << 1 | b) & 0xFF;
    return 1 - b;
}

/* The index of a centroid of the group; *last as it will stand in the column. */
static uint32_t read_index(struct model *m, const struct view *v, const uint32_t *centroid,
                           uint32_t n_centroids, bool code_zero, bool selective, uint32_t *last)
{
    uint32_t N = 0;
    while (N < n_centroids && centroid[N] >> 31 == 1) {
        N++;
    }
    uint32_t zero = N < n_centroids && centroid[N] == 0 ? 1 : 0, M = n_centroids - N - zero;
    *last = 0;
    if (zero == 1 && code_zero &&
        (selective ? single(m, &m->Z[is(v->left) + 2 * is(v->above)]) : read_zero(m, v)) == 1) {
        return N;
    }
    uint32_t most = N > M ? N : M;
    must(most > 0, m->bytes.at, "a value that is not zero has a centroid");
    uint32_t coded = read_rank(m, v, m->states > 0 ? (most + 1) / 2 : most);
    uint32_t sign = N == 0 ? 0 : M == 0 ? 1 : read_sign(m, v, coded);
    uint32_t n = sign == 1 ? N : M, rank = coded, far = coded < 255 ? coded : 255;
    if (m->states > 0) {
        m->k = coded + 1;
        rank = 2 * m->k - m->quantizer - 1;
    }
    must(rank < n, m->bytes.at, "a level is one of the centroids");
    m->size = m->states > 0 ? rank + 1 : 2 * rank + 2;
    m->size = sign == 1 ? -m->size : m->size;
    *last = 2 * (coded + 1 < 7 ? coded + 1 : 7) + sign;
    m->B = (7 * m->B + 16 * far) / 8;
    v->column[v->c].A = (3 * v->column[v->c].A + 16 * far) / 4;
    return sign == 1 ? N - 1 - rank : N + zero + rank;
}

static uint32_t read_float(struct model *m, const struct view *v, uint32_t z, uint32_t *last)
{
    uint32_t sign = read_sign(m, v, 0), node = 1, mantissa = 0;
    for (int i = 0; i < 8; i++) {
        node = 2 * node + single(m, &m->E[node]);
    }
    for (uint32_t i = z; i < 23; i++) {
        mantissa = 2 * mantissa + decide(m, 32768);
    }
    *last = 2 + sign;
    m->size = sign == 1 ? -2 : 2;
    return sign << 31 | (node - 256) << 23 | mantissa << z;
}

static void start_ranks(struct model *m)
{
    static const int64_t first[4] = {47, 17, 23, 32};
    for (uint32_t node = 0; node < 14; node++) {
        struct counter c = start_at(first[node < 3 ? node : 3], 1);
        m->K[0][node] = m->K[1][node] = c;
        renew(m->U[node], 8, c);
        renew(m->V[node], 8, c);
        renew(m->W[node], 16, c);
        renew(m->X[node], 64, c);
    }
    RENEW(m->far_bits);
    RENEW(m->far_first);
}

static void start_counters(struct model *m, struct view *v, struct counter stored)
{
    RENEW(m->Z);
    RENEW(m->E);
    RENEW(m->signs);
    RENEW(m->sign_places);
    renew(m->ranks, 256, stored);
    renew(m->beside[0], 64, stored);
    renew(m->beside[1], 64, stored);
    renew(m->Q, 16, stored);
    renew(m->levels, 64, stored);
    renew(m->places, 128, stored);
    renew(m->before, 64, stored);
    for (uint64_t i = 0; i < v->cols; i++) {
        v->column[i].C = stored;
        v->column[i].D = v->column[i].map = new_counter;
    }
}

/* mask: [count] zeroed; bits: [count] zeroed, of the f32. */
static void read_elements(const struct tensor *t, uint8_t *mask, uint32_t *bits)
{
    struct model *m = zeroed(1, sizeof *m);
    bool selective = is_selective(t), sparse = t->support != 0;
    uint64_t rows = rows_of(t), cols = t->count / rows, line, z = 0, flagged_rows = 0,
             flagged_cols = 0;
    uint64_t last_row = 0, last_col = 0, chosen_all = 0, left_n = t->nnz;
    uint8_t *row_flag = NULL, *col_flag = NULL, *col_any = zeroed(cols, 1);
    uint32_t *centroid = t->grid != 0 ? read_codebook(t) : NULL;
    struct view v = {.column = zeroed(cols, sizeof *v.column), .cols = cols};
    struct counter stored = new_counter;
    open_code(m, t->elements);
    find_places(t, cols, &v.place, &line);
    start_mixing(m);
    if (selective) {
        row_flag = rows > 1 ? read_row_flags(m, rows) : zeroed(1, 1);
        row_flag[0] = rows > 1 ? row_flag[0] : 1;
        col_flag = read_column_flags(m, t, cols, v.place, line);
    }
    for (int i = 0; t->grid == 0 && i < 5; i++) {
        z = 2 * z + decide(m, 32768);
    }
    must(z <= 23, t->elements.at, "a mantissa has 23 bits");
    for (uint64_t i = 0; selective && i < rows; i++) {
        flagged_rows += row_flag[i];
        last_row = row_flag[i] == 1 ? i : last_row;
    }
    for (uint64_t i = 0; selective && i < cols; i++) {
        flagged_cols += col_flag[i];
        last_col = col_flag[i] == 1 ? i : last_col;
    }
    uint64_t places = flagged_rows * flagged_cols;
    if (sparse && places > 0) {
        uint64_t q = (t->nnz << 20) / places;
        stored.P = 4 * between((int64_t)q, 1000, 1046000);
        stored.n = 1;
    }
    start_counters(m, &v, stored);
    v.line_of_kernel = line;
    start_ranks(m);
    start_sizes(m, &v, stored);
    bool row_any = false;
    m->states = t->trellis;
    for (uint64_t i = 0; i < t->count; i++) {
        uint64_t r = i / cols;
        uint32_t last = 0;
        bool chosen = true;
        v.c = i % cols;
        if (v.c == 0) {
            m->r = stored;
            m->B = m->run = 0;
            m->state = 0;
            row_any = false;
            m->row_mean = m->mean;
            m->row_n = m->agree = m->balance = m->L[0] = m->L[1] = m->L[2] = 0;
        }
        m->size = 0;
        m->quantizer = m->state % 2;
        m->k = 0;
        v.left = last_back(&v, 1);
        v.line = last_back(&v, line);
        v.above = v.column[v.c].last;
        v.channel = last_back(&v, v.place);
        expect_size(m, &v, line);
        if (selective) {
            if (row_flag[r] == 0 || col_flag[v.c] == 0 || (sparse && left_n == 0)) {
                chosen = false;
            } else {
                bool implied =
                    (v.c == last_col && !row_any) || (r == last_row && col_any[v.c] == 0);
                struct counter rest = {stored.P, stored.n};
                if (sparse) {
                    rest = (struct counter){
                        4 * between((int64_t)((left_n << 20) / places), 1000, 1046000), 30};
                }
                chosen = implied || read_stored(m, &v, rest, sparse) == 1;
                places--;
                m->run = (m->run << 1 | chosen) & 0xFF;
            }
        }
        if (chosen) {
            row_any = true;
            col_any[v.c] = 1;
            chosen_all++;
            left_n -= sparse;
            if (t->grid == 0) {
                bits[i] = read_float(m, &v, (uint32_t)z, &last);
            } else {
                const uint32_t *group = centroid + i / (t->count / t->n_groups) * t->n_centroids;
                bits[i] = group[read_index(m, &v, group, t->n_centroids, !selective || sparse,
                                           selective, &last)];
            }
        }
        mask[i] = !sparse || chosen ? 1 : 0;
        v.column[v.c].last = last;
        saw_size(m, &v.column[v.c], m->size);
        if (m->states > 0) {
            m->state = m->state / 2 ^ (m->quantizer == 1 ? (m->states == 8 ? 5 : 9) : 0) ^
                       (m->k % 2 == 1 ? 2 : 0);
        }
    }
    must(!sparse || chosen_all == t->nnz, t->elements.at, "as many stored elements as declared");
    check_code_end(m, t->elements);
    free(v.column);
    free(row_flag);
    free(col_flag);
    free(col_any);
    free(centroid);
    free(m);
}

void read_adaptive_values(const struct tensor *t, uint8_t *value)
{
    uint8_t *mask = zeroed(t->count, 1);
    uint32_t *bits = zeroed(t->count, sizeof *bits);
    read_elements(t, mask, bits);
    for (uint64_t i = 0; i < t->count; i++) {
        write_value(t, value, i, mask[i] == 1 ? bits[i] : 0);
    }
    free(mask);
    free(bits);
}
