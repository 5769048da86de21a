/* SPDX-License-Identifier: MIT */
/* weight_head.c - a tensor's description in the graph chunk, up to its streams (docs/format.md,
 * section 5): type, shape, support, grid and code.
 *
 * What a description leaves out follows from earlier ones (shape, centroids, rows of the tensor
 * that feeds it), and where it can be left out it must be: the canonical form of graph_parse.c.
 *
 * All arithmetic is on bounded numbers: counts are at most 2^40 elements (pith_shape_count). */
#include "core/build_choice.h"
#include "decode/class_decode.h"
#include "decode/weight_kind.h"
#include "validate/graph_parse.h"

/* Writers call it, too: head bytes are made in one place. */
uint8_t pith_weight_common_head(const struct weight *w, uint32_t shape_code, bool same_centroids)
{
    bool streamed = w->code == CODE_CLASSES || w->code == CODE_ADAPTIVE;
    uint32_t kind = 0, support = w->support;
    if (w->grid == GRID_CODEBOOK)
        kind = 1u + (w->code != CODE_PLAIN && !streamed ? 1u : 0u) + (w->n_groups > 1 ? 2u : 0u);
    if (support == SUPPORT_ADAPTIVE)
        support = SUPPORT_GAPS; /* its field, the number of stored elements, is there */
    return (uint8_t)((support * COMMON_KINDS + kind) << 3 | shape_code |
                     (same_centroids ? HEAD_SAME_CENTROIDS : 0));
}

/* One codebook: in the place of common heads that cannot occur, the same centroids but no codebook.
 * Floats of the rows of the tensor before, a bias. Others have a prefix. */
uint8_t pith_weight_adaptive_head(const struct weight *w, uint32_t shape_code, bool same_centroids)
{
    uint32_t form = (w->support != SUPPORT_DENSE ? FORM_SPARSE : 0) | same_centroids;
    if (w->grid == GRID_CODEBOOK && w->n_groups == 1)
        return (uint8_t)(HEAD_SAME_CENTROIDS | form * COMMON_KINDS << 3 | shape_code);
    bool vector = w->grid == GRID_PLAIN && form == 0 && shape_code == SHAPE_PREV_FIRST;
    return vector ? HEAD_VECTOR : HEAD_ADAPTIVE;
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

/* Behind HEAD_ADAPTIVE: what has no head of its own. */
static enum pith_status parse_adaptive(struct graph_parse *p, struct weight *w)
{
    uint8_t head = rd_u8(&p->r);
    uint32_t number = (head & ~HEAD_SAME_CENTROIDS) >> 3;
    bool floats = number % COMMON_KINDS == 0 && head < HEAD_TYPE;
    bool groups = number == 3 || number == SUPPORT_GAPS * COMMON_KINDS + 3;
    if (!p->r.bad && !floats && !groups)
        return pith_parse_unsupported(p);
    enum pith_status st = p->r.bad ? pith_parse_corrupt(p) : parse_common(p, head, w);
    w->code = CODE_ADAPTIVE;
    if (groups && w->support == SUPPORT_GAPS)
        w->support = SUPPORT_ADAPTIVE;
    if (!st && (!pith_adaptive_allows(w) || head == SHAPE_PREV_FIRST))
        return pith_parse_corrupt(p);
    return st;
}

/* HEAD_VECTOR, or with one codebook. */
static enum pith_status parse_short(struct graph_parse *p, uint8_t head, struct weight *w)
{
    bool vector = head == HEAD_VECTOR;
    uint32_t form = vector ? 0 : ((head & ~HEAD_SAME_CENTROIDS) >> 3) / COMMON_KINDS;
    enum pith_status st = parse_shape_and_count(p, vector ? SHAPE_PREV_FIRST : head & 7, w);
    w->code = CODE_ADAPTIVE;
    w->support = form & FORM_SPARSE ? SUPPORT_ADAPTIVE : SUPPORT_DENSE;
    w->grid = vector ? GRID_PLAIN : GRID_CODEBOOK;
    if (!st && !vector)
        st = parse_codebook_shape(p, w, form & FORM_SAME_CENTROIDS, false);
    if (!st && form & FORM_SPARSE)
        w->nnz = rd_varint(&p->r, w->count);
    return !st && (p->r.bad || !pith_adaptive_allows(w)) ? pith_parse_corrupt(p) : st;
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
    bool same = head & HEAD_SAME_CENTROIDS;
    bool is_short = head == HEAD_VECTOR || (same && (head >> 3 & 15) % COMMON_KINDS == 0);
    bool codebooks = w->type == PITH_F32 || w->type == PITH_I8; /* of these types there are some */
    if (head == HEAD_OTHER_CODE)
        return parse_other_code(p, w);
    if (!BUILT_PART(ADAPTIVE) && (is_short || head == HEAD_ADAPTIVE))
        return pith_parse_unsupported(p);
    if (head == HEAD_ADAPTIVE)
        return parse_adaptive(p, w);
    if (head > HEAD_VECTOR && head < HEAD_SAME_CENTROIDS)
        return pith_parse_unsupported(p);
    if (p->r.bad || head == HEAD_TYPE || (!codebooks && !is_plain_head(head)))
        return pith_parse_corrupt(p);
    return is_short ? parse_short(p, head, w) : parse_common(p, head, w);
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
