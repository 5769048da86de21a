/* SPDX-License-Identifier: MIT */
/* weight_rows.c - see weight_rows.h. weight_decoder.h's readers deliver chunks from buffers and
 * decode tables; these deliver one stored element at a time and keep neither. The element behind
 * the one at hand is always known (`at`), so that a row ends where its last stored element does.
 *
 * Slower than those by the table look-ups that it does without, and bit for bit as strict:
 * pith_weight_rows_check() accepts exactly what expanding accepts, so that run() needs no
 * status. */
#include "core/build_choice.h"
#include "decode/weight_rows.h"
#include "decode/class_decode.h"
#include "decode/codebook_decode.h"
#include "decode/gap_decode.h"
#include "decode/huff_pull.h"
#include "kernels/kernels.h"
#include "decode/rans_decode.h"
#include "decode/plane_pull.h"
#include "decode/weight_kind.h"
#include "pith_runtime.h"

/* Structs and counters; no vectors here. */
#define ALIGN 8u
#define NO_ELEMENT UINT64_MAX
#define FEWEST_BY_TABLE 1024u /* else the table is more than what it saves */
#define CHECKED_AT_ONCE 256u

/* Coded gaps or patterns. The extra bits of a sub-stream stand behind all its codes: a second
 * pull walks through those first. Two pulls over one stream cost its decoding twice, and no
 * memory for symbols. */
struct gap_pull {
    struct huff_pull *codes;
    struct bit_reader extra;
    bool patterns;
    uint8_t direct_bits, mantissa_bits, pattern_bits;
    uint32_t word;    /* patterns: elements stored of the last one, not yet delivered */
    uint64_t word_at; /* element of its bit 0 */
    uint64_t pos;     /* first element not yet decided */
};

struct rans_rows {
    struct rans_table table;
    struct rans_stream stream;
};

/* Everything of a reader; which pointers are set says what the weight is made of. */
struct weight_rows {
    const struct weight *w;
    bool broken;
    uint64_t begin, end; /* elements of the row at hand */
    uint64_t at;         /* the stored element at hand; NO_ELEMENT: no more */
    uint64_t taken, n_values;
    union {
        float f32;
        int8_t i8;
    } value; /* of the element at hand, GRID_PLAIN of adaptive streams and byte planes */
    uint8_t index;
    uint64_t group_end;
    struct codebook_reader codebooks;
    float *codebook;     /* [n_centroids]; these eight where w has a use for one */
    int8_t *codebook_i8; /* the same of a weight of that type, a quarter as large */
    struct gap_pull *gaps;
    struct huff_pull *indices;
    uint16_t *entries; /* pith_huff_pull_table; NULL: none */
    struct adaptive *floats;
    struct classes *classes;
    struct plane_pull *planes;
    struct rans_rows *rans;
};

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Kernels of more than the reference, or threads, mean a machine with memory. */
bool pith_weight_alone(const struct op_env *env)
{
    return env->kernels->features == 0 && !env->parallel_for &&
           !(env->flags & PITH_FLAG_DENSE_ONLY);
}

bool pith_weight_rows_wanted(const struct op_env *env, const struct weight *w)
{
    return w && pith_weight_alone(env) && !(env->flags & PITH_FLAG_DECODE_ONCE) &&
           !pith_weight_borrow(w);
}

/* 0 of a table that cannot be read: opening the weight will fail on it. As in weight_open.c: sizes
 * are computed before anything is known to be valid. */
static size_t gap_bytes(const struct weight *w)
{
    struct support_lengths table;
    if (!uses_gaps(w) || pith_support_read_table(w->gap_table.bytes, w->gap_table.n_bytes, &table))
        return 0;
    return aligned(sizeof(struct gap_pull)) + huff_pull_bytes(&table.huff);
}

/* Rows of bytes with one codebook, of which a table has the values. */
static bool by_table(const struct weight *w, const struct huff_lengths *lengths)
{
    return w->type == PITH_I8 && !is_sparse(w) && w->n_groups == 1 && w->count >= FEWEST_BY_TABLE &&
           lengths->n_present > 1;
}

/* Of the table; while the reader is opened, the lengths stand there. */
static size_t entries_bytes(const struct weight *w, const struct huff_lengths *lengths)
{
    const size_t table =
        by_table(w, lengths) ? pith_huff_pull_table_entries(lengths) * sizeof(uint16_t) : 0;
    return aligned(table > sizeof *lengths ? table : sizeof *lengths);
}

static size_t index_bytes(const struct weight *w)
{
    struct huff_lengths lengths;
    struct bit_reader table = bit_reader_of(w->index_table.bytes, w->index_table.n_bytes);
    if (!uses_index_table(w))
        return 0;
    if (pith_huff_read_lengths(&table, &lengths))
        return aligned(sizeof lengths); /* the reader reads them there, to refuse them */
    return huff_pull_bytes(&lengths) + entries_bytes(w, &lengths);
}

static size_t codebook_bytes(const struct weight *w)
{
    return aligned(w->n_centroids * (w->type == PITH_I8 ? sizeof(int8_t) : sizeof(float)));
}

/* Exactly what opening takes. */
size_t pith_weight_rows_bytes(const struct weight *w)
{
    size_t bytes = aligned(sizeof(struct weight_rows)) + gap_bytes(w) + index_bytes(w);
    if (has_codebook(w))
        bytes += codebook_bytes(w);
    if (has_adaptive_floats(w))
        bytes += aligned(sizeof(struct adaptive));
    if (uses_classes(w))
        bytes += aligned(sizeof(struct classes)) + aligned(pith_classes_bytes(w, false));
    if (has_planes(w))
        bytes += aligned(sizeof(struct plane_pull)) + pith_plane_pull_bytes(w);
    if (uses_rans(w))
        bytes += aligned(sizeof(struct rans_rows));
    return (bytes + 63) & ~(size_t)63;
}

/* Pieces are multiples of ALIGN, so each begins aligned; pith_weight_rows_bytes adds up the same
 * pieces. */
static void *take(uint8_t **mem, size_t bytes)
{
    void *p = *mem;
    *mem += aligned(bytes);
    return p;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* A table of gaps has been read by pith_support_read_table, so its bits are in range (next_gap). */
static bool open_gaps(struct weight_rows *r, uint8_t **mem)
{
    const struct weight *w = r->w;
    struct support_lengths table;
    if (pith_support_read_table(w->gap_table.bytes, w->gap_table.n_bytes, &table) ||
        w->count > UINT32_MAX)
        return false;
    struct gap_pull *g = r->gaps = take(mem, sizeof *g);
    memset(g, 0, sizeof *g);
    g->codes = take(mem, huff_pull_bytes(&table.huff));
    g->patterns = table.patterns;
    g->direct_bits = table.direct_bits;
    g->mantissa_bits = table.mantissa_bits;
    g->pattern_bits = table.pattern_bits;
    return !pith_huff_pull_open(g->codes, &table.huff, w->support_stream,
                                support_symbols(&table, w->count, w->nnz), !table.patterns);
}

/* The sizes must match exactly: no byte of a stream may be left over. */
static bool open_support(struct weight_rows *r, uint8_t **mem)
{
    const struct weight *w = r->w;
    size_t bytes = w->support_stream.n_bytes;
    switch (w->support) {
    case SUPPORT_DENSE:
        return bytes == 0 && w->nnz == w->count;
    case SUPPORT_BITMAP:
        return bitmap_size_ok(w);
    case SUPPORT_GAPS:
        return uses_gaps(w) ? open_gaps(r, mem) : bytes == 0;
    case SUPPORT_ADAPTIVE:
        return uses_classes(w);
    }
    return false;
}

static bool open_indices(struct weight_rows *r, uint8_t **mem)
{
    const struct weight *w = r->w;
    struct huff_lengths *lengths = (void *)*mem;
    struct bit_reader table = bit_reader_of(w->index_table.bytes, w->index_table.n_bytes);
    if (pith_huff_read_lengths(&table, lengths) || !br_at_end(&table))
        return false;
    void *entries = take(mem, entries_bytes(w, lengths));
    if (by_table(w, lengths) && lengths->n_symbols <= w->n_centroids)
        r->entries = entries;
    r->indices = take(mem, huff_pull_bytes(lengths));
    return !pith_huff_pull_open(r->indices, lengths, w->index_stream, r->n_values, false);
}

static bool open_rans(struct weight_rows *r, uint8_t **mem)
{
    const struct weight *w = r->w;
    struct rans_rows *c = r->rans = take(mem, sizeof *r->rans);
    return !pith_rans_read_table(w->index_table.bytes, w->index_table.n_bytes, &c->table) &&
           !pith_rans_open(&c->stream, w->index_stream, r->n_values, &c->table, NULL, 0);
}

/* One group's codebook at a time. */
static bool open_codebook(struct weight_rows *r, uint8_t **mem)
{
    const struct weight *w = r->w;
    if (!codebook_size_ok(w))
        return false;
    void *codebook = take(mem, codebook_bytes(w));
    r->codebook = w->type == PITH_I8 ? NULL : codebook;
    r->codebook_i8 = w->type == PITH_I8 ? codebook : NULL;
    return !pith_codebook_open(&r->codebooks, w->codebook.bytes, w->codebook.n_bytes, w->n_groups,
                               w->n_centroids);
}

/* Of these codes a weight has one; the pointers that are set select the reader. */
static bool open_values(struct weight_rows *r, uint8_t **mem)
{
    const struct weight *w = r->w;
    if (has_codebook(w) && !open_codebook(r, mem))
        return false;
    if (has_adaptive_floats(w)) {
        r->floats = take(mem, sizeof *r->floats);
        return !pith_adaptive_open(r->floats, w, NULL);
    }
    if (uses_classes(w)) {
        r->classes = take(mem, sizeof *r->classes);
        return !pith_classes_open(r->classes, w, take(mem, pith_classes_bytes(w, false)), false);
    }
    if (has_planes(w)) {
        r->planes = take(mem, sizeof *r->planes);
        return pith_plane_pull_open(r->planes, w, *mem);
    }
    if (!has_codebook(w))
        return pith_plain_size_ok(&w->index_stream, r->n_values, 8 * plain_bytes(w));
    if (uses_index_table(w))
        return open_indices(r, mem);
    if (uses_rans(w))
        return open_rans(r, mem);
    return pith_plain_indices_ok(w, r->n_values);
}

/* ---- positions ------------------------------------------------------------------------------ */

/* From the bit behind the last; whole bytes without a bit are passed over. */
static uint64_t next_in_bitmap(const struct weight_rows *r, uint64_t from)
{
    const uint8_t *bytes = r->w->support_stream.bytes;
    uint64_t end = r->w->support_stream.n_bytes;
    for (uint64_t at = from / 8; at < end; at++) {
        uint32_t bits = bytes[at];
        if (at == from / 8)
            bits &= 0xffu << (from % 8);
        if (bits)
            return at * 8 + (uint32_t)__builtin_ctz(bits);
    }
    return NO_ELEMENT;
}

/* The extra bits of the sub-stream that begins: behind its codes. The first pull runs to the end
 * of the codes to learn where the extra bits begin, and is set back. */
static bool find_extra(struct gap_pull *g)
{
    uint8_t symbol;
    bool first = g->codes->stream.next == 0;
    if ((!first && !br_at_end(&g->extra)) || !pith_huff_pull_sub(g->codes))
        return false;
    struct bit_reader begin = g->codes->bits;
    uint32_t n = g->codes->left;
    while (g->codes->left)
        if (!pith_huff_pull(g->codes, &symbol))
            return false;
    g->extra = g->codes->bits;
    g->codes->bits = begin;
    g->codes->left = n;
    return true;
}

/* As add_careful() of gap_decode.c. */
static bool next_gap(struct gap_pull *g, uint64_t count, uint64_t *at)
{
    uint8_t symbol;
    uint32_t d = g->direct_bits, m = g->mantissa_bits, gap;
    while (g->codes->left == 0)
        if (!find_extra(g))
            return false;
    if (!pith_huff_pull(g->codes, &symbol))
        return false;
    gap = symbol;
    if (symbol >> d) {
        uint32_t t = symbol - (1u << d), bits = d + (t >> m) - m; /* 0..31: the table was checked */
        gap = (((1u << m) + (t & ((1u << m) - 1))) << bits) + br_bits(&g->extra, bits);
    }
    if (g->extra.bad || gap >= count - g->pos)
        return false;
    *at = g->pos + gap;
    g->pos = *at + 1;
    return true;
}

/* false: no pattern is left, or the stream is broken. */
static bool next_pattern(struct gap_pull *g)
{
    uint8_t symbol;
    if (!pith_huff_pull(g->codes, &symbol))
        return false;
    g->word = symbol;
    g->word_at = g->pos;
    g->pos += g->pattern_bits;
    return true;
}

/* A pattern may reach past the last element; a bit there is an error. */
static bool next_of_patterns(struct gap_pull *g, uint64_t count, uint64_t *at)
{
    while (g->word == 0)
        if (!next_pattern(g))
            return false;
    *at = g->word_at + (uint32_t)__builtin_ctz(g->word);
    g->word &= g->word - 1;
    return *at < count;
}

/* All nonzeros were delivered: what is left must be empty, and end as it must. For gaps also
 * that extra bits end in padding. */
static bool gaps_end(struct gap_pull *g)
{
    if (!g->patterns) {
        while (g->codes->left == 0 && g->codes->stream.next < g->codes->stream.n_subs)
            if (!find_extra(g))
                return false;
        return pith_huff_pull_ended(g->codes) && br_at_end(&g->extra);
    }
    while (g->word == 0)
        if (!next_pattern(g))
            return pith_huff_pull_ended(g->codes);
    return false;
}

static bool support_ends(struct weight_rows *r)
{
    if (uses_gaps(r->w))
        return gaps_end(r->gaps);
    if (has_bitmap(r->w))
        return next_in_bitmap(r, r->taken ? r->at + 1 : 0) == NO_ELEMENT;
    return true;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* Eight fields of b bits are b bytes; an index is in two of them at most. Two bytes at most: 8
 * bits at any place. */
static uint32_t plain_index(const struct weight *w, uint64_t i)
{
    uint32_t b = w->index_bits, bit = (uint32_t)(i % 8) * b;
    size_t at = (size_t)(i / 8 * b + bit / 8);
    uint32_t word = w->index_stream.bytes[at];
    if (at + 1 < w->index_stream.n_bytes)
        word |= (uint32_t)w->index_stream.bytes[at + 1] << 8;
    return word >> (bit % 8) & ((1u << b) - 1);
}

/* Indices in files are not trusted: each is compared with the number of centroids before it is
 * used. */
static bool next_index(struct weight_rows *r)
{
    if (uses_index_table(r->w)) {
        if (!pith_huff_pull(r->indices, &r->index))
            return false;
    } else if (uses_rans(r->w)) {
        if (!pith_rans_pull(&r->rans->stream, &r->index))
            return false;
    } else {
        r->index = (uint8_t)plain_index(r->w, r->taken);
    }
    return r->index < r->w->n_centroids;
}

static bool next_codebook(struct weight_rows *r)
{
    r->group_end += r->w->group_elems;
    return r->codebook_i8 ? !pith_codebook_next_i8(&r->codebooks, r->codebook_i8)
                          : !pith_codebook_next(&r->codebooks, r->codebook);
}

/* The next element's number; dense supports count. */
static bool next_position(struct weight_rows *r)
{
    if (!is_sparse(r->w)) {
        r->at = r->taken;
        return true;
    }
    if (has_bitmap(r->w)) {
        r->at = next_in_bitmap(r, r->taken ? r->at + 1 : 0);
        return r->at < r->w->count;
    }
    return uses_gaps(r->w) && (r->gaps->patterns ? next_of_patterns(r->gaps, r->w->count, &r->at)
                                                 : next_gap(r->gaps, r->w->count, &r->at));
}

/* Positions come with the indices where the stream holds both. */
static bool next_of_classes(struct weight_rows *r)
{
    bool sparse = r->w->support == SUPPORT_ADAPTIVE;
    uint32_t pos = (uint32_t)r->taken;
    if (!sparse && !next_position(r))
        return false;
    if (pith_classes_next(r->classes, sparse ? &pos : NULL, &r->index, 1))
        return false;
    if (sparse)
        r->at = pos;
    return true;
}

/* One stored element: where, which index, which codebook. The loop skips codebooks of groups that
 * have no stored element. */
static bool take_element(struct weight_rows *r)
{
    const struct weight *w = r->w;
    if (uses_classes(w)) {
        if (!next_of_classes(r))
            return false;
    } else if (!next_position(r) || (has_codebook(w) && !next_index(r)) ||
               (has_adaptive_floats(w) && pith_adaptive_floats(r->floats, &r->value.f32, 1)) ||
               (has_planes(w) && !pith_plane_pull(r->planes, &r->value.f32))) {
        return false;
    }
    while (has_codebook(w) && r->at >= r->group_end)
        if (!next_codebook(r))
            return false;
    r->taken++;
    return true;
}

/* Goes on to the next stored element. From here on errors cannot occur: the weight was checked
 * when the plan was made; `broken` only keeps a changed image from being read past. */
static inline void advance(struct weight_rows *r)
{
    if (r->taken == r->n_values || r->broken) {
        r->at = NO_ELEMENT;
    } else if (!take_element(r)) {
        r->broken = true;
        r->at = NO_ELEMENT;
    }
}

/* `taken` has moved on to the element behind the one at hand. */
static inline float value_f32(const struct weight_rows *r)
{
    float v;
    if (r->codebook)
        return r->codebook[r->index];
    if (r->codebook_i8)
        return r->codebook_i8[r->index];
    if (r->floats || r->planes)
        return r->value.f32;
    pith_weight_elements(r->w, r->taken - 1, 1, &v);
    return v;
}

static inline int8_t value_i8(const struct weight_rows *r)
{
    if (r->codebook_i8)
        return r->codebook_i8[r->index];
    return (int8_t)r->w->index_stream.bytes[r->taken - 1];
}

/* The memory may hold anything before; pointers must be NULL where a part is not used. */
static bool open_reader(struct weight_rows *r, const struct weight *w, uint8_t *mem)
{
    memset(r, 0, sizeof *r);
    r->w = w;
    r->n_values = stored_values(w);
    r->at = NO_ELEMENT;
    return open_support(r, &mem) && open_values(r, &mem);
}

/* With the first element the codebook is there. */
static void build_table(const struct weight_rows *r)
{
    if (BUILT_PART(HUFFMAN) && r->entries)
        pith_huff_pull_table(r->indices, r->codebook_i8, r->entries);
}

struct weight_rows *pith_weight_rows_open(const struct weight *w, void *mem)
{
    struct weight_rows *r = mem;
    r->broken = !open_reader(r, w, (uint8_t *)mem + aligned(sizeof *r));
    advance(r);
    if (!r->broken)
        build_table(r);
    return r;
}

/* What only the end of a weight shows. Trailing padding, codebooks of groups without elements,
 * ends of streams. */
static bool ends(struct weight_rows *r, uint64_t last)
{
    const struct weight *w = r->w;
    r->at = last;
    bool ok = support_ends(r) && (!has_planes(w) || pith_plane_pull_ended(r->planes)) &&
              (!uses_index_table(w) || pith_huff_pull_ended(r->indices));
    if (has_codebook(w) && w->code == CODE_PLAIN && r->n_values)
        ok = ok && pith_plain_padding_ok(w, r->n_values);
    while (ok && has_codebook(w) && r->codebooks.groups_left)
        ok = next_codebook(r);
    return ok;
}

/* Every element is decoded once, and the result is thrown away. */
enum pith_status pith_weight_rows_check(const struct weight *w, void *mem)
{
    struct weight_rows *r = mem;
    uint64_t last = 0;
    if (!open_reader(r, w, (uint8_t *)mem + aligned(sizeof *r)))
        return PITH_ERR_CORRUPT;
    for (uint64_t left; (left = r->n_values - r->taken) > 0;) {
        int8_t unused[CHECKED_AT_ONCE];
        if (!take_element(r))
            return PITH_ERR_CORRUPT;
        last = r->at;
        if (r->taken == 1)
            build_table(r);
        if (BUILT_PART(HUFFMAN) && r->entries) /* all of its symbols are indices; dense */
            r->taken += pith_huff_pull_bytes(r->indices, r->entries, unused, CHECKED_AT_ONCE);
    }
    return ends(r, last) ? PITH_OK : PITH_ERR_CORRUPT;
}

/* A row is the next n elements, whatever shape the tensor has. */
void pith_weight_rows_begin(struct weight_rows *r, uint32_t n)
{
    r->begin = r->end;
    r->end += n;
}

bool pith_weight_rows_next(struct weight_rows *r, uint32_t *k, float *value)
{
    if (r->at >= r->end)
        return false;
    *k = (uint32_t)(r->at - r->begin);
    *value = value_f32(r);
    advance(r);
    return true;
}

void pith_weight_rows_skip(struct weight_rows *r, uint32_t n)
{
    pith_weight_rows_begin(r, n);
    while (r->at < r->end)
        advance(r);
}

/* Rows as operators want them: dense, zeros included. */
void pith_weight_rows_f32(struct weight_rows *r, float *dst, uint32_t n)
{
    pith_weight_rows_begin(r, n);
    memset(dst, 0, n * sizeof *dst);
    for (; r->at < r->end; advance(r))
        dst[r->at - r->begin] = value_f32(r);
}

void pith_weight_rows_i8(struct weight_rows *r, int8_t *dst, uint32_t n)
{
    pith_weight_rows_begin(r, n);
    if (!r->entries || r->broken)
        memset(dst, 0, n);
    while (r->at < r->end) {
        int8_t *to = dst + (r->at - r->begin);
        *to = value_i8(r);
        if (BUILT_PART(HUFFMAN) && r->entries)
            r->taken += pith_huff_pull_bytes(r->indices, r->entries, to + 1,
                                             (uint32_t)(r->end - r->at - 1));
        advance(r);
    }
}

/* One sum in a register; the others of more rows of x where they end up. Ascending k and no zero
 * terms: the order of the reference kernel on the dense row, but for the zeros it adds. */
void pith_weight_rows_dot(struct weight_rows *r, const float *x, uint32_t n, float *sum, uint32_t m,
                          size_t sum_step)
{
    float only = 0.0f;
    pith_weight_rows_begin(r, n);
    for (uint32_t i = 0; i < m; i++)
        sum[i * sum_step] = 0.0f;
    for (; r->at < r->end; advance(r)) {
        float w = value_f32(r);
        const float *at = x + (size_t)(r->at - r->begin);
        if (m == 1)
            only += w * *at;
        for (uint32_t i = 0; i < m && m > 1; i++)
            sum[i * sum_step] += w * at[i * (size_t)n];
    }
    if (m == 1)
        *sum = only;
}
