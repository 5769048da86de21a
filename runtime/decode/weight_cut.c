/* SPDX-License-Identifier: MIT */
/* weight_cut.c - see weight_cut.h. One decoder is opened in scratch, which tests the directory of
 * blocks; each piece goes on with a copy of it on its own stack, put where the piece begins, and
 * shares the decode table. Codebooks of groups have no entry points: a piece reads those in front
 * of its first group again, which is little beside the elements of a group. */
#include "core/build_choice.h"
#include "decode/weight_cut.h"
#include "decode/weight_decoder.h"

#define PIECE_ELEMENTS (UINT64_C(1) << 18) /* at least: some 0.1 ms of decoding */
#define MAX_PIECES 16u
#define CHUNK 512u /* of a piece; 5.5 KB of its thread's stack */

struct pieces {
    const struct decoder *d; /* at the first value */
    uint32_t n;
    uint64_t unit; /* elements between two places where a piece can begin */
    float *f32;    /* all elements: one of these */
    int8_t *i8;
    uint8_t *index; /* or this */
    enum pith_status st[MAX_PIECES];
};

/* A build without rANS is one for a machine without threads to speak of. */
bool pith_weight_is_cut(const struct weight *w)
{
    return BUILT_PART(RANS) && !is_sparse(w) && has_codebook(w) &&
           (uses_rans(w) || w->code == CODE_PLAIN) && w->count >= 2 * PIECE_ELEMENTS;
}

/* The first element of piece i; the last piece ends with the weight. */
static uint64_t begin_of(const struct pieces *p, uint32_t i)
{
    uint64_t count = p->d->w->count, units = (count + p->unit - 1) / p->unit;
    uint64_t at = units * i / p->n * p->unit; /* units <= 2^28: 4,096 and more elements each */
    return at < count ? at : count;
}

static enum pith_status next_i8(struct decoder *d, uint64_t at, int8_t *dst, uint32_t n)
{
    float value[CHUNK];
    enum pith_status st = pith_decoder_values(d, NULL, at, d->index, value, n);
    for (uint32_t i = 0; i < n && !st; i++)
        dst[i] = (int8_t)value[i]; /* whole numbers: pith_centroids_ok */
    return st;
}

/* Chunks of whole rows of rANS symbols and whole bytes of plain ones. */
static enum pith_status decode_piece(const struct pieces *p, struct decoder *d, uint64_t at,
                                     uint64_t end)
{
    enum pith_status st = PITH_OK;
    while (at < end && !st) {
        uint32_t n = end - at < CHUNK ? (uint32_t)(end - at) : CHUNK;
        if (p->index)
            st = pith_decoder_indices(d, p->index + at, n);
        else if (p->f32)
            st = pith_decoder_values(d, NULL, at, d->index, p->f32 + at, n);
        else
            st = next_i8(d, at, p->i8 + at, n);
        at += n;
    }
    return st;
}

/* The last piece also reads the codebooks behind its own, as a whole decoder would. */
static void run_piece(void *arg, uint32_t i)
{
    struct pieces *p = arg;
    struct decoder d = *p->d;
    struct rans_stream rans;
    uint8_t index[CHUNK];
    float codebook[256];
    uint64_t at = begin_of(p, i), end = begin_of(p, i + 1);
    d.index = index;
    d.codebook = codebook;
    d.taken = at;
    if (uses_rans(d.w)) {
        rans = *d.rans;
        d.rans = &rans;
        if (!d.rans_table->single)
            pith_rans_skip(&rans, at / p->unit);
    }
    p->st[i] = decode_piece(p, &d, at, end);
    if (!p->st[i] && i + 1 == p->n && !p->index)
        p->st[i] = pith_decoder_finish(&d);
}

/* A stream of a single symbol can be entered anywhere. */
static void choose_pieces(struct pieces *p)
{
    const struct decoder *d = p->d;
    const struct weight *w = d->w;
    p->unit = uses_rans(w) && !d->rans_table->single ? d->rans->block_symbols : 4096;
    const uint64_t units = (w->count + p->unit - 1) / p->unit;
    uint64_t pieces = w->count / PIECE_ELEMENTS;
    pieces = pieces < units ? pieces : units;
    p->n = pieces < MAX_PIECES ? (uint32_t)pieces : MAX_PIECES;
}

/* The first failure in order of pieces is returned, whichever thread met it. */
static enum pith_status run_pieces(const struct op_env *env, const struct weight *w,
                                   struct pieces *p, void *scratch)
{
    struct decoder *d;
    enum pith_status st = pith_decoder_open(w, scratch, true, &d);
    if (st)
        return st;
    p->d = d;
    choose_pieces(p);
    pith_op_parallel(env, p->n, run_piece, p);
    for (uint32_t i = 0; i < p->n && !st; i++)
        st = p->st[i];
    return st;
}

static bool cuts(const struct op_env *env, const struct weight *w)
{
    return BUILT_PART(RANS) && env->parallel_for && pith_weight_is_cut(w);
}

enum pith_status pith_weight_cut_f32(const struct op_env *env, const struct weight *w, float *dst,
                                     void *scratch)
{
    struct pieces p = {.f32 = dst};
    return cuts(env, w) ? run_pieces(env, w, &p, scratch) : pith_weight_expand_f32(w, dst, scratch);
}

enum pith_status pith_weight_cut_plain(const struct op_env *env, const struct weight *w, void *dst,
                                       void *scratch)
{
    struct pieces p = {.i8 = dst};
    return w->type == PITH_I8 && cuts(env, w) ? run_pieces(env, w, &p, scratch)
                                              : pith_weight_expand_plain(w, dst, scratch);
}

enum pith_status pith_weight_cut_parts(const struct op_env *env, const struct weight *w,
                                       uint32_t *pos, uint8_t *index, float *value, void *scratch)
{
    struct pieces p = {.index = index};
    return index && !pos && !value && cuts(env, w)
               ? run_pieces(env, w, &p, scratch)
               : pith_weight_expand_parts(w, pos, index, value, scratch);
}
