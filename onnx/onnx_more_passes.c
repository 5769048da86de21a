/* SPDX-License-Identifier: MIT */
/* onnx_more_passes.c - more imports, where formulas that round are not yet certain. Quotients by 16
 * and by 15 are the same for long: sizes are tried with which formulas differ, or that are
 * multiples of the usual strides and a little behind them. */
#include "onnx/onnx_open.h"

#include "base/error_fill.h"

/* One name for all that are the same number. */
void pith_onnx_fill_fit(const struct open_import *o, struct onnx_fit *f)
{
    f->n_sizes = o->names.n;
    f->n_passes = o->n_passes;
    for (uint32_t k = 0; k < o->n_passes; k++)
        for (uint32_t i = 0; i < o->names.n; i++)
            f->size[k][i] = o->value[k][i];
    for (uint32_t i = 0; i < o->names.n; i++)
        f->skipped[i] = o->same_as[i] != i;
}

/* An attribute is found to follow a quotient, or is undecided: *f is then of that one. */
static bool needs_more(const struct open_import *o, struct onnx_fit *f)
{
    bool quotients = false;
    pith_onnx_fill_fit(o, f);
    for (uint32_t i = 0; i < o->pass[0].n_nodes; i++)
        for (uint32_t slot = 0; slot < o->pass[0].node[i].n_slots; slot++) {
            struct size_expression e = {0};
            bool differs = false;
            for (uint32_t k = 0; k < o->n_passes; k++) {
                f->number[k] = o->pass[k].node[i].attr[slot];
                differs = differs || f->number[k] != f->number[0];
            }
            if (!differs || !pith_onnx_fit(f, &e))
                continue;
            if (f->undecided)
                return true;
            quotients = quotients || e.n_quotients;
        }
    f->undecided = false;
    return quotients;
}

/* Pass k, if the network takes its sizes, and with the same nodes. */
static enum pith_status try_pass(struct open_import *o, uint32_t k, bool *taken)
{
    enum pith_status status = pith_onnx_sized_pass(o, k, NULL);
    if (!status)
        status = pith_onnx_same_nodes(o, &o->pass[k], NULL);
    *taken = !status;
    if (status)
        pith_onnx_free_pass(&o->pass[k]);
    return status == PITH_ERR_MEMORY ? status : PITH_OK;
}

enum pith_status pith_onnx_add_passes(struct open_import *o, uint32_t step, struct onnx_fit *f)
{
    static const uint16_t at[ONNX_FIT_MORE] = {64, 65, 67, 97, 127, 133, 225, 226, 232, 449};
    const uint32_t round = 448; /* a multiple of 64 and of 7 */
    bool taken = true;
    for (uint32_t n = 0; n < ONNX_FIT_MORE && needs_more(o, f); n++) {
        uint32_t *value = o->value[o->n_passes];
        for (uint32_t i = 0; i < o->names.n; i++) {
            const uint32_t as = o->same_as[i], base = o->value[0][i];
            const uint32_t v = at[(n + 3 * as) % ONNX_FIT_MORE] / step + base / round * round;
            value[i] = pith_onnx_range_of(o, as) || v == 0 ? base : v;
            if (f->undecided)
                value[i] = as == f->next_size ? f->next_value : base;
        }
        enum pith_status status = try_pass(o, o->n_passes, &taken);
        if (status || (f->undecided && !taken))
            return status;
        o->n_passes += taken;
    }
    return PITH_OK;
}
