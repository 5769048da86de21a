/* SPDX-License-Identifier: MIT */
#include "served_model.h"
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "base/escape_text.h"
#include "host/size_expression.h"

const char *datatype_name(enum pith_type type)
{
    static const char *const names[] = {
        [PITH_F32] = "FP32",  [PITH_F16] = "FP16",  [PITH_BF16] = "BF16", [PITH_F64] = "FP64",
        [PITH_I8] = "INT8",   [PITH_U8] = "UINT8",  [PITH_I16] = "INT16", [PITH_U16] = "UINT16",
        [PITH_I32] = "INT32", [PITH_I64] = "INT64", [PITH_BOOL] = "BOOL"};
    return names[type];
}

/* "cat net.pith" is fine; "a/b", control characters and what is no UTF-8 are not. */
static bool name_fits(const char *name)
{
    char escaped[256];
    pith_escape_text(name, escaped, sizeof escaped);
    return *name && !strchr(name, '/') && strcmp(name, escaped) == 0;
}

static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path);
    char *dot = name ? strrchr(name, '.') : NULL;
    if (dot && dot != name && (strcmp(dot, ".pith") == 0 || strcmp(dot, ".onnx") == 0))
        *dot = 0;
    return name;
}

/* Names of compact files are empty: such ends are numbered. */
static char *end_name(const char *name, const char *kind, uint32_t i)
{
    char made[32];
    snprintf(made, sizeof made, "%s%u", kind, i);
    return strdup(*name ? name : made);
}

static bool describe_ends(const struct pith_model *o, const uint32_t *values, uint32_t n,
                          const char *kind, uint32_t first, struct served_end **ends)
{
    *ends = calloc(n + 1u, sizeof **ends);
    for (uint32_t i = 0; *ends && i < n; i++) {
        const struct pith_value *v = &o->values[values[i]];
        struct served_end *e = &(*ends)[i];
        e->name = end_name(v->name, kind, i);
        e->run = v->type;
        e->type = pith_model_end_type(o, first + i);
        e->rank = v->rank;
        memcpy(e->dim, v->dim, sizeof e->dim);
        e->row_elems = pith_value_elems(v);
        if (!e->name)
            return false;
    }
    return *ends != NULL;
}

/* Dimensions that are others with another value of any size. */
static void mark_open(struct pith_model *o, struct served_model *m)
{
    uint32_t value[SIZE_NAMES];
    for (uint32_t i = 0; i < o->n_sizes; i++)
        value[i] = o->sizes[i].value;
    for (uint32_t s = 0; s < o->n_sizes; s++) {
        const uint32_t own = value[s];
        value[s] = own > 1 ? own / 2 : own + 1;
        if (pith_model_set_sizes(o, value, NULL))
            continue;
        for (uint32_t i = 0; i < m->n_inputs + m->n_outputs; i++) {
            const bool in = i < m->n_inputs;
            struct served_end *e = in ? &m->inputs[i] : &m->outputs[i - m->n_inputs];
            const uint32_t *dim = o->values[in ? o->inputs[i] : o->outputs[i - m->n_inputs]].dim;
            for (uint32_t d = 0; d < e->rank; d++)
                e->open[d] |= dim[d] != e->dim[d];
        }
        value[s] = own;
        pith_model_set_sizes(o, value, NULL);
    }
}

enum pith_status served_model_describe(const struct pith_packed *packed, const char *name,
                                       uint32_t max_batch, struct served_model *m,
                                       struct pith_error *err)
{
    struct pith_model *o = packed->outline;
    *m = (struct served_model){.n_inputs = o->n_inputs,
                               .n_outputs = o->n_outputs,
                               .batch_open = o->batch_open,
                               .sizes_open = o->n_sizes > 0,
                               .max_batch = o->batch_open ? max_batch : 1,
                               .preprocess = pith_model_get_meta(o, "preprocess"),
                               .labels = pith_model_get_meta(o, "labels"),
                               .name = name_of(name)};
    if (!m->name || !describe_ends(o, o->inputs, o->n_inputs, "input", 0, &m->inputs) ||
        !describe_ends(o, o->outputs, o->n_outputs, "output", o->n_inputs, &m->outputs)) {
        served_model_free(m);
        return pith_error_no_memory(err);
    }
    mark_open(o, m);
    if (name_fits(m->name))
        return PITH_OK;
    pith_error_fill(err, PITH_ERR_ARGUMENT, "'%s' cannot be the name of a network", m->name);
    served_model_free(m);
    return PITH_ERR_ARGUMENT;
}

static void free_ends(struct served_end *ends, uint32_t n)
{
    for (uint32_t i = 0; ends && i < n; i++)
        free(ends[i].name);
    free(ends);
}

void served_model_free(struct served_model *m)
{
    free_ends(m->inputs, m->n_inputs);
    free_ends(m->outputs, m->n_outputs);
    free(m->name);
    *m = (struct served_model){0};
}

static json_t *ends_json(const struct served_model *m, const struct served_end *ends, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_t *shape = json_array();
        for (uint32_t d = 0; d < ends[i].rank; d++)
            json_array_append_new(shape, json_integer((d == 0 && m->batch_open) || ends[i].open[d]
                                                          ? -1
                                                          : (json_int_t)ends[i].dim[d]));
        json_array_append_new(list, json_pack("{s:s,s:s,s:o}", "name", ends[i].name, "datatype",
                                              datatype_name(ends[i].type), "shape", shape));
    }
    return list;
}

json_t *served_model_metadata(const struct served_model *m)
{
    return json_pack("{s:s,s:[s],s:s,s:o,s:o}", "name", m->name, "versions", "1", "platform",
                     "pith", "inputs", ends_json(m, m->inputs, m->n_inputs), "outputs",
                     ends_json(m, m->outputs, m->n_outputs));
}

char *json_to_text(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}
