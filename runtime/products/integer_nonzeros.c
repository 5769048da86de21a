/* SPDX-License-Identifier: MIT */
/* integer_nonzeros.c - see integer_nonzeros.h: rows of a matrix lie side by side, or columns do. */
#include "integer_nonzeros.h"

#define AHEAD                                                                                      \
    48u /* columns that are fetched before they are looked at: each has a cache line of its own */

/* The bits of n columns of an output: a matrix's rows, whose columns lie side by side. */
static uint64_t bits_of_row(const int8_t *w, uint32_t n)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < n; i++)
        bits |= (uint64_t)(w[i] != 0) << i;
    return bits;
}

/* The bit of a column for all outputs. */
static void set_column(const int8_t *w, size_t output, uint32_t outputs, uint64_t bit,
                       uint64_t *left)
{
    for (uint32_t j = 0; j < outputs; j++)
        left[j] |= w[j * output] ? bit : 0;
}

void pith_integer_nonzeros(const struct integer_layout *l, const struct integer_weights *weights,
                           struct nonzeros_at at, uint64_t *bits)
{
    const uint32_t cg = l->cg;
    const int8_t *w = (const int8_t *)weights->w + at.o * weights->output;
    memset(bits, 0, at.outputs * sizeof *bits);
    if (weights->channel == 1 && l->run == cg) {
        for (uint32_t j = 0; j < at.outputs; j++)
            bits[j] = bits_of_row(w + j * weights->output + at.begin, at.n);
        return;
    }
    for (uint32_t i = 0; i < at.n; i++) {
        const uint32_t tap = (at.begin + i) / cg, channel = (at.begin + i) % cg;
        if (channel + AHEAD < cg)
            __builtin_prefetch(w + (channel + AHEAD) * weights->channel + tap);
        set_column(w + channel * weights->channel + tap, weights->output, at.outputs,
                   UINT64_C(1) << i, bits);
    }
}
