/* SPDX-License-Identifier: MIT */
/* op_attr.c - attributes against their schema; operators that are activations by them. */
#include "op_interface/op_exec.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* A float is stored by its bits. NaN is never allowed, infinity where the schema says so (max 1).
 */
static bool float_ok(const struct attr_field *f, int32_t bits)
{
    uint32_t magnitude = (uint32_t)bits & 0x7fffffffu;
    const uint32_t inf = 0x7f800000u;
    return magnitude < inf || (magnitude == inf && f->max == 1);
}

/* The first slot counts the entries behind it; the schema reserves PITH_MAX_RANK of them. */
static bool list_ok(const struct attr_field *f, const int32_t *list)
{
    if (list[0] < 0 || list[0] > (int32_t)PITH_MAX_RANK)
        return false;
    for (int32_t i = 1; i <= list[0]; i++)
        if (list[i] < f->min || list[i] > f->max)
            return false;
    return true;
}

static bool field_ok(const struct attr_field *f, const int32_t *value)
{
    switch ((enum attr_kind)f->kind) {
    case ATTR_INT:
        return *value >= f->min && *value <= f->max;
    case ATTR_FLOAT:
        return float_ok(f, *value);
    case ATTR_LIST:
        return list_ok(f, value);
    }
    return false;
}

struct dense_act pith_activation_of(const struct op_info *info, const int32_t *attr)
{
    static const uint8_t kind[] = {
        [PITH_OP_RELU] = ACT_RELU,
        [PITH_OP_LEAKY_RELU] = ACT_LEAKY,
        [PITH_OP_CLIP] = ACT_CLIP,
        [PITH_OP_SIGMOID] = ACT_SIGMOID,
        [PITH_OP_TANH] = ACT_TANH,
        [PITH_OP_HARD_SIGMOID] = ACT_HARD_SIGMOID,
        [PITH_OP_HARD_SWISH] = ACT_HARD_SWISH,
    };
    if (info->op == PITH_OP_UNARY) {
        const int32_t of = attr[ATTR_KIND];
        const bool is_gelu = of == UNARY_GELU || of == UNARY_GELU_TANH;
        const enum act_kind gelu = of == UNARY_GELU ? ACT_GELU : ACT_GELU_TANH;
        return (struct dense_act){.kind = is_gelu ? gelu : ACT_NONE};
    }
    if ((size_t)info->op >= sizeof kind || kind[info->op] == ACT_NONE)
        return (struct dense_act){.kind = ACT_NONE};
    return (struct dense_act){(enum act_kind)kind[info->op],
                              info->n_slots > 0 ? attr_f32(attr, 0) : 0.0f,
                              info->n_slots > 1 ? attr_f32(attr, 1) : 0.0f};
}

/* Lists are empty by default: a count of 0. */
void pith_op_attr_defaults(const struct op_info *info, int32_t *attr)
{
    for (uint32_t i = 0; i < info->n_slots; i++)
        attr[i] = 0;
    for (uint32_t i = 0; i < info->n_fields; i++)
        if (info->fields[i].kind != ATTR_LIST)
            attr[info->fields[i].slot] = info->fields[i].def;
}

/* From here on operators index with attributes without testing them again. */
enum pith_status pith_op_check(const struct op_info *info, const int32_t *attr, uint32_t n_in,
                               uint32_t n_out)
{
    if (n_in < info->n_in_min || (n_in > info->n_in_max && info->n_in_max != OP_ANY) ||
        n_out < info->n_out_min || (n_out > info->n_out_max && info->n_out_max != OP_ANY))
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < info->n_fields; i++)
        if (!field_ok(&info->fields[i], attr + info->fields[i].slot))
            return PITH_ERR_CORRUPT;
    return PITH_OK;
}
