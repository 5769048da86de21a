/* SPDX-License-Identifier: MIT */
/* adaptive_impl.h - the walk through a weight, included by the decoder and by the encoder,
 * each with its own code_bit before it:
 *
 *     static uint32_t code_bit(struct adaptive *a, uint32_t p, uint32_t bit);
 *
 * p: probability of 1 in 1/65536, 1..65535. The encoder writes `bit`, the decoder ignores it; both
 * return the bit. Where the functions below take what is to be coded, the decoder passes anything.
 */
#ifndef PITH_ADAPTIVE_IMPL_H
#define PITH_ADAPTIVE_IMPL_H

#include "decode/adaptive_model.h"

/* ---- trellis --------------------------------------------------------------------------------- */

/* Trellis-coded quantization (Marcellin and Fischer 1990), as in VVC: two interleaved
 * quantizers, and a state that chooses the next one. */

#ifndef BUILT_PART /* build_choice.h of the runtime */
#define BUILT_PART(part) 1
#endif

static inline bool has_trellis(const struct adaptive *a)
{
    return BUILT_PART(TRELLIS) && a->w->trellis;
}

/* The state's low bit. */
static inline uint32_t quantizer(const struct adaptive *a)
{
    return BUILT_PART(TRELLIS) ? a->state & 1 : 0;
}

/* Of n centroids of a sign: what a rank is coded among. Each quantizer has every other one. */
static inline uint32_t n_levels(const struct adaptive *a, uint32_t n)
{
    return has_trellis(a) ? (n + 1) / 2 : n;
}

/* The integer rank + 1 is level + 1 of the quantizer, or none: then a reader gets another. */
static inline uint32_t level_of(const struct adaptive *a, uint32_t rank)
{
    return has_trellis(a) ? (rank + 1 + quantizer(a)) / 2 - 1 : rank;
}

/* The inverse of level_of() for levels that the quantizer has. */
static inline uint32_t rank_of(const struct adaptive *a, uint32_t level)
{
    return has_trellis(a) ? 2 * level + 1 - quantizer(a) : level;
}

#include "decode/adaptive_mix.h"
#include "decode/adaptive_sizes.h"

/* ---- what surrounds an element --------------------------------------------------------------- */

#define RANK_CLASSES 6u

/* `last` of an element left of or above this one; 0 outside of the row. */
static inline uint32_t last_of(const struct adaptive *a, uint64_t back)
{
    return back > 0 && a->col >= back ? a->memory.column[a->col - back].last : 0;
}

/* 0..7 from the odds of a counter A probability in eight steps, as part of a context. */
static inline uint32_t level(const struct adaptive *a, uint32_t counter)
{
    int32_t x = (stretch_of(a, counter) + 1536) >> 8; /* -6 .. 1.99 */
    return x < 0 ? 0 : x > 7 ? 7 : (uint32_t)x;
}

struct around {
    uint32_t left, line, above, channel; /* `last` of the neighbours */
};

static inline struct around look_around(const struct adaptive *a)
{
    struct around s = {last_of(a, 1), last_of(a, a->place_row), a->memory.column[a->col].last,
                       last_of(a, a->place)};
    return s;
}

/* Zero or not is all most contexts look at. */
static inline uint32_t is_set(uint32_t last)
{
    return last != 0;
}

/* 0 none, 1 positive, 2 negative As contexts: none, plus, minus. */
static inline uint32_t sign_class(uint32_t last)
{
    return last == 0 ? 0 : 1 + (last & 1);
}

/* As contexts: none, smallest, next, larger. */
static inline uint32_t rank_class(uint32_t last)
{
    return last == 0 ? 0 : last < 4 ? 1 : last < 6 ? 2 : 3;
}

/* Of nodes of ranks: small ranks are common where there are few, more so than far ones behind
 * them. */
static const uint32_t first_rank[4] = {START(47, 1), START(17, 1), START(23, 1), START(32, 1)};

/* ---- one element ----------------------------------------------------------------------------- */

/* What the numbers that are left alone say: so many are still to come in so many places. Of
 * dense tensors nothing is known. */
static inline uint32_t expected_rest(const struct adaptive *a)
{
    uint64_t q = (a->left << 20) / (a->open_left ? a->open_left : 1); /* left < 2^28 */
    if (a->w->support == SUPPORT_DENSE)
        return a->counters.fresh;
    return counter_of((uint32_t)(q > 1046000 ? 1046000 : q), 30);
}

/* Counters of the sizes that are expected, for what is stored and for each node of a rank. */
static inline void add_sizes(struct adaptive *a, struct decision *d, uint32_t kind)
{
    add_counter(d, &a->counters.by_expected[kind][a->sizes.expected]);
    add_counter(d, &a->counters.by_both[kind][a->sizes.of_row][a->sizes.of_column]);
    add_counter(d, &a->counters.by_near[kind][a->sizes.near]);
}

/* Column, row, neighbours, both densities, place in the kernel, the kernel's elements so far,
 * trellis state or what is left, ranks beside, sizes. */
static NOT_INLINE uint32_t code_stored(struct adaptive *a, const struct around *s, uint32_t bit)
{
    struct adaptive_column *c = &a->memory.column[a->col];
    uint32_t next = a->col + 1 < a->cols ? a->memory.column[a->col + 1].last : 0;
    uint32_t place = (uint32_t)(a->col % a->place), left = s->left != 0;
    uint32_t n_before = place < 7 ? place : 7;
    uint32_t ones = count_ones64(a->run & ((1u << n_before) - 1));
    uint32_t left_alone = expected_rest(a);
    bool by_state = has_trellis(a) && a->w->support == SUPPORT_DENSE;
    struct decision d = {
        {&c->stored, &a->counters.row_stored,
         &a->counters.beside[quantizer(a)][left | is_set(s->line) << 1 | is_set(s->above) << 2 |
                                           is_set(s->channel) << 3 | is_set(last_of(a, 2)) << 4 |
                                           is_set(next) << 5],
         &a->counters.densities[level(a, c->stored) * 8 + level(a, a->counters.row_stored)],
         &a->counters.places[(place < 64 ? place : 0) * 2 + left],
         &a->counters.kernel[n_before * 8 + ones],
         by_state ? &a->counters.by_state[a->state] : &left_alone,
         &a->counters.near_ranks[rank_class(s->left) << 6 | rank_class(s->above) << 4 |
                                 rank_class(s->line) << 2 | rank_class(s->channel)]},
        8};
    add_sizes(a, &d, quantizer(a));
    return code_decision(a, KIND_STORED, a->sizes.expected / 2, &d, bit);
}

/* Signs are nearly even, but maps and places of one sign exist in first layers, elements of a
 * kernel go on like those beside them, and rows resemble the row above, or its opposite. */
static NOT_INLINE uint32_t code_sign(struct adaptive *a, const struct around *s, uint32_t rank,
                                     uint32_t bit)
{
    uint32_t at = (uint32_t)(a->col % a->place), k = a->place_row, r = rank < 3 ? rank : 3;
    bool kernel = a->place > 1 && a->place < a->cols && k > 1;
    bool in = kernel && at % k > 0, below = kernel && at >= k;
    int32_t left = signed_back(a, in, 1), up = signed_back(a, below, k);
    int32_t both = 2 * left + 2 * up + signed_back(a, in && below, k + 1) +
                   signed_back(a, below && at % k + 1 < k, k - 1);
    struct decision d = {
        {&a->memory.column[a->col].sign,
         &a->counters.sign_beside[sign_class(s->left) + 3 * sign_class(s->line) +
                                  9 * sign_class(s->above) + 27 * sign_class(s->channel)],
         &a->memory.column[a->col - at].map_sign, &a->counters.sign_place[at % 64],
         &a->counters.sign_pair[r][step_of(left, 4)][step_of(up, 4)],
         &a->memory
              .sign_sum[(r * 11 + step_of(both, 5)) * a->memory.sign_places + (at < 63 ? at : 63)],
         &a->counters.sign_above[step_of(a->memory.column[a->col].size, 3)]
                                [step_of(a->sizes.agreement / 256, 5)],
         &a->counters.sign_balance[step_of(a->sizes.balance / 64, 5)]},
        8};
    return code_decision(a, KIND_SIGN, r, &d, bit);
}

/* "It is larger" than rank `node`. */
static NOT_INLINE uint32_t code_rank_bit(struct adaptive *a, const struct around *s, uint32_t node,
                                         uint32_t bit)
{
    uint32_t row = a->row_rank >> 3, col = a->memory.column[a->col].rank >> 3;
    struct decision d = {
        {&a->counters.rank_all[quantizer(a)][node], &a->counters.rank_row[node][row < 7 ? row : 7],
         &a->counters.rank_column[node][col < 7 ? col : 7],
         &a->counters.rank_beside[node][rank_class(s->left) * 4 + rank_class(s->above)],
         &a->counters.rank_level[node][level(a, a->memory.column[a->col].stored) * 8 +
                                       level(a, a->counters.row_stored)]},
        5};
    add_sizes(a, &d, 2 + node);
    return code_decision(a, node > 1 ? KIND_RANK_MORE : KIND_RANK, a->sizes.expected / 2, &d, bit);
}

/* A rank of n, from zero outwards; those that nodes do not reach are numbers in an Exp-Golomb code.
 * false: none of n. */
static inline bool code_rank(struct adaptive *a, const struct around *s, uint32_t n, uint32_t *rank)
{
    uint32_t r = 0, bits = 0, want = *rank;
    while (r < ADAPTIVE_NODES && r + 1 < n && code_rank_bit(a, s, r, want > r))
        r++;
    if (r == ADAPTIVE_NODES && r + 1 < n) {
        uint32_t v = want - ADAPTIVE_NODES + 1, far = 1;
        uint32_t most = want < ADAPTIVE_NODES ? 0 : 31u - (uint32_t)__builtin_clz(v);
        while (code_single(a, &a->counters.far_bits[bits], most > bits))
            if (++bits > FAR_BITS)
                return false;
        for (uint32_t i = bits; i-- > 0;)
            far =
                far * 2 + (i + 1 == bits ? code_single(a, &a->counters.far_first[bits], v >> i & 1)
                                         : code_bit(a, 32768, v >> i & 1));
        r = ADAPTIVE_NODES - 1 + far;
    }
    *rank = r;
    return r < n;
}

/* Of weights whose zeros are not coded by "stored". */
static inline bool code_zero(struct adaptive *a, const struct around *s, bool is_zero)
{
    if (a->selects)
        return code_single(a, &a->counters.zero[(s->left != 0) + 2 * (s->above != 0)], is_zero);
    is_zero = !code_stored(a, s, !is_zero);
    a->run = a->run << 1 | !is_zero;
    return is_zero;
}

/* Averages of rank move a quarter (column) or an eighth (row) toward the new one. */
static inline void learn_rank(struct adaptive *a, uint32_t level)
{
    struct adaptive_column *c = &a->memory.column[a->col];
    uint32_t far = level < 255 ? level : 255;
    a->row_rank = (a->row_rank * 7 + far * 16) / 8;
    c->rank = (uint16_t)((c->rank * 3u + far * 16) / 4);
}

/* The index of a centroid. false: there is none such. */
static inline bool code_index(struct adaptive *a, const struct around *s,
                              struct adaptive_element *e, uint32_t *last)
{
    uint32_t index = e->index, zero = a->group.n_negative, sign = index < zero;
    uint32_t most =
        a->group.n_negative > a->group.n_positive ? a->group.n_negative : a->group.n_positive;
    if (a->group.has_zero && (!a->selects || a->w->support != SUPPORT_DENSE) &&
        code_zero(a, s, index == zero)) {
        *last = 0;
        e->index = (uint8_t)zero;
        return true;
    }
    uint32_t k = level_of(a, sign ? zero - 1 - index : index - zero - a->group.has_zero);
    if (most == 0 || !code_rank(a, s, n_levels(a, most), &k))
        return false;
    sign = a->group.n_negative && a->group.n_positive ? code_sign(a, s, k, sign)
                                                      : a->group.n_negative != 0;
    uint32_t rank = rank_of(a, k);
    /* A rank that the other quantizer has, behind the last centroid. */
    if (rank >= (sign ? a->group.n_negative : a->group.n_positive))
        return false;
    int32_t size = has_trellis(a) ? (int32_t)rank + 1 : 2 * (int32_t)rank + 2;
    a->size = sign ? -size : size;
    a->odd = ~k & 1;
    e->index = (uint8_t)(sign ? zero - 1 - rank : zero + a->group.has_zero + rank);
    *last = (k < RANK_CLASSES ? k + 1 : RANK_CLASSES + 1) * 2 + sign;
    learn_rank(a, k);
    return true;
}

/* Sign, exponent as a binary number under a tree of counters, mantissa as it is. Mantissas of
 * trained weights are noise, exponents are not. */
static inline void code_float(struct adaptive *a, const struct around *s,
                              struct adaptive_element *e, uint32_t *last)
{
    uint32_t sign = code_sign(a, s, 0, e->bits >> 31), node = 1;
    for (uint32_t i = 31; i > 23; i--)
        node = node * 2 + code_single(a, &a->counters.exponent[node], e->bits >> (i - 1) & 1);
    uint32_t mantissa = code_raw(a, (e->bits & 0x7fffff) >> a->zero_bits, 23 - a->zero_bits);
    e->bits = sign << 31 | (node & 255) << 23 | mantissa << a->zero_bits;
    *last = 2 + sign;
    a->size = sign ? -2 : 2;
}

static inline bool code_value(struct adaptive *a, const struct around *s,
                              struct adaptive_element *e, uint32_t *last)
{
    if (a->w->grid == GRID_CODEBOOK)
        return code_index(a, s, e, last);
    code_float(a, s, e, last);
    return true;
}

/* A live row or column has an element: the last chance decides without a bit. Without these a
 * flag would be a lie; with them it saves a bit. */
static inline bool must_be_stored(const struct adaptive *a)
{
    return (a->row == a->last_row && !(a->memory.column[a->col].live & 2)) ||
           (a->col == a->last_col && !a->row_any);
}

/* Codes stored or not. Nothing is left to code where the row or column is dead, or where all stored
 * elements have been. */
static inline bool code_selected(struct adaptive *a, const struct around *s, bool stored)
{
    if (must_be_stored(a))
        stored = true;
    else
        stored = code_stored(a, s, stored);
    a->run = a->run << 1 | stored;
    if (stored) {
        a->memory.column[a->col].live |= 2;
        a->row_any = true;
    }
    return stored;
}

/* Outside of live rows and columns everything is zero, and costs nothing. */
static inline bool is_open(const struct adaptive *a)
{
    return !a->selects ||
           (a->memory.row_live[a->row] && (a->memory.column[a->col].live & 1) && a->left > 0);
}

/* What is learned of a row begins anew; what is learned of columns stays. */
static void next_row(struct adaptive *a)
{
    a->counters.row_stored = a->counters.fresh;
    a->row_rank = 0;
    a->row_any = false;
    a->run = 0;
    a->state = 0;
    start_row_sizes(a);
}

/* The trellis moves on with each element, coded or not. */
static inline void step(struct adaptive *a)
{
    if (has_trellis(a))
        a->state = pith_trellis_next(a->w->trellis, a->state, a->odd);
    a->odd = false;
    a->element++;
    if (++a->col == a->cols) {
        a->col = 0;
        a->row++;
        next_row(a);
    }
}

/* Of many groups each has its codebook; contexts are shared. */
static enum pith_status next_group(struct adaptive *a)
{
    enum pith_status st = pith_codebook_next(&a->group.codebooks, a->group.values);
    if (st)
        return st;
    uint32_t n = a->w->n_centroids, zero = 0;
    while (zero < n && f32_bits(a->group.values[zero]) >> 31)
        zero++;
    a->group.n_negative = zero;
    a->group.has_zero = zero < n && f32_bits(a->group.values[zero]) == 0;
    a->group.n_positive = n - zero - a->group.has_zero;
    a->group.end += a->w->group_elems;
    return PITH_OK;
}

/* Of a dense tensor: its zeros are what is not selected. Then a zero is coded as "not stored",
 * with the richer contexts. */
static inline bool is_not_zero(const struct adaptive *a, const struct adaptive_element *e)
{
    return a->w->grid == GRID_PLAIN ? e->bits != 0 : e->index != a->group.n_negative;
}

static inline void make_zero(const struct adaptive *a, struct adaptive_element *e)
{
    e->stored = a->w->support == SUPPORT_DENSE;
    e->index = (uint8_t)a->group.n_negative;
    e->bits = 0;
}

/* Stored or not first, then the value. */
static inline bool code_open(struct adaptive *a, struct adaptive_element *e, uint32_t *last)
{
    struct around s = look_around(a);
    expect_size(a);
    bool sparse = a->w->support != SUPPORT_DENSE;
    if (a->selects && !code_selected(a, &s, sparse ? e->stored : is_not_zero(a, e))) {
        make_zero(a, e);
        return true;
    }
    e->stored = true;
    a->left -= sparse;
    return code_value(a, &s, e, last);
}

/* The element at (row, col); then the place moves on. false: cannot be. One function for both
 * directions: what one can write the other can read. */
static inline bool code_element(struct adaptive *a, struct adaptive_element *e)
{
    uint32_t last = 0;
    if (a->w->grid == GRID_CODEBOOK && a->element == a->group.end && next_group(a))
        return false;
    if (is_open(a)) {
        if (!code_open(a, e, &last))
            return false;
        a->open_left--;
    } else {
        make_zero(a, e);
    }
    a->memory.column[a->col].last = (uint8_t)last;
    learn_size(a, a->size);
    a->size = 0;
    step(a);
    return true;
}

/* ---- rows and columns ------------------------------------------------------------------------ */

/* Once a tensor. */
static uint32_t square_root(uint64_t n)
{
    uint32_t r = 0;
    while (r < 4096 && (uint64_t)(r + 1) * (r + 1) <= n)
        r++;
    return r;
}

/* place: elements that one input map has in a row; line: of a line of them. */
struct places {
    uint64_t place, line;
};

/* Where the dimensions do not give a kernel: columns fed by one unit, or a square picture. */
static ONCE NOT_INLINE struct places places_of(const struct weight *w)
{
    const struct shape *s = &w->shape;
    const uint64_t cols = w->count / adaptive_rows(w), source_rows = w->source_rows;
    struct places p = {1, 1};
    if (s->rank > 2) {
        for (uint32_t i = 2; i < s->rank; i++)
            p.place *= s->dim[i];
        p.line = s->dim[s->rank - 1];
    } else if (s->rank == 2) {
        p.place = source_rows ? cols / source_rows : cols;
        p.line = square_root(p.place);
        if (p.line * p.line != p.place)
            p.line = source_rows ? p.place : 1;
        if (!source_rows && p.line == 1)
            p.place = 1;
    }
    return p;
}

/* Counters of flags as trained networks leave them: the flags before that are set, 0 to 3; of
 * columns for each of no source, a dead unit of it, a live one. */
static const uint32_t first_row_flag[4] = {START(15, 1), START(25, 1), START(20, 1), START(44, 1)};
static const uint32_t first_column_flag[3][4] = {
    {START(1, 8), START(23, 8), START(22, 8), START(62, 8)},
    {START(1, 8), START(1, 8), START(1, 8), START(1, 8)},
    {START(36, 8), START(57, 8), START(28, 8), START(60, 8)},
};
static const uint32_t first_other_flag[3] = {START(49, 0), START(1, 0), START(32, 0)};

/* Also before the flags of another weight, which are read with counters of their own. */
static ONCE void start_row_flags(struct adaptive *a)
{
    build_tables(a);
    memcpy(a->counters.row_flag, first_row_flag, sizeof a->counters.row_flag);
}

static ONCE void start_column_flags(struct adaptive *a)
{
    memcpy(a->counters.flag_before, first_column_flag, sizeof a->counters.flag_before);
    for (uint32_t i = 0; i < FLAG_CHOICES; i++) {
        FILL(a->counters.flag_around[i], first_other_flag[i]);
        FILL(a->counters.flag_channel[i], first_other_flag[i]);
        FILL(a->counters.flag_place[i], first_other_flag[i]);
    }
}

/* Dead rows come in runs: two flags before are context enough. */
static void code_row_flags(struct adaptive *a, uint8_t *live, uint64_t rows)
{
    uint32_t before = 3;
    for (uint64_t i = 0; i < rows; i++) {
        live[i] = (uint8_t)code_single(a, &a->counters.row_flag[before & 3], live[i]);
        before = before << 1 | live[i];
    }
}

static inline uint32_t column_flag(const struct adaptive *a, uint64_t i, uint64_t back)
{
    return back > 0 && back <= i ? a->memory.column[i - back].live : 0;
}

/* Contexts: the columns before, in two dimensions where there are pictures or kernels, the same
 * place of the maps before, and whether the unit that feeds this column is live (where known). A
 * column fed by a dead unit of the layer before is nearly always dead. */
static void code_column_flags(struct adaptive *a, uint64_t source_rows)
{
    uint64_t each = source_rows ? a->cols / source_rows : 1;
    uint64_t line = a->place_row > 1 ? a->place_row : 0;
    uint64_t map = a->place > 1 && a->place < a->cols ? a->place : 0;
    uint32_t before = 3;
    for (uint64_t i = 0; i < a->cols; i++) {
        uint32_t fed = source_rows ? 1u + a->memory.source_live[i / each] : 0, one = before & 1;
        uint32_t up = column_flag(a, i, line),
                 place = map && i % map < 63 ? (uint32_t)(i % map) : 63;
        uint32_t above = up | (line ? column_flag(a, i, line - 1) << 1 : 0) |
                         (line ? column_flag(a, i, line + 1) << 2 : 0);
        struct decision d = {
            {&a->counters.flag_before[fed][before & 3],
             &a->counters.flag_around[fed][above << 3 | one << 2 | (before & 2) |
                                           column_flag(a, i, 2 * line)],
             &a->counters.flag_channel[fed][column_flag(a, i, map) << 3 |
                                            column_flag(a, i, 2 * map) << 2 | one << 1 | up],
             &a->counters.flag_place[fed][place]},
            4};
        uint8_t *live = &a->memory.column[i].live;
        *live = (uint8_t)code_decision(a, KIND_FLAG, fed, &d, *live);
        before = before << 1 | *live;
    }
}

/* Those of stored, and of each node of a rank. */
static ONCE void start_nodes(struct adaptive *a)
{
    for (uint32_t kind = 0; kind < 2 + ADAPTIVE_NODES; kind++) {
        uint32_t v = kind < 2 ? a->counters.fresh : first_rank[kind - 2 < 3 ? kind - 2 : 3];
        FILL(a->counters.by_expected[kind], v);
        FILL(a->counters.by_both[kind], v);
        FILL(a->counters.by_near[kind], v);
    }
    for (uint32_t node = 0; node < ADAPTIVE_NODES; node++) {
        uint32_t v = first_rank[node < 3 ? node : 3];
        a->counters.rank_all[0][node] = a->counters.rank_all[1][node] = v;
        FILL(a->counters.rank_row[node], v);
        FILL(a->counters.rank_column[node], v);
        FILL(a->counters.rank_beside[node], v);
        FILL(a->counters.rank_level[node], v);
    }
    FILL(a->counters.far_bits, COUNTER_HALF);
    FILL(a->counters.far_first, COUNTER_HALF);
}

static ONCE void start_signs(struct adaptive *a)
{
    FILL(a->counters.sign_beside, COUNTER_HALF);
    FILL(a->counters.sign_place, COUNTER_HALF);
    FILL(a->counters.sign_pair, COUNTER_HALF);
    FILL(a->counters.sign_above, COUNTER_HALF);
    FILL(a->counters.sign_balance, COUNTER_HALF);
    fill(a->memory.sign_sum, 4 * 11 * a->memory.sign_places * sizeof *a->memory.sign_sum,
         COUNTER_HALF);
}

/* Behind the flags: what the elements start with. fresh: what density says of any element,
 * before its contexts know better. */
static ONCE void start_elements(struct adaptive *a)
{
    uint64_t live_rows = 0, live_cols = 0;
    for (uint64_t i = 0; a->selects && i < a->rows; i++)
        if (a->memory.row_live[i]) {
            live_rows++;
            a->last_row = i;
        }
    for (uint64_t i = 0; a->selects && i < a->cols; i++)
        if (a->memory.column[i].live) {
            live_cols++;
            a->last_col = i;
        }
    a->open_left = live_rows * live_cols;
    a->counters.fresh = COUNTER_HALF;
    if (a->selects && a->w->support != SUPPORT_DENSE && a->open_left > 0) {
        uint64_t p = (a->nnz << 20) / a->open_left; /* nnz < 2^32 */
        a->counters.fresh = counter_of((uint32_t)(p > 1046000 ? 1046000 : p), 1);
    }
    for (uint64_t i = 0; i < a->cols; i++) {
        a->memory.column[i].stored = a->counters.fresh;
        a->memory.column[i].sign = COUNTER_HALF;
        a->memory.column[i].map_sign = COUNTER_HALF;
    }
    FILL(a->counters.beside, a->counters.fresh);
    FILL(a->counters.densities, a->counters.fresh);
    FILL(a->counters.places, a->counters.fresh);
    FILL(a->counters.kernel, a->counters.fresh);
    FILL(a->counters.by_state, a->counters.fresh);
    FILL(a->counters.near_ranks, a->counters.fresh);
    FILL(a->counters.zero, COUNTER_HALF);
    FILL(a->counters.exponent, COUNTER_HALF);
    start_nodes(a);
    start_signs(a);
    start_sizes(a);
    next_row(a);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* What lies in the memory of a tensor, in this order. Sizes are bounded by ADAPTIVE_MAX; only a
 * trellis has a second quantizer. */
struct adaptive_room {
    size_t chosen, sums, columns, rows, source;
    uint32_t sign_places, quantizers;
};

static ONCE struct adaptive_room adaptive_room_of(const struct weight *w)
{
    const struct adaptive *a = NULL;
    uint64_t rows = adaptive_rows(w), place = places_of(w).place;
    struct adaptive_room room = {.rows = (size_t)rows, .source = (size_t)w->source_rows};
    room.sign_places = place < 64 ? (uint32_t)place : 64;
    room.quantizers = BUILT_PART(TRELLIS) && w->trellis ? 2 : 1;
    room.chosen = room.quantizers * sizeof *a->mix.chosen;
    room.sums = (4 * 11 * room.sign_places * sizeof *a->memory.sign_sum + 7) & ~(size_t)7;
    room.columns = (size_t)(w->count / rows) * sizeof *a->memory.column;
    return room;
}

static inline size_t adaptive_memory(const struct weight *w)
{
    const struct adaptive_room room = adaptive_room_of(w);
    return room.chosen + room.sums + room.columns + room.rows + room.source;
}

static void adaptive_place(struct adaptive *a, void *mem)
{
    const struct adaptive_room room = adaptive_room_of(a->w);
    const struct places p = places_of(a->w);
    uint8_t *at = mem;
    memset(mem, 0, adaptive_memory(a->w));
    a->rows = adaptive_rows(a->w);
    a->cols = a->w->count / a->rows;
    a->place = p.place < UINT32_MAX ? (uint32_t)p.place : UINT32_MAX;
    a->place_row = p.line < UINT32_MAX ? (uint32_t)p.line : UINT32_MAX;
    a->memory.sign_places = room.sign_places;
    a->mix.chosen = (void *)at;
    a->memory.sign_sum = (void *)(at += room.chosen);
    a->memory.column = (void *)(at += room.sums);
    a->memory.row_live = at += room.columns;
    a->memory.source_live = at + room.rows;
    start_mixing(a, room.quantizers);
}

/* A single codebook with a zero makes a dense tensor selective, too. Flags and counters begin with
 * code_flags(). */
static enum pith_status adaptive_begin(struct adaptive *a)
{
    const struct weight *w = a->w;
    enum pith_status st = PITH_OK;
    a->coder.low = 0;
    a->coder.high = UINT32_MAX;
    a->left = a->nnz = w->nnz;
    a->selects = w->support != SUPPORT_DENSE || w->grid == GRID_PLAIN;
    if (w->grid == GRID_CODEBOOK) {
        st = pith_codebook_open(&a->group.codebooks, w->codebook.bytes, w->codebook.n_bytes,
                                w->n_groups, w->n_centroids);
        if (st == PITH_OK)
            st = next_group(a);
        if (w->n_groups == 1 && a->group.has_zero)
            a->selects = true;
    }
    return st;
}

/* Flags of rows come first: another weight may want to read them alone. */
static void code_flags(struct adaptive *a)
{
    start_row_flags(a);
    start_column_flags(a);
    if (a->selects) {
        if (a->rows > 1)
            code_row_flags(a, a->memory.row_live, a->rows);
        else
            a->memory.row_live[0] = 1;
        code_column_flags(a, a->w->source_rows);
    }
    if (a->w->grid == GRID_PLAIN)
        a->zero_bits = code_raw(a, a->zero_bits, 5);
    start_elements(a);
}

/* The shortest code that lies in the interval: as many zero bytes at its end as can be. Writers
 * use it, so readers can require it. */
static inline uint32_t adaptive_last_code(uint32_t low, uint32_t high)
{
    for (uint32_t keep = 0; keep < 32; keep += 8) {
        uint32_t unit = UINT32_MAX >> keep, v;
        v = (low + unit) & ~unit;
        if (keep == 0)
            v = 0;
        if (v >= low && v <= high)
            return v;
    }
    return low;
}

#endif
