/* SPDX-License-Identifier: MIT */
/* pack_streams.c - constants whose support and indices are one stream: adaptive, or by classes
 * (docs/format-streams.md, sections 8 and 11). Classes are decoded ten times as fast; which a file
 * holds is decided by the bytes and the time of both. */
#include <stdlib.h>
#include "base/error_fill.h"
#include "pack.h"

#define MOST_ADAPTIVE 4096u /* elements of an adaptive tensor beside others coded by classes */
/* Classes may take this share of bytes more than adaptive streams, and so much more for each second
 * that those take to decode; of more seconds, classes are taken whatever the bytes. */
#define MORE_BYTES 0.01
#define MORE_BYTES_SECOND 0.04
#define MOST_SECONDS 1.0

/* Where the constants are coded by classes, large ones are left to those. */
static enum pith_status pack_adaptive(struct pack_const *consts, uint32_t n, bool by_classes,
                                      struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < n && !st; i++) {
        struct pack_const *c = &consts[i];
        uint64_t bytes;
        bool slow =
            by_classes && c->w.count > MOST_ADAPTIVE && (c->by_classes || !c->content->codebook);
        if (pith_pack_is_streamed(c) || c->w.scaled || c->code != PITH_CODE_ADAPTIVE ||
            c->w.nnz == 0 || c->w.count > UINT32_MAX || slow)
            continue;
        if (!(st = pith_pack_other_bytes(c, &bytes, err)))
            st = pith_pack_adaptive(c, bytes, err);
    }
    return st;
}

static enum pith_status add_bytes(struct pack_const *consts, uint32_t n, double *sum,
                                  struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < n && !st; i++) {
        uint64_t bytes = consts[i].w.index_stream.n_bytes;
        if (!pith_pack_is_streamed(&consts[i]) && consts[i].code == PITH_CODE_ADAPTIVE)
            st = pith_pack_other_bytes(&consts[i], &bytes, err);
        *sum += (double)bytes;
    }
    return st;
}

/* Of the constants that are coded by classes. */
static double adaptive_seconds(const struct pack_const *consts, uint32_t n)
{
    double elements = 0;
    for (uint32_t i = 0; i < n; i++)
        elements += consts[i].w.code == CODE_CLASSES ? (double)consts[i].w.count : 0;
    return elements * ADAPTIVE_NS * 1e-9;
}

/* adaptive[n] takes the place of consts[n]. */
static void use_adaptive(struct pack_const *consts, struct pack_const *adaptive, uint32_t n,
                         struct pack_tables *tables)
{
    for (uint32_t i = 0; i < n; i++) {
        if (adaptive[i].w.code != CODE_ADAPTIVE && !pith_pack_is_streamed(&consts[i]))
            continue;
        pith_out_clear(&consts[i].index);
        consts[i] = adaptive[i];
        adaptive[i].index = (struct byte_out){0};
    }
    while (tables->n > 0)
        pith_out_clear(&tables->table[--tables->n]);
}

/* Both are made, where adaptive streams are soon decoded; adaptive[n]: consts[n] before they were
 * coded by classes. */
static enum pith_status choose_streams(struct pack_const *consts, struct pack_const *adaptive,
                                       uint32_t n, struct pack_tables *tables,
                                       struct pith_error *err)
{
    double seconds = adaptive_seconds(consts, n), bytes = 0, adaptive_bytes = 0;
    enum pith_status st = pack_adaptive(consts, n, tables->n > 0, err);
    if (st || tables->n == 0 || seconds > MOST_SECONDS)
        return st;
    for (uint32_t i = 0; i < tables->n; i++)
        bytes += (double)tables->table[i].bytes;
    if (!(st = pack_adaptive(adaptive, n, false, err)) &&
        !(st = add_bytes(consts, n, &bytes, err)) &&
        !(st = add_bytes(adaptive, n, &adaptive_bytes, err)) &&
        bytes > adaptive_bytes * (1 + MORE_BYTES + MORE_BYTES_SECOND * seconds))
        use_adaptive(consts, adaptive, n, tables);
    return st;
}

enum pith_status pith_pack_streams(struct pack_const *consts, uint32_t n,
                                   struct pack_tables *tables, struct pith_error *err)
{
    struct pack_const *adaptive = calloc(n + 1u, sizeof *adaptive);
    if (!adaptive)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        adaptive[i] = consts[i];
        adaptive[i].index = (struct byte_out){0};
    }
    enum pith_status st = pith_pack_classes(consts, n, tables, err);
    if (!st)
        st = choose_streams(consts, adaptive, n, tables, err);
    for (uint32_t i = 0; i < n; i++)
        pith_out_clear(&adaptive[i].index);
    free(adaptive);
    return st;
}
