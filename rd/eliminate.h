/* SPDX-License-Identifier: MIT */
/* eliminate.h - weights are removed one after the other, each time those that cost least, and what
 * stays makes up for them (Optimal Brain Surgeon: Hassibi and Stork, 1993; of groups: Kurtic et
 * al., 2022; of several rows with one Hessian: Frantar and Alistarh, "Optimal Brain Compression",
 * 2022).
 *
 * To remove the columns B costs a row w with the Hessian H
 *
 *     F / 2 * w_B ([H^-1]_BB)^-1 w_B^T,
 *
 * and the others become w - w_B ([H^-1]_BB)^-1 [H^-1]_B,: H^-1 loses what is explained by B then,
 * and is the inverse of H without B. */
#ifndef ELIMINATE_H
#define ELIMINATE_H

#include <stddef.h>
#include <stdint.h>

struct elimination {
    size_t n;           /* columns */
    size_t unit;        /* neighbours that go together; divides n */
    size_t rows;        /* that they go of at once */
    double *inverse;    /* [n, n] H^-1, of which the upper triangle is read and changed */
    double *w;          /* [rows, n] changed: those that are removed are 0 */
    const double *loss; /* [rows] F */
    uint8_t *gone;      /* [n / unit] 1: removed */
    double *room;       /* [unit, n + unit + 1] */
};

/* The unit that costs least, of equal ones the first; its cost. n / unit: all are gone. */
size_t pith_eliminate_cheapest(const struct elimination *x, double *cost);
/* unit i: not gone. */
void pith_eliminate(struct elimination *x, size_t i);

#endif
