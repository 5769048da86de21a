/* SPDX-License-Identifier: MIT */
/* huff_bytes.c - Huffman decoding of eight sub-streams at once, a symbol a look-up.
 *
 * Where codes are long a look-up gives one symbol whatever the table's width. Then an entry is two
 * bytes, and eight sub-streams at once are faster than the four of huff_decode.c: a kernel decodes
 * the rounds that are safe whatever the data. */
#include "decode/huff_decode.h"
#include "kernels/kernel_decode.h"

_Static_assert(HUFF_CHAINS == 2 * HUFF_LANES, "two groups of sub-streams at a time");

struct lane {
    struct huff_chain at;
    const uint8_t *in_end;
    uint8_t *out_end;
};

/* What decodes: the kernel, and its table. */
struct table {
    huff_chains_fn *run;
    const uint16_t *entries;
    uint32_t width;
};

/* Rounds that stay inside of both buffers. */
static size_t safe_rounds(const struct lane *l)
{
    size_t in = (size_t)(l->in_end - l->at.in);
    size_t out = (size_t)(l->out_end - l->at.out) / HUFF_STEPS;
    in = in < 8 ? 0 : (in - 8) / 7;
    return in < out ? in : out;
}

/* n lanes, of which HUFF_CHAINS or half of them are made: copies run side by side with theirs and
 * write the same. One lane alone would take about as long as four, for it waits. Rounds are counted
 * anew until some lane has none left. */
static void run_lanes(struct lane *l, uint32_t n, const struct table *t)
{
    const uint32_t chains = n > HUFF_CHAINS / 2 ? HUFF_CHAINS : HUFF_CHAINS / 2;
    struct huff_chain all[HUFF_CHAINS];
    for (;;) {
        size_t rounds = SIZE_MAX;
        for (uint32_t i = 0; i < chains; i++) {
            size_t of_lane = safe_rounds(&l[i % n]);
            rounds = of_lane < rounds ? of_lane : rounds;
            all[i] = l[i % n].at;
        }
        if (rounds == 0)
            return;
        t->run(all, chains, t->entries, t->width, rounds);
        for (uint32_t i = 0; i < n; i++)
            l[i].at = all[i];
    }
}

/* Together, then each for itself. */
static void run_all(struct lane *l, uint32_t n, const struct table *t)
{
    run_lanes(l, n, t);
    for (uint32_t i = 0; n > 1 && i < n; i++)
        run_lanes(&l[i], 1, t);
}

/* The symbols that are left, with full tests; then padding. rest: the whole sub-stream. */
static bool end_of(const struct lane *l, struct bit_reader rest, const struct table *t)
{
    const uint32_t mask = (1u << t->width) - 1;
    rest.pos = (uint64_t)(l->at.in - rest.bytes) * 8 + l->at.consumed;
    for (uint8_t *out = l->at.out; out < l->out_end && !rest.bad; out++) {
        uint32_t e = t->entries[br_peek(&rest) & mask];
        *out = (uint8_t)(e >> 8);
        br_skip(&rest, e & 63);
    }
    return br_at_end(&rest);
}

/* The next sub-streams of s, up to four, as lanes behind one another in dst. */
static uint8_t *cut(struct huff_stream *s, uint8_t *dst, struct lane *lane, struct bit_reader *rest,
                    uint32_t *n)
{
    struct huff_group g;
    pith_huff_stream_cut(s, &g);
    for (uint32_t i = 0; i < g.n_subs; i++, (*n)++) {
        const uint8_t *in = g.rest[i].bytes;
        rest[*n] = g.rest[i];
        lane[*n] = (struct lane){{in, dst, 0}, in + g.rest[i].end / 8, dst + g.counts[i]};
        dst += g.counts[i];
    }
    return dst;
}

/* Two groups of four sub-streams at a time, as many as there are chains. A stream that is cut short
 * or goes on behind its symbols is noticed by what is left of each sub-stream. */
enum pith_status pith_huff_stream_bytes(struct huff_stream *s, const uint16_t *entries,
                                        uint8_t *dst, uint32_t features)
{
    struct decode_kernels kernels;
    pith_decode_kernels_fill(&kernels, features);
    const struct table t = {kernels.huff_chains, entries, s->lengths->max_len};
    while (s->next < s->n_subs) {
        struct lane lane[HUFF_CHAINS];
        struct bit_reader rest[HUFF_CHAINS];
        uint32_t n = 0;
        for (uint32_t groups = 0; groups < 2; groups++)
            dst = cut(s, dst, lane, rest, &n);
        run_all(lane, n, &t);
        for (uint32_t i = 0; i < n; i++)
            if (!end_of(&lane[i], rest[i], &t))
                return PITH_ERR_CORRUPT;
    }
    return PITH_OK;
}
