/* SPDX-License-Identifier: MIT */
/* error_feedback.h - a row of weights onto integers times a scale, weight after weight, each
 * rounding made up for by those not yet rounded (OBQ: Frantar and Alistarh, "Optimal Brain
 * Compression", 2022; GPTQ: Frantar et al., 2023; Hassibi and Stork, 1993).
 *
 * A row g becomes q * scale so that e H e^T is small, e = g - q * scale, where H, the Hessian of
 * half the squared error, is the sum of x x^T over inputs x, damped. With H = U^T U that is |U
 * e|^2, and going from the last weight to the first, the j-th term,
 *
 *     U[j, j] (g_j - q_j scale) + sum over i > j of U[j, i] e_i,
 *
 * is least for q_j nearest to (g_j + sum over i > j of U[j, i] e_i / U[j, j]) / scale. That is
 * GPTQ's rule in the form of Babai's nearest plane: one factorisation, no inverse. Weights are put
 * in the order of rising H[k, k], so those that matter most are rounded first and made up for by
 * all others: `place` says where a weight stands in that order.
 *
 *     pith_order_by_diagonal(diagonal, n, order);       H[order[i], order[k]] -> u
 *     pith_cholesky(u, n)                               cholesky.h
 *     pith_search_scale(&row, least, false, q)          for each row; may be left out
 *     pith_error_feedback(&row, scale, HUGE_VAL, q)
 *
 * All of it depends on its arguments alone; threads may share what is const. */
#ifndef PITH_ERROR_FEEDBACK_H
#define PITH_ERROR_FEEDBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PITH_MOST_PATHS 64u
#define PITH_MOST_STATES 16u

/* Trellis-coded quantization: going from the last place to the first, each integer is a level k of
 * the quantizer that the lowest bit of a state names, 0: even integers, k at 2 k; 1: 0 and odd
 * ones, k at 2 k - sign(k). The state is 0 at first, and becomes next[state][k & 1]. */
struct quantizer_trellis {
    uint32_t n_states; /* 2..PITH_MOST_STATES */
    uint8_t next[PITH_MOST_STATES][2];
};

struct row_panel_kernels;
struct low_rank;

/* All by place. */
struct error_feedback {
    size_t n;
    const double *u; /* [n, n] upper triangle: the error of e is |U e|^2; NULL: the identity */
    const struct low_rank *low; /* instead of u, NULL then: low_rank.h */
    const double *goal;         /* [n] */
    const uint8_t *kept;        /* [n] 0: stays 0; NULL: none has to */
    int32_t lowest, most;
    const double *price; /* [most - lowest + 1] what each integer costs beside its error, as lambda
                            times its bits, >= 0; with a trellis [2] of that, for each quantizer;
                            NULL: nothing */
    const struct quantizer_trellis *trellis; /* NULL: all integers may follow each other */
    uint32_t n_paths; /* 1..PITH_MOST_PATHS, see below; with a trellis a multiple of its states */
    double *e;        /* [n, n_paths] room; with low [n + its rank, n_paths] */
    const struct row_panel_kernels *panel; /* row_panel.h, for sums over paths; NULL: none. No
                                              bit depends on it */
};

/* Sets q [n] and returns its error; or a larger number than `enough`, and nothing in q, as soon as
 * the error is not below that.
 *
 * n_paths = 1: each weight takes the integer nearest to what it wants. What the weights so far add
 * to the error is known when they are chosen, and the integer nearest is not always best for those
 * behind. So with n_paths = K the K cheapest choices so far are kept, each goes on with the two
 * integers next to what it wants (the M-algorithm, Anderson and Mohan, 1984; K-best sphere
 * decoding), and the cheapest at the end is the row. Equal costs: the nearer integer, the path that
 * was cheaper before.
 *
 * With prices the sum of errors and prices shall be small, and is what is returned. Each path then
 * goes on with the next integer towards 0, and with 0, as well.
 *
 * With a trellis integers are levels: each path goes on with the two next to what it wants, which
 * lead to two states, and of the choices that lead to a state the n_paths / n_states cheapest stay.
 * (One of each, where no error is fed forward: Viterbi's algorithm.) */
double pith_error_feedback(const struct error_feedback *r, double scale, double enough, int16_t *q);

/* The scale with which the row has the least error on one path: from the one that cuts nothing
 * off, or `least` > 0 where that is larger, down to half of it, not below `least`. halves: powers
 * of two, the smallest that cuts nothing off, its half and its quarter. 0: all weights that are
 * kept are 0. q: [n] room. */
double pith_search_scale(const struct error_feedback *r, double least, bool halves, int16_t *q);
/* The smallest power of two that is not below a scale > 0, within those of normal floats. */
double pith_radix_above(double scale);

/* order: [2 n], of which [n] become weights with rising diagonal, equal ones as they are; the rest
 * is room. */
void pith_order_by_diagonal(const double *diagonal, size_t n, size_t *order);

#endif
