/* SPDX-License-Identifier: MIT */
/* unpack.c - the bytes of a .pith into a model: the graph is read and validated by the runtime's
 * gate, the streams are decoded by the runtime's decoders, and each weight's mask, codebook and
 * code come back as they were packed. */
#include "unpack.h"

#include <stdlib.h>
#include "base/error_fill.h"
#include "validate/format.h"
#include "graph_open.h"
#include "model/model_sizes.h"
#include "pack.h"
#include "base/narrow_float.h"
#include "core/element_f32.h"
#include "pith_runtime.h"

#define DEFAULT_MAX_BYTES (UINT64_C(4) << 30)
/* Of memory for the tensors of a file: anyhow, and for each of its bytes. No network measured has
 * more than 340 weights a byte; they take 6 bytes each. */
#define TENSOR_BYTES_ANYHOW (UINT64_C(48) << 20)
#define TENSOR_BYTES_PER_BYTE 4096u

struct unpacking {
    const char *name;
    struct pith_error *err;
    struct image im;
    struct open_graph graph;
    bool outline; /* what weights hold is left out */
    struct pith_model *m;
};

bool pith_is_pith(const void *bytes, size_t n)
{
    const uint8_t *b = bytes;
    /* Two bytes of the full magic: a file damaged in text mode is still called a broken .pith. */
    if (n >= 2 && b[0] == COMPACT_MAGIC_0 && (b[1] & 0xf0) == COMPACT_MAGIC_1)
        return true;
    return n >= 4 && memcmp(b, FULL_MAGIC, 4) == 0;
}

/* Versions 0 to 2 came before the first release. */
static const char *const read_by[FORMAT_VERSION] = {"3c8a4081", "3c8a4081", "23d5b4e0"};

/* UINT32_MAX: unknown. */
static uint32_t version_of(const void *bytes, size_t n)
{
    const uint8_t *b = bytes;
    if (n >= 2 && b[0] == COMPACT_MAGIC_0)
        return b[1] & 15u;
    return n >= FULL_VERSION_AT + 4 ? load_le32(b + FULL_VERSION_AT) : UINT32_MAX;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void tag_text(uint32_t tag, char text[5])
{
    for (unsigned i = 0; i < 4; i++) {
        uint8_t c = (uint8_t)(tag >> (8 * i));
        text[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    text[4] = 0;
}

static const char *what_failed(enum pith_status st)
{
    switch (st) {
    case PITH_ERR_VERSION:
        return "written in a newer version of the format";
    case PITH_ERR_UNSUPPORTED:
        return "uses something this build does not have";
    default:
        return "file is broken";
    }
}

/* why: where the gate stopped. */
static enum pith_status refuse(const char *name, enum pith_status st, const struct pith_error *why,
                               struct pith_error *err)
{
    char tag[5];
    tag_text(why->chunk, tag);
    if (why->chunk)
        pith_error_fill(err, st, "%s: %s: chunk %s, byte %llu", name, what_failed(st), tag,
                        (unsigned long long)why->offset);
    else
        pith_error_fill(err, st, "%s: %s: byte %llu", name, what_failed(st),
                        (unsigned long long)why->offset);
    if (err) {
        err->chunk = why->chunk;
        err->offset = why->offset;
    }
    return st;
}

static enum pith_status no_memory(const struct unpacking *u)
{
    return pith_error_no_memory(u->err);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static char *copy_text(struct pith_model *m, const void *text, size_t n)
{
    char *copy = pith_model_alloc(m, (uint64_t)n + 1, 1);
    if (copy && n > 0)
        memcpy(copy, text, n);
    return copy;
}

static enum pith_type held_type(const struct weight *w)
{
    return pith_type_is_narrow(w->type) ? PITH_F32 : w->type;
}

static enum pith_status make_values(struct unpacking *u)
{
    struct pith_model *m = u->m;
    m->n_values = u->graph.g.n_values;
    m->values = pith_model_alloc(m, m->n_values, sizeof *m->values);
    if (!m->values)
        return no_memory(u);
    for (uint32_t i = 0; i < m->n_values; i++) {
        struct pith_value *v = &m->values[i];
        bool is_constant =
            i >= u->graph.g.n_inputs && i - u->graph.g.n_inputs < u->graph.g.n_weights;
        /* the type stored, not the one it is computed in; but f16 and bf16 are f32 that know it */
        v->type = is_constant ? held_type(&u->graph.g.weights[i - u->graph.g.n_inputs])
                              : u->graph.shapes[i].type;
        v->rank = u->graph.shapes[i].shape.rank;
        memcpy(v->dim, u->graph.shapes[i].shape.dim, sizeof v->dim);
        v->min = f32_from_bits(0x7f800000u); /* min > max: nothing observed */
        v->max = f32_from_bits(0xff800000u);
    }
    return PITH_OK;
}

static enum pith_status make_node(struct unpacking *u, uint32_t i)
{
    const struct graph_node *from = &u->graph.g.nodes[i];
    struct pith_node *to = &u->m->nodes[i];
    to->op = (uint32_t)from->info->op;
    to->n_in = from->n_in;
    to->n_out = from->n_out;
    to->attr = pith_model_alloc(u->m, from->info->n_slots, sizeof *to->attr);
    to->in = pith_model_alloc(u->m, from->n_in, sizeof *to->in);
    to->out = pith_model_alloc(u->m, from->n_out, sizeof *to->out);
    if (!to->attr || !to->in || !to->out)
        return no_memory(u);
    if (from->info->n_slots > 0)
        memcpy(to->attr, from->attr, from->info->n_slots * sizeof *to->attr);
    for (uint32_t k = 0; k < from->n_in; k++)
        to->in[k] = from->in[k] == PITH_NO_VALUE ? PITH_VALUE_NONE : from->in[k];
    for (uint32_t k = 0; k < from->n_out; k++)
        to->out[k] = from->first_out + k;
    return PITH_OK;
}

static enum pith_status make_graph(struct unpacking *u)
{
    struct pith_model *m = u->m;
    enum pith_status st = PITH_OK;
    m->n_inputs = u->graph.g.n_inputs;
    m->n_outputs = u->graph.g.n_outputs;
    m->n_nodes = u->graph.g.n_nodes;
    m->batch_open = u->graph.g.inputs[0].batch_open;
    m->inputs = pith_model_alloc(m, m->n_inputs, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, m->n_outputs, sizeof *m->outputs);
    m->nodes = pith_model_alloc(m, m->n_nodes, sizeof *m->nodes);
    if (!m->inputs || !m->outputs || !m->nodes)
        return no_memory(u);
    for (uint32_t i = 0; i < m->n_inputs; i++)
        m->inputs[i] = i;
    memcpy(m->outputs, u->graph.g.outputs, m->n_outputs * sizeof *m->outputs);
    for (uint32_t i = 0; i < m->n_nodes && !st; i++)
        st = make_node(u, i);
    return st;
}

/* ---- weights --------------------------------------------------------------------------------- */

struct decoding {
    const struct weight *w;
    struct pith_const *k;
    void *scratch;
};

static enum pith_status decode_mask(struct unpacking *u, const struct decoding *d)
{
    const struct weight *w = d->w;
    uint8_t *mask = pith_model_alloc(u->m, w->count, 1);
    if (!mask)
        return no_memory(u);
    d->k->mask = mask;
    if (w->support == SUPPORT_BITMAP) {
        for (uint64_t i = 0; i < w->count; i++)
            mask[i] = w->support_stream.bytes[i / 8] >> (i % 8) & 1;
        return PITH_OK;
    }
    uint32_t *pos = malloc((size_t)(w->nnz + 1) * sizeof *pos);
    if (!pos)
        return no_memory(u);
    enum pith_status st = pith_weight_expand_parts(w, pos, NULL, NULL, d->scratch);
    for (uint64_t i = 0; i < w->nnz && !st; i++)
        mask[pos[i]] = 1;
    free(pos);
    return st;
}

/* The decoders give the kept indices one behind the other; the model has one for each element. */
static enum pith_status decode_indices(struct unpacking *u, const struct decoding *d,
                                       uint8_t *index)
{
    const struct weight *w = d->w;
    uint8_t *kept = malloc((size_t)w->nnz + 1);
    if (!kept)
        return no_memory(u);
    enum pith_status st = pith_weight_expand_parts(w, NULL, kept, NULL, d->scratch);
    uint64_t next = 0;
    for (uint64_t i = 0; i < w->count && !st; i++)
        if (!d->k->mask || d->k->mask[i])
            index[i] = kept[next++];
    free(kept);
    return st;
}

/* -n/2 .. n/2 times a step, but for 0. */
static bool lacks_zero(const float *centroid, uint32_t n)
{
    float step = centroid[n / 2];
    for (uint32_t i = 0; i < n; i++) {
        int32_t k = (int32_t)i - (int32_t)(n / 2);
        if (centroid[i] != (float)(k + (k >= 0)) * step)
            return false;
    }
    return true;
}

enum pith_code pith_code_of(const struct weight *w)
{
    return w->code == CODE_ADAPTIVE || w->code == CODE_CLASSES ? PITH_CODE_ADAPTIVE
           : w->code == CODE_RANS                              ? PITH_CODE_RANS
           : w->support == SUPPORT_GAPS || w->code == CODE_HUFFMAN || w->code == CODE_PLANES
               ? PITH_CODE_HUFFMAN
               : PITH_CODE_PLAIN;
}

/* centroid: n_groups times n. */
static bool all_lack_zero(const struct weight *w, const float *centroid)
{
    uint32_t n = w->n_centroids;
    bool lacks = (w->code == CODE_ADAPTIVE || w->code == CODE_CLASSES) &&
                 w->support != SUPPORT_DENSE && n % 2 == 0 && n < MAX_CENTROIDS;
    for (uint64_t g = 0; lacks && g < w->n_groups; g++)
        lacks = lacks_zero(centroid + g * n, n);
    return lacks;
}

#define FEW_CENTROIDS MAX_CENTROIDS /* those of one codebook, or of some small ones */

uint32_t pith_whole_centroids(const struct weight *w)
{
    float centroid[FEW_CENTROIDS];
    bool few = w->n_groups <= FEW_CENTROIDS / w->n_centroids;
    bool lacks = few && !pith_weight_codebooks(w, centroid) && all_lack_zero(w, centroid);
    return w->n_centroids + lacks;
}

/* pack.h leaves the 0 of a grid out where a mask implies it; here the grid is completed.
 */
static enum pith_status put_zero_back(struct unpacking *u, const struct decoding *d)
{
    struct pith_codebook *b = d->k->codebook;
    uint32_t n = b->n_centroids;
    if (!all_lack_zero(d->w, b->centroid))
        return PITH_OK;
    float *whole = pith_model_alloc(u->m, b->n_groups * (n + 1), sizeof *whole);
    if (!whole)
        return no_memory(u);
    for (uint64_t g = 0; g < b->n_groups; g++) {
        memcpy(whole + g * (n + 1), b->centroid + g * n, n / 2 * sizeof *whole);
        memcpy(whole + g * (n + 1) + n / 2 + 1, b->centroid + g * n + n / 2, n / 2 * sizeof *whole);
    }
    for (uint64_t i = 0; i < d->k->count; i++)
        b->index[i] = (uint8_t)(b->index[i] + (b->index[i] >= n / 2));
    b->centroid = whole;
    b->n_centroids = n + 1;
    return PITH_OK;
}

static enum pith_status decode_codebook(struct unpacking *u, const struct decoding *d)
{
    const struct weight *w = d->w;
    struct pith_codebook *b = pith_model_alloc(u->m, 1, sizeof *b);
    if (!b)
        return no_memory(u);
    *b = (struct pith_codebook){
        .n_centroids = w->n_centroids, .group_elems = w->group_elems, .n_groups = w->n_groups};
    b->centroid = pith_model_alloc(u->m, w->n_groups * w->n_centroids, sizeof *b->centroid);
    b->index = pith_model_alloc(u->m, w->count, 1);
    if (!b->centroid || !b->index)
        return no_memory(u);
    d->k->codebook = b;
    enum pith_status st = pith_weight_codebooks(w, b->centroid);
    if (!st)
        st = decode_indices(u, d, b->index);
    return st ? st : put_zero_back(u, d);
}

/* Values of f32 from their codebook: another walk through the stream would take as long again. */
static void look_up_data(struct pith_const *k)
{
    const struct pith_codebook *b = k->codebook;
    float *data = k->data;
    for (uint64_t i = 0; i < k->count; i++) {
        const float *centroid = b->centroid + i / b->group_elems * b->n_centroids;
        data[i] = k->mask && !k->mask[i] ? 0.0f : centroid[b->index[i]];
    }
}

/* Adaptive streams and byte planes do not store a type of 2 bytes, but the numbers show it. Only
 * where it is shorter than these would be: so packing the model again chooses the stream again. */
static enum pith_type type_of_streamed(const struct decoding *d)
{
    const struct weight *w = d->w;
    bool streamed = w->code == CODE_ADAPTIVE || w->code == CODE_PLANES;
    if (!streamed || w->grid != GRID_PLAIN || w->index_stream.n_bytes >= 2 * w->nnz)
        return 0;
    return pith_narrow_holds(PITH_BF16, d->k->data, w->count)  ? PITH_BF16
           : pith_narrow_holds(PITH_F16, d->k->data, w->count) ? PITH_F16
                                                               : 0;
}

/* Scales and zero points as the model has them. */
static enum pith_status read_integers(struct unpacking *u, const struct decoding *d)
{
    const struct weight *w = d->w;
    const size_t each = pith_type_bytes((enum pith_type)w->scaled);
    struct pith_integers *g = pith_model_alloc(u->m, 1, sizeof *g);
    if (!g)
        return no_memory(u);
    *g = (struct pith_integers){.type = (enum pith_type)w->scaled,
                                .n = w->n_groups,
                                .axis = w->index_bits,
                                .block = w->group_elems};
    g->scale = pith_model_alloc(u->m, g->n, sizeof *g->scale);
    g->zero = pith_model_alloc(u->m, g->n, sizeof *g->zero);
    if (!g->scale || !g->zero)
        return no_memory(u);
    const uint8_t *scale = w->codebook.bytes, *zero = scale + 4 * g->n;
    for (uint64_t i = 0; i < g->n; i++) {
        float z = 0;
        g->scale[i] = f32_from_bits(load_le32(scale + 4 * i));
        if (w->codebook.n_bytes > 4 * g->n)
            pith_elements_to_f32(g->type, zero + each * i, 1, &z);
        g->zero[i] = (int32_t)z;
    }
    d->k->integers = g;
    return PITH_OK;
}

static enum pith_status decode_weight(struct unpacking *u, const struct decoding *d)
{
    const struct weight *w = d->w;
    enum pith_status st = PITH_OK;
    bool narrow = pith_type_is_narrow(w->type);
    d->k->count = w->count;
    d->k->data = pith_model_alloc(u->m, w->count, pith_type_bytes(held_type(w)));
    if (!d->k->data)
        return no_memory(u);
    if (w->support != SUPPORT_DENSE)
        st = decode_mask(u, d);
    bool codebook =
        w->grid == GRID_CODEBOOK && w->type == PITH_F32; /* pack finds that of integers */
    if (!st && codebook)
        st = decode_codebook(u, d);
    if (st)
        return st;
    d->k->code = pith_code_of(w);
    d->k->trellis = w->trellis;
    d->k->short_planes = w->code == CODE_PLANES && w->count < PITH_FEWEST_PLANES;
    if (codebook)
        look_up_data(d->k);
    else
        st = narrow ? pith_weight_expand_f32(w, d->k->data, d->scratch)
                    : pith_weight_expand_plain(w, d->k->data, d->scratch);
    if (!st && w->scaled)
        st = read_integers(u, d);
    if (!st)
        d->k->stored = narrow ? w->type : type_of_streamed(d);
    return st;
}

/* A weight, which has two axes or more, in an outline. */
static enum pith_status make_bare(struct unpacking *u, uint32_t i)
{
    struct pith_const *k = pith_model_alloc(u->m, 1, sizeof *k);
    if (!k)
        return no_memory(u);
    k->count = u->graph.g.weights[i].count;
    u->m->values[u->graph.g.n_inputs + i].constant = k;
    return PITH_OK;
}

static enum pith_status make_weight(struct unpacking *u, uint32_t i)
{
    struct decoding d = {.w = &u->graph.g.weights[i]};
    if (u->outline && u->m->values[u->graph.g.n_inputs + i].rank > 1)
        return make_bare(u, i);
    d.k = pith_model_alloc(u->m, 1, sizeof *d.k);
    d.scratch = aligned_alloc(64, (pith_weight_scratch_bytes(d.w) + 127) & ~(size_t)63);
    enum pith_status st = d.k && d.scratch ? decode_weight(u, &d) : no_memory(u);
    free(d.scratch);
    u->m->values[u->graph.g.n_inputs + i].constant = d.k;
    if (st == PITH_ERR_CORRUPT) {
        struct pith_error why = {.chunk = TAG_DATA,
                                 .offset = (uint64_t)(d.w->codebook.n_bytes > 0
                                                          ? d.w->codebook.bytes - u->im.blob
                                                      : d.w->support_stream.n_bytes > 0
                                                          ? d.w->support_stream.bytes - u->im.blob
                                                          : d.w->index_stream.bytes - u->im.blob)};
        return refuse(u->name, st, &why, u->err);
    }
    return st;
}

static uint64_t limit_of(size_t n)
{
    return n > (DEFAULT_MAX_BYTES - TENSOR_BYTES_ANYHOW) / TENSOR_BYTES_PER_BYTE
               ? DEFAULT_MAX_BYTES
               : TENSOR_BYTES_ANYHOW + (uint64_t)n * TENSOR_BYTES_PER_BYTE;
}

/* A few bytes can claim a terabyte of zeros: what all tensors take is added up before the first is
 * made. */
static enum pith_status check_memory(const struct unpacking *u, uint64_t max_bytes)
{
    uint64_t total = 0, limit = max_bytes ? max_bytes : limit_of(u->im.bytes);
    for (uint32_t i = 0; i < u->graph.g.n_weights; i++) {
        const struct weight *w = &u->graph.g.weights[i];
        if (u->outline && w->shape.rank > 1)
            continue;
        uint64_t each = pith_type_bytes(held_type(w)) + (w->support != SUPPORT_DENSE ? 1u : 0u) +
                        (w->grid == GRID_CODEBOOK ? 1u : 0u);
        uint64_t bytes = w->count * each;                      /* < 2^40 * 10 */
        uint64_t codebooks = w->n_groups * w->n_centroids * 4; /* <= 2^40 * 2^10 */
        if (!add_ok(bytes, codebooks, &bytes) || !add_ok(total, bytes, &total) || total > limit)
            return pith_error_fill(
                u->err, PITH_ERR_LIMIT,
                "%s: %zu bytes stand for tensors of more than %llu (--max-memory)", u->name,
                u->im.bytes, (unsigned long long)limit);
    }
    return PITH_OK;
}

/* ---- texts (validated: lengths lie inside the chunks) ---------------------------------------- */

static enum pith_status read_names(struct unpacking *u)
{
    struct pith_model *m = u->m;
    struct reader r = reader_of(u->im.chunk[CHUNK_NAMES].bytes, u->im.chunk[CHUNK_NAMES].n_bytes);
    char *none = copy_text(m, NULL, 0); /* of all that have no name */
    for (uint32_t i = 0; i < m->n_values + m->n_nodes; i++) {
        size_t n = r.p ? (size_t)rd_varint(&r, MAX_NAME_BYTES) : 0;
        char *name = n > 0 ? copy_text(m, rd_bytes(&r, n), n) : none;
        if (!none || !name)
            return no_memory(u);
        if (i < m->n_values)
            m->values[i].name = name;
        else
            m->nodes[i - m->n_values].name = name;
    }
    return PITH_OK;
}

static char *read_text(struct unpacking *u, struct reader *r, size_t n)
{
    return copy_text(u->m, rd_bytes(r, n), n);
}

static enum pith_status read_meta(struct unpacking *u)
{
    struct reader r = reader_of(u->im.chunk[CHUNK_META].bytes, u->im.chunk[CHUNK_META].n_bytes);
    while (r.left > 0) {
        uint64_t v = rd_varint(&r, META_FIRST_LENGTH - 1 + MAX_NAME_BYTES);
        char *key = v < META_FIRST_LENGTH ? pith_model_strdup(u->m, pith_meta_key((uint32_t)v))
                                          : read_text(u, &r, (size_t)v - (META_FIRST_LENGTH - 1));
        char *text = read_text(u, &r, (size_t)rd_varint(&r, MAX_TEXT_BYTES));
        if (key && text && strcmp(key, PITH_META_SIZES) == 0) {
            enum pith_status st = pith_model_read_sizes(u->m, text, u->err);
            if (st)
                return st;
            continue;
        }
        if (!key || !text || pith_model_set_meta(u->m, key, text))
            return no_memory(u);
    }
    return PITH_OK;
}

static enum pith_status read_history(struct unpacking *u)
{
    struct reader r =
        reader_of(u->im.chunk[CHUNK_HISTORY].bytes, u->im.chunk[CHUNK_HISTORY].n_bytes);
    while (r.left > 0) {
        char *verb = read_text(u, &r, (size_t)rd_varint(&r, MAX_NAME_BYTES));
        char *json = read_text(u, &r, (size_t)rd_varint(&r, MAX_TEXT_BYTES));
        if (!verb || !json || pith_model_add_history(u->m, verb, json))
            return no_memory(u);
    }
    return PITH_OK;
}

static enum pith_status read_stats(struct unpacking *u, uint64_t max_bytes)
{
    const struct stream *chunk = &u->im.chunk[CHUNK_STATS];
    uint64_t limit = max_bytes ? max_bytes : DEFAULT_MAX_BYTES;
    enum pith_status st = pith_unpack_stats(u->m, chunk->bytes, chunk->n_bytes, limit);
    struct pith_error why = {.chunk = TAG_STATS,
                             .offset = chunk->bytes ? (uint64_t)(chunk->bytes - u->im.blob) : 0};
    if (st == PITH_ERR_CORRUPT)
        return refuse(u->name, st, &why, u->err);
    if (st == PITH_ERR_LIMIT)
        return pith_error_fill(u->err, st,
                               "%s: what calibrate saw takes more than %llu bytes of memory",
                               u->name, (unsigned long long)limit);
    return st ? no_memory(u) : PITH_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status open_graph(struct unpacking *u, const void *bytes, size_t n, uint32_t flags)
{
    struct pith_error why = {0};
    enum pith_status st = pith_graph_open(bytes, n, flags, &u->graph, &why);
    if (st == PITH_ERR_MEMORY)
        return no_memory(u);
    if (st == PITH_ERR_VERSION && version_of(bytes, n) < FORMAT_VERSION)
        return pith_error_fill(u->err, st,
                               "%s: written in version %u of the format, which is no longer read: "
                               "make it again from its network (commit %s of pith reads it)",
                               u->name, (unsigned)version_of(bytes, n),
                               read_by[version_of(bytes, n)]);
    if (st)
        return refuse(u->name, st, &why, u->err);
    pith_image_open(bytes, n, flags | PITH_FLAG_NO_CHECKSUM, &u->im, NULL); /* tested just now */
    if (u->im.unknown) {
        why.chunk = u->im.unknown;
        return refuse(u->name, PITH_ERR_UNSUPPORTED, &why, u->err);
    }
    return PITH_OK;
}

static enum pith_status build(struct unpacking *u, uint64_t max_bytes)
{
    enum pith_status st = check_memory(u, max_bytes);
    if (!st)
        st = make_values(u);
    if (!st)
        st = make_graph(u);
    if (!st)
        st = read_names(u);
    if (!st)
        st = read_meta(u);
    if (!st)
        st = read_history(u);
    for (uint32_t i = 0; i < u->graph.g.n_weights && !st; i++)
        st = make_weight(u, i);
    return st ? st : read_stats(u, max_bytes);
}

enum pith_status pith_unpack(const void *bytes, size_t n, const char *name,
                             const struct unpack_opts *opts, struct pith_model **m,
                             struct pith_error *err)
{
    const struct unpack_opts usual = {0};
    opts = opts ? opts : &usual;
    struct unpacking u = {.name = name, .err = err, .outline = opts->outline};
    enum pith_status st = open_graph(&u, bytes, n, opts->flags);
    if (!st && pith_model_new(opts->alloc, &u.m))
        st = no_memory(&u);
    if (!st)
        st = build(&u, opts->max_bytes);
    pith_graph_close(&u.graph);
    if (st)
        pith_model_free(u.m);
    else
        *m = u.m;
    return st;
}
