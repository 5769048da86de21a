/* SPDX-License-Identifier: MIT */
/* pack_text.c - names, meta and history (docs/format.md, sections 7 to 9). */
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "model/model_sizes.h"
#include "pack.h"

static enum pith_status check_text(const char *what, const char *text, size_t min, size_t max,
                                   struct pith_error *err)
{
    size_t n = strlen(text);
    if (n < min || n > max)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot pack %s '%.40s': %zu bytes, %zu..%zu are allowed", what,
                               text, n, min, max);
    if (!pith_utf8_ok((const uint8_t *)text, n))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot pack %s: not UTF-8", what);
    return PITH_OK;
}

static void write_text(struct byte_out *o, const char *text)
{
    size_t n = strlen(text);
    pith_out_varint(o, n);
    pith_out_bytes(o, text, n);
}

static enum pith_status done(const struct byte_out *o, struct pith_error *err)
{
    return o->failed ? pith_error_no_memory(err) : PITH_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum pith_status check_unique(const char **name, uint32_t n, struct pith_error *err)
{
    qsort(name, n, sizeof *name, by_text);
    for (uint32_t i = 1; i < n; i++)
        if (name[i][0] && strcmp(name[i - 1], name[i]) == 0)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "cannot pack: two tensors have the name '%s'", name[i]);
    return PITH_OK;
}

static enum pith_status check_value_names(const struct pith_model *m,
                                          const struct pack_numbers *numbers,
                                          struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    const char **name = calloc(numbers->n + 1u, sizeof *name);
    if (!name)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < numbers->n && !st; i++) {
        name[i] = text_or_empty(m->values[numbers->order[i]].name);
        st = check_text("tensor name", name[i], 0, MAX_NAME_BYTES, err);
    }
    if (!st)
        st = check_unique(name, numbers->n, err);
    free(name);
    return st;
}

enum pith_status pith_pack_names(const struct pith_model *m, const struct pack_numbers *numbers,
                                 struct byte_out *o, struct pith_error *err)
{
    bool any = false;
    enum pith_status st = check_value_names(m, numbers, err);
    for (uint32_t i = 0; i < m->n_nodes && !st; i++)
        st = check_text("node name", text_or_empty(m->nodes[i].name), 0, MAX_NAME_BYTES, err);
    if (st)
        return st;
    for (uint32_t i = 0; i < numbers->n; i++)
        any |= text_or_empty(m->values[numbers->order[i]].name)[0] != 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        any |= text_or_empty(m->nodes[i].name)[0] != 0;
    if (!any)
        return PITH_OK;
    for (uint32_t i = 0; i < numbers->n; i++)
        write_text(o, text_or_empty(m->values[numbers->order[i]].name));
    for (uint32_t i = 0; i < m->n_nodes; i++)
        write_text(o, text_or_empty(m->nodes[i].name));
    return done(o, err);
}

/* ---- meta and history ------------------------------------------------------------------------ */

static void write_key(struct byte_out *o, const char *key)
{
    for (uint32_t i = 1; pith_meta_key(i); i++) {
        if (strcmp(pith_meta_key(i), key) == 0) {
            pith_out_varint(o, i);
            return;
        }
    }
    size_t n = strlen(key);
    pith_out_varint(o, n + META_FIRST_LENGTH - 1);
    pith_out_bytes(o, key, n);
}

static void write_entry(struct byte_out *o, const char *key, const char *text)
{
    write_key(o, key);
    write_text(o, text);
}

static enum pith_status check_entry(const struct pith_model *m, uint32_t i, struct pith_error *err)
{
    const struct pith_meta *e = &m->meta[i];
    enum pith_status st = check_text("meta key", e->key, 1, MAX_NAME_BYTES, err);
    if (!st)
        st = check_text("meta value", e->text, 0, MAX_TEXT_BYTES, err);
    if (!st && i > 0 && strcmp(m->meta[i - 1].key, e->key) >= 0)
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot pack: meta key '%s' is not in order",
                             e->key);
    return st;
}

/* The open sizes stand among the entries, by their key. */
enum pith_status pith_pack_meta(const struct pith_model *m, struct byte_out *o,
                                struct pith_error *err)
{
    char *sizes;
    if (m->n_meta >= MAX_META)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot pack: %u meta entries, %u are allowed", m->n_meta,
                               MAX_META - 1);
    for (uint32_t i = 0; i < m->n_sizes; i++)
        if (m->sizes[i].value == 0)
            return pith_error_fill(
                err, PITH_ERR_ARGUMENT,
                "size %s is 0: a file has sizes of 1 and more, of which a run may "
                "choose others",
                m->sizes[i].name);
    enum pith_status st = pith_model_write_sizes(m, &sizes, err);
    bool written = !sizes;
    for (uint32_t i = 0; i < m->n_meta && !st; i++) {
        const struct pith_meta *e = &m->meta[i];
        if (!written && strcmp(e->key, PITH_META_SIZES) > 0) {
            write_entry(o, PITH_META_SIZES, sizes);
            written = true;
        }
        st = check_entry(m, i, err);
        if (!st)
            write_entry(o, e->key, e->text);
    }
    if (!st && !written)
        write_entry(o, PITH_META_SIZES, sizes);
    free(sizes);
    return st ? st : done(o, err);
}

enum pith_status pith_pack_history(const struct pith_model *m, struct byte_out *o,
                                   struct pith_error *err)
{
    if (m->n_history > MAX_HISTORY)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot pack: %u history entries, %u are allowed", m->n_history,
                               MAX_HISTORY);
    for (uint32_t i = 0; i < m->n_history; i++) {
        enum pith_status st = check_text("history verb", m->history[i].key, 1, MAX_NAME_BYTES, err);
        if (!st)
            st = check_text("history entry", m->history[i].text, 0, MAX_TEXT_BYTES, err);
        if (st)
            return st;
        write_text(o, m->history[i].key);
        write_text(o, m->history[i].text);
    }
    return done(o, err);
}
