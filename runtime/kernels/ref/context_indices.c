/* SPDX-License-Identifier: MIT */
/* context_indices.c - reference of pith_kernel_context.h. */
#include "context_decoder.h"
#include "pith_kernel_decode.h"
#include "pith_context_lanes.h"

/* Linear search: sixteen bounds at most, and this is the definition, not the fast form. */
static inline uint32_t code_symbol(struct context_walk *t, lanes bounds, uint32_t symbol,
                                   lanes *above)
{
    fill_window(t);
    uint32_t v = (uint32_t)(t->window >> WINDOW_TOP), high = t->range;
    for (symbol = 0; v < bounds.x[symbol]; symbol++) /* bounds end in 0 */
        high = bounds.x[symbol];
    narrow(t, bounds.x[symbol], high);
    *above = lanes_below(symbol);
    return symbol;
}

#include "pith_context_impl.h"

void pith_context_indices(struct context_coder *c, uint8_t *index, size_t n)
{
    context_decode(c, index, n);
}
