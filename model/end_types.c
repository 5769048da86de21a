/* SPDX-License-Identifier: MIT */
/* end_types.c - the types that inputs and outputs have in the network's ONNX file, where they are
 * f16 or bf16: the model computes with f32 there, but bytes and files that others give and take
 * keep to these. Kept as meta: "f16 f32 f16", inputs first. */
#include <stdio.h>
#include <string.h>
#include "pith_model.h"

static const char *const names[] = {[PITH_F32] = "f32", [PITH_F16] = "f16", [PITH_BF16] = "bf16"};
#define N_NAMES (sizeof names / sizeof *names)

static enum pith_type own_type(const struct pith_model *m, uint32_t end)
{
    uint32_t v = end < m->n_inputs ? m->inputs[end] : m->outputs[end - m->n_inputs];
    return m->values[v].type;
}

/* The type that name[length] stands for; F32: of no other. */
static enum pith_type type_of(const char *name, size_t length)
{
    for (enum pith_type t = PITH_F16; t < N_NAMES; t++)
        if (strlen(names[t]) == length && memcmp(name, names[t], length) == 0)
            return t;
    return PITH_F32;
}

enum pith_type pith_model_end_type(const struct pith_model *m, uint32_t end)
{
    if (!m)
        return (enum pith_type)0;
    const char *text = pith_model_get_meta(m, PITH_META_TYPES);
    enum pith_type own = own_type(m, end), type = own;
    uint32_t n = 0;
    for (size_t length; text && *text; text += length + (text[length] == ' '), n++) {
        length = strcspn(text, " ");
        type = n == end ? type_of(text, length) : type;
    }
    return own == PITH_F32 && n == m->n_inputs + m->n_outputs ? type : own;
}

enum pith_status pith_model_set_end_types(struct pith_model *m, const enum pith_type *type)
{
    if (!m || !type)
        return PITH_ERR_ARGUMENT;
    uint32_t n = m->n_inputs + m->n_outputs;
    char *text = pith_model_alloc(m, n + 1u, sizeof "bf16 ");
    bool narrow = false;
    size_t at = 0;
    if (!text)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        bool is = own_type(m, i) == PITH_F32 && (type[i] == PITH_F16 || type[i] == PITH_BF16);
        narrow = narrow || is;
        at += (size_t)sprintf(text + at, "%s%s", i ? " " : "", names[is ? type[i] : PITH_F32]);
    }
    return narrow ? pith_model_set_meta(m, PITH_META_TYPES, text) : PITH_OK;
}
