/* SPDX-License-Identifier: MIT */
/* pack_classes.c - constants under static rANS tables by classes (docs/format-streams.md, section
 * 12), where all together are large; pack_streams.c takes them or adaptive ones. One model is
 * fitted to all of a kind, and a tensor has one of its own where that takes fewer bytes. Integers
 * that are levels of a trellis are recognized: nothing else fits for long. */
#include <stdlib.h>
#include "base/error_fill.h"
#include "huffman/class_encode.h"
#include "pack.h"

#define LEAST_BYTES 16384u /* of all streams: below, adaptive ones are smaller and soon decoded */
#define LEAST_OWN 4096u    /* elements of a tensor that a model of its own is fitted to */
#define REFERENCE_BYTES 2u /* of a tensor's description: prefix, table */
#define PASSES 3u          /* the shared model, without those that have their own */
#define KINDS 3u           /* no trellis, 8 states, 16: not both in one model */

struct part {
    struct pack_const *c;
    struct weight w;
    uint32_t kind;
    uint64_t other;          /* bytes that it takes in other codes */
    size_t bytes;            /* of its stream */
    struct class_code *code; /* NULL: it stays as it is */
    struct class_code *own;
    size_t own_bytes;
};

struct parts {
    uint32_t n;
    struct part *part;
    struct class_code shared[KINDS];
    struct huff_table shared_table[KINDS]; /* no bytes: not written yet */
};

static bool is_own(const struct part *p)
{
    return p->code == p->own;
}

static struct class_input input_of(const struct part *p)
{
    const struct pith_const *k = p->c->content;
    return (struct class_input){&p->w, k->codebook->index, k->mask};
}

/* kind KINDS: it cannot be coded so. */
static enum pith_status find_kind(struct part *p)
{
    p->w.code = CODE_CLASSES;
    if (p->w.support != SUPPORT_DENSE)
        p->w.support = SUPPORT_ADAPTIVE;
    enum pith_status st = pith_pack_find_trellis(p->c, &p->w);
    p->kind = st ? KINDS : p->w.trellis / 8;
    return st == PITH_ERR_MEMORY ? st : PITH_OK;
}

static enum pith_status collect(struct pack_const *consts, uint32_t n, struct parts *all,
                                struct pith_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct part *p = &all->part[all->n];
        *p = (struct part){.c = &consts[i], .w = consts[i].w};
        if (consts[i].code != PITH_CODE_ADAPTIVE || !pith_classes_allow(&p->w))
            continue;
        enum pith_status st = find_kind(p);
        if (st)
            return pith_error_no_memory(err);
        if (p->kind == KINDS)
            continue;
        consts[i].by_classes = true;
        if ((st = pith_pack_other_bytes(p->c, &p->other, err)))
            return st;
        all->n++;
    }
    return PITH_OK;
}

/* At first to all of a kind, then to those that it was best for: packing a file again then ends
 * with the same model. */
static enum pith_status fit_shared(struct parts *all)
{
    struct class_input *in = calloc(all->n + 1u, sizeof *in);
    enum pith_status st = in ? PITH_OK : PITH_ERR_MEMORY;
    for (uint32_t kind = 0; kind < KINDS && !st; kind++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < all->n; i++)
            if (all->part[i].kind == kind && all->part[i].code == &all->shared[kind])
                in[n++] = input_of(&all->part[i]);
        if (n > 0)
            st = pith_class_fit(in, n, &all->shared[kind]);
    }
    free(in);
    return st;
}

static enum pith_status fit_own(struct part *p)
{
    struct class_input in = input_of(p);
    p->own_bytes = SIZE_MAX;
    if (p->w.count < LEAST_OWN)
        return PITH_OK;
    p->own = malloc(sizeof *p->own);
    enum pith_status st = p->own ? pith_class_fit(&in, 1, p->own) : PITH_ERR_MEMORY;
    return st ? st : pith_class_encode(&p->own->model, &in, NULL, 0, &p->own_bytes);
}

/* An element that the shared model has no code for is of a tensor that it was not fitted to. */
static enum pith_status choose_model(struct parts *all, struct part *p)
{
    struct class_input in = input_of(p);
    enum pith_status st = pith_class_encode(&all->shared[p->kind].model, &in, NULL, 0, &p->bytes);
    if (st == PITH_ERR_MEMORY)
        return st;
    uint64_t own = p->own ? (uint64_t)p->own_bytes + p->own->table_bytes : UINT64_MAX;
    uint64_t least = st ? UINT64_MAX : p->bytes;
    p->code = &all->shared[p->kind];
    if (own < least) {
        p->code = p->own;
        p->bytes = p->own_bytes;
        least = own;
    }
    if (least >= p->other - REFERENCE_BYTES || p->other < REFERENCE_BYTES)
        p->code = NULL;
    return PITH_OK;
}

static enum pith_status add_table(const struct class_code *code, struct pack_tables *tables,
                                  struct huff_table *t)
{
    struct byte_out *table = &tables->table[tables->n++];
    uint8_t *dst = pith_out_room(table, code->table_bytes);
    if (!dst)
        return PITH_ERR_MEMORY;
    memcpy(dst, code->table, code->table_bytes);
    *t = (struct huff_table){dst, code->table_bytes};
    return PITH_OK;
}

static enum pith_status write_part(struct parts *all, struct part *p, struct pack_tables *tables)
{
    struct class_input in = input_of(p);
    struct huff_table *shared = &all->shared_table[p->kind];
    bool fresh = is_own(p) || shared->n_bytes == 0;
    if (fresh && add_table(p->code, tables, is_own(p) ? &p->w.index_table : shared))
        return PITH_ERR_MEMORY;
    if (!is_own(p))
        p->w.index_table = *shared;
    pith_out_clear(&p->c->index);
    uint8_t *dst = pith_out_room(&p->c->index, p->bytes);
    if (!dst)
        return PITH_ERR_MEMORY;
    p->w.index_stream = (struct stream){dst, p->bytes};
    p->c->w = p->w;
    return pith_class_encode(&p->code->model, &in, dst, p->bytes, &p->bytes);
}

static enum pith_status pack(struct parts *all, struct pack_tables *tables)
{
    uint64_t bytes = 0, most = 0;
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < all->n; i++)
        most += all->part[i].other; /* classes are taken where they are fewer bytes */
    if (most < LEAST_BYTES)
        return PITH_OK;
    for (uint32_t i = 0; i < all->n && !st; i++)
        st = fit_own(&all->part[i]);
    for (uint32_t i = 0; i < all->n; i++)
        all->part[i].code = &all->shared[all->part[i].kind];
    bool changed = true; /* who shares a model since it was fitted */
    for (uint32_t pass = 0; pass < PASSES && changed && !st; pass++) {
        st = fit_shared(all);
        changed = false;
        for (uint32_t i = 0; i < all->n && !st; i++) {
            const struct class_code *before = all->part[i].code;
            st = choose_model(all, &all->part[i]);
            changed |= all->part[i].code != before;
        }
    }
    for (uint32_t i = 0; i < all->n; i++)
        bytes += all->part[i].code ? all->part[i].bytes : 0;
    for (uint32_t i = 0; i < all->n && !st && bytes >= LEAST_BYTES; i++)
        if (all->part[i].code)
            st = write_part(all, &all->part[i], tables);
    return st;
}

enum pith_status pith_pack_classes(struct pack_const *consts, uint32_t n,
                                   struct pack_tables *tables, struct pith_error *err)
{
    struct parts *all = calloc(1, sizeof *all);
    struct part *part = calloc(n + 1u, sizeof *part);
    enum pith_status st = PITH_OK;
    if (!all || !part)
        st = pith_error_no_memory(err);
    if (!st) {
        all->part = part;
        st = collect(consts, n, all, err);
    }
    if (!st && all->n > 0 && pack(all, tables))
        st = pith_error_no_memory(err);
    for (uint32_t i = 0; part && i <= n; i++)
        free(part[i].own);
    free(part);
    free(all);
    return st;
}
