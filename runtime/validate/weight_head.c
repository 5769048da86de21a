/* SPDX-License-Identifier: MIT */
/* weight_head.c - a tensor's description in the graph chunk, up to its streams (docs/format.md,
 * section 5): type, shape, support, grid and code.
 *
 * What a description leaves out follows from earlier ones (shape, centroids, rows of the tensor
 * that feeds it), and where it can be left out it must be: the canonical form of graph_parse.c.
 *
 * All arithmetic is on bounded numbers: counts are at most 2^40 elements (pith_shape_count). */
#include "core/build_choice.h"
#include "decode/adaptive_decode.h"
#include "decode/class_decode.h"
#include "decode/weight_kind.h"
#include "validate/graph_parse.h"

/* Writers call it, too: head bytes are made in one place. */
uint8_t pith_weight_common_head(const struct weight *w, uint32_t shape_code, bool same_centroids)
{
    bool classes = w->code == CODE_CLASSES;
    uint32_t kind = 0, support = w->support;
    if (w->grid == GRID_CODEBOOK)
        kind = 1u + (w->code != CODE_PLAIN && !classes ? 1u : 0u) + (w->n_groups > 1 ? 2u : 0u);
    if (classes && support != SUPPORT_DENSE)
        support = SUPPORT_GAPS; /* its field, the number of stored elements, is there */
    return (uint8_t)((support * COMMON_KINDS + kind) << 3 | shape_code |
                     (same_centroids ? HEAD_SAME_CENTROIDS : 0));
}

/* A bias behind its layer's weight: as long as its rows, fed by them. */
bool pith_weight_is_adaptive_vector(const struct weight *w, uint32_t shape_code)
{
    return shape_code == SHAPE_PREV_FIRST && w->code == CODE_ADAPTIVE &&
           w->support == SUPPORT_DENSE && w->source_back == 1 && w->n_groups <= 1;
}

/* Shape code 2: a matrix unlike the tensor before. fed < 2: a layer of one row gives nothing. */
enum short_kind pith_weight_short_kind(const struct weight *w, uint32_t shape_code, uint32_t fed)
{
    bool conv = shape_code == SHAPE_RANK4_SQUARE;
    uint32_t cols = w->shape.dim[1];
    if ((!conv && shape_code != 2) || w->code != CODE_ADAPTIVE || w->grid != GRID_CODEBOOK ||
        w->n_groups != 1)
        return SHORT_KINDS;
    if (w->source_back == 0)
        return !conv ? SHORT_MATRIX : cols == 1 ? SHORT_CONV_ONE : SHORT_CONV;
    if (w->source_back != 2 || fed < 2 || cols % fed != 0)
        return SHORT_KINDS;
    if (cols == fed)
        return conv ? SHORT_CONV_FED : SHORT_MATRIX_FED;
    return conv ? SHORT_KINDS : SHORT_MATRIX_MAPS;
}

/* They take the places of common heads that cannot occur: the same centroids, but no codebook. */
uint8_t pith_short_head(uint32_t number)
{
    return (uint8_t)(HEAD_SAME_CENTROIDS + number / 8 * COMMON_KINDS * 8 + number % 8);
}

/* Kernels of convolutions. */
static bool is_square(const struct shape *s)
{
    return s->dim[s->rank - 1] == s->dim[s->rank - 2];
}

/* Tried in this order by writers; the reader demands the first that fits. */
uint32_t pith_shape_code(const struct shape *s, const struct shape *prev)
{
    if (prev && prev->rank > 0 && s->rank == 1 && s->dim[0] == prev->dim[0])
        return SHAPE_PREV_FIRST;
    if (prev && pith_shape_equal(s, prev))
        return SHAPE_PREV;
    if (s->rank == 4 && is_square(s))
        return SHAPE_RANK4_SQUARE;
    return s->rank >= 1 && s->rank <= 4 ? s->rank : SHAPE_RANK;
}

/* Dims are bounded by 2^31 - 1, not yet by their product. */
bool pith_parse_dims(struct reader *r, struct shape *s, uint32_t first, bool square)
{
    uint32_t stored = s->rank - (square ? 1u : 0u);
    for (uint32_t i = first; i < stored; i++)
        s->dim[i] = (uint32_t)rd_varint(r, 0x7fffffffu);
    if (square)
        s->dim[s->rank - 1] = s->dim[s->rank - 2];
    return !r->bad;
}

/* The product is tested here, for everything behind multiplies freely. */
static enum pith_status parse_shape(struct graph_parse *p, uint32_t code, struct shape *s)
{
    const struct shape *prev = p->has_prev ? &p->prev_shape : NULL;
    memset(s, 0, sizeof *s);
    if (code == SHAPE_PREV_FIRST || code == SHAPE_PREV) {
        if (!prev)
            return pith_parse_corrupt(p);
        *s = *prev;
        if (code == SHAPE_PREV_FIRST) {
            memset(s, 0, sizeof *s);
            s->rank = 1;
            s->dim[0] = prev->dim[0];
        }
    } else {
        s->rank = code == SHAPE_RANK           ? (uint32_t)rd_varint(&p->r, PITH_MAX_RANK)
                  : code == SHAPE_RANK4_SQUARE ? 4
                                               : code;
        if (!pith_parse_dims(&p->r, s, 0, code == SHAPE_RANK4_SQUARE))
            return pith_parse_corrupt(p);
    }
    uint64_t count;
    /* Another code would have been shorter. */
    if (pith_shape_count(s, &count) || pith_shape_code(s, prev) != code)
        return pith_parse_corrupt(p);
    return PITH_OK;
}

/* The dims that a short head leaves out. A dim that follows from a source is not written; it is
 * 0 where there is no source, which pith_shape_count() refuses. */
static bool parse_short_dims(struct graph_parse *p, enum short_kind kind, struct shape *s)
{
    bool conv = kind == SHORT_CONV || kind == SHORT_CONV_FED || kind == SHORT_CONV_ONE;
    uint32_t fed = p->rows_before[1];
    memset(s, 0, sizeof *s);
    s->rank = conv ? 4 : 2;
    s->dim[0] = (uint32_t)rd_varint(&p->r, 0x7fffffffu);
    s->dim[1] = kind == SHORT_CONV_ONE ? 1 : fed;
    if (kind == SHORT_MATRIX || kind == SHORT_CONV)
        s->dim[1] = (uint32_t)rd_varint(&p->r, 0x7fffffffu);
    else if (kind == SHORT_MATRIX_MAPS)
        /* The factor is bounded so that the product fits in 31 bits. */
        s->dim[1] = fed ? fed * (uint32_t)rd_varint(&p->r, 0x7fffffffu / fed) : 0;
    if (conv)
        s->dim[2] = s->dim[3] = (uint32_t)rd_varint(&p->r, 0x7fffffffu);
    return !p->r.bad;
}

/* Of w->n_centroids, for all of w or for each group. The number of groups divides the tensor:
 * groups are runs of equal length. */
static enum pith_status parse_groups(struct graph_parse *p, struct weight *w, bool grouped)
{
    p->prev_centroids[w->shape.rank >= 2] = w->n_centroids;
    w->n_groups = 1;
    if (grouped) {
        w->n_groups = rd_varint(&p->r, w->count);
        if (p->r.bad || w->n_groups < 2 || w->count % w->n_groups != 0)
            return pith_parse_corrupt(p);
    }
    w->group_elems = w->count / w->n_groups;
    return PITH_OK;
}

/* Matrices and vectors remember their own last number of centroids: layers alternate between
 * them. */
static enum pith_status parse_codebook_shape(struct graph_parse *p, struct weight *w, bool same,
                                             bool grouped)
{
    uint32_t prev = p->prev_centroids[w->shape.rank >= 2];
    w->n_centroids = same ? prev : rd_u8(&p->r) + 1u;
    if (w->n_centroids == 0 || (!same && w->n_centroids == prev))
        return pith_parse_corrupt(p);
    return parse_groups(p, w, grouped);
}

/* What the form byte would say of each HEAD_VECTOR. */
static const uint8_t vector_form[HEAD_VECTORS] = {
    1u << FORM_SOURCE, 1u << FORM_SOURCE | FORM_CODEBOOK,
    1u << FORM_SOURCE | FORM_CODEBOOK | FORM_SAME_CENTROIDS};

/* A tensor all of whose elements are stored, until more is known. nnz is corrected by a
 * support with fewer. */
static enum pith_status parse_shape_and_count(struct graph_parse *p, uint32_t code,
                                              struct weight *w)
{
    enum pith_status st = parse_shape(p, code, &w->shape);
    if (!st)
        pith_shape_count(&w->shape, &w->count);
    w->nnz = w->count;
    return st;
}

/* Adaptive, with a head from HEAD_FORM on or of a vector: what stands before the length of its
 * stream. The last three tests refuse tensors that a shorter head can describe. */
static enum pith_status parse_form(struct graph_parse *p, uint32_t head, struct weight *w)
{
    bool vector = head < HEAD_FORM;
    enum pith_status st = parse_shape_and_count(p, vector ? SHAPE_PREV_FIRST : head & 7, w);
    if (st)
        return st;
    uint32_t form = vector ? vector_form[head - HEAD_VECTOR] : rd_u8(&p->r);
    bool codebook = form & FORM_CODEBOOK, same = form & FORM_SAME_CENTROIDS;
    if (p->r.bad || (!codebook && form & (FORM_GROUPS | FORM_SAME_CENTROIDS)) ||
        /* A source must exist; find_source() tests whether it fits. */
        (form >> FORM_SOURCE & FORM_SOURCE_MAX) > p->weight_at)
        return pith_parse_corrupt(p);
    if (form & FORM_RESERVED)
        return pith_parse_unsupported(p);
    w->source_back = form >> FORM_SOURCE & FORM_SOURCE_MAX;
    w->code = CODE_ADAPTIVE;
    w->support = form & FORM_SPARSE ? SUPPORT_ADAPTIVE : SUPPORT_DENSE;
    w->grid = codebook ? GRID_CODEBOOK : GRID_PLAIN;
    st = codebook ? parse_codebook_shape(p, w, same, form & FORM_GROUPS) : PITH_OK;
    if (!st && form & FORM_SPARSE)
        w->nnz = rd_varint(&p->r, w->count);
    if (!st && (p->r.bad || !pith_adaptive_allows(w) ||
                (!vector && pith_weight_is_adaptive_vector(w, head & 7)) ||
                pith_weight_short_kind(w, head & 7, p->rows_before[1]) != SHORT_KINDS))
        return pith_parse_corrupt(p);
    return st;
}

/* number: of its short head. All that stands before the length of its stream.
 * pith_adaptive_allows() holds what the coder can do: its contexts bound rows and columns. */
static enum pith_status parse_short(struct graph_parse *p, uint32_t number, struct weight *w)
{
    enum short_kind kind = (enum short_kind)(number % SHORT_KINDS);
    uint32_t bits = number / SHORT_KINDS;
    if (!parse_short_dims(p, kind, &w->shape) || pith_shape_count(&w->shape, &w->count))
        return pith_parse_corrupt(p);
    bool fed = kind >= SHORT_MATRIX_FED && kind <= SHORT_MATRIX_MAPS;
    w->source_back = fed ? 2 : 0;
    w->code = CODE_ADAPTIVE;
    w->support = bits & SHORT_SPARSE ? SUPPORT_ADAPTIVE : SUPPORT_DENSE;
    w->grid = GRID_CODEBOOK;
    w->nnz = w->count;
    enum pith_status st = parse_codebook_shape(p, w, bits & SHORT_SAME_CENTROIDS, false);
    if (!st && bits & SHORT_SPARSE)
        w->nnz = rd_varint(&p->r, w->count);
    uint32_t code = pith_shape_code(&w->shape, p->has_prev ? &p->prev_shape : NULL);
    if (!st && (p->r.bad || !pith_adaptive_allows(w) ||
                pith_weight_short_kind(w, code, p->rows_before[1]) != kind))
        return pith_parse_corrupt(p);
    return st;
}

/* SHORT_HEADS: it is none. Twenty-four heads; looked up once a tensor. */
static uint32_t short_number(uint32_t head)
{
    for (uint32_t i = 0; i < SHORT_HEADS; i++)
        if (pith_short_head(i) == head)
            return i;
    return SHORT_HEADS;
}

/* How many elements are stored, with gaps. Gaps are 32-bit places in the tensor. */
static enum pith_status parse_gap_count(struct graph_parse *p, struct weight *w)
{
    if (w->support != SUPPORT_GAPS)
        return PITH_OK;
    w->nnz = rd_varint(&p->r, w->count);
    return p->r.bad || w->count > UINT32_MAX ? pith_parse_corrupt(p) : PITH_OK;
}

/* number / COMMON_KINDS is the support, which the enum numbers in this order. */
static enum pith_status parse_common(struct graph_parse *p, uint32_t head, struct weight *w)
{
    bool same = head & HEAD_SAME_CENTROIDS;
    uint32_t number = (head & ~HEAD_SAME_CENTROIDS) >> 3, kind = number % COMMON_KINDS;
    enum pith_status st = parse_shape_and_count(p, head & 7, w);
    w->support = (enum weight_support)(number / COMMON_KINDS);
    w->grid = kind == 0 ? GRID_PLAIN : GRID_CODEBOOK;
    w->code = kind == 2 || kind == 4 ? CODE_HUFFMAN : CODE_PLAIN;
    if (!st && kind > 0)
        st = BUILT_PART(CODEBOOKS) ? parse_codebook_shape(p, w, same, kind > 2)
                                   : pith_parse_unsupported(p);
    return st ? st : parse_gap_count(p, w);
}

/* Behind HEAD_OTHER_CODE. Combinations without a meaning may get one in a later version. */
static enum pith_status parse_other_code(struct graph_parse *p, struct weight *w)
{
    uint8_t head = rd_u8(&p->r);
    uint32_t number = (head & ~HEAD_SAME_CENTROIDS) >> 3, kind = number % COMMON_KINDS;
    bool planes =
        BUILT_PART(PLANES) && number == 0 && head < HEAD_SAME_CENTROIDS && w->type == PITH_F32;
    bool indices = BUILT_PART(RANS) && number < 3 * COMMON_KINDS &&
                   (w->type == PITH_F32 || w->type == PITH_I8);
    bool rans = indices && (kind == 2 || kind == 4);
    bool classes =
        indices && (kind == 1 || kind == 3) && number / COMMON_KINDS != (uint32_t)SUPPORT_BITMAP;
    if (!p->r.bad && !planes && !rans && !classes)
        return pith_parse_unsupported(p);
    enum pith_status st = p->r.bad ? pith_parse_corrupt(p) : parse_common(p, head, w);
    w->code = planes ? CODE_PLANES : classes ? CODE_CLASSES : CODE_RANS;
    if (classes && w->support == SUPPORT_GAPS)
        w->support = SUPPORT_ADAPTIVE;
    return st || !classes || pith_classes_allow(w) ? st : pith_parse_corrupt(p);
}

/* f32 has no prefix, so it must not be written. */
static enum pith_status parse_type(struct graph_parse *p, struct weight *w)
{
    w->type = (enum pith_type)rd_u8(&p->r);
    if (w->type > PITH_BOOL)
        return pith_parse_unsupported(p);
    return w->type == PITH_F32 || pith_type_bytes(w->type) == 0 ? pith_parse_corrupt(p) : PITH_OK;
}

/* Of types without codebooks. Integers of 16 and more bits are stored plain. */
static bool is_plain_head(uint32_t head)
{
    return head < HEAD_TYPE && (head >> 3) % COMMON_KINDS == 0;
}

static enum pith_status parse_real_head(struct graph_parse *p, uint8_t head, struct weight *w)
{
    if (head == HEAD_OTHER_CODE)
        return parse_other_code(p, w);
    if (head > HEAD_OTHER_CODE && head < HEAD_SAME_CENTROIDS)
        return pith_parse_unsupported(p);
    bool codebooks = w->type == PITH_F32 || w->type == PITH_I8; /* of these types there are some */
    if (p->r.bad || head == HEAD_TYPE || (!codebooks && !is_plain_head(head)))
        return pith_parse_corrupt(p);
    uint32_t number = short_number(head);
    bool form = head >= HEAD_FORM || head - HEAD_VECTOR < HEAD_VECTORS;
    if (!BUILT_PART(ADAPTIVE) && (number < SHORT_HEADS || form))
        return pith_parse_unsupported(p);
    return number < SHORT_HEADS ? parse_short(p, number, w)
           : form               ? parse_form(p, head, w)
                                : parse_common(p, head, w);
}

static enum pith_status parse_trellis(struct graph_parse *p, uint8_t prefix, struct weight *w)
{
    w->trellis = prefix == HEAD_TRELLIS_8 ? 8 : 16;
    if (!BUILT_PART(TRELLIS))
        return pith_parse_unsupported(p);
    enum pith_status st = parse_real_head(p, rd_u8(&p->r), w);
    bool fits = (w->code == CODE_ADAPTIVE || w->code == CODE_CLASSES) && w->grid == GRID_CODEBOOK;
    return st || fits ? st : pith_parse_corrupt(p);
}

/* Where the scales lie: one, one for each place of an axis, or one for each block along it. A block
 * of 1, or scales that all places share, would be second spellings. */
static enum pith_status parse_scales(struct graph_parse *p, struct weight *w)
{
    uint32_t layout = (uint32_t)rd_varint(&p->r, SCALES_MOST), place = layout >> 1;
    w->codebook.n_bytes = layout & SCALES_ZERO_POINTS; /* until they are cut */
    w->n_groups = 1;
    if (place == 0)
        return p->r.bad ? pith_parse_corrupt(p) : PITH_OK;
    w->index_bits = (place - 1) / 2;
    if (p->r.bad || w->index_bits >= w->shape.rank)
        return pith_parse_corrupt(p);
    uint32_t dim = w->shape.dim[w->index_bits];
    w->n_groups = dim;
    if ((place - 1) % 2) {
        w->group_elems = rd_varint(&p->r, 0x7fffffffu);
        if (p->r.bad || w->group_elems < 2)
            return pith_parse_corrupt(p);
        w->n_groups = w->count / dim * ((dim + w->group_elems - 1) / w->group_elems);
    }
    return w->n_groups > 1 ? PITH_OK : pith_parse_corrupt(p);
}

/* Integers times scales: of these types, dense and plain. */
static enum pith_status parse_scaled(struct graph_parse *p, struct weight *w)
{
    uint32_t head = rd_u8(&p->r);
    if (!BUILT_PART(WORDS))
        return pith_parse_unsupported(p);
    bool integers =
        w->type == PITH_I8 || w->type == PITH_U8 || w->type == PITH_I16 || w->type == PITH_U16;
    if (p->r.bad || !integers || head > SHAPE_RANK)
        return p->r.bad ? pith_parse_corrupt(p) : pith_parse_unsupported(p);
    w->scaled = (uint8_t)w->type;
    w->type = PITH_F32;
    w->grid = GRID_SCALED;
    enum pith_status st = parse_shape_and_count(p, head, w);
    return st ? st : parse_scales(p, w);
}

/* What a build must have for support and code of w; other parts are refused where they are met. */
static bool is_built(const struct weight *w)
{
    return (is_sparse(w) || w->support == SUPPORT_DENSE) &&
           (BUILT_PART(BITMAPS) || w->support != SUPPORT_BITMAP) &&
           (BUILT_PART(GAPS) || w->support != SUPPORT_GAPS) &&
           (BUILT_PART(HUFFMAN) || w->code != CODE_HUFFMAN);
}

/* Everything before the streams. */
enum pith_status pith_parse_head(struct graph_parse *p, struct weight *w)
{
    uint8_t head = rd_u8(&p->r);
    w->type = PITH_F32;
    if (head == HEAD_TYPE) {
        enum pith_status st = parse_type(p, w);
        if (st)
            return st;
        head = rd_u8(&p->r);
    }
    if (head == HEAD_TRELLIS_8 || head == HEAD_TRELLIS_16)
        return parse_trellis(p, head, w);
    if (head == HEAD_SCALED)
        return parse_scaled(p, w);
    enum pith_status st = parse_real_head(p, head, w);
    return st || is_built(w) ? st : pith_parse_unsupported(p);
}
