/* SPDX-License-Identifier: MIT */
/* huff_bytes.c - Huffman decoding of eight sub-streams at once, a symbol a look-up.
 *
 * As in huff_decode.c a chain is look up, shift, look up, and a sentinel in the bit buffer counts
 * what was consumed. Where codes are long a look-up tells one symbol whatever the table's width:
 * then an entry is two bytes, the place of what is written does not depend on what was read, and
 * a round of a chain is short enough that eight of them are in flight, which hides the seven
 * cycles of a look-up and the twelve of a refill (four chains: 1.26 G symbols a second, six 1.85,
 * eight 1.89, of 7.2 bits on a Sapphire Rapids core). */
#include "pith_huff_decode.h"

#define CHAINS (2 * HUFF_LANES)
#define STEPS 4u /* look-ups of 12 bits between refills, which leave 56 */

/* What a chain is between runs. */
struct lane {
    const uint8_t *in, *in_end; /* in: byte of the next bit */
    uint8_t *out, *out_end;
    uint32_t consumed; /* bits of *in, 0..7 */
};

static inline uint64_t bits_at(const uint8_t *in, uint32_t consumed)
{
    return (load_le64(in) | UINT64_C(1) << 63) >> consumed;
}

/* Rounds that stay inside of both buffers whatever the data: the refill behind each moves the input
 * by at most 7 bytes and reads 8. */
static size_t safe_rounds(const struct lane *l)
{
    size_t in = (size_t)(l->in_end - l->in), out = (size_t)(l->out_end - l->out) / STEPS;
    in = in < 8 ? 0 : (in - 8) / 7;
    return in < out ? in : out;
}

/* The symbols of a round; returns what is left of the bits. */
static inline uint64_t look_up(uint64_t bits, const uint16_t *entries, uint64_t mask, uint8_t *out)
{
#pragma GCC unroll 4
    for (uint32_t k = 0; k < STEPS; k++) {
        uint32_t e = entries[bits & mask];
        bits >>= e & 63;
        out[k] = (uint8_t)(e >> 8);
    }
    return bits;
}

/* Rounds that are safe for all lanes. Bit buffers stay in registers, and pointers are moved once a
 * round. */
static void run(struct lane l[CHAINS], const uint16_t *entries, uint64_t mask, size_t rounds)
{
    uint64_t bits[CHAINS];
    for (uint32_t i = 0; i < CHAINS; i++)
        bits[i] = bits_at(l[i].in, l[i].consumed);
    for (; rounds > 0; rounds--) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < CHAINS; i++) {
            uint64_t left = look_up(bits[i], entries, mask, l[i].out);
            uint32_t consumed = (uint32_t)__builtin_clzll(left);
            l[i].in += consumed >> 3;
            bits[i] = bits_at(l[i].in, consumed & 7);
            l[i].out += STEPS;
        }
    }
    for (uint32_t i = 0; i < CHAINS; i++)
        l[i].consumed = (uint32_t)__builtin_clzll(bits[i]);
}

/* n lanes, of which all CHAINS are made: copies run side by side with theirs and write the same.
 * One lane alone, or four, would take about as long, for their chains wait. Rounds are counted anew
 * until some lane has none left. */
static void run_lanes(struct lane *l, uint32_t n, const uint16_t *entries, uint64_t mask)
{
    struct lane all[CHAINS];
    for (;;) {
        size_t rounds = SIZE_MAX;
        for (uint32_t i = 0; i < CHAINS; i++) {
            all[i] = l[i % n];
            size_t of_lane = safe_rounds(&all[i]);
            rounds = of_lane < rounds ? of_lane : rounds;
        }
        if (rounds == 0)
            return;
        run(all, entries, mask, rounds);
        memcpy(l, all, n * sizeof *l);
    }
}

/* Together, then each for itself. */
static void run_all(struct lane *l, uint32_t n, const uint16_t *entries, uint64_t mask)
{
    run_lanes(l, n, entries, mask);
    for (uint32_t i = 0; n > 1 && i < n; i++)
        run_lanes(&l[i], 1, entries, mask);
}

/* The symbols that are left, with full tests; then padding. rest: the whole sub-stream. */
static bool end_of(const struct lane *l, struct bit_reader rest, const uint16_t *entries,
                   uint32_t mask)
{
    rest.pos = (uint64_t)(l->in - rest.bytes) * 8 + l->consumed;
    for (uint8_t *out = l->out; out < l->out_end && !rest.bad; out++) {
        uint32_t e = entries[br_peek(&rest) & mask];
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
        lane[*n] = (struct lane){in, in + g.rest[i].end / 8, dst, dst + g.counts[i], 0};
        dst += g.counts[i];
    }
    return dst;
}

/* Two groups of four sub-streams at a time, as many as there are chains. A stream that is cut short
 * or goes on behind its symbols is noticed by what is left of each sub-stream. */
enum pith_status pith_huff_stream_bytes(struct huff_stream *s, const uint16_t *entries,
                                        uint8_t *dst)
{
    const uint32_t mask = (1u << s->lengths->max_len) - 1;
    while (s->next < s->n_subs) {
        struct lane lane[CHAINS];
        struct bit_reader rest[CHAINS];
        uint32_t n = 0;
        for (uint32_t groups = 0; groups < 2; groups++)
            dst = cut(s, dst, lane, rest, &n);
        run_all(lane, n, entries, mask);
        for (uint32_t i = 0; i < n; i++)
            if (!end_of(&lane[i], rest[i], entries, mask))
                return PITH_ERR_CORRUPT;
    }
    return PITH_OK;
}
