/* SPDX-License-Identifier: MIT */
/* Huffman decoding of four sub-streams at once.
 *
 * One sub-stream is a chain: look up, shift, look up; each step waits about seven cycles for the
 * one before. Four independent chains fill that time. The state of a chain is three registers,
 * the trick being that the number of consumed bits is kept inside the bit buffer: a sentinel one
 * stands above the data and moves down with every shift, so the count of leading zeros gives what
 * was consumed (as in zstd's and Giesen's decoders).
 *
 *     bits   1 d62 d61 ... d1 d0        after a shift by 9:   0 0 0 0 0 0 0 0 0 1 d62 ... d9
 *
 * A refill leaves 56 to 63 bits: five look-ups of 11 bits or four of 12 before the next one.
 *
 * Bounds are hoisted: a refill moves the input by at most 7 bytes and reads 8, a look-up moves the
 * output by at most 3 bytes and writes 4. So the number of rounds that are safe whatever the data
 * is computed first and then run without tests. What is left is decoded symbol by symbol. */
#include "decode/huff_decode.h"

/* A sub-stream of 32,768 / 4 symbols of 12 bits is below 2^24 bits. */
#define MAX_BASE (1u << 24)
#define MAX_WIDTH 24u

/* What a chain is between groups. */
struct lane {
    const uint8_t *in; /* byte that holds the next bit */
    const uint8_t *in_end;
    uint8_t *out;
    uint8_t *out_end;
    uint32_t consumed; /* bits of *in consumed, 0..7 */
};

/* The registers of one chain. */
struct chain {
    uint64_t bits;
    const uint8_t *in;
    uint8_t *out;
};

/* One load of eight bytes, at any bit. */
static inline void refill(struct chain *c)
{
    uint32_t consumed = (uint32_t)__builtin_clzll(c->bits);
    c->in += consumed >> 3;
    c->bits = (load_le64(c->in) | UINT64_C(1) << 63) >> (consumed & 7);
}

/* An entry has up to three symbols, their number and the bits they take. */
static inline void look_up(struct chain *c, const uint32_t *entries, uint64_t mask)
{
    uint32_t e = entries[c->bits & mask];
    store_le32(c->out, e);
    c->bits >>= (e >> 24) & 63; /* the count lies above these six bits */
    c->out += e >> 30;
}

/* in points at the byte of the next bit, consumed says which bit of it. */
static inline struct chain chain_start(const struct lane *l)
{
    return (struct chain){(load_le64(l->in) | UINT64_C(1) << 63) >> l->consumed, l->in, l->out};
}

static inline void chain_stop(const struct chain *c, struct lane *l)
{
    uint32_t consumed = (uint32_t)__builtin_clzll(c->bits);
    l->in = c->in + (consumed >> 3);
    l->consumed = consumed & 7;
    l->out = c->out;
}

/* Rounds of `steps` look-ups that stay inside both buffers whatever the data. A refill moves by
 * at most 7 bytes and reads 8; hence minus 1, divided by 7. */
static size_t safe_rounds(const struct lane *l, uint32_t steps)
{
    size_t in = (size_t)(l->in_end - l->in), out = (size_t)(l->out_end - l->out);
    if (in < 8 || out < 3 * (size_t)steps + 1)
        return 0;
    in = (in - 1) / 7;
    out = (out - 1) / (3 * (size_t)steps);
    return in < out ? in : out;
}

/* Four chains in registers: the compiler must not spill them, so they are four names and no
 * array. */
static inline void run_four(struct lane *l, const uint32_t *entries, uint64_t mask, uint32_t steps,
                            size_t rounds)
{
    struct chain a = chain_start(&l[0]), b = chain_start(&l[1]);
    struct chain c = chain_start(&l[2]), d = chain_start(&l[3]);
    for (;;) {
        for (uint32_t i = 0; i < steps; i++) {
            look_up(&a, entries, mask);
            look_up(&b, entries, mask);
            look_up(&c, entries, mask);
            look_up(&d, entries, mask);
        }
        if (--rounds == 0)
            break;
        refill(&a);
        refill(&b);
        refill(&c);
        refill(&d);
    }
    chain_stop(&a, &l[0]);
    chain_stop(&b, &l[1]);
    chain_stop(&c, &l[2]);
    chain_stop(&d, &l[3]);
}

/* For streams of fewer sub-streams, and for what is left of the longest. */
static inline void run_one(struct lane *l, const uint32_t *entries, uint64_t mask, uint32_t steps,
                           size_t rounds)
{
    struct chain a = chain_start(l);
    for (;;) {
        for (uint32_t i = 0; i < steps; i++)
            look_up(&a, entries, mask);
        if (--rounds == 0)
            break;
        refill(&a);
    }
    chain_stop(&a, l);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Rounds are counted anew until some lane has none left. */
static inline void run_fast(struct lane *l, uint32_t n_lanes, const uint32_t *entries,
                            uint64_t mask, uint32_t steps)
{
    size_t rounds;
    while (n_lanes == HUFF_LANES) {
        rounds = min_size(min_size(safe_rounds(&l[0], steps), safe_rounds(&l[1], steps)),
                          min_size(safe_rounds(&l[2], steps), safe_rounds(&l[3], steps)));
        if (rounds == 0)
            break;
        run_four(l, entries, mask, steps, rounds);
    }
    for (uint32_t i = 0; i < n_lanes; i++)
        while ((rounds = safe_rounds(&l[i], steps)) > 0)
            run_one(&l[i], entries, mask, steps, rounds);
}

/* The symbols that are left of one lane, with full tests. r: the whole sub-stream. At most some
 * twenty symbols a lane. */
static void run_careful(const struct lane *l, const struct huff_stream *s, struct bit_reader *r)
{
    uint32_t mask = (1u << s->table_bits) - 1;
    r->pos = (uint64_t)(l->in - r->bytes) * 8 + l->consumed;
    for (uint8_t *out = l->out; out < l->out_end && !r->bad; out++) {
        uint8_t symbol = (uint8_t)s->entries[br_peek(r) & mask];
        *out = symbol;
        br_skip(r, s->lengths->len[symbol]);
    }
}

/* Short streams would pay more for a directory than four lanes gain. */
uint64_t pith_huff_sub_streams(uint64_t n)
{
    return n < HUFF_SPLIT_MIN
               ? 1
               : (n / HUFF_GROUP_SYMBOLS + (n % HUFF_GROUP_SYMBOLS != 0)) * HUFF_LANES;
}

/* base + every field must fit in what remains; the last sub-stream takes the rest. `canonical`:
 * one field is 0 (else base would be larger) and one uses the top bit (else width would be
 * smaller). */
static bool sizes_fit(const struct huff_stream *s)
{
    struct bit_reader r = s->sizes;
    uint64_t sum = 0;
    uint32_t smallest = UINT32_MAX, all = 0;
    for (uint64_t j = 0; j + 1 < s->n_subs; j++) {
        uint32_t more = br_bits(&r, s->width);
        sum += (uint64_t)s->base + more; /* <= 2^27 terms (n < 2^40) of <= 2^25 */
        smallest = more < smallest ? more : smallest;
        all |= more;
    }
    bool canonical = smallest == 0 && (s->width == 0 || all >> (s->width - 1) != 0);
    return br_at_end(&r) && canonical && sum <= s->n_bytes;
}

/* base, width, fields; lengths of all sub-streams but the last. */
static bool read_directory(struct huff_stream *s)
{
    struct reader r = reader_of(s->bytes, s->n_bytes);
    uint64_t n_bits, n_bytes;
    s->base = (uint32_t)rd_varint(&r, MAX_BASE);
    s->width = rd_u8(&r);
    if (r.bad || s->width > MAX_WIDTH || !mul_ok(s->n_subs - 1, s->width, &n_bits))
        return false;
    n_bytes = n_bits / 8 + (n_bits % 8 != 0);
    if (n_bytes > r.left)
        return false;
    s->sizes = bit_reader_of(rd_bytes(&r, (size_t)n_bytes), (size_t)n_bytes);
    s->bytes = r.p;
    s->n_bytes = r.left;
    return sizes_fit(s);
}

/* The directory is read and tested whole before the first symbol. */
enum pith_status pith_huff_stream_open(struct huff_stream *s, struct stream stream, uint64_t n,
                                       const struct huff_lengths *lengths, const uint32_t *entries,
                                       uint32_t table_bits)
{
    *s = (struct huff_stream){.lengths = lengths,
                              .entries = entries,
                              .table_bits = table_bits,
                              .n = n,
                              .n_subs = n ? pith_huff_sub_streams(n) : 0,
                              .bytes = stream.bytes,
                              .n_bytes = stream.n_bytes};
    if (n == 0)
        return stream.n_bytes == 0 ? PITH_OK : PITH_ERR_CORRUPT;
    if (s->n_subs > 1 && !read_directory(s))
        return PITH_ERR_CORRUPT;
    return PITH_OK;
}

void pith_huff_stream_cut(struct huff_stream *s, struct huff_group *g)
{
    uint64_t left = s->n_subs - s->next;
    g->n_subs = left < HUFF_LANES ? (uint32_t)left : HUFF_LANES;
    g->n_symbols = 0;
    for (uint32_t i = 0; i < g->n_subs; i++) {
        uint64_t j = s->next++;
        size_t size = s->n_bytes;
        g->counts[i] =
            (uint32_t)(huff_sub_begin(s->n, s->n_subs, j + 1) - huff_sub_begin(s->n, s->n_subs, j));
        if (j + 1 < s->n_subs)
            size = (size_t)s->base + br_bits(&s->sizes, s->width);
        g->rest[i] = bit_reader_of(s->bytes, size);
        s->bytes += size;
        s->n_bytes -= size;
        g->n_symbols += g->counts[i];
    }
}

/* Symbols of lane i go behind those of lane i - 1. */
static void lanes_of(const struct huff_group *g, uint8_t *dst, struct lane *lanes)
{
    for (uint32_t i = 0; i < g->n_subs; i++) {
        const uint8_t *in = g->rest[i].bytes;
        lanes[i] = (struct lane){in, in + g->rest[i].end / 8, dst, dst + g->counts[i], 0};
        dst += g->counts[i];
    }
}

enum pith_status pith_huff_stream_group(struct huff_stream *s, uint8_t *dst,
                                        struct huff_group *group)
{
    struct lane lanes[HUFF_LANES];
    pith_huff_stream_cut(s, group);
    lanes_of(group, dst, lanes);
    /* One symbol alone has a code of no bits. */
    if (s->n_subs && s->lengths->n_present == 1) {
        memset(dst, s->lengths->n_symbols - 1, group->n_symbols);
        return PITH_OK;
    }
    uint64_t mask = (UINT64_C(1) << s->table_bits) - 1;
    /* steps is a constant in each call. */
    if (s->table_bits <= 11)
        run_fast(lanes, group->n_subs, s->entries, mask, 5);
    else
        run_fast(lanes, group->n_subs, s->entries, mask, 4);
    for (uint32_t i = 0; i < group->n_subs; i++) {
        run_careful(&lanes[i], s, &group->rest[i]);
        if (group->rest[i].bad)
            return PITH_ERR_CORRUPT;
    }
    return PITH_OK;
}

/* Padding behind the codes must be zero. */
enum pith_status pith_huff_stream_symbols(struct huff_stream *s, uint8_t *dst, uint32_t *n_symbols)
{
    struct huff_group g;
    enum pith_status st = pith_huff_stream_group(s, dst, &g);
    if (st)
        return st;
    for (uint32_t i = 0; i < g.n_subs; i++)
        if (!br_at_end(&g.rest[i]))
            return PITH_ERR_CORRUPT;
    *n_symbols = g.n_symbols;
    return PITH_OK;
}
