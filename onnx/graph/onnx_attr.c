/* SPDX-License-Identifier: MIT */
/* onnx_attr.c - how lowerings read a node: attributes by name, lists that newer opsets moved to
 * constant inputs, axes made non-negative. Every answer is checked here against the operator's
 * schema (op_info.h), so messages can name the attribute and the number. */
#include "onnx.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum pith_status pith_onnx_node_fail(struct onnx_lower *l, enum pith_status status, const char *fmt,
                                     ...)
{
    char text[384];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return pith_onnx_fail(l->im, status, "node '%.100s' (%.40s): %s", l->label, l->node->op_type,
                          text);
}

const Onnx__AttributeProto *pith_onnx_attr(const struct onnx_lower *l, const char *name)
{
    for (size_t i = 0; i < l->node->n_attribute; i++) {
        const Onnx__AttributeProto *a = l->node->attribute[i];
        if (a->name && strcmp(a->name, name) == 0) {
            l->im->attributes_read |= i < 64 ? UINT64_C(1) << i : 0;
            return a;
        }
    }
    return NULL;
}

const char *pith_onnx_too_new(const struct onnx_lower *l)
{
    /* Known, and of no meaning for what a network computes here. */
    static const char *const ignored[] = {"consumed_inputs",   "kernel_shape",  "momentum",
                                          "output_sequence",   "precision",     "ratio",
                                          "round_mode",        "saturate",      "seed",
                                          "softmax_precision", "sorted",        "spatial",
                                          "stash_type",        "storage_order", "training_mode"};
    for (size_t i = 0; i < l->node->n_attribute && l->im->opset > ONNX_OPSET_MAX; i++) {
        const char *name = l->node->attribute[i]->name;
        bool known = !name || i >= 64 || (l->im->attributes_read >> i & 1) != 0 ||
                     strncmp(name, "value", 5) == 0; /* of Constant, by their types */
        for (size_t k = 0; k < sizeof ignored / sizeof *ignored && !known; k++)
            known = strcmp(ignored[k], name) == 0;
        if (!known)
            return name;
    }
    return NULL;
}

/* Older writers leave `type` out: then the field that is filled decides. */
static bool has_type(const Onnx__AttributeProto *a, Onnx__AttributeProto__AttributeType type,
                     bool filled)
{
    return a->has_type ? a->type == type : filled;
}

static enum pith_status fail_kind(struct onnx_lower *l, const char *name, const char *kind)
{
    return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "attribute %s is not %s", name, kind);
}

enum pith_status pith_onnx_get_int(struct onnx_lower *l, const char *name, int64_t def,
                                   int64_t *value)
{
    const Onnx__AttributeProto *a = pith_onnx_attr(l, name);
    *value = def;
    if (!a)
        return PITH_OK;
    if (!has_type(a, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, a->has_i))
        return fail_kind(l, name, "an integer");
    *value = a->has_i ? a->i : 0;
    return PITH_OK;
}

enum pith_status pith_onnx_get_float(struct onnx_lower *l, const char *name, float def,
                                     float *value)
{
    const Onnx__AttributeProto *a = pith_onnx_attr(l, name);
    *value = def;
    if (!a)
        return PITH_OK;
    if (!has_type(a, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, a->has_f))
        return fail_kind(l, name, "a float");
    *value = a->has_f ? a->f : 0;
    return PITH_OK;
}

enum pith_status pith_onnx_get_choice(struct onnx_lower *l, const char *name,
                                      const char *const *allowed, uint32_t def, uint32_t *index)
{
    const Onnx__AttributeProto *a = pith_onnx_attr(l, name);
    *index = def;
    if (!a)
        return PITH_OK;
    if (!has_type(a, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, a->has_s))
        return fail_kind(l, name, "a string");
    for (uint32_t i = 0; allowed[i]; i++) {
        if (strlen(allowed[i]) == a->s.len && memcmp(allowed[i], a->s.data, a->s.len) == 0) {
            *index = i;
            return PITH_OK;
        }
    }
    int shown = a->s.len < 40 ? (int)a->s.len : 40;
    return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "%s '%.*s' is not supported", name, shown,
                               a->s.data ? (const char *)a->s.data : "");
}

static const struct attr_field *field_at(const struct onnx_lower *l, uint32_t slot)
{
    for (uint32_t i = 0; i < l->info->n_fields; i++)
        if (l->info->fields[i].slot == slot)
            return &l->info->fields[i];
    return NULL;
}

static enum pith_status fail_range(struct onnx_lower *l, const char *name, int64_t v,
                                   const struct attr_field *f)
{
    return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s holds %lld, which is not in %d..%d", name,
                               (long long)v, f->min, f->max);
}

enum pith_status pith_onnx_set_int(struct onnx_lower *l, const char *name, uint32_t slot, int64_t v)
{
    const struct attr_field *f = field_at(l, slot);
    if (v < f->min || v > f->max)
        return fail_range(l, name, v, f);
    l->attr[slot] = (int32_t)v;
    return PITH_OK;
}

enum pith_status pith_onnx_set_ints(struct onnx_lower *l, const char *name, uint32_t slot,
                                    const int64_t *v, size_t n)
{
    const struct attr_field *f = field_at(l, slot);
    if (n > PITH_MAX_RANK)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "%s has %zu entries, at most %u", name,
                                   n, PITH_MAX_RANK);
    for (size_t i = 0; i < n; i++) {
        if (v[i] < f->min || v[i] > f->max)
            return fail_range(l, name, v[i], f);
        l->attr[slot + 1 + i] = (int32_t)v[i];
    }
    l->attr[slot] = (int32_t)n;
    return PITH_OK;
}

void pith_onnx_leave_default(struct onnx_lower *l, uint32_t slot, int32_t item)
{
    uint32_t n = attr_count(l->attr, slot);
    for (uint32_t i = 0; i < n; i++)
        if (l->attr[slot + 1 + i] != item)
            return;
    memset(l->attr + slot, 0, ((size_t)n + 1) * sizeof *l->attr);
}

enum pith_status pith_onnx_take_int(struct onnx_lower *l, const char *name, uint32_t slot)
{
    int64_t v;
    enum pith_status status = pith_onnx_get_int(l, name, l->attr[slot], &v);
    return status ? status : pith_onnx_set_int(l, name, slot, v);
}

void pith_onnx_set_float(struct onnx_lower *l, uint32_t slot, float v)
{
    uint32_t bits = f32_bits(v);
    memcpy(&l->attr[slot], &bits, sizeof bits);
}

enum pith_status pith_onnx_take_float(struct onnx_lower *l, const char *name, uint32_t slot)
{
    float v;
    enum pith_status status = pith_onnx_get_float(l, name, attr_f32(l->attr, slot), &v);
    if (status)
        return status;
    if (!isfinite(v))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s is not finite", name);
    pith_onnx_set_float(l, slot, v);
    return PITH_OK;
}

enum pith_status pith_onnx_take_ints(struct onnx_lower *l, const char *name, uint32_t slot)
{
    struct onnx_ints v;
    enum pith_status status = pith_onnx_ints_attr(l, name, &v);
    if (status || !v.present)
        return status;
    return pith_onnx_set_ints(l, name, slot, v.v, v.n);
}

enum pith_status pith_onnx_ints_attr(struct onnx_lower *l, const char *name, struct onnx_ints *v)
{
    const Onnx__AttributeProto *a = pith_onnx_attr(l, name);
    *v = (struct onnx_ints){0};
    if (!a)
        return PITH_OK;
    if (!has_type(a, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, a->n_ints > 0))
        return fail_kind(l, name, "a list of integers");
    if (a->n_ints > ONNX_MAX_INTS)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "%s has %zu entries, at most %u", name,
                                   a->n_ints, (unsigned)ONNX_MAX_INTS);
    v->present = true;
    v->n = (uint32_t)a->n_ints;
    if (a->n_ints)
        memcpy(v->v, a->ints, a->n_ints * sizeof *v->v);
    return PITH_OK;
}

bool pith_onnx_has_input(const struct onnx_lower *l, uint32_t i)
{
    return i < l->n_in && l->in[i] != ONNX_VALUE_NONE;
}

const struct shape *pith_onnx_in_shape(const struct onnx_lower *l, uint32_t i)
{
    return &l->im->values[l->in[i]].shape;
}

/* Input i as a loaded constant; *value NULL when it is left out. */
static enum pith_status constant_input(struct onnx_lower *l, uint32_t i, const char *name,
                                       const struct onnx_value **value)
{
    *value = NULL;
    if (!pith_onnx_has_input(l, i))
        return PITH_OK;
    const struct onnx_value *v = &l->im->values[l->in[i]];
    if (!v->constant)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                                   "input '%s' is computed at run time, here it must be constant: "
                                   "simplify the graph or freeze an input with --set-input",
                                   name);
    enum pith_status status = pith_onnx_load(l->im, l->in[i]);
    if (!status)
        *value = &l->im->values[l->in[i]];
    return status;
}

static void read_ints(const struct onnx_value *v, const void *data, struct onnx_ints *out)
{
    out->present = true;
    out->n = v->empty ? 0 : (uint32_t)shape_elems(&v->shape);
    for (size_t k = 0; k < out->n; k++)
        out->v[k] = v->type == PITH_I64 ? ((const int64_t *)data)[k] : ((const int32_t *)data)[k];
}

enum pith_status pith_onnx_ints_both(struct onnx_lower *l, uint32_t i, const char *name,
                                     struct onnx_ints *out, struct onnx_ints *other)
{
    const struct onnx_value *v;
    *out = *other = (struct onnx_ints){0};
    enum pith_status status = constant_input(l, i, name, &v);
    if (status || !v)
        return status;
    if (v->varies && !pith_shape_equal(&v->shape, &v->other))
        l->im->batch_open = false; /* as many entries as the batch has samples */
    if (v->type != PITH_I64 && v->type != PITH_I32)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input '%s' is not an integer tensor",
                                   name);
    size_t n = v->empty ? 0 : shape_elems(&v->shape);
    if (n > ONNX_MAX_INTS)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "%s has %zu entries, at most %u", name,
                                   n, (unsigned)ONNX_MAX_INTS);
    read_ints(v, v->data, out);
    read_ints(v, v->other_data ? v->other_data : v->data, other);
    return PITH_OK;
}

enum pith_status pith_onnx_ints_input(struct onnx_lower *l, uint32_t i, const char *name,
                                      struct onnx_ints *out)
{
    struct onnx_ints other;
    enum pith_status status = pith_onnx_ints_both(l, i, name, out, &other);
    if (!status && memcmp(out->v, other.v, sizeof out->v) != 0)
        l->im->batch_open = false;
    return status;
}

enum pith_status pith_onnx_ints_either(struct onnx_lower *l, int64_t since, uint32_t i,
                                       const char *name, struct onnx_ints *v)
{
    return l->im->opset < since ? pith_onnx_ints_attr(l, name, v)
                                : pith_onnx_ints_input(l, i, name, v);
}

enum pith_status pith_onnx_floats_input(struct onnx_lower *l, uint32_t i, const char *name,
                                        uint32_t *n, float out[PITH_MAX_RANK])
{
    const struct onnx_value *v;
    *n = 0;
    enum pith_status status = constant_input(l, i, name, &v);
    if (status || !v || v->empty)
        return status;
    size_t count = shape_elems(&v->shape);
    if (v->varies)
        l->im->batch_open = false;
    if (v->type != PITH_F32)
        return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "input '%s' is not a float tensor",
                                   name);
    if (count > PITH_MAX_RANK)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input '%s' has %zu entries, at most %u",
                                   name, count, PITH_MAX_RANK);
    memcpy(out, v->data, count * sizeof *out);
    *n = (uint32_t)count;
    return PITH_OK;
}

enum pith_status pith_onnx_float_input(struct onnx_lower *l, uint32_t i, const char *name,
                                       bool *present, float *v)
{
    float all[PITH_MAX_RANK];
    uint32_t n;
    enum pith_status status = pith_onnx_floats_input(l, i, name, &n, all);
    if (status)
        return status;
    if (n > 1)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input '%s' has %u entries, not one", name,
                                   n);
    *present = n == 1;
    if (n == 1)
        *v = all[0];
    return PITH_OK;
}

enum pith_status pith_onnx_axis(struct onnx_lower *l, const char *name, uint32_t rank,
                                int64_t *axis)
{
    if (*axis < -(int64_t)rank || *axis >= (int64_t)rank)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s %lld is outside a tensor of %u dims",
                                   name, (long long)*axis, rank);
    if (*axis < 0)
        *axis += rank;
    return PITH_OK;
}

enum pith_status pith_onnx_axes(struct onnx_lower *l, const char *name, uint32_t rank,
                                struct onnx_ints *axes)
{
    uint32_t visited = 0;
    for (uint32_t i = 0; i < axes->n; i++) {
        enum pith_status status = pith_onnx_axis(l, name, rank, &axes->v[i]);
        if (status)
            return status;
        if (visited >> axes->v[i] & 1)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%s names axis %lld twice", name,
                                       (long long)axes->v[i]);
        visited |= 1u << axes->v[i];
    }
    uint32_t n = 0;
    for (uint32_t axis = 0; axis < rank; axis++)
        if (visited >> axis & 1)
            axes->v[n++] = axis;
    return PITH_OK;
}

enum pith_status pith_onnx_single_output(struct onnx_lower *l)
{
    for (uint32_t i = 1; i < l->n_out; i++) {
        const struct onnx_value *v = &l->im->values[l->first_out + i];
        if (v->live)
            return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED, "its output %u '%.60s' is used", i,
                                       v->name);
    }
    if (l->n_out > 1)
        l->n_out = 1;
    return PITH_OK;
}

enum pith_status pith_onnx_vanish(struct onnx_lower *l)
{
    if (!pith_onnx_has_input(l, 0))
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "input 0 is missing");
    enum pith_status status = pith_onnx_single_output(l);
    if (status)
        return status;
    if (l->n_out == 1)
        l->im->values[l->first_out].alias = l->in[0];
    l->done = true;
    return PITH_OK;
}
