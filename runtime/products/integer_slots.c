/* SPDX-License-Identifier: MIT */
/* integer_slots.c - packs nonzeros of bytes in slots, and in spans (kernel_integer.h).
 *
 * The outputs of a panel advance over the columns side by side: a group begins at the lane of the
 * output that is last, and takes up to four nonzeros of each output within reach. Taking all that
 * are in reach leaves the fewest groups: the last output always places its own.
 *
 * Slots reach over SLOTS_STEP columns. Where groups that begin at the same lane are hardly more
 * than groups that begin anywhere, they do: what they reach of x then stays in registers. Of 25 %
 * and more nonzeros four groups begin so, of 10 % two, of balanced weights all of a window. Of
 * three outputs with two slots a group, x being a nonzero that a group takes:
 *
 *     columns    0 . . . . . . . 16 . . . . . . 32 . . . . . . 48
 *     output 0   x x . . . . . . x . . . . . . . x . . . . . .
 *     output 1   . . . x . . . . . . . . x x . . . . x . . . .
 *     output 2   x . . . . . . . . . . . . . . . . . . . x . .
 *     group 0    |-- from lane 0, as far as it reaches ->
 *     group 1                    |-- from lane 1, where output 0 is last ->
 *
 * An output that is ahead leaves slots of a group empty only where it has no nonzero in reach, so
 * what is empty follows from how far the counts of 16 outputs differ within one reach and not, as
 * in windows that all outputs have to finish together, from each window's largest count.
 *
 * Of spans a short reach makes groups of few lanes, which are cheap, and many of them,
 * since outputs ahead wait with empty slots; the reach that costs the first panel least is that of
 * all. */
#include "products/integer_slots.h"

#define LEAST_REACH 3u
/* Of a group of a span, in instructions: those of a lane, and those besides. */
#define LANE_COST 7u
#define GROUP_COST 24u
/* What a group costs, and beside that loading anew what groups reach. */
#define SLOTS_GROUP_COST 2u
#define SLOTS_REACH_COST 1u
/* How many in a hundred more than the fewest groups may be, for sharing where they begin: hardly
 * any where few rows of x wait for slots that no second-level cache holds. */
#define MORE_GROUPS 38u
#define MORE_FETCHED_GROUPS 5u
#define CACHED_SLOTS (UINT64_C(5) << 18)
#define SEVERAL_ROWS 4u

#define BLOCK 64u /* columns whose nonzeros are one word */
#define AHEAD                                                                                      \
    48u /* columns that are fetched before they are looked at: each has a cache line of its own */

/* ---- nonzeros -------------------------------------------------------------------------------- */

/* `outputs` from o on, n columns from `begin` on. */
struct nonzeros_at {
    uint32_t o, outputs, begin, n;
};

static uint32_t lowest_bit(uint64_t bits)
{
#ifdef __GNUC__
    return (uint32_t)__builtin_ctzll(bits);
#else
    uint32_t i = 0;
    while (!(bits >> i & 1))
        i++;
    return i;
#endif
}

/* The bits of n columns of an output: a matrix's rows, whose columns lie side by side. */
static uint64_t bits_of_row(const int8_t *w, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < n; i++)
        bits |= (uint64_t)(w[i] != 0) << i;
    return bits;
}

/* The bit of a column for all outputs. */
static void set_column(const int8_t *w, size_t output, uint32_t outputs, uint64_t bit,
                       uint64_t *left)
{
    for (uint32_t j = 0; j < outputs; j++)
        left[j] |= w[j * output] ? bit : 0;
}

/* bits: [at.outputs], bit i of a column at.begin + i. All outputs of a column are looked at
 * together, for in memory they may lie side by side. */
static void find_nonzeros(const struct integer_layout *l, const struct integer_weights *weights,
                          struct nonzeros_at at, uint64_t *bits)
{
    const uint32_t cg = l->cg;
    const int8_t *w = (const int8_t *)weights->w + at.o * weights->output;
    memset(bits, 0, at.outputs * sizeof *bits);
    if (weights->channel == 1 && l->run == cg) {
        for (uint32_t j = 0; j < at.outputs; j++)
            bits[j] = bits_of_row(w + j * weights->output + at.begin, at.n);
        return;
    }
    for (uint32_t i = 0; i < at.n; i++) {
        const uint32_t tap = (at.begin + i) / cg, channel = (at.begin + i) % cg;
        if (channel + AHEAD < cg)
            __builtin_prefetch(w + (channel + AHEAD) * weights->channel + tap);
        set_column(w + channel * weights->channel + tap, weights->output, at.outputs,
                   UINT64_C(1) << i, bits);
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Where a group may begin, and how far it reaches, in lanes. */
struct slot_rule {
    uint32_t reach, every, last; /* last: the last one where a group may begin */
    uint32_t share;              /* groups that begin at the same lane, at most */
    bool is_signed_least_apart;  /* INT8_MIN stands in no slot */
};

/* What the walk makes of a panel besides its groups; NULL where groups are only counted. */
struct slot_sink {
    struct slots_more *more; /* moves down from the end of the memory that was promised */
    uint32_t *sum;           /* of outputs from the panel's first on: of all their weights, for the
                                zero point of x is taken out of a product by them */
};

/* Which of the weights of a panel's outputs are nonzeros that no group has yet, BLOCK columns at a
 * time: all of a column are looked at together, for in memory they may lie side by side. The blocks
 * looked at reach from the output that is last to as far as a group does. */
#define BLOCKS 4u /* a group that begins in the first one ends in the third */
struct walk {
    const struct integer_layout *l;
    const struct integer_weights *weights;
    struct slot_rule rule;
    struct slot_sink *sink;
    uint32_t o, outputs, first, looked_at; /* columns; the first one that is left is not before */
    uint32_t lane, share;                  /* of the last group; how many more may begin there */
    uint32_t reaches;                      /* where groups began */
    uint64_t left[BLOCKS][SLOTS_NR];
};

static int32_t weight_of(const struct walk *k, uint32_t j, uint32_t e)
{
    return integer_weight_at(k->l, k->weights, (size_t)k->o + j, e);
}

static uint64_t *left_of(struct walk *k, uint32_t e)
{
    return k->left[e / BLOCK % BLOCKS];
}

static void look_at_block(struct walk *k)
{
    const uint32_t begin = k->looked_at, n = least(k->l->run - begin, BLOCK);
    find_nonzeros(k->l, k->weights, (struct nonzeros_at){k->o, k->outputs, begin, n},
                  left_of(k, begin));
    k->looked_at += n;
}

static void keep_apart(struct walk *k, uint32_t j, uint32_t e, int32_t w)
{
    if (k->sink)
        *--k->sink->more = (struct slots_more){(uint16_t)e, (uint8_t)j, (int8_t)w};
}

/* The weight at the lowest bit of a block's word, which it loses, and its column; 0: it stands in
 * no slot. Each nonzero is met here once. */
static int32_t take_weight(struct walk *k, uint32_t j, uint32_t block, uint64_t *left, uint32_t *e)
{
    *e = block + lowest_bit(*left);
    const int32_t w = weight_of(k, j, *e);
    *left &= *left - 1;
    if (k->sink)
        k->sink->sum[j] += (uint32_t)w;
    if (w != INT8_MIN || !k->rule.is_signed_least_apart)
        return w;
    keep_apart(k, j, *e, w);
    return 0;
}

/* Nothing is looked at yet. The panel's last outputs may be missing: they have no nonzeros. */
static struct walk walk_of(const struct integer_layout *l, const struct integer_weights *weights,
                           const struct slot_rule *rule, uint32_t o, struct slot_sink *sink)
{
    return (struct walk){.l = l,
                         .weights = weights,
                         .rule = *rule,
                         .sink = sink,
                         .o = o,
                         .outputs = least(l->og - o, SLOTS_NR)};
}

/* The column of the first nonzero that is left, with the blocks behind it looked at as far as a
 * group reaches; run: there is none. */
static uint32_t first_left(struct walk *k)
{
    for (uint32_t e = k->first / BLOCK * BLOCK; e < k->l->run; e += BLOCK) {
        uint64_t any = 0;
        while (k->looked_at < k->l->run && k->looked_at < e + (BLOCKS - 1) * BLOCK)
            look_at_block(k);
        for (uint32_t j = 0; j < k->outputs; j++)
            any |= left_of(k, e)[j];
        if (any)
            return k->first = e + lowest_bit(any);
    }
    return k->first = k->l->run;
}

/* A group as it was taken: its first lane, how many it has, its columns from there, its weights. */
struct group {
    uint32_t lane, lanes;
    uint8_t column[SLOTS_NR * 4];
    int8_t weight[SLOTS_NR * 4];
};

/* Up to four of output j, from the group's first column to before `end`; the last column. */
static uint32_t take_slots(struct walk *k, uint32_t j, uint32_t first, uint32_t end,
                           struct group *g)
{
    uint32_t i = 4 * j, last = first;
    for (uint32_t block = k->first / BLOCK * BLOCK; block < end && i < 4 * j + 4; block += BLOCK) {
        const uint32_t columns = end - block;
        uint64_t *left = &left_of(k, block)[j];
        const uint64_t reached = columns < BLOCK ? (UINT64_C(1) << columns) - 1 : UINT64_MAX;
        while (i < 4 * j + 4 && *left & reached) {
            uint32_t e;
            const int32_t w = take_weight(k, j, block, left, &e);
            if (w == 0)
                continue;
            g->column[i] = (uint8_t)(e - first);
            g->weight[i++] = (int8_t)w;
            last = e;
        }
    }
    return last;
}

/* The next group, which may have no slot where all it met was kept apart; false: all is taken. */
static bool take_group(struct walk *k, struct group *g)
{
    const uint32_t leftmost = first_left(k);
    if (leftmost == k->l->run)
        return false;
    memset(g, 0, sizeof *g);
    if (k->share == 0 || leftmost >= (k->lane + k->rule.reach) * SLOTS_LANE) {
        k->lane = least(leftmost / SLOTS_LANE / k->rule.every * k->rule.every, k->rule.last);
        k->share = k->rule.share;
        k->reaches++;
    }
    k->share--;
    g->lane = k->lane;
    const uint32_t first = g->lane * SLOTS_LANE;
    const uint32_t end = least(first + k->rule.reach * SLOTS_LANE, k->l->run);
    uint32_t last = first;
    for (uint32_t j = 0; j < k->outputs; j++) {
        const uint32_t e = take_slots(k, j, first, end, g);
        last = e > last ? e : last;
    }
    g->lanes = (last - first) / SLOTS_LANE + 1;
    return true;
}

/* What no group took is kept apart. */
static void leave_rest(struct walk *k)
{
    while (first_left(k) < k->l->run) {
        const uint32_t block = k->first / BLOCK * BLOCK;
        for (uint32_t j = 0; j < k->outputs; j++) {
            uint64_t *left = &left_of(k, block)[j];
            while (*left) {
                uint32_t e;
                const int32_t w = take_weight(k, j, block, left, &e);
                if (w)
                    keep_apart(k, j, e, w);
            }
        }
    }
}

/* Groups of the panel from output o on, up to `most`, by their lanes; how many, from how many
 * places, and what they cost in spans. */
struct group_count {
    uint32_t groups[SLOTS_LANES], all, reaches;
    uint64_t cost;
};

static struct group_count count_groups(const struct integer_layout *l,
                                       const struct integer_weights *weights, uint32_t o,
                                       const struct slot_rule *rule, uint32_t most)
{
    struct walk k = walk_of(l, weights, rule, o, NULL);
    struct group_count count = {.all = 0};
    struct group g;
    for (; count.all < most && take_group(&k, &g); count.all++) {
        count.groups[g.lanes - 1]++;
        count.cost += GROUP_COST + g.lanes * LANE_COST;
    }
    count.reaches = k.reaches;
    return count;
}

/* ---- slots ---------------------------------------------------------------------------------- */

static uint64_t most_shared(uint64_t fewest, uint64_t bytes, uint64_t rows)
{
    const bool waits = rows < SEVERAL_ROWS && bytes > CACHED_SLOTS;
    return fewest * (100 + (waits ? MORE_FETCHED_GROUPS : MORE_GROUPS)) / 100;
}

/* Where groups of a layer begin, by its first panel, whose outputs are taken for an example: all
 * panels have the same rule, so that a kernel foresees where it has to load. promised: groups that
 * there is room for. */
static struct slot_rule slots_rule(const struct integer_layout *l,
                                   const struct integer_weights *weights, uint64_t rows,
                                   uint32_t promised)
{
    const uint32_t last = (l->steps - 1) * SLOTS_LANES;
    const struct slot_rule rules[] = {{SLOTS_LANES, 1, last, 1, false},
                                      {SLOTS_LANES, 1, last, 2, false},
                                      {SLOTS_LANES, 1, last, 4, false},
                                      {SLOTS_LANES, SLOTS_LANES, last, UINT32_MAX, false}};
    const uint64_t panels = l->rounded / SLOTS_NR;
    struct slot_rule best = rules[0];
    uint64_t most = 0, least_cost = UINT64_MAX;
    for (uint32_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct group_count n = count_groups(l, weights, 0, &rules[i], UINT32_MAX);
        const uint64_t cost =
            (uint64_t)n.all * SLOTS_GROUP_COST + (uint64_t)n.reaches * SLOTS_REACH_COST;
        if (i == 0)
            most = least(
                promised,
                most_shared(n.all, panels * slots_groups_bytes(n.all, l->slots.halved), rows));
        if (cost < least_cost && n.all <= most)
            least_cost = cost, best = rules[i];
    }
    return best;
}

/* A group that there is no room for. */
static void leave_group(struct walk *k, const struct group *g)
{
    for (uint32_t i = 0; i < SLOTS_NR * 4; i++)
        if (g->weight[i])
            keep_apart(k, i / 4, g->lane * SLOTS_LANE + g->column[i], g->weight[i]);
}

/* The table of halved weights, and the number of each that is there; 0: it is not, or it is 0. */
struct halved_table {
    int8_t *value;
    uint32_t known;
    uint8_t number[256];
};

static uint8_t number_of(struct halved_table *t, int8_t w)
{
    uint8_t *number = &t->number[(uint8_t)w];
    if (*number == 0 && w != 0) {
        *number = (uint8_t)t->known;
        t->value[t->known++] = w; /* 15 at most: few_weights */
    }
    return *number;
}

/* Group n of the panel whose groups stand at `at`; it begins `step` lanes behind the one before. */
static void put_group(const struct integer_layout *l, const struct group *g, uint32_t step,
                      struct halved_table *table, uint8_t *at, uint32_t n)
{
    const uint32_t odd = n % 2;
    at += l->slots.halved ? n / 2 * SLOTS_PAIR_BYTES : (size_t)n * SLOTS_BYTES;
    uint8_t *place = at + (l->slots.halved ? (odd + 1) * sizeof g->column : 0);
    if (l->slots.halved && !odd)
        memset(at, 0, SLOTS_PAIR_BYTES);
    memcpy(place, g->column, sizeof g->column);
    for (uint32_t i = 0; i < 8; i++)
        place[i] |= (uint8_t)((step >> i & 1) << 7);
    if (!l->slots.halved)
        memcpy(place + sizeof g->column, g->weight, sizeof g->weight);
    else
        for (uint32_t i = 0; i < sizeof g->weight; i++)
            at[i] |= (uint8_t)(number_of(table, g->weight[i]) << 4 * odd);
}

/* Puts the walk's groups, up to `most`, to `at`; returns where they end. */
typedef uint8_t *put_fn(struct walk *k, uint32_t most, struct slots_panel *panel,
                        struct halved_table *table, uint8_t *at);

/* Where the next group begins too far away, empty ones stand between. */
static uint8_t *put_groups(struct walk *k, uint32_t most, struct slots_panel *panel,
                           struct halved_table *table, uint8_t *at)
{
    const struct group empty = {.lane = 0};
    struct group g;
    uint32_t n = 0, lane = 0;
    while (n < most && take_group(k, &g)) {
        for (; g.lane - lane > SLOTS_MOST_STEP && n < most; lane += SLOTS_MOST_STEP)
            put_group(k->l, &empty, SLOTS_MOST_STEP, table, at, n++);
        if (n == most) {
            leave_group(k, &g);
            break;
        }
        put_group(k->l, &g, g.lane - lane, table, at, n++);
        lane = g.lane;
    }
    panel->groups = n;
    return at + slots_groups_bytes(n, k->l->slots.halved);
}

/* ---- spans ---------------------------------------------------------------------------------- */

/* A span reads the lanes alone that it names, so it may begin at any. */
static struct slot_rule spans_rule(uint32_t reach)
{
    return (struct slot_rule){reach, 1, UINT32_MAX, 1, true};
}

/* Of equal costs the longest reach, which makes the fewest groups: they take memory. */
static struct slot_rule best_reach(const struct integer_layout *l,
                                   const struct integer_weights *weights)
{
    struct slot_rule best = spans_rule(SLOTS_LANES);
    uint64_t least_cost = UINT64_MAX;
    for (uint32_t reach = LEAST_REACH; reach <= SLOTS_LANES; reach++) {
        const struct slot_rule rule = spans_rule(reach);
        const uint64_t cost = count_groups(l, weights, 0, &rule, UINT32_MAX).cost;
        if (cost <= least_cost)
            least_cost = cost, best = rule;
    }
    return best;
}

/* A group's place is the number of those with fewer lanes. */
static uint8_t *put_spans(struct walk *k, uint32_t most, struct slots_panel *panel,
                          struct halved_table *table, uint8_t *at)
{
    struct spans *spans = (void *)at;
    const struct group_count n = count_groups(k->l, k->weights, k->o, &k->rule, most);
    uint32_t place[SLOTS_LANES] = {0};
    (void)panel, (void)table;
    for (uint32_t i = 0; i < SLOTS_LANES; i++) {
        spans->groups[i] = (uint16_t)n.groups[i]; /* 512 steps of 32 groups at most */
        if (i + 1 < SLOTS_LANES)
            place[i + 1] = place[i] + n.groups[i];
    }
    at += spans_bytes(n.all);
    struct group g;
    for (uint32_t i = 0; i < n.all && take_group(k, &g); i++) { /* as they were counted */
        const uint32_t to = place[g.lanes - 1]++;
        spans->lane[to] = (uint16_t)g.lane;
        memcpy(at + (size_t)to * SLOTS_BYTES, g.column, sizeof g.column);
        memcpy(at + (size_t)to * SLOTS_BYTES + sizeof g.column, g.weight, sizeof g.weight);
    }
    return at + (size_t)n.all * SLOTS_BYTES;
}

/* ---- panels --------------------------------------------------------------------------------- */

/* From the front, what is kept apart from the end. */
void pith_pack_slots(const struct integer_layout *l, const struct integer_weights *weights,
                     uint64_t rows, uint32_t most, uint32_t *sum, uint8_t *packed)
{
    const bool in_spans = l->slots.in_spans;
    const struct slot_rule rule =
        in_spans ? best_reach(l, weights) : slots_rule(l, weights, rows, most);
    put_fn *const put = in_spans ? put_spans : put_groups;
    struct halved_table table = {.value = (int8_t *)packed - TABLE, .known = 1};
    struct slots_panel *panel = (void *)packed;
    struct slot_sink sink = {.more = (void *)(packed + l->prep.group_bytes)};
    uint8_t *at = packed + (l->rounded / SLOTS_NR * sizeof *panel + 63) / 64 * 64;
    if (l->slots.halved)
        memset(table.value, 0, TABLE);
    for (uint32_t o = 0; o < l->rounded; o += SLOTS_NR, panel++) {
        const struct slots_more *end = sink.more;
        sink.sum = sum + o;
        struct walk k = walk_of(l, weights, &rule, o, &sink);
        panel->at = (uint32_t)(at - (uint8_t *)panel);
        at = put(&k, most, panel, &table, at);
        leave_rest(&k);
        panel->more = (uint32_t)((uint8_t *)sink.more - (uint8_t *)panel);
        panel->n_more = (uint32_t)(end - sink.more);
    }
}
