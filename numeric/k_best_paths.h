/* SPDX-License-Identifier: MIT */
/* k_best_paths.h - error feedback along several paths at once. */
#ifndef K_BEST_PATHS_H
#define K_BEST_PATHS_H

#include "pith_error_feedback.h"

/* As pith_error_feedback; r->n_paths > 1. */
double pith_k_best_paths(const struct error_feedback *r, double scale, double enough, int16_t *q);

#endif
