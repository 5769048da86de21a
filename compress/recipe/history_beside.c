/* SPDX-License-Identifier: MIT */
#include "history_beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json_value.h"
#include "base/error_fill.h"
#include "pack/unpack.h"
#include "pith_runtime.h"

#define END_BYTES PITH_HISTORY_END
#define MOST_STAGES 65536u /* that a file holds */
#define MOST_NAME 255u

static void end_text(const uint8_t *end, char text[2 * END_BYTES + 1])
{
    snprintf(text, 2 * END_BYTES + 1, "%02x%02x%02x%02x", end[0], end[1], end[2], end[3]);
}

static bool has_names(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].name && *m->nodes[i].name)
            return true;
    return false;
}

/* refs: weights of m, malloc'ed; NULL: no memory. */
static struct pith_weight_ref *layers_of(const struct pith_model *m, uint32_t *n)
{
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    *n = refs ? pith_model_all_weights(m, refs) : 0;
    return refs;
}

static json_t *names_of(const struct pith_model *m)
{
    uint32_t n;
    struct pith_weight_ref *refs = layers_of(m, &n);
    json_t *names = refs ? json_array() : NULL;
    for (uint32_t i = 0; i < n; i++)
        pith_json_append(&names, json_string(refs[i].layer ? refs[i].layer : ""));
    free(refs);
    return names;
}

static json_t *value_names_of(const struct pith_model *m, const uint32_t *value, uint32_t n)
{
    json_t *names = json_array();
    for (uint32_t i = 0; i < n; i++)
        pith_json_append(&names, json_string(m->values[value[i]].name));
    return names;
}

static json_t *history_of(const struct pith_model *m)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < m->n_history; i++) {
        json_t *entry = json_object();
        pith_json_put(&entry, "verb", json_string(m->history[i].key));
        pith_json_put(&entry, "did", json_loads(m->history[i].text, 0, NULL));
        pith_json_append(&all, entry);
    }
    return all;
}

enum pith_status pith_history_beside(const struct pith_model *m, const struct pith_buffer *file,
                                     struct pith_buffer *text, struct pith_error *err)
{
    struct pith_model *packed;
    char end[2 * END_BYTES + 1];
    *text = (struct pith_buffer){0};
    enum pith_status st = pith_unpack(
        file->data, file->bytes, "the file",
        &(struct unpack_opts){.flags = PITH_FLAG_NO_CHECKSUM, .outline = true}, &packed, err);
    if (st)
        return st;
    bool all = packed->n_history >= m->n_history;
    pith_model_free(packed);
    if (all)
        return PITH_OK;
    end_text(file->data + file->bytes - END_BYTES, end);
    json_t *root =
        json_pack("{si,s{sI,ss}}", "pith", 1, "file", "bytes", (json_int_t)file->bytes, "end", end);
    pith_json_put(&root, "inputs", value_names_of(m, m->inputs, m->n_inputs));
    pith_json_put(&root, "outputs", value_names_of(m, m->outputs, m->n_outputs));
    pith_json_put(&root, "layers", names_of(m));
    pith_json_put(&root, "history", history_of(m));
    char *made = pith_json_text(root, JSON_COMPACT);
    json_decref(root);
    if (!made)
        return pith_error_no_memory(err);
    *text = (struct pith_buffer){(uint8_t *)made, strlen(made)};
    return PITH_OK;
}

static bool belongs(const json_t *root, uint64_t bytes, const uint8_t *end)
{
    char own[2 * END_BYTES + 1];
    const json_t *of = json_object_get(root, "file");
    const char *text = json_string_value(json_object_get(of, "end"));
    end_text(end, own);
    return json_integer_value(json_object_get(of, "bytes")) == (json_int_t)bytes && text &&
           strcmp(text, own) == 0;
}

static enum pith_status take_names(struct pith_model *m, const json_t *names)
{
    uint32_t n;
    struct pith_weight_ref *refs = layers_of(m, &n);
    enum pith_status st = refs ? PITH_OK : PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n && json_array_size(names) == n && !st; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name || strlen(name) > MOST_NAME)
            continue;
        m->nodes[refs[i].node].name = pith_model_strdup(m, name);
        st = m->nodes[refs[i].node].name ? PITH_OK : PITH_ERR_MEMORY;
    }
    free(refs);
    return st;
}

static bool is_taken(const struct pith_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (strcmp(m->values[i].name, name) == 0)
            return true;
    return false;
}

/* Of inputs or outputs without a name; "" and one that another value has are none. */
static enum pith_status take_value_names(struct pith_model *m, const uint32_t *value, uint32_t n,
                                         const json_t *names)
{
    for (uint32_t i = 0; i < n && json_array_size(names) == n; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        struct pith_value *v = &m->values[value[i]];
        if (!name || strlen(name) > MOST_NAME || *v->name || is_taken(m, name))
            continue;
        char *own = pith_model_strdup(m, name);
        if (!own)
            return PITH_ERR_MEMORY;
        v->name = own;
    }
    return PITH_OK;
}

static enum pith_status take_history(struct pith_model *m, const json_t *history)
{
    enum pith_status st = PITH_OK;
    size_t n = json_array_size(history);
    for (size_t i = 0; i < n && n <= MOST_STAGES && !st; i++) {
        const json_t *entry = json_array_get(history, i), *did = json_object_get(entry, "did");
        const char *verb = json_string_value(json_object_get(entry, "verb"));
        if (!verb || !json_is_object(did))
            continue;
        char *text = pith_json_text(did, JSON_COMPACT);
        st = text ? pith_model_add_history(m, verb, text) : PITH_ERR_MEMORY;
        free(text);
    }
    return st;
}

enum pith_status pith_history_take(struct pith_model *m, uint64_t bytes,
                                   const uint8_t end[PITH_HISTORY_END], const char *text, size_t n)
{
    json_t *root;
    if (m->n_history > 0)
        return PITH_OK;
    enum pith_status st = pith_json_load(text, n, "", &root, NULL);
    if (st)
        return st == PITH_ERR_MEMORY ? st : PITH_OK;
    if (belongs(root, bytes, end)) {
        st = has_names(m) ? PITH_OK : take_names(m, json_object_get(root, "layers"));
        st = st ? st : take_value_names(m, m->inputs, m->n_inputs, json_object_get(root, "inputs"));
        st = st ? st
                : take_value_names(m, m->outputs, m->n_outputs, json_object_get(root, "outputs"));
        st = st ? st : take_history(m, json_object_get(root, "history"));
    }
    json_decref(root);
    return st;
}
