/* SPDX-License-Identifier: MIT */
/* feedback_panel.h - pith_error_feedback() on one path, for several rows beside each other
 * (row_panel.h): the same bits, and the factor goes through memory once for all of them. */
#ifndef PITH_FEEDBACK_PANEL_H
#define PITH_FEEDBACK_PANEL_H

#include <stdbool.h>

#include "error_feedback.h"
#include "row_panel.h"

/* All by place. */
struct feedback_panel {
    size_t n;
    uint32_t rows;              /* 1..PITH_ROW_PANEL */
    const double *u;            /* [n, n], as in struct error_feedback */
    const struct low_rank *low; /* as there */
    const double *goal;         /* [n, PITH_ROW_PANEL] */
    const uint8_t *kept;        /* [n, PITH_ROW_PANEL]; NULL: none has to stay 0 */
    int32_t lowest, most;
    double *e;  /* [n, PITH_ROW_PANEL], any numbers in it: room; with low [n + its rank, ..] */
    int16_t *q; /* [rows, n] */
    const struct row_panel_kernels *kernels;
};

/* Each row's error with its scale > 0, and its integers in q; or, as soon as the error is not below
 * enough[row], what it is there, and nothing in the row of q. scale, enough: [rows], error:
 * [PITH_ROW_PANEL]. */
void pith_feedback_panel(const struct feedback_panel *p, const double *scale, const double *enough,
                         double *error);

/* pith_search_scale() of each row: least and best [rows]. */
void pith_search_scales(const struct feedback_panel *p, const double *least, bool halves,
                        double *best);

/* Whether vectors are so wide that rows beside each other are faster, though a row whose error
 * grows too large goes on as long as any other. */
bool pith_feedback_panel_pays(const struct row_panel_kernels *kernels);

#endif
