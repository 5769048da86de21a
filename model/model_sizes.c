/* SPDX-License-Identifier: MIT */
/* model_sizes.c - open sizes of a model: new values for them, and their text in a file. */
#include "model/model_sizes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "host/size_expression.h"
#include "host/sizes.h"
#include "core/op_number.h"
#include "op_interface/op_info.h"

static void names_of(const struct pith_model *m, struct size_names *names)
{
    names->n = 0;
    for (uint32_t i = 0; i < m->n_sizes; i++)
        pith_size_add_name(names, m->sizes[i].name, strlen(m->sizes[i].name));
}

static bool value_of(const struct pith_sized *s, struct size_names *names, const uint32_t *value,
                     int32_t *result)
{
    struct size_expression e;
    return pith_size_parse(s->formula, strlen(s->formula), names, false, &e) &&
           pith_size_value(&e, value, result);
}

static uint32_t *input_dim(const struct pith_model *m, const struct pith_sized *s)
{
    struct pith_value *v = &m->values[m->inputs[s->slot / PITH_MAX_RANK]];
    return &v->dim[s->slot % PITH_MAX_RANK];
}

/* ---- values ---------------------------------------------------------------------------------- */

static enum pith_status write_numbers(struct pith_model *m, const uint32_t *value,
                                      struct pith_error *err)
{
    struct size_names names;
    int32_t v;
    names_of(m, &names);
    for (uint32_t i = 0; i < m->n_limits; i++) {
        struct size_expression e;
        if (!pith_size_parse(m->limits[i].formula, strlen(m->limits[i].formula), &names, false, &e))
            return pith_error_fill(err, PITH_ERR_CORRUPT, "%s is no formula of the open sizes",
                                   m->limits[i].formula);
        enum pith_status st = pith_size_check_limit(&e, &names, m->limits[i].most, value, err);
        if (st)
            return st;
    }
    for (uint32_t i = 0; i < m->n_sized; i++) {
        if (!value_of(&m->sized[i], &names, value, &v) || v < 0)
            return pith_error_fill(err, PITH_ERR_CORRUPT, "%s is no dimension with these sizes",
                                   m->sized[i].formula);
        *input_dim(m, &m->sized[i]) = (uint32_t)v;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_sized; k++) {
            const struct pith_sized *s = &m->nodes[i].sized[k];
            if (!value_of(s, &names, value, &v))
                return pith_error_fill(err, PITH_ERR_CORRUPT,
                                       "node '%.100s': %s is no attribute with these sizes",
                                       m->nodes[i].name, s->formula);
            m->nodes[i].attr[s->slot] = v;
        }
    return pith_model_infer_shapes(m, err);
}

enum pith_status pith_model_set_sizes(struct pith_model *m, const uint32_t *value,
                                      struct pith_error *err)
{
    if (!m || !value)
        return PITH_ERR_ARGUMENT;
    uint32_t before[SIZE_NAMES];
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        before[i] = m->sizes[i].value;
        if (value[i] > m->sizes[i].max)
            return pith_size_out_of_range(m->sizes[i].name, value[i], m->sizes[i].max, err);
    }
    enum pith_status st = write_numbers(m, value, err);
    for (uint32_t i = 0; i < m->n_sizes && !st; i++)
        m->sizes[i].value = value[i];
    if (st)
        write_numbers(m, before, NULL);
    return st;
}

/* ---- the least value --------------------------------------------------------------------------
 */

/* Where size i is 0, every node takes what it reads, and all outputs have elements. */
static bool takes_none(struct pith_model *m, uint32_t i)
{
    uint32_t value[SIZE_NAMES];
    for (uint32_t k = 0; k < m->n_sizes; k++)
        value[k] = m->sizes[k].value;
    const uint32_t before = value[i];
    value[i] = 0;
    bool takes = pith_model_set_sizes(m, value, NULL) == PITH_OK;
    for (uint32_t k = 0; k < m->n_outputs && takes; k++)
        takes = pith_value_elems(&m->values[m->outputs[k]]) > 0;
    value[i] = before;
    pith_model_set_sizes(m, value, NULL);
    return takes;
}

uint32_t pith_model_least_size(struct pith_model *m, uint32_t i)
{
    uint32_t least = m && i < m->n_sizes && takes_none(m, i) ? 0 : 1;
    for (uint32_t k = 0; m && i < m->n_sizes && k < m->n_limits; k++) {
        char *name = NULL;
        const unsigned long number = strtoul(m->limits[k].formula, &name, 10);
        const bool is = m->limits[k].most == 0 && strncmp(name, " - ", 3) == 0 &&
                        strcmp(name + 3, m->sizes[i].name) == 0;
        least = is && number > least ? (uint32_t)number : least;
    }
    return least;
}

/* ---- text ------------------------------------------------------------------------------------ */

#define LINE_BYTES 3072 /* a formula of all terms with the longest names has fewer */

struct text {
    char *data;
    size_t n, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    size_t more = n > 0 && n < LINE_BYTES ? (size_t)n : 0;
    t->failed |= more == 0;
    if (t->n + more + 1 > t->room) {
        size_t room = 2 * (t->n + more + 1);
        char *grown = t->failed ? NULL : realloc(t->data, room);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->data = grown;
        t->room = room;
    }
    memcpy(t->data + t->n, line, more + 1);
    t->n += more;
}

enum pith_status pith_model_write_sizes(const struct pith_model *m, char **text,
                                        struct pith_error *err)
{
    struct text t = {0};
    struct size_names names;
    uint32_t value[SIZE_NAMES];
    int32_t v;
    *text = NULL;
    if (m->n_sizes == 0)
        return PITH_OK;
    names_of(m, &names);
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        value[i] = m->sizes[i].value;
        put(&t, "size %s %" PRIu32 " %" PRIu32 "\n", m->sizes[i].name, value[i], m->sizes[i].max);
    }
    for (uint32_t i = 0; i < m->n_sized; i++)
        put(&t, "dim %" PRIu32 " %" PRIu32 " %s\n", m->sized[i].slot / PITH_MAX_RANK,
            m->sized[i].slot % PITH_MAX_RANK, m->sized[i].formula);
    for (uint32_t i = 0; i < m->n_limits; i++)
        put(&t, "most %" PRIu32 " %s\n", m->limits[i].most, m->limits[i].formula);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_sized; k++) {
            const struct pith_sized *s = &m->nodes[i].sized[k];
            if (!value_of(s, &names, value, &v) || v != m->nodes[i].attr[s->slot]) {
                free(t.data);
                return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                       "node '%.100s' no longer follows the open sizes: %s is not "
                                       "%" PRId32,
                                       m->nodes[i].name, s->formula, m->nodes[i].attr[s->slot]);
            }
            put(&t, "attr %" PRIu32 " %" PRIu32 " %s\n", i, s->slot, s->formula);
        }
    if (t.failed) {
        free(t.data);
        return pith_error_no_memory(err);
    }
    t.data[--t.n] = 0; /* the last line ends the text */
    *text = t.data;
    return PITH_OK;
}

/* *list with room for one element more than n; it has room at powers of two. false: no memory. */
static bool grow(struct pith_model *m, void **list, uint32_t n, size_t each)
{
    if (n & (n - 1))
        return true;
    void *grown = pith_model_alloc(m, n ? 2 * (uint64_t)n : 1, each);
    if (grown && n)
        memcpy(grown, *list, n * each);
    *list = grown ? grown : *list;
    return grown != NULL;
}

static bool add_sized(struct pith_model *m, struct pith_sized **list, uint32_t *n, uint32_t slot,
                      const char *formula)
{
    void *grown = *list;
    const bool ok = grow(m, &grown, *n, sizeof **list);
    *list = grown;
    if (!ok)
        return false;
    (*list)[*n] = (struct pith_sized){slot, pith_model_strdup(m, formula)};
    return (*list)[(*n)++].formula != NULL;
}

static bool add_limit(struct pith_model *m, uint32_t most, const char *formula)
{
    void *grown = m->limits;
    const bool ok = grow(m, &grown, m->n_limits, sizeof *m->limits);
    m->limits = grown;
    if (!ok)
        return false;
    m->limits[m->n_limits] = (struct pith_size_limit){most, pith_model_strdup(m, formula)};
    return m->limits[m->n_limits++].formula != NULL;
}

/* line: ends in NUL. */
static bool read_line(struct pith_model *m, const char *line, size_t n, struct size_names *names)
{
    struct size_line l;
    if (!pith_size_line(line, n, names, &l))
        return false;
    switch (l.kind) {
    case SIZE_LINE_SIZE:
        m->sizes[l.name] = (struct pith_size){pith_model_strdup(m, names->name[l.name]), l.a, l.b};
        m->n_sizes = names->n;
        return m->sizes[l.name].name != NULL;
    case SIZE_LINE_MOST:
        return add_limit(m, l.a, l.formula);
    case SIZE_LINE_DIM:
        return l.a < m->n_inputs && l.b < m->values[m->inputs[l.a]].rank &&
               add_sized(m, &m->sized, &m->n_sized, l.a * PITH_MAX_RANK + l.b, l.formula);
    case SIZE_LINE_ATTR:
        break;
    }
    return l.a < m->n_nodes && l.b < pith_op_get(m->nodes[l.a].op)->n_slots &&
           add_sized(m, &m->nodes[l.a].sized, &m->nodes[l.a].n_sized, l.b, l.formula);
}

enum pith_status pith_model_read_sizes(struct pith_model *m, const char *text,
                                       struct pith_error *err)
{
    struct size_names names = {0};
    m->sizes = pith_model_alloc(m, SIZE_NAMES, sizeof *m->sizes);
    char *line = malloc(strlen(text) + 1);
    if (!m->sizes || !line) {
        free(line);
        return pith_error_no_memory(err);
    }
    enum pith_status st = PITH_OK;
    for (size_t n; *text && !st; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        memcpy(line, text, n);
        line[n] = 0;
        if (n >= LINE_BYTES || !read_line(m, line, n, &names))
            st = pith_error_fill(err, PITH_ERR_CORRUPT, "the file's open sizes are broken: '%.60s'",
                                 line);
    }
    free(line);
    return st;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The open sizes as the runtime has them, with the model's values; NULL: it has none. */
static enum pith_status open_sizes(const struct pith_model *m, struct pith_sizes **sizes,
                                   struct pith_error *err)
{
    char *text;
    enum pith_status st = pith_model_write_sizes(m, &text, err);
    if (st || !text) {
        *sizes = NULL;
        return st;
    }
    st = pith_sizes_read(text, strlen(text), sizes, err);
    free(text);
    return st;
}

enum pith_status pith_model_fit_sizes(struct pith_model *m, const struct pith_tensor *inputs,
                                      uint32_t n_inputs, struct pith_error *err)
{
    if (!m || !inputs)
        return PITH_ERR_ARGUMENT;
    struct pith_sizes *sizes;
    enum pith_status st = open_sizes(m, &sizes, err);
    if (st || !sizes)
        return st;
    uint32_t value[SIZE_NAMES], max;
    const char *name;
    bool differs = false;
    st = pith_sizes_fit(sizes, inputs, n_inputs, err);
    for (uint32_t i = 0; i < m->n_sizes && !st; i++) {
        pith_sizes_get(sizes, i, &name, &value[i], &max);
        differs = differs || value[i] != m->sizes[i].value;
    }
    pith_sizes_free(sizes);
    return st || !differs ? st : pith_model_set_sizes(m, value, err);
}

enum pith_status pith_model_same_sizes(struct pith_model *m, const struct pith_model *like,
                                       struct pith_error *err)
{
    if (!m || !like)
        return PITH_ERR_ARGUMENT;
    struct pith_tensor *t = calloc(like->n_inputs + (size_t)1, sizeof *t);
    if (!t)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < like->n_inputs; i++) {
        const struct pith_value *v = &like->values[like->inputs[i]];
        t[i] = (struct pith_tensor){
            .name = v->name, .name_bytes = (uint32_t)strlen(v->name), .rank = v->rank};
        memcpy(t[i].dim, v->dim, sizeof t[i].dim);
    }
    const enum pith_status st = pith_model_fit_sizes(m, t, like->n_inputs, err);
    free(t);
    return st;
}

/* ---- values without elements ----------------------------------------------------------------- */

static bool is_empty(const struct pith_model *m, uint32_t v)
{
    return v != PITH_VALUE_NONE && pith_value_elems(&m->values[v]) == 0;
}

uint32_t pith_node_filled_inputs(const struct pith_model *m, const struct pith_node *node,
                                 uint32_t *in)
{
    uint32_t n = 0, n_empty = 0;
    for (uint32_t k = 0; k < node->n_out; k++)
        n_empty += node->out[k] == PITH_VALUE_NONE || is_empty(m, node->out[k]);
    if (n_empty > 0 && n_empty == node->n_out)
        return UINT32_MAX;
    for (uint32_t k = 0; k < node->n_in; k++)
        if (node->op != PITH_OP_CONCAT || !is_empty(m, node->in[k]))
            in[n++] = node->in[k];
    return n;
}
