/* SPDX-License-Identifier: MIT */
/* integer_spans.c - packs nonzeros of bytes in spans (pith_kernel_integer.h: struct spans).
 *
 * The outputs of a panel advance over the columns side by side: a group begins at the lane of the
 * output that is last, and takes up to four nonzeros of each output within reach. A short reach
 * makes groups of few lanes, which are cheap, and many of them, since outputs ahead wait with empty
 * slots; the reach that costs the first panel least is that of all. */
#include "integer_pack.h"

#define LEAST_REACH 3u
/* Of a group, in instructions: those of a lane, and those besides. */
#define LANE_COST 7u
#define GROUP_COST 24u

/* The next nonzero of each output, run: none. */
struct walk {
    const struct integer_layout *l;
    const struct integer_weights *weights;
    uint32_t o, outputs;
    uint32_t next[SLOTS_NR];
};

static int32_t weight_of(const struct walk *k, uint32_t j, uint32_t e)
{
    return integer_weight_at(k->l, k->weights, (size_t)k->o + j, e);
}

/* -128 stands in no slot. */
static bool is_apart(int32_t w)
{
    return w == INT8_MIN;
}

/* next[j]: the first nonzero that a slot takes, from column `from` on. */
static void advance(struct walk *k, uint32_t j, uint32_t from)
{
    int32_t w = 0;
    while (from < k->l->run && ((w = weight_of(k, j, from)) == 0 || is_apart(w)))
        from++;
    k->next[j] = from;
}

/* All cursors at their first nonzero; outputs behind the last have none. */
static struct walk walk_of(const struct integer_layout *l, const struct integer_weights *weights,
                           uint32_t o)
{
    struct walk k = {.l = l, .weights = weights, .o = o};
    k.outputs = least(l->og - o, SLOTS_NR);
    for (uint32_t j = 0; j < k.outputs; j++)
        advance(&k, j, 0);
    return k;
}

/* The next group: its first lane, and how many there are; 0: all is taken. at: its slots, zeros
 * before; NULL: they are only counted. */
static uint32_t take_group(struct walk *k, uint32_t reach, uint32_t *lane, uint8_t *at)
{
    uint32_t first = k->l->run, last = 0;
    for (uint32_t j = 0; j < k->outputs; j++)
        first = k->next[j] < first ? k->next[j] : first;
    if (first == k->l->run)
        return 0;
    *lane = first / SPANS_LANE;
    first = *lane * SPANS_LANE;
    for (uint32_t j = 0; j < k->outputs; j++)
        for (uint32_t i = 0; i < 4 && k->next[j] < k->l->run; i++) {
            const uint32_t e = k->next[j] - first;
            if (e >= reach * SPANS_LANE)
                break;
            if (at) {
                at[4 * j + i] = (uint8_t)e;
                at[64 + 4 * j + i] = (uint8_t)weight_of(k, j, k->next[j]);
            }
            last = e > last ? e : last;
            advance(k, j, k->next[j] + 1);
        }
    return last / SPANS_LANE + 1;
}

/* Groups by their lanes, up to `most`, of the panel from output o on; what they cost. */
static uint64_t count_groups(const struct integer_layout *l, const struct integer_weights *weights,
                             uint32_t o, uint32_t reach, uint32_t most,
                             uint32_t groups[SPANS_LANES])
{
    struct walk k = walk_of(l, weights, o);
    uint64_t cost = 0;
    memset(groups, 0, SPANS_LANES * sizeof *groups);
    for (uint32_t lane, lanes; most > 0 && (lanes = take_group(&k, reach, &lane, NULL)) > 0;
         most--) {
        groups[lanes - 1]++;
        cost += GROUP_COST + lanes * LANE_COST;
    }
    return cost;
}

/* Of equal costs the longest reach, which makes the fewest groups: they take memory. */
static uint32_t best_reach(const struct integer_layout *l, const struct integer_weights *weights)
{
    uint32_t groups[SPANS_LANES], best = SPANS_LANES;
    uint64_t least_cost = UINT64_MAX;
    for (uint32_t reach = LEAST_REACH; reach <= SPANS_LANES; reach++) {
        uint64_t cost = count_groups(l, weights, 0, reach, UINT32_MAX, groups);
        if (cost <= least_cost)
            least_cost = cost, best = reach;
    }
    return best;
}

/* What no group took goes in front of `more`. */
static struct slots_more *keep_apart(const struct walk *k, struct slots_more *more, uint32_t *sum)
{
    for (uint32_t j = 0; j < k->outputs; j++)
        for (uint32_t e = 0; e < k->l->run; e++) {
            const int32_t w = weight_of(k, j, e);
            sum[k->o + j] += (uint32_t)w;
            if (w != 0 && (e >= k->next[j] || is_apart(w)))
                *--more = (struct slots_more){(uint16_t)e, (uint8_t)j, (int8_t)w};
        }
    return more;
}

/* The panel from output o on; its groups' place is told by how many have fewer lanes. Where it
 * ends. */
static uint8_t *pack_panel(struct walk *k, uint32_t reach, const uint32_t groups[SPANS_LANES],
                           struct spans *spans)
{
    uint32_t place[SPANS_LANES], all = 0;
    for (uint32_t n = 0; n < SPANS_LANES; n++) {
        spans->groups[n] = (uint16_t)groups[n]; /* 512 steps of 32 groups at most */
        place[n] = all;
        all += groups[n];
    }
    uint8_t *at = (uint8_t *)spans + spans_bytes(all), group[SLOTS_BYTES];
    for (uint32_t i = 0, lane; i < all; i++) {
        memset(group, 0, sizeof group);
        const uint32_t n = take_group(k, reach, &lane, group) - 1; /* as they were counted */
        spans->lane[place[n]] = (uint16_t)lane;
        memcpy(at + (size_t)place[n]++ * SLOTS_BYTES, group, sizeof group);
    }
    return at + (size_t)all * SLOTS_BYTES;
}

/* Panels from the front, what is kept apart from the end. */
void pith_pack_spans(const struct integer_layout *l, const struct integer_weights *weights,
                     uint32_t groups, uint32_t *sum, uint8_t *packed)
{
    struct slots_panel *panel = (void *)packed;
    struct slots_more *more = (void *)(packed + l->group_bytes);
    uint8_t *at = packed + (l->rounded / SLOTS_NR * sizeof *panel + 63) / 64 * 64;
    const uint32_t reach = best_reach(l, weights), most = l->steps * groups;
    memset(packed, 0, l->group_bytes);
    for (uint32_t o = 0; o < l->rounded; o += SLOTS_NR, panel++) {
        const struct slots_more *end = more;
        uint32_t counted[SPANS_LANES];
        count_groups(l, weights, o, reach, most, counted);
        struct walk k = walk_of(l, weights, o);
        panel->count = (uint32_t)(at - (uint8_t *)panel);
        at = pack_panel(&k, reach, counted, (void *)at);
        more = keep_apart(&k, more, sum);
        panel->more = (uint32_t)((uint8_t *)more - (uint8_t *)panel);
        panel->n_more = (uint32_t)(end - more);
    }
}
