/* SPDX-License-Identifier: MIT */
/* plane_pull.h - floats coded as byte planes one at a time: a pull for each plane, some 2 KB in
 * all. For machines without room for the floats (plane_decode.h is the fast way). */
#ifndef PLANE_PULL_H
#define PLANE_PULL_H

#include "decode/huff_pull.h"
#include "decode/plane_decode.h"

struct plane_pull {
    struct huff_pull *codes[PLANES]; /* NULL: plain */
    const uint8_t *plain[PLANES];    /* the next byte */
};

/* Memory of all pulls of w, a multiple of 8; some or none where w is broken. */
size_t pith_plane_pull_bytes(const struct weight *w);

/* mem: as above; the bytes of w are borrowed. false: w is broken. */
bool pith_plane_pull_open(struct plane_pull *p, const struct weight *w, void *mem);

/* The next float, of w->count. false: the stream is broken. */
bool pith_plane_pull(struct plane_pull *p, float *value);

/* All floats were taken, and every plane ended as it must. */
bool pith_plane_pull_ended(const struct plane_pull *p);

#endif
