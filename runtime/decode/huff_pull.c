/* SPDX-License-Identifier: MIT */
/* huff_pull.c - see huff_pull.h. Codes are told apart bit by bit: those of a length are
 * neighbours in canonical order, so the first of each length and how many there are say what a
 * code means.
 *
 * Bit by bit is slower than by table, and needs none: a decode table of 11
 * bits is 8 KB, more than many microcontrollers have left. */
#include "decode/huff_pull.h"

/* Symbols in canonical order: by length, then by number. Two loops instead of a sort. */
static void set_codes(struct huff_pull *p, const struct huff_lengths *lengths)
{
    uint32_t at = 0;
    p->single = lengths->n_present == 1;
    p->max_len = lengths->max_len;
    p->symbol[0] = (uint8_t)(lengths->n_symbols - 1);
    for (uint32_t l = 1; l <= lengths->max_len; l++)
        for (uint32_t s = 0; s < lengths->n_symbols; s++)
            if (lengths->len[s] == l) {
                p->symbol[at++] = (uint8_t)s;
                p->count[l]++;
            }
}

/* No entries and table_bits: pith_huff_stream_group() is never called on this stream. */
enum pith_status pith_huff_pull_open(struct huff_pull *p, const struct huff_lengths *lengths,
                                     const uint8_t *bytes, size_t n_bytes, uint64_t n, bool extra)
{
    memset(p, 0, sizeof *p);
    p->extra = extra;
    set_codes(p, lengths);
    return pith_huff_stream_open(&p->stream, bytes, n_bytes, n, NULL, NULL, 0);
}

static bool ended(const struct huff_pull *p)
{
    return p->left == 0 && (p->extra || p->stream.next == 0 || br_at_end(&p->bits));
}

/* As cut_group() of huff_decode.c, one sub-stream. */
bool pith_huff_pull_sub(struct huff_pull *p)
{
    struct huff_stream *s = &p->stream;
    if (!ended(p) || s->next == s->n_subs)
        return false;
    uint64_t j = s->next++;
    p->left =
        (uint32_t)(huff_sub_begin(s->n, s->n_subs, j + 1) - huff_sub_begin(s->n, s->n_subs, j));
    size_t size = s->n_bytes;
    if (s->next < s->n_subs) /* the directory was checked: all fit */
        size = (size_t)s->base + br_bits(&s->sizes, s->width);
    p->bits = bit_reader_of(s->bytes, size);
    s->bytes += size;
    s->n_bytes -= size;
    return true;
}

bool pith_huff_pull(struct huff_pull *p, uint8_t *symbol)
{
    while (p->left == 0)
        if (!pith_huff_pull_sub(p))
            return false;
    p->left--;
    *symbol = p->symbol[0];
    if (p->single)
        return true;
    /* first is the smallest code of a length, at its place among the symbols; canonical codes of
     * a length are consecutive. */
    uint32_t ahead = br_peek(&p->bits), code = 0, first = 0, at = 0;
    for (uint32_t l = 1; l <= p->max_len; l++, ahead >>= 1) {
        uint32_t n = p->count[l];
        code |= ahead & 1;
        if (code - first < n) {
            *symbol = p->symbol[at + code - first];
            br_skip(&p->bits, l);
            return !p->bits.bad;
        }
        at += n;
        first = (first + n) << 1;
        code <<= 1;
    }
    return false; /* not reached: the code is complete */
}

bool pith_huff_pull_ended(const struct huff_pull *p)
{
    return p->stream.next == p->stream.n_subs && ended(p);
}
