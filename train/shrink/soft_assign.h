/* SPDX-License-Identifier: MIT */
/* soft_assign.h - soft assignment (soft weight sharing): weights that lie between the centroids
 * of their codebook, and settle.
 *
 * Each weight has a number x of its own; forward sees w = sum_j a_j c_j, a = softmax of
 * -(x - c_j)^2 / t: attention over the centroids (Cho et al., 2022, DKM). Both x and c learn by the
 * exact derivative of that, so that a weight can change its centroid while training. The
 * temperature t falls to 0; from then on a weight is its nearest centroid, and those alone move. */
#ifndef SOFT_ASSIGN_H
#define SOFT_ASSIGN_H

#include <stdbool.h>
#include <stdint.h>

struct soft_assign {
    uint64_t count, group_elems; /* weights; those that share a group of centroids */
    uint32_t n_centroids;        /* of each group, in any order */
    float share;                 /* of first_temperature that is left; 0: settled */
    float *first_temperature;    /* [groups] */
};

/* Temperature at first: `temperature` times the mean squared distance of neighbours. centroid:
 * [groups
 * * n_centroids], ascending in each group. False: no memory. */
bool pith_soft_new(uint64_t count, uint64_t group_elems, uint32_t n_centroids,
                   const float *centroid, float temperature, struct soft_assign **s);
void pith_soft_free(struct soft_assign *s); /* accepts NULL */
/* part of the run is over: t falls with its square and is 0 at `until`. */
void pith_soft_cool(struct soft_assign *s, double part, double until);
/* x [count], c [groups * n_centroids] to w [count]; 0 where alive (NULL: everywhere) is 0. */
void pith_soft_values(const struct soft_assign *s, const float *x, const float *c,
                      const uint8_t *alive, float *w);
/* From the gradient by w [count] those by x and by c; set. */
void pith_soft_gradient(const struct soft_assign *s, const float *x, const float *c,
                        const uint8_t *alive, const float *grad, float *dx, float *dc);
/* Number of the nearest centroid in the group of each. */
void pith_soft_nearest(const struct soft_assign *s, const float *x, const float *c, uint8_t *index);

#endif
