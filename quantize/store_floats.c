/* SPDX-License-Identifier: MIT */
/* store_floats.c - what stays float is rounded to the type that the file has for it.
 *
 * The rounding is done here and not when the file is written, so that the model computes what the
 * file will: f32 arithmetic on numbers of f16 or bf16. f16 has 11 significant bits in a range of
 * 2^-14 to 65,504, which trained weights and normalized channels keep to; bf16 has 8 bits and the
 * range of f32. */
#include "store_floats.h"

#include <math.h>
#include <stdlib.h>

#include "error_fill.h"
#include "narrow_float.h"
#include "op.h"

#define F16_SMALLEST 0x1p-14f /* below, f16 has fewer bits the smaller the number */

enum { READ = 1, DEFINES_INTEGERS = 2 };

/* Everything but the first input of these: scale and zero point. */
static bool defines_integers(uint32_t op, uint32_t input)
{
    return input > 0 &&
           (op == PITH_OP_QUANTIZE || op == PITH_OP_DEQUANTIZE || op == PITH_OP_REQUANTIZE);
}

/* roles[v]: what nodes read value v as */
static void find_roles(const struct pith_model *m, uint8_t *roles)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] != PITH_VALUE_NONE)
                roles[node->in[k]] |= defines_integers(node->op, k) ? DEFINES_INTEGERS : READ;
    }
}

static bool may_be_narrow(const struct pith_value *v, uint8_t roles)
{
    return roles == READ && v->constant && v->type == PITH_F32 && v->constant->count > 1 &&
           !v->constant->codebook;
}

static bool has_range(enum pith_type type, const struct pith_const *k)
{
    const float *x = k->data;
    float most = 0;
    for (uint64_t i = 0; i < k->count; i++) {
        if (!isfinite(pith_narrow_round(type, x[i])))
            return false;
        most = fmaxf(most, fabsf(x[i]));
    }
    return type == PITH_BF16 || most == 0 || most >= F16_SMALLEST;
}

static void make_narrow(enum pith_type type, struct pith_const *k)
{
    float *x = k->data;
    for (uint64_t i = 0; i < k->count; i++)
        x[i] = pith_narrow_round(type, x[i]);
    k->stored = type;
}

enum pith_status pith_store_floats(struct pith_model *m, enum pith_type type,
                                   struct pith_stored_floats *report, struct pith_error *err)
{
    struct pith_stored_floats sum = {0};
    if (!pith_type_is_narrow(type))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "floats are stored as f16 or bf16");
    uint8_t *roles = calloc(m->n_values + (size_t)1, 1);
    if (!roles)
        return pith_error_no_memory(err);
    find_roles(m, roles);
    for (uint32_t v = 0; v < m->n_values; v++) {
        struct pith_const *k = m->values[v].constant;
        if (!may_be_narrow(&m->values[v], roles[v]))
            continue;
        if (!has_range(type, k)) {
            sum.n_beyond++;
            continue;
        }
        make_narrow(type, k);
        sum.n_tensors++;
        sum.n_numbers += k->count;
    }
    free(roles);
    if (report)
        *report = sum;
    return PITH_OK;
}
