/* SPDX-License-Identifier: MIT */
/* ptx_warp.h - which lanes of a warp run (ptx_run.c): those at the lowest program counter. At an
 * instruction that all have to do at once (shuffle, product of matrices, barrier) those that come
 * first are held until the others are there. */
#ifndef PTX_WARP_H
#define PTX_WARP_H

#include "ptx.h"

#define EXITED UINT32_MAX

struct register_file {
    uint64_t (*reg)[PTX_LANES];
    bool *written; /* others hold the value of a new one */
    uint32_t n;
    struct register_file *next;
};

struct warp {
    uint32_t lanes, at;           /* that run, and where */
    uint32_t pc[PTX_LANES], next; /* of the others, and the lowest of those that are not held */
    uint32_t held;
    bool waits; /* at a barrier, all lanes that have not left */
    struct register_file *file;
    uint64_t (*reg)[PTX_LANES]; /* of the file, as is written */
    bool *written;
};

static inline void keep_places(struct warp *w)
{
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        if (w->lanes >> lane & 1)
            w->pc[lane] = w->at;
}

/* The lanes at the lowest place go on, of those that are not held; none is left where that is
 * EXITED. */
static inline void choose_lanes(struct warp *w)
{
    keep_places(w);
    w->at = w->next = EXITED;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        w->at = w->held >> lane & 1 || w->pc[lane] >= w->at ? w->at : w->pc[lane];
    w->lanes = 0;
    for (uint32_t lane = 0; lane < PTX_LANES && w->at != EXITED; lane++)
        if (w->held >> lane & 1)
            continue;
        else if (w->pc[lane] == w->at)
            w->lanes |= 1u << lane;
        else
            w->next = w->pc[lane] < w->next ? w->pc[lane] : w->next;
}

/* Of the lanes that run, those go there, and the others on. */
static inline void go(struct warp *w, uint32_t those, uint32_t there)
{
    if (those == w->lanes) {
        w->at = there;
        return;
    }
    if (!those)
        return;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        if (those >> lane & 1)
            w->pc[lane] = there;
    w->lanes &= ~those;
    w->next = there < w->next ? there : w->next;
}

enum gathering { LANES_ALL, LANES_TO_COME, LANES_APART };

/* Before an instruction that all lanes do at once. APART: none is left that could come to it. */
static inline enum gathering gather(struct warp *w)
{
    const uint32_t here = w->at;
    if (w->lanes == UINT32_MAX)
        return LANES_ALL;
    keep_places(w);
    w->held |= w->lanes;
    w->lanes = 0;
    if (w->next != EXITED) {
        choose_lanes(w);
        return LANES_TO_COME;
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        if (w->pc[lane] != here)
            return LANES_APART;
    w->lanes = w->held;
    w->held = 0;
    return LANES_ALL;
}

#endif
