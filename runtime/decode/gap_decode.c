/* SPDX-License-Identifier: MIT */
/* From support symbols to element numbers.
 *
 * Gaps go in blocks of sixteen. Where all of a block are direct symbols (two words hold that) and
 * even the largest possible sum stays inside the tensor, they are added up without a test.
 * Otherwise each gap is a base and extra bits, without a branch between direct and far ones, and is
 * compared with what is left before it is added: no sum can wrap or leave the tensor. Near the end
 * of the extra bits the careful reader takes over. Patterns become words of a bitmap. */
#include "decode/gap_decode.h"

/* Sixteen symbols are two words to test and one block to unroll. */
#define BLOCK 16u
#define MAX_EXPONENT 31u

/* The header holds which of the two kinds it is; lengths of codes follow. */
enum pith_status pith_support_read_table(const uint8_t *bytes, size_t n_bytes,
                                         struct support_lengths *out)
{
    struct bit_reader r = bit_reader_of(bytes, n_bytes);
    struct support_lengths t;
    memset(&t, 0, sizeof t);
    uint32_t max_symbols;
    t.patterns = br_bits(&r, 1) != 0;
    if (t.patterns) {
        t.pattern_bits = br_bits(&r, 1) ? 8 : 4;
        max_symbols = 1u << t.pattern_bits;
    } else {
        t.direct_bits = (uint8_t)br_bits(&r, 3);
        t.mantissa_bits = (uint8_t)br_bits(&r, 2);
        if (t.mantissa_bits > t.direct_bits)
            return PITH_ERR_CORRUPT;
        max_symbols =
            (1u << t.direct_bits) + ((MAX_EXPONENT + 1 - t.direct_bits) << t.mantissa_bits);
    }
    enum pith_status st = pith_huff_read_lengths(&r, &t.huff);
    if (st)
        return st;
    if (!br_at_end(&r) || t.huff.n_symbols > max_symbols)
        return PITH_ERR_CORRUPT;
    *out = t;
    return PITH_OK;
}

/* Any gap is far_base[symbol] plus that symbol's extra bits; direct ones have none. A far gap's
 * symbol is like a float: exponent and leading mantissa bits; the rest follows as extra bits. */
static void fill_far_gaps(struct gap_reader *r)
{
    uint32_t d = r->table->direct_bits, m = r->table->mantissa_bits;
    for (uint32_t s = 0; s < r->table->huff.n_symbols; s++) {
        uint32_t t = s - (1u << d);
        bool is_far = s >> d != 0;
        uint32_t bits = is_far ? d + (t >> m) - m : 0; /* 0..31: the table's size was checked */
        r->far_bits[s] = (uint8_t)bits;
        r->far_base[s] = is_far ? ((1u << m) + (t & ((1u << m) - 1))) << bits : s;
    }
}

/* Both kinds share the stream of symbols. */
enum pith_status pith_gap_open(struct gap_reader *r, const struct coded_support *c,
                               uint8_t *symbols)
{
    memset(r, 0, sizeof *r);
    r->table = c->table;
    r->symbols = symbols;
    r->count = c->count;
    r->left = c->nnz;
    if (!c->table->patterns)
        fill_far_gaps(r);
    return pith_huff_stream_open(&r->stream, c->stream, support_symbols(c->table, c->count, c->nnz),
                                 &c->table->huff, c->entries, c->table_bits);
}

/* Steps to the next sub-stream that has symbols; false at the end of the stream or on error.
 * Extra bits of a sub-stream must end where it ends. */
static bool next_sub_stream(struct gap_reader *r)
{
    if (r->group.n_subs && !br_at_end(&r->group.rest[r->sub]))
        return false;
    if (++r->sub >= r->group.n_subs) {
        if (pith_huff_stream_group(&r->stream, r->symbols, &r->group) || !r->group.n_subs)
            return false;
        r->sub = 0;
        r->at = 0;
        r->sub_end = 0;
    }
    r->sub_end += r->group.counts[r->sub];
    return true;
}

/* One by one, with every test. gap < count - pos before it is added: pos <= count always holds. */
static bool add_careful(struct gap_reader *r, const uint8_t *symbols, uint32_t n, uint32_t *pos)
{
    struct bit_reader *extra = &r->group.rest[r->sub];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t gap = r->far_base[symbols[i]] + br_bits(extra, r->far_bits[symbols[i]]);
        if (gap >= r->count - r->pos)
            return false;
        r->pos += gap;
        pos[i] = (uint32_t)r->pos++;
    }
    return true;
}

/* A block whose extra bits, whatever they are, lie 8 bytes before the end of the sub-stream. The
 * largest block is 16 gaps of 31 bits; then eight bytes may be loaded at any of them. */
static bool has_extra_slack(const struct bit_reader *extra)
{
    return extra->end - extra->pos >= BLOCK * MAX_EXPONENT + 64 + 7;
}

/* Reads eight bytes at any bit without a test; the comparison with what is left stays. */
static bool add_block(struct gap_reader *r, const uint8_t *symbols, uint32_t *pos)
{
    struct bit_reader *extra = &r->group.rest[r->sub];
    uint64_t at = r->pos, bit = extra->pos;
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint32_t s = symbols[i], n = r->far_bits[s];
        uint64_t more = load_le64(extra->bytes + (bit >> 3)) >> (bit & 7);
        uint64_t gap = r->far_base[s] + (more & ((UINT64_C(1) << n) - 1));
        if (gap >= r->count - at)
            return false;
        at += gap;
        bit += n;
        pos[i] = (uint32_t)at++;
    }
    r->pos = at;
    extra->pos = bit;
    return true;
}

/* All sums below block_max fit, as the caller tested. */
static void add_direct(struct gap_reader *r, const uint8_t *symbols, uint32_t *pos)
{
    uint32_t at = (uint32_t)r->pos;
    for (uint32_t i = 0; i < BLOCK; i++) {
        at += symbols[i];
        pos[i] = at++;
    }
    r->pos += at - (uint32_t)r->pos; /* at may have become 2^32 = 0 */
}

/* One test for sixteen symbols: a direct one has no bit above direct_bits. */
static bool all_direct(const uint8_t *symbols, uint32_t direct_bits)
{
    uint64_t a = load_le64(symbols) | load_le64(symbols + 8);
    uint64_t high = UINT64_C(0x0101010101010101) * (0xffu & ~((1u << direct_bits) - 1));
    return (a & high) == 0;
}

/* The fast way where all are direct; the middle one elsewhere; the careful one near the end. */
static bool expand_gaps(struct gap_reader *r, uint32_t *pos, uint32_t n)
{
    const uint8_t *s = r->symbols + r->at;
    uint32_t i = 0, direct_bits = r->table->direct_bits;
    uint64_t block_max = (uint64_t)BLOCK << direct_bits;
    for (; i + BLOCK <= n; i += BLOCK) {
        bool ok = true;
        if (all_direct(s + i, direct_bits) && r->count - r->pos >= block_max)
            add_direct(r, s + i, pos + i);
        else if (has_extra_slack(&r->group.rest[r->sub]))
            ok = add_block(r, s + i, pos + i);
        else
            ok = add_careful(r, s + i, BLOCK, pos + i);
        if (!ok)
            return false;
    }
    if (!add_careful(r, s + i, n - i, pos + i))
        return false;
    r->at += n;
    r->left -= n;
    return true;
}

/* The next patterns of this sub-stream as one word of elements: eight symbols, or one at its end.

 * Eight patterns of 8 bits are a word, eight of 4 half of one. */
static void next_word(struct gap_reader *r)
{
    const uint8_t *s = r->symbols + r->at;
    uint32_t w = r->table->pattern_bits, n = r->sub_end - r->at >= 8 ? 8 : 1;
    r->word_at = r->pos;
    if (n == 1) {
        r->word = *s;
    } else if (w == 8) {
        r->word = load_le64(s);
    } else {
        uint64_t v =
            load_le64(s); /* nibbles in bytes: bring neighbours together, twice and again */
        v = (v | v >> 4) & UINT64_C(0x00ff00ff00ff00ff);
        v = (v | v >> 8) & UINT64_C(0x0000ffff0000ffff);
        r->word = (v | v >> 16) & UINT64_C(0xffffffff);
    }
    r->at += n;
    r->pos += (uint64_t)n * w;
}

/* Nonzeros of a word whose elements all lie inside the tensor. Four at a time, whether there are
 * so many or not: what is written too much lies inside pos and is overwritten later. The top bit
 * keeps the count of trailing zeros defined when none is left. ctz of a word with bit 63 set is
 * at most 63, so base + it stays in 32 bits. */
static uint32_t word_positions(uint64_t word, uint32_t base, uint32_t *pos)
{
    uint32_t n = count_ones64(word);
    for (uint32_t i = 0; i < n; i += 4)
        for (uint32_t k = 0; k < 4; k++) {
            pos[i + k] = base + (uint32_t)__builtin_ctzll(word | UINT64_C(1) << 63);
            word &= word - 1;
        }
    return n;
}

/* Up to n element numbers from the word at hand and those behind it in this sub-stream. Words
 * that lie inside of the tensor take the fast way; the last one is tested bit by bit. */
static bool expand_patterns(struct gap_reader *r, uint32_t *pos, size_t n, size_t *done)
{
    size_t i = 0;
    for (;;) {
        if (n - i >= 64 && r->count - r->word_at >= 64) {
            i += word_positions(r->word, (uint32_t)r->word_at, pos + i);
            r->word = 0;
        }
        for (; r->word && i < n; i++) {
            uint32_t b = (uint32_t)__builtin_ctzll(r->word);
            if (b >= r->count - r->word_at)
                return false;
            pos[i] = (uint32_t)r->word_at + b;
            r->word &= r->word - 1;
        }
        if (i == n || r->at == r->sub_end)
            break;
        next_word(r);
    }
    *done = i;
    r->left -= i;
    return true;
}

/* All nonzeros were delivered: whatever symbols are left must be empty patterns, and every
 * sub-stream must end properly. The stream has a symbol for each pattern of the tensor, whatever
 * they hold. */
static bool finish(struct gap_reader *r)
{
    if (r->word)
        return false;
    for (;;) {
        for (; r->at < r->sub_end; r->at++)
            if (!r->table->patterns || r->symbols[r->at])
                return false;
        if (r->sub + 1 >= r->group.n_subs && r->stream.next == r->stream.n_subs)
            return r->stream.n_subs == 0 || br_at_end(&r->group.rest[r->sub]);
        if (!next_sub_stream(r))
            return false;
    }
}

/* Not called for more than there are: left is the caller's promise of the head. */
enum pith_status pith_gap_next(struct gap_reader *r, uint32_t *pos, size_t n)
{
    if (n > r->left)
        return PITH_ERR_CORRUPT;
    while (n) {
        size_t done;
        if (r->at == r->sub_end && !r->word && !next_sub_stream(r))
            return PITH_ERR_CORRUPT;
        if (r->table->patterns) {
            if (!expand_patterns(r, pos, n, &done))
                return PITH_ERR_CORRUPT;
        } else {
            done = r->sub_end - r->at < n ? r->sub_end - r->at : n;
            if (!expand_gaps(r, pos, (uint32_t)done))
                return PITH_ERR_CORRUPT;
        }
        pos += done;
        n -= done;
    }
    return r->left || finish(r) ? PITH_OK : PITH_ERR_CORRUPT;
}
