/* SPDX-License-Identifier: MIT */
/* class_decode.c - see class_decode.h. Row by row: the walk of class_model.h with rANS
 * states, 16 bits of renormalization, all of whose words are one run. */
#include "decode/class_decode.h"
#include "core/build_choice.h"
#include "core/f32_bits.h"
#include "decode/weight_kind.h"

#define STATE_LOW 65536u

/* ---- the model ------------------------------------------------------------------------------- */

static bool read_levels(struct reader *r, uint16_t start[CLASS_SYMBOLS + 1])
{
    struct rans_table t;
    size_t n = rd_u8(r);
    const uint8_t *bytes = rd_bytes(r, n);
    if (r->bad || pith_rans_read_table(bytes, n, &t) || t.escapes || t.n_symbols > CLASS_SYMBOLS)
        return false;
    for (uint32_t s = 0; s <= CLASS_SYMBOLS; s++)
        start[s] = (uint16_t)(s >= t.n_symbols ? RANS_SLOTS : t.single ? 0 : t.start[s]);
    return true;
}

/* Classes of a quantizer: the scores that each ends before, but the last; tables. */
static bool read_classes(struct reader *r, struct class_model *m, uint32_t z)
{
    uint32_t before = z ? m->n_classes[0] : 0, n = rd_u8(r), score = 0;
    if (r->bad || n == 0 || before + n > CLASS_MOST)
        return false;
    m->n_classes[z] = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t end = i + 1 < n ? score + (uint32_t)rd_varint(r, CLASS_SCORES) : CLASS_SCORES;
        if (r->bad || end > CLASS_SCORES || !read_levels(r, m->start[before + i]))
            return false;
        for (; score < end; score++)
            m->class_of[z][score] = (uint8_t)(before + i);
    }
    return true;
}

static void set_agrees(struct class_model *m, const uint8_t *odds)
{
    for (uint32_t i = 0; i < CLASS_LEANS * CLASS_SIZES; i++)
        m->agrees[i] = i % CLASS_SIZES == 0 ? 256 : odds ? *odds++ : 128;
}

static bool read_leans(struct reader *r, struct class_model *m)
{
    const uint8_t *w = rd_bytes(r, CLASS_LEAN_WEIGHTS);
    const uint8_t *odds = rd_bytes(r, CLASS_ODDS);
    if (r->bad)
        return false;
    for (uint32_t i = 0; i < CLASS_LEAN_WEIGHTS; i++)
        m->lean_weight[i] = (int8_t)w[i];
    set_agrees(m, odds);
    for (uint32_t i = 0; i < CLASS_ODDS; i++)
        if (odds[i] == 0)
            return false;
    return true;
}

bool pith_class_read_model(const struct huff_table *table, bool trellis, struct class_model *m)
{
    struct reader r = reader_of(table->bytes, table->n_bytes);
    memset(m, 0, sizeof *m);
    set_agrees(m, NULL);
    uint32_t leans = rd_u8(&r);
    const uint8_t *w = rd_bytes(&r, CLASS_WEIGHTS);
    if (r.bad || leans > 1)
        return false;
    for (uint32_t i = 0; i < CLASS_WEIGHTS; i++) {
        m->weight[i] = w[i];
        if (w[i] > CLASS_MOST_WEIGHT)
            return false;
    }
    return (!leans || read_leans(&r, m)) && read_classes(&r, m, 0) &&
           (!trellis || read_classes(&r, m, 1)) && r.left == 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Columns, then what its code needs. */
size_t pith_classes_bytes(const struct weight *w, bool fast)
{
    size_t bytes = class_column_bytes(w);
    if (learns(w))
        return bytes + sizeof(struct adaptive) + pith_adaptive_bytes(w);
    return bytes + (fast ? CLASS_MOST * (size_t)RANS_SLOTS : 0);
}

static void build_lookup(struct classes *c)
{
    uint32_t n = (uint32_t)c->model.n_classes[0] + c->model.n_classes[1];
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t s = 0; s < CLASS_SYMBOLS; s++)
            memset(c->lookup + k * RANS_SLOTS + c->model.start[k][s], (int)s,
                   (size_t)c->model.start[k][s + 1] - c->model.start[k][s]);
}

static bool has_leans(const struct class_model *m)
{
    for (uint32_t i = 0; i < CLASS_LEAN_WEIGHTS; i++)
        if (m->lean_weight[i])
            return true;
    return false;
}

static bool open_stream(struct classes *c, void *mem)
{
    const struct weight *w = c->w;
    struct reader r = reader_of(w->index_stream.bytes, w->index_stream.n_bytes);
    if (!pith_class_read_model(&w->index_table, w->trellis != 0, &c->model))
        return false;
    uint32_t lanes = rd_u8(&r);
    if ((lanes != 1 && lanes != CLASS_LANES) || (w->trellis && lanes != 1))
        return false;
    class_begin(&c->walk, w, mem, lanes);
    c->has_leans = has_leans(&c->model);
    for (uint32_t i = 0; i < lanes; i++)
        c->state[i] = rd_le32(&r);
    c->words = (struct class_words){r.p + r.left, (int64_t)(r.left / 2)};
    if (c->lookup)
        build_lookup(c);
    return !r.bad && r.left % 2 == 0;
}

static bool open_adaptive(struct classes *c, void *mem)
{
    uint8_t *behind = (uint8_t *)mem + class_column_bytes(c->w);
    c->adaptive = (void *)behind;
    class_begin(&c->walk, c->w, mem, 1);
    return !pith_adaptive_open(c->adaptive, c->w, behind + sizeof *c->adaptive);
}

enum pith_status pith_classes_open(struct classes *c, const struct weight *w, void *mem, bool fast)
{
    memset(c, 0, sizeof *c);
    memset(mem, 0, class_column_bytes(w));
    c->w = w;
    c->lookup = fast && !learns(w) ? (uint8_t *)mem + class_column_bytes(w) : NULL;
    if (!pith_classes_allow(w) || w->n_centroids - 1 > 255 || w->group_elems == 0 ||
        pith_codebook_open(&c->codebooks, w->codebook.bytes, w->codebook.n_bytes, w->n_groups,
                           w->n_centroids))
        return PITH_ERR_CORRUPT;
    return (learns(w) ? open_adaptive(c, mem) : open_stream(c, mem)) ? PITH_OK : PITH_ERR_CORRUPT;
}

/* ---- one element ----------------------------------------------------------------------------- */

/* No branch where it is hard to foresee. Words past the end are zeros; the end is tested. */
static inline uint32_t renormalize(struct class_words *w, uint32_t x)
{
    uint32_t word = w->left > 0 ? load_le16(w->end - 2 * w->left) : 0, few = x < STATE_LOW;
    w->left -= few;
    return few ? x << 16 | word : x;
}

static inline uint32_t symbol_at(const struct classes *c, uint32_t k, uint32_t slot)
{
    uint32_t s = 0;
    if (c->lookup)
        return c->lookup[k * RANS_SLOTS + slot];
    while (c->model.start[k][s + 1] <= slot)
        s++;
    return s;
}

/* What does not depend on the row at hand. */
static void look_above(struct classes *c)
{
    const struct class_model *m = &c->model;
    const struct class_columns *col = &c->walk.column;
    for (uint64_t i = 0; i < c->walk.cols; i++)
        col->near[i] = class_near_before(m, col->q[i]);
    for (uint64_t i = 0; i < c->walk.cols && c->has_leans; i++)
        col->lean[i] = class_lean_before(m, col->q[i], col->sign[i]);
    for (uint64_t i = 0; i < c->walk.cols; i++)
        col->score[i] = (uint16_t)(m->weight[OF_COLUMN] * class_log(col->mean[i]));
}

/* What the lanes have at once, from `at` on: three loops, so that the chains of each overlap. */
struct class_step {
    uint32_t n;
    int32_t lean[CLASS_LANES], q[CLASS_LANES];
    uint32_t class_of[CLASS_LANES], symbol[CLASS_LANES];
};

static inline void find_classes(const struct classes *c, size_t at, struct class_step *step)
{
    const struct class_model *m = &c->model;
    const struct class_walk *w = &c->walk;
    int32_t row = class_log((uint32_t)w->row_mean);
    const uint8_t *class_of = m->class_of[w->state & 1];
    for (uint32_t i = 0; i < step->n; i++, at += w->run) {
        struct class_around a = class_look(w, &w->lane[i], w->column.q + at, row);
        int32_t lean = c->has_leans ? class_lean(m, w->column.lean[at], &a) : 0;
        step->lean[i] = lean;
        step->class_of[i] =
            class_of[class_score(m, w->column.near[at], w->column.score[at], &a, lean)];
    }
}

static inline void decode_symbols(struct classes *c, struct class_words *words,
                                  struct class_step *step)
{
    for (uint32_t i = 0; i < step->n; i++) {
        uint32_t k = step->class_of[i], x = c->state[i], slot = x % RANS_SLOTS;
        uint32_t s = symbol_at(c, k, slot), start = c->model.start[k][s];
        uint32_t f = c->model.start[k][s + 1] - start;
        step->symbol[i] = s;
        c->state[i] = renormalize(words, f * (x / RANS_SLOTS) + slot - start);
    }
}

/* Raw bits and signs. The sign of a 0 takes no bits. */
static inline void decode_values(struct classes *c, struct class_words *words,
                                 struct class_step *step)
{
    for (uint32_t i = 0; i < step->n; i++) {
        struct class_symbol s = class_symbols[step->symbol[i]];
        uint32_t x = c->state[i], p = *class_agrees(&c->model, step->lean[i], step->symbol[i]);
        uint32_t level = s.level + (x & ((1u << s.raw_bits) - 1));
        x >>= s.raw_bits;
        uint32_t slot = x % 256, agrees = slot < p;
        x = (agrees ? p : 256 - p) * (x / 256) + slot - (agrees ? 0 : p);
        c->state[i] = renormalize(words, x);
        int32_t minus = -(int32_t)(agrees ^ (step->lean[i] >= 0));
        int32_t q = (int32_t)(c->walk.trellis && level ? 2 * level - (c->walk.state & 1) : level);
        step->q[i] = (q ^ minus) - minus;
    }
}

/* Of what is found wrong nothing is learned: averages stay in their bounds. */
static bool decode_row(struct classes *c)
{
    struct class_walk *w = &c->walk;
    if (learns(c->w)) {
        c->ready += w->cols;
        return pith_adaptive_row(c->adaptive, w);
    }
    class_begin_row(w);
    look_above(c);
    for (uint32_t i = 0; i < w->run; i++) {
        struct class_step step = {.n = w->lanes};
        int32_t most = 0;
        while ((uint64_t)(step.n - 1) * w->run + i >= w->cols)
            step.n--;
        find_classes(c, i, &step);
        decode_symbols(c, &c->words, &step);
        decode_values(c, &c->words, &step);
        for (uint32_t k = 0; k < step.n; k++) {
            w->column.q[(size_t)k * w->run + i] = (int16_t)step.q[k];
            most |= class_abs(step.q[k]);
        }
        if (most > CLASS_LARGEST || c->words.left < 0)
            return false;
        class_learn(w, step.q, step.n);
        if (w->trellis)
            w->state = pith_trellis_after(w->trellis, w->state, step.q[0]);
    }
    class_end_row(w);
    c->ready += w->cols;
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool next_group(struct classes *c)
{
    uint32_t n = c->w->n_centroids, zero = 0;
    if (pith_codebook_next(&c->codebooks, c->codebook))
        return false;
    while (zero < n && f32_bits(c->codebook[zero]) >> 31)
        zero++;
    c->n_negative = (int32_t)zero;
    c->has_zero = zero < n && f32_bits(c->codebook[zero]) == 0;
    c->n_positive = (int32_t)(n - zero) - c->has_zero;
    c->group_end += c->w->group_elems;
    return true;
}

/* index_of[q]: of the group at hand; NO_INDEX: it has none. */
static void set_indices(struct classes *c)
{
    for (int32_t q = -CLASS_LARGEST; q <= CLASS_LARGEST; q++) {
        bool has = q < 0 ? -q <= c->n_negative : q > 0 ? q <= c->n_positive : c->has_zero;
        int32_t index = c->n_negative + q + (q > 0 ? c->has_zero - 1 : 0);
        c->index_of[q + CLASS_LARGEST] = (uint16_t)(has ? index : CLASS_NO_INDEX);
    }
}

/* Stored elements of the row at hand up to its end or that of its group, n at most. *bad is set
 * where one has no index. */
static uint32_t take_stored(struct classes *c, uint32_t *pos, uint8_t *index, uint32_t n, bool *bad)
{
    bool sparse = c->w->support != SUPPORT_DENSE;
    uint64_t end = c->ready < c->group_end ? c->ready : c->group_end;
    const int16_t *q = c->walk.column.q + (c->walk.cols - (c->ready - c->at));
    uint32_t taken = 0, all = 0;
    for (; c->at < end && taken < n; c->at++, q++) {
        if (sparse && *q == 0)
            continue;
        uint32_t i = c->index_of[*q + CLASS_LARGEST];
        all |= i;
        index[taken] = (uint8_t)i;
        if (pos)
            pos[taken] = (uint32_t)c->at;
        taken++;
    }
    *bad = all >= CLASS_NO_INDEX;
    return taken;
}

/* So that there is one more element. */
static bool go_on(struct classes *c)
{
    if (c->at == c->w->count || (c->at == c->ready && !decode_row(c)))
        return false;
    if (c->at < c->group_end)
        return true;
    if (!next_group(c))
        return false;
    set_indices(c);
    return true;
}

/* Behind the last stored element: only zeros, to the end of the stream. */
static bool finish(struct classes *c)
{
    bool bad = false;
    uint8_t index;
    while (c->at < c->w->count)
        if (!go_on(c) || take_stored(c, NULL, &index, 1, &bad) > 0)
            return false;
    if (learns(c->w))
        return pith_adaptive_ended(c->adaptive);
    for (uint32_t i = 0; i < c->walk.lanes; i++)
        if (c->state[i] != STATE_LOW)
            return false;
    return c->words.left == 0;
}

enum pith_status pith_classes_next(struct classes *c, uint32_t *pos, uint8_t *index, uint32_t n)
{
    uint64_t all = c->w->support == SUPPORT_DENSE ? c->w->count : c->w->nnz;
    for (uint32_t i = 0; i < n;) {
        bool bad;
        if (!go_on(c))
            return PITH_ERR_CORRUPT;
        i += take_stored(c, pos ? pos + i : NULL, index + i, n - i, &bad);
        if (bad)
            return PITH_ERR_CORRUPT;
    }
    c->taken += n;
    return n == 0 || c->taken < all || finish(c) ? PITH_OK : PITH_ERR_CORRUPT;
}
