/* SPDX-License-Identifier: MIT */
/* The decoder of rANS streams (Duda, 2014, arXiv 1311.2540; interleaved as Giesen, 2014, arXiv
 * 1402.3392). Symbol i of a block belongs to state i % 32; all states take their words from one run
 * of them, in the order of the symbols.
 *
 * A row of 32 symbols takes 64 bytes of words at most, and kernels require them before each. Where
 * a block has fewer left, its last words are copied in front of zeros, and the rows go on there:
 * the one test is whether they took more than there was. */
#include "decode/rans_decode.h"

/* Blocks begin with their 32 states. */
#define STATE_BYTES (4u * RANS_LANES)

/* ---- blocks ---------------------------------------------------------------------------------- */

struct block_size {
    uint64_t words, escapes; /* bytes */
};

/* Sizes in words of two bytes: states are renewed by 16 bits. */
static struct block_size next_size(const struct rans_stream *s, struct reader *r)
{
    struct block_size size = {2 * rd_varint(r, UINT64_C(1) << RANS_MAX_BLOCK), 0};
    if (s->table->escapes)
        size.escapes = rd_varint(r, UINT64_C(1) << RANS_MAX_BLOCK);
    return size;
}

/* All sizes, and behind them exactly the blocks. The directory is read twice, once here to test
 * it. */
static bool read_directory(struct rans_stream *s, struct reader r)
{
    uint64_t n_blocks = s->left / s->block_symbols + (s->left % s->block_symbols != 0), bytes = 0;
    s->sizes = r;
    for (uint64_t i = 0; i < n_blocks && !r.bad; i++) {
        struct block_size size = next_size(s, &r);
        bytes += STATE_BYTES + size.words + size.escapes; /* < 2^26, of < 2^28 blocks */
    }
    s->next = r.p;
    return !r.bad && bytes == r.left;
}

/* A single symbol takes no bits, hence no stream. */
enum pith_status pith_rans_open(struct rans_stream *s, struct stream stream, uint64_t n,
                                const struct rans_table *table, const uint32_t *entries,
                                uint32_t features)
{
    struct reader r = reader_of(stream.bytes, stream.n_bytes);
    struct decode_kernels kernels;
    pith_decode_kernels_fill(&kernels, features);
    memset(s, 0, sizeof *s);
    s->table = table;
    s->entries = entries;
    s->rows = kernels.rans_rows;
    s->left = n;
    if (table->single || n == 0)
        return stream.n_bytes == 0 ? PITH_OK : PITH_ERR_CORRUPT;
    uint32_t bits = rd_u8(&r);
    if (bits < RANS_MIN_BLOCK || bits > RANS_MAX_BLOCK)
        return PITH_ERR_CORRUPT;
    s->block_symbols = 1u << bits;
    return read_directory(s, r) ? PITH_OK : PITH_ERR_CORRUPT;
}

/* The escapes of a block stand behind its words. */
static void open_block(struct rans_stream *s)
{
    struct block_size size = next_size(s, &s->sizes);
    s->block_left = s->left < s->block_symbols ? (uint32_t)s->left : s->block_symbols;
    s->lane = 0;
    for (uint32_t i = 0; i < RANS_LANES; i++)
        s->state[i] = load_le32(s->next + 4 * i);
    s->words = s->next + STATE_BYTES;
    s->words_end = s->words + size.words;
    s->escapes = bit_reader_of(s->words_end, (size_t)size.escapes);
    s->next = s->words_end + size.escapes;
}

/* Every state is back at what the encoder began with, and nothing is left over. An encoder
 * begins with RANS_LOW and works backwards, so that is where a decoder must end: a check of 32
 * words a block. */
static bool block_ends(const struct rans_stream *s)
{
    bool ok = s->words == s->words_end && br_at_end(&s->escapes);
    for (uint32_t i = 0; i < RANS_LANES; i++)
        ok = ok && s->state[i] == RANS_LOW;
    return ok;
}

void pith_rans_skip(struct rans_stream *s, uint64_t n_blocks)
{
    for (; n_blocks > 0; n_blocks--) {
        open_block(s);
        s->left -= s->block_left;
        s->block_left = 0;
    }
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* The state behind a symbol of this entry; a word is taken from *at where it is needed. One
 * renewal is enough: frequency >= 1 keeps x above 2^16 times what one word adds. */
static uint32_t step(uint32_t x, uint32_t frequency, uint32_t distance, const uint8_t **at)
{
    x = frequency * (x >> RANS_BITS) + distance;
    if (x < RANS_LOW) {
        x = x << 16 | load_le16(*at);
        *at += 2;
    }
    return x;
}

/* n < RANS_LANES symbols, the last ones of a block. Lanes that have no symbol in a partial row
 * keep their state. */
static const uint8_t *part_of_row(struct rans_stream *s, const uint8_t *at, uint8_t *dst,
                                  uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t e = s->entries[s->state[i] % RANS_SLOTS];
        dst[i] = (uint8_t)e;
        s->state[i] = step(s->state[i], e >> 20, e >> 8 & 0xfff, &at);
    }
    return at;
}

/* n symbols from where fewer words than a row may take are left, or less than a row of symbols.
 * Both buffers are read past their end, hence the copy in front of zeros. */
static bool last_symbols(struct rans_stream *s, uint8_t *dst, uint32_t n)
{
    uint8_t room[2 * RANS_ROW_BYTES] = {0};
    size_t left = (size_t)(s->words_end - s->words);
    left = left < RANS_ROW_BYTES ? left : RANS_ROW_BYTES; /* then no whole row is left */
    const uint8_t *at = room, *end = room + left + RANS_ROW_BYTES;
    memcpy(room, s->words, left);
    size_t rows = s->rows(s->state, s->entries, &at, end, dst, n / RANS_LANES);
    if (rows < n / RANS_LANES)
        return false;
    if ((size_t)(at - room) <= left)
        at = part_of_row(s, at, dst + rows * RANS_LANES, n % RANS_LANES);
    if ((size_t)(at - room) > left)
        return false;
    s->words += at - room;
    return true;
}

/* Bits of bytes of v: set where some byte up to there is 0, else none is. The classic test for a
 * zero byte (Mycroft 1987); only whether there is one is used. */
static uint64_t zero_bytes(uint64_t v)
{
    return (v - UINT64_C(0x0101010101010101)) & ~v & UINT64_C(0x8080808080808080);
}

/* A row without an escape. */
static bool row_is_plain(const uint8_t *row, uint64_t escapes)
{
    return (zero_bytes(load_le64(row) ^ escapes) | zero_bytes(load_le64(row + 8) ^ escapes) |
            zero_bytes(load_le64(row + 16) ^ escapes) |
            zero_bytes(load_le64(row + 24) ^ escapes)) == 0;
}

/* The symbol that an escape stands for. */
static bool next_rare(struct rans_stream *s, uint8_t *symbol)
{
    uint32_t i = br_bits(&s->escapes, s->table->rare_bits);
    *symbol = s->table->rare[i];
    return !s->escapes.bad && i < s->table->n_rare;
}

/* Each escape gives way to what it stands for. They are rare: a row is tested at once. A symbol
 * that is rare costs its escape and a plain number. */
static bool put_escapes(struct rans_stream *s, uint8_t *dst, uint32_t n)
{
    const uint64_t escapes = s->table->escape * UINT64_C(0x0101010101010101);
    for (uint32_t i = 0; i < n; i += RANS_LANES) {
        uint32_t m = n - i < RANS_LANES ? n - i : RANS_LANES;
        if (m == RANS_LANES && row_is_plain(dst + i, escapes))
            continue;
        for (uint32_t k = i; k < i + m; k++)
            if (dst[k] == s->table->escape && !next_rare(s, &dst[k]))
                return false;
    }
    return true;
}

/* n symbols of the block at hand. As many whole rows as the words surely suffice for, then the
 * rest with a test. */
static bool block_symbols(struct rans_stream *s, uint8_t *dst, uint32_t n)
{
    size_t rows = s->rows(s->state, s->entries, &s->words, s->words_end, dst, n / RANS_LANES);
    uint32_t done = (uint32_t)rows * RANS_LANES;
    if (done < n && !last_symbols(s, dst + done, n - done))
        return false;
    s->block_left -= n;
    s->left -= n;
    return (!s->table->escapes || put_escapes(s, dst, n)) && (s->block_left > 0 || block_ends(s));
}

/* Blocks are opened as they are reached. */
enum pith_status pith_rans_next(struct rans_stream *s, uint8_t *dst, uint64_t n)
{
    if (s->table->single) {
        memset(dst, s->table->n_symbols - 1, (size_t)n);
        s->left -= n;
        return PITH_OK;
    }
    while (n > 0) {
        if (s->block_left == 0)
            open_block(s);
        uint32_t m = n < s->block_left ? (uint32_t)n : s->block_left;
        if (!block_symbols(s, dst, m))
            return PITH_ERR_CORRUPT;
        dst += m;
        n -= m;
    }
    return PITH_OK;
}

/* ---- one symbol at a time -------------------------------------------------------------------- */

/* The largest symbol that begins at or before the slot. By bisection over starts, since a table
 * of all slots is 16 KB. */
static uint32_t symbol_at(const struct rans_table *t, uint32_t slot)
{
    uint32_t low = 0, high = t->n_symbols;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (t->start[middle] <= slot)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The test for a missing word comes before it is read. */
static bool pull_coded(struct rans_stream *s, uint32_t lane, uint8_t *symbol)
{
    const struct rans_table *t = s->table;
    uint32_t x = s->state[lane], slot = x % RANS_SLOTS, v = symbol_at(t, slot);
    uint32_t frequency = (uint32_t)t->start[v + 1] - t->start[v];
    *symbol = (uint8_t)v;
    if (frequency * (x >> RANS_BITS) + slot - t->start[v] < RANS_LOW && s->words == s->words_end)
        return false;
    s->state[lane] = step(x, frequency, slot - t->start[v], &s->words);
    return !t->escapes || v != t->escape || next_rare(s, symbol);
}

bool pith_rans_pull(struct rans_stream *s, uint8_t *symbol)
{
    if (s->left == 0)
        return false;
    if (s->table->single) {
        s->left--;
        *symbol = (uint8_t)(s->table->n_symbols - 1);
        return true;
    }
    if (s->block_left == 0)
        open_block(s);
    if (!pull_coded(s, s->lane, symbol))
        return false;
    s->lane = (s->lane + 1) % RANS_LANES;
    s->left--;
    s->block_left--;
    return s->block_left > 0 || block_ends(s);
}
