/* SPDX-License-Identifier: MIT */
/* pack.c - weights as kernels read them, made here, on the CPU, once a plan. */
#include "cuda/kernels/half_bits.h"
#include "device_plan.h"
#include "pack_forms.h"
#include "pack_relative.h"

/* Elements that lie in the file as the kernel reads them are copied from there without decoding. */
static enum pith_status expand(const struct constant *c, uint8_t *to)
{
    const struct weight *w = c->key;
    const void *borrowed = pith_weight_borrow(w);
    if (borrowed && (c->form == FORM_ELEMENTS || w->type == PITH_F32)) {
        memcpy(to, borrowed, c->bytes);
        return PITH_OK;
    }
    return pith_pack_elements(w, c->form == FORM_F32, to);
}

enum pith_status pith_device_pack(const struct constant *c, uint8_t *to)
{
    uint64_t bytes;
    if (c->form == FORM_VALUES || c->form == FORM_VALUES_BF16) {
        const float *from = c->key;
        for (uint64_t i = 0; i < c->bytes / 2; i++)
            ((uint16_t *)(void *)to)[i] =
                (uint16_t)(c->form == FORM_VALUES ? f16_of_f32(from[i]) : bf16_of_f32(from[i]));
        return PITH_OK;
    }
    if (!c->is_weight) {
        memcpy(to, c->key, c->bytes);
        return PITH_OK;
    }
    switch (c->form) {
    case FORM_RELATIVE:
        return pith_relative_pack(c->key, to, &bytes);
    case FORM_ROWS:
    case FORM_ROWS_TURNED:
        return pith_device_rows_pack(c->key, c->form == FORM_ROWS_TURNED, to);
    case FORM_CODES:
    case FORM_CODES_TURNED:
        return pith_device_codes_pack(c->key, c->form == FORM_CODES_TURNED, to);
    default:
        return expand(c, to);
    }
}
