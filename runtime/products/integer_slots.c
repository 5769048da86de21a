/* SPDX-License-Identifier: MIT */
/* integer_slots.c - packs nonzeros of bytes in slots, and in spans (pith_kernel_integer.h).
 *
 * The outputs of a panel advance over the columns side by side: a group begins at the lane of the
 * output that is last, and takes up to four nonzeros of each output within reach. Taking all that
 * are in reach leaves the fewest groups: the last output always places its own.
 *
 * Slots reach over SLOTS_STEP columns. Where groups that begin at whole windows of so many are
 * hardly more, as with balanced weights, they begin there: several rows of x then keep a window in
 * registers. Of spans a short reach makes groups of few lanes, which are cheap, and many of them,
 * since outputs ahead wait with empty slots; the reach that costs the first panel least is that of
 * all. */
#include "integer_pack.h"

#define LEAST_REACH 3u
/* Of a group of a span, in instructions: those of a lane, and those besides. */
#define LANE_COST 7u
#define GROUP_COST 24u
/* Windows are taken up to so many sixteenths of the groups that begin at any lane. */
#define WINDOW_GROUPS 17u

/* Where a group may begin, and how far it reaches, in lanes. */
struct slot_rule {
    uint32_t reach, every, last; /* last: the last one where a group may begin */
    bool is_signed_least_apart;  /* INT8_MIN stands in no slot */
};

/* What the walk makes of a panel besides its groups; NULL where groups are only counted. */
struct slot_sink {
    struct slots_more *more; /* moves down */
    uint32_t *sum;           /* of outputs from the panel's first on */
};

/* The next nonzero of each output, run: none. */
struct walk {
    const struct integer_layout *l;
    const struct integer_weights *weights;
    struct slot_rule rule;
    struct slot_sink *sink;
    uint32_t o, outputs;
    uint32_t next[SLOTS_NR];
    int8_t weight[SLOTS_NR];
};

static void keep_apart(struct walk *k, uint32_t j, uint32_t e, int8_t w)
{
    if (k->sink)
        *--k->sink->more = (struct slots_more){(uint16_t)e, (uint8_t)j, w};
}

/* next[j]: the first nonzero that a slot takes, from column `from` on. Each nonzero is met once. */
static void advance(struct walk *k, uint32_t j, uint32_t from)
{
    const uint32_t run = k->l->run;
    int32_t w = 0;
    for (; from < run; from++) {
        w = integer_weight_at(k->l, k->weights, (size_t)k->o + j, from);
        if (w == 0)
            continue;
        if (k->sink)
            k->sink->sum[j] += (uint32_t)w;
        if (w != INT8_MIN || !k->rule.is_signed_least_apart)
            break;
        keep_apart(k, j, from, (int8_t)w);
    }
    k->next[j] = from;
    k->weight[j] = (int8_t)w;
}

/* All cursors at their first nonzero; outputs behind the last have none. */
static struct walk walk_of(const struct integer_layout *l, const struct integer_weights *weights,
                           const struct slot_rule *rule, uint32_t o, struct slot_sink *sink)
{
    struct walk k = {.l = l, .weights = weights, .rule = *rule, .sink = sink, .o = o};
    k.outputs = least(l->og - o, SLOTS_NR);
    for (uint32_t j = 0; j < k.outputs; j++)
        advance(&k, j, 0);
    return k;
}

/* A group as it was taken: its first lane, how many it has, its columns from there, its weights. */
struct group {
    uint32_t lane, lanes;
    uint8_t column[SLOTS_NR * 4];
    int8_t weight[SLOTS_NR * 4];
};

/* The next group; false: all is taken. */
static bool take_group(struct walk *k, struct group *g)
{
    uint32_t first = k->l->run, last = 0;
    for (uint32_t j = 0; j < k->outputs; j++)
        first = k->next[j] < first ? k->next[j] : first;
    if (first == k->l->run)
        return false;
    memset(g, 0, sizeof *g);
    g->lane = least(first / SLOTS_LANE / k->rule.every * k->rule.every, k->rule.last);
    first = g->lane * SLOTS_LANE;
    for (uint32_t j = 0; j < k->outputs; j++)
        for (uint32_t i = 4 * j; i < 4 * j + 4 && k->next[j] < k->l->run; i++) {
            const uint32_t e = k->next[j] - first;
            if (e >= k->rule.reach * SLOTS_LANE)
                break;
            g->column[i] = (uint8_t)e;
            g->weight[i] = k->weight[j];
            last = e > last ? e : last;
            advance(k, j, k->next[j] + 1);
        }
    g->lanes = last / SLOTS_LANE + 1;
    return true;
}

/* What no group took is kept apart. */
static void leave_rest(struct walk *k)
{
    for (uint32_t j = 0; j < k->outputs; j++)
        while (k->next[j] < k->l->run) {
            keep_apart(k, j, k->next[j], k->weight[j]);
            advance(k, j, k->next[j] + 1);
        }
}

/* ---- slots ---------------------------------------------------------------------------------- */

static uint32_t groups_of_first(const struct integer_layout *l,
                                const struct integer_weights *weights, const struct slot_rule *rule)
{
    struct walk k = walk_of(l, weights, rule, 0, NULL);
    struct group g;
    uint32_t n = 0;
    while (take_group(&k, &g))
        n++;
    return n;
}

static struct slot_rule slots_rule(const struct integer_layout *l,
                                   const struct integer_weights *weights)
{
    const uint32_t last = (l->steps - 1) * SLOTS_LANES;
    const struct slot_rule anywhere = {SLOTS_LANES, 1, last, false};
    const struct slot_rule windows = {SLOTS_LANES, SLOTS_LANES, last, false};
    const uint64_t least_groups = groups_of_first(l, weights, &anywhere);
    const bool in_windows =
        groups_of_first(l, weights, &windows) * UINT64_C(16) <= least_groups * WINDOW_GROUPS;
    return in_windows ? windows : anywhere;
}

/* A group that there is no room for. */
static void leave_group(struct walk *k, const struct group *g)
{
    for (uint32_t i = 0; i < SLOTS_NR * 4; i++)
        if (g->weight[i])
            keep_apart(k, i / 4, g->lane * SLOTS_LANE + g->column[i], g->weight[i]);
}

/* A group that begins `step` lanes behind the one before, to `at`. */
static void put_group(const struct integer_layout *l, const struct group *g, uint32_t step,
                      int8_t *table, uint32_t *known, uint8_t *at)
{
    memcpy(at, g->column, sizeof g->column);
    for (uint32_t i = 0; i < 8; i++)
        at[i] |= (uint8_t)((step >> i & 1) << 7);
    at += sizeof g->column;
    if (!l->slots_halved) {
        memcpy(at, g->weight, sizeof g->weight);
        return;
    }
    for (uint32_t i = 0; i < sizeof g->weight; i += 2)
        at[i / 2] = (uint8_t)(integer_weight_number(table, known, g->weight[i]) |
                              integer_weight_number(table, known, g->weight[i + 1]) << 4);
}

/* The walk's groups, up to `most`, to `at`; how many. Where the next one begins too far away, empty
 * ones stand between. */
static uint32_t put_groups(struct walk *k, uint32_t most, int8_t *table, uint32_t *known,
                           uint8_t *at)
{
    const struct group empty = {.lane = 0};
    struct group g;
    uint32_t n = 0, lane = 0;
    while (n < most && take_group(k, &g)) {
        for (; g.lane - lane > SLOTS_MOST_STEP && n < most; n++, at += k->l->slot_bytes) {
            put_group(k->l, &empty, SLOTS_MOST_STEP, table, known, at);
            lane += SLOTS_MOST_STEP;
        }
        if (n == most) {
            leave_group(k, &g);
            break;
        }
        put_group(k->l, &g, g.lane - lane, table, known, at);
        at += k->l->slot_bytes;
        lane = g.lane;
        n++;
    }
    leave_rest(k);
    return n;
}

/* Panels from the front, what is kept apart from the end. */
void pith_pack_slots(const struct integer_layout *l, const struct integer_weights *weights,
                     uint32_t most, uint32_t *sum, uint8_t *packed)
{
    struct slots_panel *panel = (void *)packed;
    struct slot_sink sink = {.more = (void *)(packed + l->group_bytes)};
    uint8_t *at = packed + (l->rounded / SLOTS_NR * sizeof *panel + 63) / 64 * 64;
    const struct slot_rule rule = slots_rule(l, weights);
    int8_t *table = (int8_t *)packed - TABLE;
    uint32_t known = 1;
    if (l->slots_halved)
        memset(table, 0, TABLE);
    for (uint32_t o = 0; o < l->rounded; o += SLOTS_NR, panel++) {
        const struct slots_more *end = sink.more;
        sink.sum = sum + o;
        struct walk k = walk_of(l, weights, &rule, o, &sink);
        panel->at = (uint32_t)(at - (uint8_t *)panel);
        panel->groups = put_groups(&k, most, table, &known, at);
        at += (size_t)panel->groups * l->slot_bytes;
        panel->more = (uint32_t)((uint8_t *)sink.more - (uint8_t *)panel);
        panel->n_more = (uint32_t)(end - sink.more);
    }
}

/* ---- spans ---------------------------------------------------------------------------------- */

static struct slot_rule spans_rule(uint32_t reach)
{
    return (struct slot_rule){reach, 1, UINT32_MAX, true};
}

/* Groups by their lanes, up to `most`, of the panel from output o on; what they cost. */
static uint64_t count_groups(const struct integer_layout *l, const struct integer_weights *weights,
                             uint32_t o, const struct slot_rule *rule, uint32_t most,
                             uint32_t groups[SLOTS_LANES])
{
    struct walk k = walk_of(l, weights, rule, o, NULL);
    struct group g;
    uint64_t cost = 0;
    memset(groups, 0, SLOTS_LANES * sizeof *groups);
    for (; most > 0 && take_group(&k, &g); most--) {
        groups[g.lanes - 1]++;
        cost += GROUP_COST + g.lanes * LANE_COST;
    }
    return cost;
}

/* Of equal costs the longest reach, which makes the fewest groups: they take memory. */
static struct slot_rule best_reach(const struct integer_layout *l,
                                   const struct integer_weights *weights)
{
    uint32_t groups[SLOTS_LANES];
    struct slot_rule best = spans_rule(SLOTS_LANES);
    uint64_t least_cost = UINT64_MAX;
    for (uint32_t reach = LEAST_REACH; reach <= SLOTS_LANES; reach++) {
        const struct slot_rule rule = spans_rule(reach);
        uint64_t cost = count_groups(l, weights, 0, &rule, UINT32_MAX, groups);
        if (cost <= least_cost)
            least_cost = cost, best = rule;
    }
    return best;
}

/* The walk's groups; their place is told by how many have fewer lanes. Where they end. */
static uint8_t *place_groups(struct walk *k, const uint32_t groups[SLOTS_LANES],
                             struct spans *spans)
{
    uint32_t place[SLOTS_LANES], all = 0;
    for (uint32_t n = 0; n < SLOTS_LANES; n++) {
        spans->groups[n] = (uint16_t)groups[n]; /* 512 steps of 32 groups at most */
        place[n] = all;
        all += groups[n];
    }
    uint8_t *at = (uint8_t *)spans + spans_bytes(all);
    struct group g;
    for (uint32_t i = 0; i < all && take_group(k, &g); i++) { /* as they were counted */
        const uint32_t to = place[g.lanes - 1]++;
        spans->lane[to] = (uint16_t)g.lane;
        memcpy(at + (size_t)to * SLOTS_BYTES, g.column, sizeof g.column);
        memcpy(at + (size_t)to * SLOTS_BYTES + sizeof g.column, g.weight, sizeof g.weight);
    }
    return at + (size_t)all * SLOTS_BYTES;
}

/* Panels from the front, what is kept apart from the end. */
void pith_pack_spans(const struct integer_layout *l, const struct integer_weights *weights,
                     uint32_t most, uint32_t *sum, uint8_t *packed)
{
    struct slots_panel *panel = (void *)packed;
    struct slot_sink sink = {.more = (void *)(packed + l->group_bytes)};
    uint8_t *at = packed + (l->rounded / SLOTS_NR * sizeof *panel + 63) / 64 * 64;
    const struct slot_rule rule = best_reach(l, weights);
    for (uint32_t o = 0; o < l->rounded; o += SLOTS_NR, panel++) {
        const struct slots_more *end = sink.more;
        uint32_t counted[SLOTS_LANES];
        count_groups(l, weights, o, &rule, most, counted);
        sink.sum = sum + o;
        struct walk k = walk_of(l, weights, &rule, o, &sink);
        panel->at = (uint32_t)(at - (uint8_t *)panel);
        at = place_groups(&k, counted, (void *)at);
        leave_rest(&k);
        panel->more = (uint32_t)((uint8_t *)sink.more - (uint8_t *)panel);
        panel->n_more = (uint32_t)(end - sink.more);
    }
}
