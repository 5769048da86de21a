/* SPDX-License-Identifier: MIT */
/* pith_context_lanes.h - the lanes of pith_context_impl.h as an array. */
#ifndef PITH_CONTEXT_LANES_H
#define PITH_CONTEXT_LANES_H

#include <string.h>
#include "pith_kernel_context.h"

typedef struct {
    uint16_t x[CONTEXT_SYMBOLS];
} lanes;

#define EACH_LANE for (uint32_t i = 0; i < CONTEXT_SYMBOLS; i++)

static inline lanes lanes_load(const uint16_t *p)
{
    lanes r;
    memcpy(r.x, p, sizeof r.x);
    return r;
}

static inline void lanes_store(uint16_t *p, lanes v)
{
    memcpy(p, v.x, sizeof v.x);
}

static inline lanes lanes_average(lanes a, lanes b)
{
    EACH_LANE
    a.x[i] = (uint16_t)((a.x[i] + b.x[i] + 1u) >> 1);
    return a;
}

static inline lanes lanes_bounds(lanes m, const struct context_alphabet *a, uint32_t range)
{
    EACH_LANE
    {
        uint32_t f = ((uint32_t)m.x[i] * a->keep >> 16) + a->least[i];
        m.x[i] = (uint16_t)(f * range >> 16);
    }
    return m;
}

static inline lanes lanes_learned(lanes m, lanes above, uint32_t rate)
{
    EACH_LANE
    {
        uint32_t flip = above.x[i], d = ((m.x[i] ^ flip) * rate + 32768) >> 16;
        m.x[i] = (uint16_t)(m.x[i] - ((d ^ flip) - flip));
    }
    return m;
}

/* The lanes below the symbol. */
static inline lanes lanes_below(uint32_t symbol)
{
    lanes r;
    EACH_LANE
    r.x[i] = i < symbol ? 0xffff : 0;
    return r;
}

#endif
