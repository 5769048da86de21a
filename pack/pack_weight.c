/* SPDX-License-Identifier: MIT */
/* pack_weight.c - constants encoded: support, grid and code of each tensor become streams
 * (docs/format-streams.md), and tables are shared between tensors where that is smaller.
 *
 * What a tensor uses is decided from that tensor alone (coded gaps when they are smaller than the
 * bitmap with a table of their own, coded indices and bytes of floats likewise); sharing comes
 * after and can only make it smaller. So a file that is read and packed again makes the same
 * choices. */
#include <stdlib.h>
#include "base/error_fill.h"
#include "base/narrow_float.h"
#include "model/integers.h"
#include "pack.h"
#include "pith_huffman.h"
#include "huffman/plane_encode.h"
#include "huffman/rans_encode.h"

#define FEWEST_SHORT 64u    /* where these are not wanted in place: fewer save nothing */
#define OTHER_CODE_BYTES 1u /* its prefix */
#define SCALED_BYTES 4u     /* prefixes and layout of integers with scales, beside a plain tensor */
#define REFERENCE_BITS                                                                             \
    8u /* of a table that was named before; half a byte as a rule, see format.md */

static const char *name_of(const struct pack_const *c)
{
    return c->value->name && c->value->name[0] ? c->value->name : "unnamed";
}

static const struct pith_const *const_of(const struct pack_const *c)
{
    return c->content;
}

static void point(struct stream *s, const struct byte_out *o)
{
    *s = (struct stream){o->data, o->bytes};
}

/* ---- what must hold before anything is written ---------------------------------------------- */

static bool is_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

/* A pruned element that is not 0 would be lost: the stage that made it is wrong. -0.0 is 0. */
static bool pruned_are_zero(const struct pack_const *c)
{
    const struct pith_const *k = const_of(c);
    size_t each = pith_type_bytes(c->value->type);
    for (uint64_t i = 0; i < k->count; i++) {
        const uint8_t *p = (const uint8_t *)k->data + i * each;
        if (k->mask[i])
            continue;
        if (c->value->type == PITH_F32 ? (load_le32(p) & 0x7fffffffu) != 0 : !is_zero(p, each))
            return false;
    }
    return true;
}

static enum pith_status check_codebook(const struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = const_of(c);
    const struct pith_codebook *b = k->codebook;
    bool given = k == c->value->constant; /* not by pith_pack_integers */
    if ((given && c->value->type != PITH_F32) || b->n_centroids == 0 ||
        b->n_centroids > MAX_CENTROIDS || b->group_elems == 0 || k->count % b->group_elems != 0 ||
        b->n_groups != k->count / b->group_elems)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot pack '%s': codebook of %u centroids in %llu groups does not "
                               "fit %llu elements",
                               name_of(c), b->n_centroids, (unsigned long long)b->n_groups,
                               (unsigned long long)k->count);
    for (uint64_t i = 0; i < k->count; i++)
        if (b->index[i] >= b->n_centroids && (!k->mask || k->mask[i]))
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "cannot pack '%s': index %u of element %llu, codebook has %u",
                                   name_of(c), b->index[i], (unsigned long long)i, b->n_centroids);
    return PITH_OK;
}

/* A stage may have changed elements that were f16 or bf16: what no longer fits is f32 again. */
static enum pith_type stored_type(const struct pack_const *c)
{
    const struct pith_const *k = const_of(c);
    bool narrow = c->value->type == PITH_F32 && pith_type_is_narrow(k->stored) &&
                  pith_narrow_holds(k->stored, k->data, k->count);
    return narrow ? k->stored : c->value->type;
}

static enum pith_status describe(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = c->value->constant;
    struct weight *w = &c->w;
    w->type = c->value->type;
    w->shape.rank = c->value->rank;
    for (uint32_t i = 0; i < c->value->rank && i < PITH_MAX_RANK; i++)
        w->shape.dim[i] = c->value->dim[i];
    if (pith_shape_count(&w->shape, &w->count) || pith_type_bytes(w->type) == 0 ||
        w->count != k->count)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot pack '%s': %llu elements do not fit its shape", name_of(c),
                               (unsigned long long)k->count);
    c->content = k;
    if (k->mask && !pruned_are_zero(c))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot pack '%s': a pruned element is not 0", name_of(c));
    enum pith_status st = pith_pack_content(c, err);
    if (st)
        return st;
    k = c->content;
    w->nnz = w->count;
    if (k->mask) {
        w->support = SUPPORT_BITMAP;
        w->nnz = 0;
        for (uint64_t i = 0; i < w->count; i++)
            w->nnz += k->mask[i] != 0;
    }
    if ((st = pith_pack_integers(c, err)))
        return st;
    k = c->content;
    if (!k->codebook) {
        w->type = stored_type(c);
        return PITH_OK;
    }
    w->grid = GRID_CODEBOOK;
    w->n_centroids = k->codebook->n_centroids;
    w->n_groups = k->codebook->n_groups;
    w->group_elems = k->codebook->group_elems;
    return check_codebook(c, err);
}

/* ---- grid ------------------------------------------------------------------------------------ */

static enum pith_status encode_codebook(struct pack_const *c, struct pith_error *err)
{
    const struct pith_codebook *b = const_of(c)->codebook;
    size_t cap = pith_codebook_bound(b->n_groups, b->n_centroids), bytes;
    uint8_t *dst = pith_out_room(&c->codebook, cap);
    if (!dst)
        return pith_error_no_memory(err);
    enum pith_status st =
        pith_codebook_encode(b->centroid, b->n_groups, b->n_centroids, dst, cap, &bytes);
    if (st)
        return pith_error_fill(err, st, "cannot pack '%s': centroids must be finite and ascending",
                               name_of(c));
    c->codebook.bytes = bytes;
    point(&c->w.codebook, &c->codebook);
    return PITH_OK;
}

_Static_assert(LITTLE_ENDIAN_HERE, "plain elements are written as they lie in memory");

/* Elements that are kept, one behind the other. Without a mask the model's own array is written,
 * where it is as the file has it. */
static enum pith_status gather_elements(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = const_of(c);
    size_t from_each = pith_type_bytes(c->value->type), each = pith_type_bytes(c->w.type);
    if (!k->mask && each == from_each) {
        c->w.index_stream = (struct stream){k->data, (size_t)k->count * each};
        return PITH_OK;
    }
    uint8_t *dst = pith_out_room(&c->index, (size_t)c->w.nnz * each);
    if (!dst && c->w.nnz > 0)
        return pith_error_no_memory(err);
    for (uint64_t i = 0; i < k->count; i++) {
        const uint8_t *from = (const uint8_t *)k->data + i * from_each;
        if (k->mask && !k->mask[i])
            continue;
        if (each == from_each)
            memcpy(dst, from, each);
        else
            store_le16(dst, pith_narrow_bits(c->w.type, f32_from_bits(load_le32(from))));
        dst += each;
    }
    point(&c->w.index_stream, &c->index);
    return PITH_OK;
}

/* Floats as byte planes, where they are shorter so. Those of 2 bytes as f32: the bits that they do
 * not have take nothing there. */
static enum pith_status pack_planes(struct pack_const *c, struct pith_error *err)
{
    struct byte_out planes = {0};
    struct weight w = c->w;
    size_t bytes;
    if (pith_type_is_narrow(w.type))
        w.type = PITH_F32;
    uint64_t fewest = const_of(c)->short_planes ? FEWEST_SHORT : PITH_FEWEST_PLANES;
    if (c->code == PITH_CODE_PLAIN || w.count < fewest || !pith_planes_allow(&w))
        return PITH_OK;
    uint8_t *dst = pith_out_room(&planes, pith_planes_bound(c->w.count));
    if (!dst || pith_planes_encode(const_of(c)->data, c->w.count, dst, &bytes)) {
        pith_out_clear(&planes);
        return pith_error_no_memory(err);
    }
    if (bytes >= c->w.index_stream.n_bytes) {
        pith_out_clear(&planes);
        return PITH_OK;
    }
    planes.bytes = bytes;
    pith_out_clear(&c->index);
    c->index = planes;
    c->w.type = w.type;
    c->w.code = CODE_PLANES;
    point(&c->w.index_stream, &c->index);
    return PITH_OK;
}

/* Elements as integers times scales, where they still are and that is shorter. */
static enum pith_status pack_scaled(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = const_of(c);
    const struct pith_integers *g = k->integers;
    struct byte_out integers = {0};
    if (!g || k->mask)
        return PITH_OK;
    const size_t each = pith_type_bytes(g->type);
    bool zeros = false;
    for (uint64_t i = 0; i < g->n; i++)
        zeros = zeros || g->zero[i] != 0;
    const uint64_t bytes = k->count * each + g->n * (4 + (zeros ? each : 0)) + SCALED_BYTES;
    if (bytes >= c->w.index_stream.n_bytes)
        return PITH_OK;
    uint8_t *q = pith_out_room(&integers, (size_t)k->count * each);
    if (!q || !pith_integers_hold(c->value, k, q)) {
        pith_out_clear(&integers);
        return q ? PITH_OK : pith_error_no_memory(err);
    }
    for (uint64_t i = 0; i < g->n; i++)
        pith_out_le32(&c->codebook, f32_bits(g->scale[i]));
    for (uint64_t i = 0; i < g->n && zeros; i++) {
        uint8_t le[4];
        store_le32(le, (uint32_t)g->zero[i]);
        pith_out_bytes(&c->codebook, le, each);
    }
    pith_out_clear(&c->index);
    c->index = integers;
    c->w.type = PITH_F32;
    c->w.code = CODE_PLAIN;
    c->w.grid = GRID_SCALED;
    c->w.scaled = (uint8_t)g->type;
    c->w.index_bits = g->n > 1 ? g->axis : 0;
    c->w.group_elems = g->n > 1 ? g->block : 0;
    c->w.n_groups = g->n;
    point(&c->w.codebook, &c->codebook);
    point(&c->w.index_stream, &c->index);
    return c->codebook.failed ? pith_error_no_memory(err) : PITH_OK;
}

/* c->index: one byte for each kept index, as long as they are not written. */
static enum pith_status gather_indices(struct pack_const *c, struct pith_error *err)
{
    const struct pith_const *k = const_of(c);
    uint8_t *dst = pith_out_room(&c->index, (size_t)c->w.nnz);
    if (!dst && c->w.nnz > 0)
        return pith_error_no_memory(err);
    if (c->w.nnz > 0)
        pith_index_gather(k->codebook->index, k->mask, k->count, dst);
    return PITH_OK;
}

static enum pith_status write_plain_indices(struct pack_const *c, struct pith_error *err)
{
    struct byte_out packed = {0};
    c->w.index_bits = pith_index_bits(c->w.n_centroids);
    size_t bytes = pith_index_pack_bytes(c->w.nnz, c->w.index_bits);
    uint8_t *dst = pith_out_room(&packed, bytes);
    if (!dst && bytes > 0)
        return pith_error_no_memory(err);
    if (bytes > 0)
        pith_index_pack(c->index.data, c->w.nnz, c->w.index_bits, dst);
    pith_out_clear(&c->index);
    c->index = packed;
    point(&c->w.index_stream, &c->index);
    return PITH_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static enum pith_status add_table(struct pack_tables *tables, size_t bytes, uint8_t **dst,
                                  struct pith_error *err)
{
    struct byte_out *t = &tables->table[tables->n++];
    *dst = pith_out_room(t, bytes);
    return *dst ? PITH_OK : pith_error_no_memory(err);
}

static void use_table(struct huff_table *t, const struct pack_tables *tables, uint32_t i)
{
    *t = (struct huff_table){tables->table[i].data, tables->table[i].bytes};
}

/* Those constants that take part, and the table each got. */
struct sharing {
    uint32_t n;
    struct pack_const **part;
    uint32_t *table;
    uint32_t n_tables;
};

static bool sharing_new(struct sharing *s, uint32_t n)
{
    memset(s, 0, sizeof *s);
    s->part = calloc(n + 1u, sizeof *s->part);
    s->table = calloc(n + 1u, sizeof *s->table);
    return s->part && s->table;
}

static void sharing_free(struct sharing *s)
{
    free(s->part);
    free(s->table);
}

/* ---- coded indices --------------------------------------------------------------------------- */

typedef uint64_t histogram[PITH_SYMBOLS];

static enum pith_status coded_index_bytes(const struct pack_const *c, const histogram hist,
                                          uint64_t *coded)
{
    struct pith_huff_code code;
    enum pith_status st = pith_huff_build(hist, &code);
    if (st)
        return st;
    *coded = (pith_huff_cost_bits(&code, hist) + 7) / 8 + pith_huff_table_bytes(&code) +
             (c->w.nnz >= 4096 ? pith_huff_stream_overhead(c->w.nnz) : 0);
    return PITH_OK;
}

static uint64_t plain_index_bytes(const struct pack_const *c)
{
    return pith_index_pack_bytes(c->w.nnz, pith_index_bits(c->w.n_centroids));
}

/* A code of either kind, for the sum of some histograms. */
struct index_code {
    enum weight_code kind; /* CODE_HUFFMAN or CODE_RANS */
    struct pith_huff_code huff;
    struct pith_rans_code rans;
};

/* How the indices of c, alone, take the fewest bytes under a table, and how many; as plain bits
 * they do in the working form. */
static enum pith_status choose_index_code(const struct pack_const *c, const histogram hist,
                                          enum weight_code *code, uint64_t *bytes)
{
    uint64_t coded = 0;
    struct pith_rans_code rans;
    *code = CODE_PLAIN;
    *bytes = plain_index_bytes(c);
    if (c->code == PITH_CODE_PLAIN || c->w.nnz == 0)
        return PITH_OK;
    enum pith_status st = coded_index_bytes(c, hist, &coded);
    if (!st && coded < *bytes) {
        *code = CODE_HUFFMAN;
        *bytes = coded;
    }
    if (st || c->code != PITH_CODE_RANS)
        return st;
    pith_rans_build(hist, &rans);
    coded = pith_rans_stream_bytes(&rans, hist, c->w.nnz) + rans.table_bytes + OTHER_CODE_BYTES;
    if (coded < *bytes) {
        *code = CODE_RANS;
        *bytes = coded;
    }
    return PITH_OK;
}

static enum pith_status build_index_code(const histogram hist, struct index_code *code,
                                         struct pack_tables *tables, struct pith_error *err)
{
    size_t bytes;
    uint8_t *dst;
    if (code->kind == CODE_RANS)
        pith_rans_build(hist, &code->rans);
    else if (pith_huff_build(hist, &code->huff))
        return pith_error_no_memory(err);
    bytes = code->kind == CODE_RANS ? code->rans.table_bytes : pith_huff_table_bytes(&code->huff);
    enum pith_status st = add_table(tables, bytes, &dst, err);
    if (st)
        return st;
    if (code->kind == CODE_RANS)
        memcpy(dst, code->rans.table, bytes);
    else
        pith_huff_table_write(&code->huff, dst);
    return PITH_OK;
}

static enum pith_status encode_index(struct pack_const *c, const struct index_code *code,
                                     struct pith_error *err)
{
    histogram hist = {0};
    struct byte_out coded = {0};
    bool rans = code->kind == CODE_RANS;
    size_t n = (size_t)c->w.nnz, bytes = 0;
    pith_histogram_add(hist, c->index.data, n);
    size_t cap = rans ? pith_rans_bound(n) : pith_huff_bound(&code->huff, hist, n);
    uint8_t *dst = pith_out_room(&coded, cap + 1);
    if (!dst)
        return pith_error_no_memory(err);
    enum pith_status st = rans ? pith_rans_encode(&code->rans, c->index.data, n, dst, cap, &bytes)
                               : pith_huff_encode(&code->huff, c->index.data, n, dst, cap, &bytes);
    coded.bytes = bytes;
    pith_out_clear(&c->index);
    c->index = coded;
    c->w.code = code->kind;
    point(&c->w.index_stream, &c->index);
    return st ? pith_error_fill(err, st, "cannot encode the indices of '%s'", name_of(c)) : PITH_OK;
}

static enum pith_status encode_index_group(struct sharing *s, enum weight_code kind,
                                           const histogram *hist, uint32_t t,
                                           struct pack_tables *tables, struct pith_error *err)
{
    histogram sum = {0};
    struct index_code code = {.kind = kind};
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; s->table[i] == t && k < PITH_SYMBOLS; k++)
            sum[k] += hist[i][k];
    enum pith_status st = build_index_code(sum, &code, tables, err);
    for (uint32_t i = 0; i < s->n && !st; i++) {
        if (s->table[i] != t)
            continue;
        use_table(&s->part[i]->w.index_table, tables, tables->n - 1);
        st = encode_index(s->part[i], &code, err);
    }
    return st;
}

/* Those of one code share tables among them. */
struct index_sharing {
    struct sharing s;
    histogram *hist; /* [s.n] */
};

static bool index_sharing_new(struct index_sharing *s, uint32_t n)
{
    s->hist = calloc(n + 1u, sizeof *s->hist);
    return sharing_new(&s->s, n) && s->hist;
}

static void index_sharing_free(struct index_sharing *s)
{
    free(s->hist);
    sharing_free(&s->s);
}

/* Plain for those that are smaller so; the others are collected with their histograms. */
static enum pith_status choose_indices(struct pack_const *consts, uint32_t n,
                                       struct index_sharing *huff, struct index_sharing *rans,
                                       struct pith_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct pack_const *c = &consts[i];
        histogram hist = {0};
        enum weight_code code;
        uint64_t bytes;
        enum pith_status st;
        if (!const_of(c)->codebook || pith_pack_is_streamed(c))
            continue;
        if ((st = gather_indices(c, err)))
            return st;
        pith_histogram_add(hist, c->index.data, (size_t)c->w.nnz);
        if (choose_index_code(c, hist, &code, &bytes))
            return pith_error_no_memory(err);
        struct index_sharing *to = code == CODE_RANS ? rans : huff;
        if (code == CODE_PLAIN) {
            if ((st = write_plain_indices(c, err)))
                return st;
            continue;
        }
        memcpy(to->hist[to->s.n], hist, sizeof hist);
        to->s.part[to->s.n++] = c;
    }
    return PITH_OK;
}

static enum pith_status pack_shared(struct index_sharing *i, enum weight_code kind,
                                    struct pack_tables *tables, struct pith_error *err)
{
    struct sharing *s = &i->s;
    const uint64_t(*hist)[PITH_SYMBOLS] = (const uint64_t(*)[PITH_SYMBOLS])i->hist;
    enum pith_status st = PITH_OK;
    if (s->n == 0)
        return PITH_OK;
    if (kind == CODE_RANS ? pith_rans_share(s->n, hist, REFERENCE_BITS, s->table, &s->n_tables)
                          : pith_huff_share(s->n, hist, REFERENCE_BITS, s->table, &s->n_tables))
        return pith_error_no_memory(err);
    for (uint32_t t = 0; t < s->n_tables && !st; t++)
        st = encode_index_group(s, kind, (const histogram *)i->hist, t, tables, err);
    return st;
}

static enum pith_status pack_indices(struct pack_const *consts, uint32_t n,
                                     struct pack_tables *tables, struct pith_error *err)
{
    struct index_sharing huff, rans;
    bool ok = index_sharing_new(&huff, n);
    ok = index_sharing_new(&rans, n) && ok;
    enum pith_status st = ok ? PITH_OK : pith_error_no_memory(err);
    if (!st)
        st = choose_indices(consts, n, &huff, &rans, err);
    if (!st)
        st = pack_shared(&huff, CODE_HUFFMAN, tables, err);
    if (!st)
        st = pack_shared(&rans, CODE_RANS, tables, err);
    index_sharing_free(&huff);
    index_sharing_free(&rans);
    return st;
}

/* ---- coded supports -------------------------------------------------------------------------- */

static enum pith_status coded_support_bytes(const struct pack_const *c,
                                            const struct pith_support_profile *profile,
                                            uint64_t *coded)
{
    struct pith_support_code code;
    enum pith_status st = pith_support_build(profile, &code);
    if (st)
        return st;
    *coded = (pith_support_cost_bits(&code, profile) + 7) / 8 + pith_support_table_bytes(&code) +
             (c->w.count >= 4096 ? pith_huff_stream_overhead(c->w.count) : 0);
    return PITH_OK;
}

static enum pith_status wants_coded_support(const struct pack_const *c,
                                            const struct pith_support_profile *profile, bool *wants)
{
    uint64_t coded = 0;
    enum pith_status st = coded_support_bytes(c, profile, &coded);
    *wants = coded < (c->w.count + 7) / 8;
    return st;
}

static enum pith_status encode_support(struct pack_const *c, const struct pith_support_code *code,
                                       const struct pith_support_profile *profile,
                                       struct pith_error *err)
{
    size_t cap = pith_support_bound(code, profile), bytes = 0;
    uint8_t *dst = pith_out_room(&c->support, cap + 1);
    if (!dst)
        return pith_error_no_memory(err);
    enum pith_status st =
        pith_support_encode(code, const_of(c)->mask, c->w.count, dst, cap, &bytes);
    c->support.bytes = bytes;
    c->w.support = SUPPORT_GAPS;
    point(&c->w.support_stream, &c->support);
    return st ? pith_error_fill(err, st, "cannot encode the mask of '%s'", name_of(c)) : PITH_OK;
}

static enum pith_status encode_support_group(struct sharing *s,
                                             const struct pith_support_profile *profile, uint32_t t,
                                             struct pack_tables *tables, struct pith_error *err)
{
    struct pith_support_profile sum;
    struct pith_support_code code;
    uint8_t *dst;
    memset(&sum, 0, sizeof sum);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->table[i] == t)
            pith_support_profile_sum(&sum, &profile[i]);
    if (pith_support_build(&sum, &code))
        return pith_error_no_memory(err);
    enum pith_status st = add_table(tables, pith_support_table_bytes(&code), &dst, err);
    if (st)
        return st;
    pith_support_table_write(&code, dst);
    for (uint32_t i = 0; i < s->n && !st; i++) {
        if (s->table[i] != t)
            continue;
        use_table(&s->part[i]->w.gap_table, tables, tables->n - 1);
        st = encode_support(s->part[i], &code, &profile[i], err);
    }
    return st;
}

static enum pith_status write_bitmap(struct pack_const *c, struct pith_error *err)
{
    uint8_t *dst = pith_out_room(&c->support, (size_t)((c->w.count + 7) / 8));
    if (!dst)
        return pith_error_no_memory(err);
    pith_bitmap_pack(const_of(c)->mask, c->w.count, dst);
    point(&c->w.support_stream, &c->support);
    return PITH_OK;
}

static enum pith_status choose_supports(struct pack_const *consts, uint32_t n, struct sharing *s,
                                        struct pith_support_profile *profile,
                                        struct pith_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct pack_const *c = &consts[i];
        bool coded = false;
        if (!const_of(c)->mask || pith_pack_is_streamed(c))
            continue;
        if (c->code != PITH_CODE_PLAIN && c->w.count <= UINT32_MAX) {
            if (c->w.nnz == 0) {
                c->w.support = SUPPORT_GAPS; /* all pruned: no stream, no table */
                continue;
            }
            memset(&profile[s->n], 0, sizeof *profile);
            pith_support_profile_add(&profile[s->n], const_of(c)->mask, c->w.count);
            if (wants_coded_support(c, &profile[s->n], &coded))
                return pith_error_no_memory(err);
        }
        enum pith_status st = PITH_OK;
        if (coded)
            s->part[s->n++] = c;
        else
            st = write_bitmap(c, err);
        if (st)
            return st;
    }
    return PITH_OK;
}

static enum pith_status pack_supports(struct pack_const *consts, uint32_t n,
                                      struct pack_tables *tables, struct pith_error *err)
{
    struct sharing s;
    struct pith_support_profile *profile = calloc(n + 1u, sizeof *profile);
    enum pith_status st = sharing_new(&s, n) && profile ? PITH_OK : pith_error_no_memory(err);
    if (!st)
        st = choose_supports(consts, n, &s, profile, err);
    if (!st && s.n > 0 && pith_support_share(s.n, profile, REFERENCE_BITS, s.table, &s.n_tables))
        st = pith_error_no_memory(err);
    for (uint32_t t = 0; t < s.n_tables && !st; t++)
        st = encode_support_group(&s, profile, t, tables, err);
    free(profile);
    sharing_free(&s);
    return st;
}

/* ---- adaptive streams ------------------------------------------------------------------------ */

/* What the index or element stream takes otherwise, with a table of its own. */
static enum pith_status other_index_bytes(struct pack_const *c, uint64_t *bytes,
                                          struct pith_error *err)
{
    histogram hist = {0};
    enum weight_code code;
    if (!const_of(c)->codebook) {
        *bytes = c->w.index_stream.n_bytes;
        return PITH_OK;
    }
    enum pith_status st = gather_indices(c, err);
    if (st)
        return st;
    pith_histogram_add(hist, c->index.data, (size_t)c->w.nnz);
    pith_out_clear(&c->index);
    return choose_index_code(c, hist, &code, bytes) ? pith_error_no_memory(err) : PITH_OK;
}

static enum pith_status other_support_bytes(const struct pack_const *c, uint64_t *bytes,
                                            struct pith_error *err)
{
    uint64_t coded = 0;
    struct pith_support_profile profile;
    *bytes = 0;
    if (!const_of(c)->mask)
        return PITH_OK;
    memset(&profile, 0, sizeof profile);
    pith_support_profile_add(&profile, const_of(c)->mask, c->w.count);
    if (coded_support_bytes(c, &profile, &coded))
        return pith_error_no_memory(err);
    *bytes = coded < (c->w.count + 7) / 8 ? coded : (c->w.count + 7) / 8;
    return PITH_OK;
}

enum pith_status pith_pack_other_bytes(struct pack_const *c, uint64_t *bytes,
                                       struct pith_error *err)
{
    uint64_t support = 0, index = 0;
    enum pith_status st = other_support_bytes(c, &support, err);
    if (!st)
        st = other_index_bytes(c, &index, err);
    *bytes = support + index;
    return st;
}

/* ---- all ------------------------------------------------------------------------------------- */

enum pith_status pith_pack_weights(struct pack_const *consts, uint32_t n,
                                   struct pack_tables *tables, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    tables->n = 0;
    tables->table = calloc(2 * (size_t)n + 1, sizeof *tables->table);
    if (!tables->table)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < n && !st; i++) {
        st = describe(&consts[i], err);
        if (!st && const_of(&consts[i])->codebook)
            st = encode_codebook(&consts[i], err);
        else if (!st)
            st = gather_elements(&consts[i], err);
        if (!st && !const_of(&consts[i])->codebook)
            st = pack_planes(&consts[i], err);
        if (!st && !const_of(&consts[i])->codebook)
            st = pack_scaled(&consts[i], err);
    }
    if (!st)
        st = pith_pack_streams(consts, n, tables, err);
    if (!st)
        st = pack_supports(consts, n, tables, err);
    if (!st)
        st = pack_indices(consts, n, tables, err);
    return st;
}

void pith_pack_weights_clear(struct pack_const *consts, uint32_t n, struct pack_tables *tables)
{
    for (uint32_t i = 0; i < n; i++) {
        pith_out_clear(&consts[i].codebook);
        pith_out_clear(&consts[i].support);
        pith_out_clear(&consts[i].index);
        pith_out_clear(&consts[i].made);
    }
    for (uint32_t i = 0; i < tables->n; i++)
        pith_out_clear(&tables->table[i]);
    free(tables->table);
    tables->table = NULL;
    tables->n = 0;
}
