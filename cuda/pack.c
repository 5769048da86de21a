/* SPDX-License-Identifier: MIT */
/* pack.c - weights as kernels read them, made here, on the CPU, once a plan. */
#include <stdlib.h>
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
    void *scratch = aligned_alloc(64, (pith_weight_scratch_bytes(w) + 64) & ~(size_t)63);
    if (!scratch)
        return PITH_ERR_MEMORY;
    enum pith_status st = c->form == FORM_F32
                              ? pith_weight_expand_f32(w, (float *)(void *)to, scratch)
                              : pith_weight_expand_plain(w, to, scratch);
    free(scratch);
    return st;
}

static void round_values(const struct constant *c, uint16_t *to)
{
    const float *from = c->key;
    for (uint64_t i = 0; i < c->bytes / 2; i++)
        to[i] = (uint16_t)(c->form == FORM_VALUES ? f16_of_f32(from[i]) : bf16_of_f32(from[i]));
}

enum pith_status pith_device_pack(const struct constant *c, uint8_t *to)
{
    if (c->form == FORM_VALUES || c->form == FORM_VALUES_BF16) {
        round_values(c, (uint16_t *)(void *)to);
        return PITH_OK;
    }
    if (!c->is_weight) {
        memcpy(to, c->key, c->bytes);
        return PITH_OK;
    }
    switch (c->form) {
    case FORM_RELATIVE:
        return pith_relative_pack(c->key, to);
    case FORM_ROWS:
    case FORM_ROWS_TURNED:
        return pith_device_rows_pack(c->key, c->form == FORM_ROWS_TURNED, to);
    case FORM_CODES:
        return pith_device_codes_pack(c->key, to);
    default:
        return expand(c, to);
    }
}
