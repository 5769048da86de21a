/* SPDX-License-Identifier: MIT */
/* codebook_build.h - the codebooks of one weight: k-means group by group, centroids rounded to what
 * files store, groups filled up to equal length. */
#ifndef CODEBOOK_BUILD_H
#define CODEBOOK_BUILD_H

#include "numeric/kmeans.h"
#include "pith_model.h"
#include "pith_quantize.h"

struct codebook_build {
    uint64_t group_elems, n_groups;
    uint32_t wanted; /* centroids per group, 2..256 */
    enum pith_cluster_init init;
    bool half;                       /* centroids are f16 values */
    const struct pith_opts *runtime; /* parallel_for; NULL: one thread */
    /* results */
    uint32_t used_most; /* largest number of centroids any group uses */
    uint32_t *used;     /* [n_groups], 1..wanted; owned */
    float *centroid;    /* [n_groups * wanted], strictly ascending; owned */
};

/* w: [n_groups * group_elems] f32, |w| <= 2^126 (half: 2^15); mask: the same, or NULL.
 * PITH_ERR_MEMORY; pith_codebook_build_end in any case. */
enum pith_status pith_codebook_build(struct codebook_build *b, const float *w, const uint8_t *mask);
void pith_codebook_build_end(struct codebook_build *b);

/* Nearest centroid of each element, of two equally near the lower; 0 where masked.
 * centroid: [n_groups * used_most], index: [n_groups * group_elems]. */
void pith_codebook_assign(const struct codebook_build *b, const float *centroid, const float *w,
                          const uint8_t *mask, uint8_t *index);

/* All of these: the codebook of c, cut to the centroids in use, with the index of each element;
 * *made is in m's arena. b: group_elems, wanted, init and half; what else it has
 * is set here and freed. c stays as it is. PITH_ERR_MEMORY. */
enum pith_status pith_codebook_make(struct codebook_build *b, struct pith_model *m,
                                    const struct pith_const *c, struct pith_codebook **made);

/* Element i of c, with codebook cb: its centroid. */
static inline float pith_codebook_value(const struct pith_codebook *cb, uint64_t i)
{
    return cb->centroid[i / cb->group_elems * cb->n_centroids + cb->index[i]];
}

#endif
