/* SPDX-License-Identifier: MIT */
/* The decoder of context-coded indices: what a stream begins with and ends with, around the
 * kernel of pith_kernel_context.h. An encoder ends with the lower end of its interval, all bits
 * of it, so what is left of a right stream is 0, and hardly ever of one that was changed.
 *
 * The code is a range coder whose symbols are classes of indices, with probabilities chosen by
 * what is left of and above the element, learned as it goes (the field's name: context-adaptive
 * arithmetic coding, as CABAC, Marpe et al. 2003). The kernel has the inner loop; here is what
 * is done once a stream. */
#include "build_choice.h"
#include "pith_context_decode.h"
#include "pith_adaptive_model.h"
#include "pith_codebook_decode.h"

/* Magnitudes in units that leave 14 fraction bits for averages. */
#define STEP 16384u     /* magnitude of a step; that of 255 is below 2^22 */
#define MEAN_CODES 120u /* means are below 2^23 */
#define APART_SEEN 4u   /* looks that stand behind an even distribution where zeros are apart */

/* The level "not stored" joins the centroids of a sparse tensor. */
static uint32_t levels(const struct weight *w)
{
    return w->n_centroids + (w->support != SUPPORT_DENSE);
}

/* Everything the coder's tables can hold. */
bool pith_context_allows(const struct weight *w)
{
    return PITH_BUILD_CONTEXT && w->grid == GRID_CODEBOOK && levels(w) <= 256 && w->nnz > 0 &&
           (w->support == SUPPORT_DENSE || w->support == SUPPORT_ADAPTIVE) &&
           (w->type == PITH_F32 || w->type == PITH_I8) && w->count <= ADAPTIVE_MAX;
}

/* A context looks above, so one average a column is kept. */
static uint64_t columns(const struct weight *w)
{
    return w->count / adaptive_rows(w);
}

size_t pith_context_bytes(const struct weight *w)
{
    return (size_t)columns(w) * sizeof(uint32_t);
}

/* Every symbol keeps a share of at least 2 / 65536, whatever is learned. */
static void set_alphabet(struct context_alphabet *a, uint32_t n)
{
    a->keep = (uint16_t)(65536 - 2 * n);
    for (uint32_t i = 0; i < CONTEXT_SYMBOLS; i++)
        a->least[i] = (uint16_t)(i + 1 < n ? 2 * (n - 1 - i) : 0);
}

/* All symbols alike, before anything was seen. */
static void set_even(uint16_t *more, uint32_t n)
{
    for (uint32_t i = 0; i + 1 < n; i++)
        more[i] = (uint16_t)(65536 * (n - 1 - i) / n);
}

/* Classes lie one behind the other and have all indices; only the last one may have fewer.
 * 2^bits indices a class; a symbol says the class, further bits the index in it. */
static bool set_classes(struct context_coder *c, const struct context_head *head)
{
    uint32_t first = 0;
    for (uint32_t k = 0; k < head->n_classes; k++) {
        if (first >= c->n_indices || head->bits[k] > CONTEXT_CLASS_BITS)
            return false;
        c->first[k] = (uint8_t)first;
        c->bits[k] = head->bits[k];
        first += 1u << head->bits[k];
        /* Four bits at most are learned; the others are close to even. */
        uint32_t learned = head->bits[k] < 4 ? head->bits[k] : 4;
        set_even(c->more[CONTEXT_REST_FIRST + k], 1u << learned);
    }
    return first >= c->n_indices;
}

/* Centroids ascend, so those below zero come first. */
bool pith_context_zero(const struct weight *w, uint32_t *negative, bool *has_zero)
{
    struct codebook_reader r;
    float value[256];
    uint32_t n = w->n_centroids, k = 0;
    if (pith_codebook_open(&r, w->codebook.bytes, w->codebook.n_bytes, w->n_groups, n) ||
        pith_codebook_next(&r, value))
        return false;
    while (k < n && f32_bits(value[k]) >> 31)
        k++;
    *negative = k;
    *has_zero = k < n && f32_bits(value[k]) == 0;
    return true;
}

/* Twice the steps from zero to an index; has_zero: zero is a level between those below and those
 * above it, whether it has an index or not. */
static int32_t twice_from_zero(const struct context_coder *c, int32_t index, bool has_zero)
{
    int32_t from = index - (int32_t)c->zero;
    return c->apart ? 2 * (from + (from >= 0)) : 2 * from + !has_zero;
}

/* What an element of a symbol tells the next one, where zero is told apart: its sign, and whether
 * it is below 3 steps, below 6, or not. */
static uint8_t before_of(int32_t twice)
{
    int32_t steps = (twice < 0 ? -twice : twice) / 2;
    return (uint8_t)(1 + 2 * ((steps >= 3) + (steps >= 6)) + (twice < 0));
}

/* How far the middles of classes are from zero; twice the middle, to stay in integers. */
static void set_magnitudes(struct context_coder *c, bool has_zero, uint32_t n_classes)
{
    for (uint32_t k = 0; k < n_classes; k++) {
        uint32_t end = k + 1 < n_classes ? c->first[k + 1] : c->n_indices;
        int32_t twice = (twice_from_zero(c, c->first[k], has_zero) +
                         twice_from_zero(c, (int32_t)end - 1, has_zero)) /
                        2;
        c->magnitude[k] = (uint32_t)(twice < 0 ? -twice : twice) * (STEP / 2);
        c->before[k] = c->apart ? before_of(twice) : (uint8_t)(k + 1);
    }
}

/* A distribution moves by 1 / (n + 1.5) at its n-th look: close to the mean of what it saw, worth
 * something after two. */
static void set_rates(struct context_coder *c)
{
    for (uint32_t i = 0; i < CONTEXT_RATES; i++)
        c->rate[i] = (uint16_t)(131072 / (2 * i + 3));
    for (uint32_t i = 0; i < CONTEXT_AVERAGES; i++)
        c->average_rate[i] = (uint16_t)(65536 / (i + 5));
}

/* log2 with three bits behind the point, the fraction taken as linear. */
static uint32_t eighths_log2(uint32_t x)
{
    uint32_t k = 31 - (uint32_t)__builtin_clz(x | 1);
    return k << 3 | ((x << 3 >> k) & 7);
}

/* Average, columns and activity begin at what the head expects. */
static void set_averages(struct context_coder *c, uint32_t mean_code)
{
    c->mean = ((8 + (mean_code & 7)) << (mean_code >> 3)) << 5;
    c->middle = 6 * eighths_log2(c->mean);
    for (uint32_t i = 0; i < c->cols; i++)
        c->column[i] = c->mean;
    c->walk.average = c->mean;
    c->walk.activity = (c->apart ? CONTEXT_DENSITIES : CONTEXT_ACTIVITIES) / 2;
}

/* A decision about a level needs one that is zero, and another. */
static bool set_zero(struct context_coder *c, const struct weight *w, bool apart, bool *has_zero)
{
    if (!pith_context_zero(w, &c->zero, has_zero))
        return false;
    *has_zero = *has_zero || w->support != SUPPORT_DENSE;
    c->apart = apart;
    c->n_indices = levels(w) - apart;
    c->anywhere = COUNTER_HALF;
    return !apart || (*has_zero && c->n_indices > 0);
}

/* place: at most cols */
static void set_channel(struct context_coder *c, const struct weight *w)
{
    c->place = 1;
    for (uint32_t i = 2; i < w->shape.rank; i++)
        c->place *= w->shape.dim[i];
    if (w->shape.rank > 3)
        c->line = w->shape.dim[w->shape.rank - 1];
}

/* Used by the encoder as well, so both begin alike. */
bool pith_context_begin(struct context_coder *c, const struct weight *w,
                        const struct context_head *head, void *column)
{
    bool has_zero;
    memset(c, 0, sizeof *c);
    c->cols = (uint32_t)columns(w);
    c->column = column;
    c->walk.range = 65535;
    set_channel(c, w);
    if (head->mean_code >= MEAN_CODES || !set_zero(c, w, head->apart, &has_zero) ||
        !set_classes(c, head))
        return false;
    set_magnitudes(c, has_zero, head->n_classes);
    set_alphabet(&c->classes, head->n_classes);
    set_even(c->more[CONTEXT_ALL], head->n_classes);
    c->seen[CONTEXT_ALL] = c->apart ? APART_SEEN : 0;
    for (uint32_t k = 0; k < 5; k++)
        set_alphabet(&c->rest[k], 1u << k);
    set_rates(c);
    set_averages(c, head->mean_code);
    return true;
}

#define APART 128u /* in the first byte */

/* Bits of classes are two nibbles a byte; the one left over must be 0. */
static bool read_head(struct reader *r, uint32_t n_levels, struct context_head *head)
{
    memset(head, 0, sizeof *head);
    uint32_t first = rd_u8(r);
    head->mean_code = first % APART;
    head->apart = first >= APART;
    head->n_classes = n_levels - head->apart;
    if (head->n_classes > CONTEXT_SYMBOLS) {
        head->n_classes = rd_u8(r) + 1u;
        for (uint32_t k = 0; k < head->n_classes && k < CONTEXT_SYMBOLS; k += 2) {
            uint32_t two = rd_u8(r);
            head->bits[k] = two & 15;
            head->bits[k + 1] = (uint8_t)(two >> 4);
        }
    }
    bool odd = head->n_classes % 2 != 0;
    return !r->bad && head->n_classes <= CONTEXT_SYMBOLS &&
           !(odd && head->bits[head->n_classes] != 0);
}

/* Counters begin anew in each. */
static bool open_slice(struct context_stream *s)
{
    struct row_slice slice = pith_slices_next(&s->slices);
    struct reader r = slice.bytes;
    struct context_head head;
    s->left = slice.n;
    if (!read_head(&r, levels(s->w), &head) || !pith_context_begin(&s->coder, s->w, &head, s->mem))
        return false;
    s->begin = s->coder.walk.at = r.p;
    s->coder.walk.end = r.p + r.left;
    return true;
}

/* Kernels are chosen by the CPU bits of the weight, as everywhere. */
static bool open_stream(struct context_stream *s, const struct weight *w, void *mem)
{
    struct decode_kernels kernels;
    bool has_zero;
    if (!pith_context_allows(w) || w->n_centroids - 1 > 255 || w->group_elems == 0)
        return false;
    pith_decode_kernels_fill(&kernels, w->cpu);
    s->indices = kernels.context_indices;
    s->w = w;
    s->mem = mem;
    s->stored_left = w->nnz;
    s->element = 0;
    s->ahead_at = s->n_ahead = 0;
    return pith_slices_open(&s->slices, w) && pith_context_zero(w, &s->zero, &has_zero);
}

enum pith_status pith_context_enter(struct context_stream *s, const struct weight *w, void *mem,
                                    uint64_t first)
{
    if (!open_stream(s, w, mem))
        return PITH_ERR_CORRUPT;
    while (first-- > 0)
        pith_slices_next(&s->slices);
    return open_slice(s) ? PITH_OK : PITH_ERR_CORRUPT;
}

enum pith_status pith_context_open(struct context_stream *s, const struct weight *w, void *mem)
{
    return pith_context_enter(s, w, mem, 0);
}

/* Nothing but the zeros behind the stream is left, and the stream ends where it must: its own
 * zeros are not written. A final zero byte is not written; whoever appends one is found. */
static bool ends_well(const struct context_stream *s)
{
    const struct context_walk *t = &s->coder.walk;
    return t->at == t->end && t->window == 0 && (t->end == s->begin || t->end[-1] != 0);
}

/* Behind the last level of a slice: the next one. */
static bool go_on(struct context_stream *s)
{
    return s->left > 0 || (ends_well(s) && (s->slices.behind == 0 || open_slice(s)));
}

/* The kernel reads only inside of the stream, and says `bad` where it would not. */
enum pith_status pith_context_next(struct context_stream *s, uint8_t *index, uint64_t n)
{
    while (n > 0) {
        uint64_t m = n < s->left ? n : s->left;
        s->indices(&s->coder, index, (size_t)m);
        s->left -= m;
        index += m;
        n -= m;
        if (m == 0 || s->coder.bad || !go_on(s))
            return PITH_ERR_CORRUPT;
    }
    return PITH_OK;
}

/* Levels of sparse tensors are decoded ahead, as many as stored elements cannot be known
 * beforehand. */
static bool look_ahead(struct context_stream *s)
{
    s->ahead_at = 0;
    s->n_ahead = s->left < CONTEXT_AHEAD ? (uint32_t)s->left : CONTEXT_AHEAD;
    return s->n_ahead > 0 && pith_context_next(s, s->ahead, s->n_ahead) == PITH_OK;
}

/* Behind the last stored element: no other. All levels behind it are "not stored". */
static bool none_is_stored(struct context_stream *s)
{
    for (;;) {
        for (; s->ahead_at < s->n_ahead; s->ahead_at++)
            if (s->ahead[s->ahead_at] != s->zero)
                return false;
        if (s->left == 0)
            return true;
        if (!look_ahead(s))
            return false;
    }
}

/* Levels above the missing one are indices one lower. */
enum pith_status pith_context_stored(struct context_stream *s, uint32_t *pos, uint8_t *index,
                                     uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        if (s->ahead_at == s->n_ahead && !look_ahead(s))
            return PITH_ERR_CORRUPT;
        uint32_t level = s->ahead[s->ahead_at++];
        if (level != s->zero) {
            pos[i] = (uint32_t)s->element;
            index[i++] = (uint8_t)(level - (level > s->zero));
        }
        s->element++;
    }
    s->stored_left -= n;
    return s->stored_left > 0 || none_is_stored(s) ? PITH_OK : PITH_ERR_CORRUPT;
}
