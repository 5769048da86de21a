/* SPDX-License-Identifier: MIT */
/* class_encode.c - see class_encode.h. The walk of class_model.h gives each element its
 * class; steps of the code are kept, and coded from the last one to the first.
 *
 * Fitting: what surrounds an element does not depend on the model, so it is gathered once, of at
 * most SAMPLES elements. Weights are then changed one by one while the entropy under SCORES
 * classes of equal size falls. Neighbouring classes are merged by dynamic programming, with the
 * bytes of real tables. Logarithms are in integers: the same model everywhere. */
#include "class_encode.h"
#include <stdlib.h>
#include "bit_writer.h"
#include "core/f32_bits.h"
#include "pith_huffman.h"
#include "rans_encode.h"

#define SAMPLES 100000u
#define FIT_CLASSES 16u   /* while weights are changed */
#define MERGE_CLASSES 24u /* before they are merged */
#define ROUNDS 6u
#define LANES_FROM 8192u /* elements; fewer have one lane, whose end takes less */
#define SIGN_BYTES (CLASS_LEAN_WEIGHTS + CLASS_ODDS)

static enum pith_status integers(const struct class_input *in, int16_t *q)
{
    const struct weight *w = in->w;
    struct codebook_reader r;
    float c[256];
    int32_t zero = 0, has_zero = 0;
    uint32_t state = 0;
    uint64_t cols = w->count / (w->shape.rank < 2 ? 1 : w->shape.dim[0]);
    if (pith_codebook_open(&r, w->codebook.bytes, w->codebook.n_bytes, w->n_groups, w->n_centroids))
        return PITH_ERR_ARGUMENT;
    for (uint64_t i = 0; i < w->count; i++) {
        if (i % w->group_elems == 0) {
            if (pith_codebook_next(&r, c))
                return PITH_ERR_ARGUMENT;
            for (zero = 0; zero < (int32_t)w->n_centroids && f32_bits(c[zero]) >> 31;)
                zero++;
            has_zero = zero < (int32_t)w->n_centroids && f32_bits(c[zero]) == 0;
        }
        bool stored = !in->mask || in->mask[i];
        int32_t v = stored ? in->index[i] - zero + (in->index[i] >= zero && !has_zero) : 0;
        if ((stored && v == 0 && w->support != SUPPORT_DENSE) || class_abs(v) > CLASS_LARGEST)
            return PITH_ERR_ARGUMENT;
        q[i] = (int16_t)v;
        state = i % cols ? state : 0;
        if (w->trellis && v != 0 && ((uint32_t)v & 1) != (state & 1))
            return PITH_ERR_ARGUMENT;
        state = w->trellis ? pith_trellis_after(w->trellis, state, v) : 0;
    }
    return PITH_OK;
}

/* ---- walk ------------------------------------------------------------------------------------ */

static uint32_t symbol_of(uint32_t level)
{
    uint32_t s = 0;
    while (s + 1 < CLASS_SYMBOLS && class_symbols[s + 1].level <= level)
        s++;
    return s;
}

static int32_t lean_of(const struct class_model *m, const struct class_around *a)
{
    return class_lean(m, class_lean_before(m, a->above, a->sign), a);
}

static uint32_t score_of(const struct class_model *m, const struct class_around *a, int32_t lean)
{
    return class_score(m, class_near_before(m, a->above),
                       (uint32_t)(m->weight[OF_COLUMN] * a->column), a, lean);
}

static void walk_rows(const struct class_input *in, const int16_t *q, void *memory, uint32_t lanes,
                      class_see_fn *see, void *arg)
{
    struct class_walk w;
    int32_t at_once[CLASS_LANES];
    class_begin(&w, in->w, memory, lanes);
    for (; w.row < w.rows; q += w.cols) {
        class_begin_row(&w);
        for (uint32_t i = 0; i < w.run; i++) {
            uint32_t n = 0;
            for (size_t at = i; n < w.lanes && at < w.cols; n++, at += w.run) {
                struct class_around a = class_look_all(&w, n, at);
                see(arg, &w, n, &a, q[at]);
                at_once[n] = q[at];
            }
            for (uint32_t k = 0; k < n; k++)
                w.column.q[(size_t)k * w.run + i] = (int16_t)at_once[k];
            class_learn(&w, at_once, n);
            if (w.trellis)
                w.state = pith_trellis_after(w.trellis, w.state, q[i]);
        }
        class_end_row(&w);
    }
}

enum pith_status pith_class_walk(const struct class_input *in, uint32_t lanes, class_see_fn *see,
                                 void *arg)
{
    void *memory = calloc(class_column_bytes(in->w), 1);
    int16_t *all = malloc((size_t)in->w->count * sizeof *all + 1);
    enum pith_status st = memory && all ? integers(in, all) : PITH_ERR_MEMORY;
    if (!st)
        walk_rows(in, all, memory, lanes, see, arg);
    free(all);
    free(memory);
    return st;
}

static enum pith_status walk(const struct class_input *in, class_see_fn *see, void *arg)
{
    bool few = in->w->trellis || in->w->count < LANES_FROM;
    return pith_class_walk(in, few ? 1 : CLASS_LANES, see, arg);
}

enum pith_status pith_class_check(const struct class_input *in)
{
    int16_t *q = malloc((size_t)in->w->count * sizeof *q + 1);
    enum pith_status st = q ? integers(in, q) : PITH_ERR_MEMORY;
    free(q);
    return st;
}

/* ---- coding ---------------------------------------------------------------------------------- */

/* start, frequency of 2^bits. raw: of raw_bits more, below them. */
struct step {
    uint16_t start, frequency, raw;
    uint8_t bits, raw_bits, lane;
};

struct coding {
    const struct class_model *m;
    struct step *step;
    uint64_t n;
    uint32_t lanes;
    bool bad;
    struct step value[CLASS_LANES]; /* of the lanes at once: behind all their symbols */
    uint32_t n_values;
};

static void add_values(struct coding *c)
{
    for (uint32_t i = 0; i < c->n_values; i++)
        c->step[c->n++] = c->value[i];
    c->n_values = 0;
}

static void add_steps(void *arg, const struct class_walk *w, uint32_t lane,
                      const struct class_around *a, int32_t q)
{
    struct coding *c = arg;
    const struct class_model *m = c->m;
    int32_t lean = lean_of(m, a);
    uint32_t k = m->class_of[w->state & 1][score_of(m, a, lean)];
    uint32_t level = class_level_of(w, q), s = symbol_of(level);
    struct step step = {.start = m->start[k][s],
                        .frequency = (uint16_t)(m->start[k][s + 1] - m->start[k][s]),
                        .bits = RANS_BITS,
                        .lane = (uint8_t)lane};
    if (lane == 0)
        add_values(c);
    c->lanes = w->lanes;
    c->bad |= step.frequency == 0;
    c->step[c->n++] = step;
    if (s == 0)
        return;
    uint32_t p = *class_agrees(m, lean, s);
    bool agrees = (q > 0) == (lean >= 0);
    step = (struct step){.start = (uint16_t)(agrees ? 0 : p),
                         .frequency = (uint16_t)(agrees ? p : 256 - p),
                         .raw = (uint16_t)(level - class_symbols[s].level),
                         .bits = 8,
                         .raw_bits = (uint8_t)class_symbols[s].raw_bits,
                         .lane = (uint8_t)lane};
    c->value[c->n_values++] = step;
}

/* From the end of a buffer to its beginning. */
static size_t code_steps(const struct coding *c, uint32_t state[CLASS_LANES], uint16_t *end)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->lanes; i++)
        state[i] = 65536;
    for (uint64_t i = c->n; i-- > 0;) {
        const struct step *s = &c->step[i];
        uint32_t x = state[s->lane], bits = (uint32_t)s->bits + s->raw_bits;
        if ((uint64_t)x >= (uint64_t)s->frequency << (32 - bits)) {
            end[-(ptrdiff_t)++n] = (uint16_t)x;
            x >>= 16;
        }
        x = (x / s->frequency << s->bits) + x % s->frequency + s->start;
        state[s->lane] = x << s->raw_bits | s->raw;
    }
    return n;
}

enum pith_status pith_class_encode(const struct class_model *m, const struct class_input *in,
                                   uint8_t *dst, size_t cap, size_t *bytes)
{
    size_t n = (size_t)in->w->count;
    struct coding c = {.m = m, .step = malloc(2 * n * sizeof *c.step + 1)};
    uint16_t *words = malloc(2 * n * sizeof *words + 1);
    uint32_t state[CLASS_LANES];
    enum pith_status st = c.step && words ? walk(in, add_steps, &c) : PITH_ERR_MEMORY;
    if (!st && c.bad)
        st = PITH_ERR_ARGUMENT;
    if (!st) {
        add_values(&c);
        size_t n_words = code_steps(&c, state, words + 2 * n);
        *bytes = 1 + 4 * (size_t)c.lanes + 2 * n_words;
        st = dst && *bytes > cap ? PITH_ERR_SPACE : PITH_OK;
        if (!st && dst) {
            *dst++ = (uint8_t)c.lanes;
            for (uint32_t i = 0; i < c.lanes; i++, dst += 4)
                store_le32(dst, state[i]);
            for (size_t i = 0; i < n_words; i++, dst += 2)
                store_le16(dst, words[2 * n - n_words + i]);
        }
    }
    free(c.step);
    free(words);
    return st;
}

/* ---- samples --------------------------------------------------------------------------------- */

struct sample {
    struct class_around around;
    uint8_t symbol, z, negative;
};

struct samples {
    struct sample *at;
    uint32_t n, every, until; /* until: elements before the next one that is taken */
    uint16_t *score;
};

static void add_sample(void *arg, const struct class_walk *w, uint32_t lane,
                       const struct class_around *a, int32_t q)
{
    struct samples *s = arg;
    (void)lane;
    if (s->until-- > 0)
        return;
    s->until = s->every - 1;
    s->at[s->n++] = (struct sample){.around = *a,
                                    .symbol = (uint8_t)symbol_of(class_level_of(w, q)),
                                    .z = w->state & 1,
                                    .negative = q < 0};
}

/* Bits of counts under their own frequencies, in units of 1/65536. */
static uint64_t entropy(const uint32_t *count, uint32_t n)
{
    uint64_t sum = 0, bits = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += count[i];
    for (uint32_t i = 0; i < n; i++)
        if (count[i])
            bits += count[i] * (uint64_t)(pith_rans_log2(sum) - pith_rans_log2(count[i]));
    return bits;
}

/* ---- signs ----------------------------------------------------------------------------------- */

static void count_signs(const struct class_model *m, const struct samples *s,
                        uint32_t count[CLASS_LEANS * CLASS_SIZES][2])
{
    memset(count, 0, CLASS_LEANS * CLASS_SIZES * sizeof *count);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct sample *e = &s->at[i];
        if (e->symbol == 0)
            continue;
        int32_t lean = lean_of(m, &e->around);
        count[class_agrees(m, lean, e->symbol) - m->agrees][(lean >= 0) != e->negative]++;
    }
}

static uint64_t sign_cost(const struct class_model *m, const struct samples *s)
{
    uint32_t count[CLASS_LEANS * CLASS_SIZES][2];
    uint64_t bits = 0;
    count_signs(m, s, count);
    for (uint32_t i = 0; i < CLASS_LEANS * CLASS_SIZES; i++)
        bits += entropy(count[i], 2);
    return bits;
}

/* Under a model, of all elements. */
struct counts {
    const struct class_model *m;
    uint32_t sign[CLASS_LEANS * CLASS_SIZES][2];
    uint32_t score[2][CLASS_SCORES][CLASS_SYMBOLS];
};

static void count_element(void *arg, const struct class_walk *w, uint32_t lane,
                          const struct class_around *a, int32_t q)
{
    struct counts *c = arg;
    int32_t lean = lean_of(c->m, a);
    uint32_t s = symbol_of(class_level_of(w, q));
    (void)lane;
    c->score[w->state & 1][score_of(c->m, a, lean)][s]++;
    c->sign[class_agrees(c->m, lean, s) - c->m->agrees][(lean >= 0) == (q > 0)]++;
}

typedef uint64_t cost_fn(const struct class_model *m, const struct samples *s);

/* Weights of a model and their range. */
struct weights {
    int32_t *at;
    uint32_t n;
    int32_t least, most;
};

/* Changes the weights of m one by one while the cost falls. Returns it. */
static uint64_t descend(const struct class_model *m, const struct samples *s, cost_fn *cost_of,
                        struct weights w)
{
    static const int32_t steps[] = {-8, 8, -3, 3, -1, 1};
    const uint32_t n_steps = sizeof steps / sizeof *steps;
    uint64_t best = cost_of(m, s);
    for (uint32_t round = 0, better = 1; round < ROUNDS && better; round++) {
        better = 0;
        for (uint32_t i = 0; i < w.n * n_steps; i++) {
            int32_t *at = &w.at[i / n_steps], old = *at, next = old + steps[i % n_steps];
            if (next < w.least || next > w.most)
                continue;
            *at = next;
            uint64_t cost = cost_of(m, s);
            if (cost < best - best / 16384) {
                best = cost;
                better = 1;
            } else {
                *at = old;
            }
        }
    }
    return best;
}

static void fit_signs(struct class_model *m, const struct samples *s)
{
    static const int32_t first[CLASS_LEAN_WEIGHTS] = {10, 8, -5, 0, 8, 2};
    uint64_t raw = 0;
    for (uint32_t i = 0; i < s->n; i++)
        raw += s->at[i].symbol > 0 ? PITH_RANS_LOG_ONE : 0;
    memcpy(m->lean_weight, first, sizeof first);
    uint64_t best =
        descend(m, s, sign_cost, (struct weights){m->lean_weight, CLASS_LEAN_WEIGHTS, -127, 127});
    if (best + (uint64_t)SIGN_BYTES * 8 * PITH_RANS_LOG_ONE / s->every >= raw)
        memset(m->lean_weight, 0, sizeof m->lean_weight);
}

static void set_odds(struct class_model *m, const struct counts *c)
{
    for (uint32_t i = 0; i < CLASS_LEANS * CLASS_SIZES; i++) {
        uint64_t agree = c->sign[i][1], all = agree + c->sign[i][0];
        uint64_t p = (256 * agree + all / 2 + 128) / (all + 1);
        m->agrees[i] = (uint16_t)(p < 1 ? 1 : p > 255 ? 255 : p);
    }
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Ends of n classes of about equal size by score, in end. all: elements of each score. */
static void cut_scores(const uint32_t all[CLASS_SCORES], uint32_t n, uint32_t *end)
{
    uint64_t sum = 0, total = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < CLASS_SCORES; i++)
        total += all[i];
    for (uint32_t i = 0; i < CLASS_SCORES; i++) {
        sum += all[i];
        while (k + 1 < n && sum * n >= (k + 1) * total)
            end[k++] = i + 1;
    }
    while (k < n)
        end[k++] = CLASS_SCORES;
}

static uint64_t class_cost(const struct class_model *m, const struct samples *s)
{
    uint32_t count[2 * FIT_CLASSES][CLASS_SYMBOLS] = {{0}}, all[CLASS_SCORES] = {0};
    uint32_t end[FIT_CLASSES];
    uint8_t class_of[CLASS_SCORES];
    uint64_t bits = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct class_around *a = &s->at[i].around;
        s->score[i] = (uint16_t)score_of(m, a, lean_of(m, a));
        all[s->score[i]]++;
    }
    cut_scores(all, FIT_CLASSES, end);
    for (uint32_t i = 0, k = 0; i < CLASS_SCORES; i++) {
        while (i >= end[k])
            k++;
        class_of[i] = (uint8_t)k;
    }
    for (uint32_t i = 0; i < s->n; i++)
        count[s->at[i].z * FIT_CLASSES + class_of[s->score[i]]][s->at[i].symbol]++;
    for (uint32_t i = 0; i < 2 * FIT_CLASSES; i++)
        bits += entropy(count[i], CLASS_SYMBOLS);
    return bits;
}

static void fit_weights(struct class_model *m, const struct samples *s)
{
    static const int32_t first[CLASS_WEIGHTS] = {6, 6, 6, 4, 3, 2, 2, 0};
    memcpy(m->weight, first, sizeof first);
    descend(m, s, class_cost, (struct weights){m->weight, CLASS_WEIGHTS, 0, CLASS_MOST_WEIGHT});
}

/* The table of the scores from..to - 1, and the bits of it and of all they hold. */
static uint64_t merged(const uint32_t (*score)[CLASS_SYMBOLS], uint32_t from, uint32_t to,
                       struct pith_rans_code *code)
{
    uint64_t hist[PITH_SYMBOLS] = {0}, n = 0;
    for (uint32_t i = from; i < to; i++)
        for (uint32_t k = 0; k < CLASS_SYMBOLS; k++)
            hist[k] += score[i][k];
    for (uint32_t k = 0; k < CLASS_SYMBOLS; k++)
        n += hist[k];
    hist[0] += n == 0; /* any table */
    pith_rans_build_whole(hist, code);
    return pith_rans_cost_bits(code, hist) + 8 * (code->table_bytes + 2);
}

static void write_class(struct bit_writer *w, uint32_t scores, bool last,
                        const struct pith_rans_code *code)
{
    for (; !last && scores > 127; scores >>= 7)
        bw_bits(w, (scores & 127) | 128, 8);
    if (!last)
        bw_bits(w, scores, 8);
    bw_bits(w, (uint32_t)code->table_bytes, 8);
    for (size_t k = 0; k < code->table_bytes; k++)
        bw_bits(w, code->table[k], 8);
}

/* Classes of a quantizer: the partition of MERGE_CLASSES of equal size that takes the fewest bits.
 */
static void write_classes(const uint32_t (*score)[CLASS_SYMBOLS], uint32_t most,
                          struct bit_writer *w)
{
    uint64_t best[MERGE_CLASSES + 1] = {0};
    uint32_t from[MERGE_CLASSES + 1] = {0}, used[MERGE_CLASSES + 1] = {0}, cut[MERGE_CLASSES];
    uint32_t end[MERGE_CLASSES + 1] = {0}, all[CLASS_SCORES] = {0}, n = 0;
    struct pith_rans_code code;
    for (uint32_t i = 0; i < CLASS_SCORES * CLASS_SYMBOLS; i++)
        all[i / CLASS_SYMBOLS] += score[i / CLASS_SYMBOLS][i % CLASS_SYMBOLS];
    cut_scores(all, MERGE_CLASSES, end + 1);
    for (uint32_t b = 1; b <= MERGE_CLASSES; b++) {
        best[b] = UINT64_MAX;
        for (uint32_t a = 0; a < b; a++) {
            uint64_t bits = best[a] + merged(score, end[a], end[b], &code);
            if (bits < best[b] && used[a] < most) {
                best[b] = bits;
                from[b] = a;
                used[b] = used[a] + 1;
            }
        }
    }
    for (uint32_t b = MERGE_CLASSES; b > 0; b = from[b])
        cut[n++] = b;
    bw_bits(w, n, 8);
    for (uint32_t i = n, a = 0; i-- > 0; a = cut[i]) {
        merged(score, end[a], end[cut[i]], &code);
        write_class(w, end[cut[i]] - end[a], i == 0, &code);
    }
}

static void write_model(const struct class_model *m, const struct counts *c, bool trellis,
                        struct bit_writer *w)
{
    uint32_t leans = 0;
    for (uint32_t i = 0; i < CLASS_LEAN_WEIGHTS; i++)
        leans |= m->lean_weight[i] != 0;
    bw_bits(w, leans, 8);
    for (uint32_t i = 0; i < CLASS_WEIGHTS; i++)
        bw_bits(w, (uint32_t)m->weight[i], 8);
    for (uint32_t i = 0; leans && i < CLASS_LEAN_WEIGHTS; i++)
        bw_bits(w, (uint8_t)m->lean_weight[i], 8);
    for (uint32_t i = 0; leans && i < CLASS_LEANS * CLASS_SIZES; i++)
        if (i % CLASS_SIZES > 0)
            bw_bits(w, m->agrees[i], 8);
    for (uint32_t z = 0; z < 1u + trellis; z++)
        write_classes((const uint32_t(*)[CLASS_SYMBOLS])c->score[z], CLASS_MOST / (1u + trellis),
                      w);
}

static enum pith_status sample(const struct class_input *in, uint32_t n, struct class_model *m)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += in[i].w->count;
    struct samples s = {.every = (uint32_t)((all + SAMPLES - 1) / SAMPLES)};
    size_t room = (size_t)(all / s.every) + 1;
    s.at = malloc(room * sizeof *s.at);
    s.score = malloc(room * sizeof *s.score);
    enum pith_status st = s.at && s.score ? PITH_OK : PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n && !st; i++)
        st = walk(&in[i], add_sample, &s);
    if (!st) {
        fit_signs(m, &s);
        fit_weights(m, &s);
    }
    free(s.at);
    free(s.score);
    return st;
}

enum pith_status pith_class_fit(const struct class_input *in, uint32_t n, struct class_code *code)
{
    struct class_model m = {.weight = {0}};
    bool trellis = in[0].w->trellis != 0;
    struct counts *c = calloc(1, sizeof *c);
    enum pith_status st = c ? sample(in, n, &m) : PITH_ERR_MEMORY;
    if (c)
        c->m = &m;
    for (uint32_t i = 0; i < n && !st; i++)
        st = walk(&in[i], count_element, c);
    if (!st) {
        struct bit_writer w = bit_writer_to(code->table, sizeof code->table);
        set_odds(&m, c);
        write_model(&m, c, trellis, &w);
        code->table_bytes = (size_t)(bw_close(&w) - code->table);
        const struct huff_table table = {code->table, code->table_bytes};
        if (w.full || !pith_class_read_model(&table, trellis, &code->model))
            st = PITH_ERR_ARGUMENT;
    }
    free(c);
    return st;
}
