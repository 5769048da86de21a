/* SPDX-License-Identifier: MIT */
/* row_coupling.h - the loss of errors that rows of a layer share.
 *
 * Errors e_r of the rows cost the sum over r, s of G_rs e_r H e_s^T / 2: H of the inputs is what
 * one row's weights make up for each other with, G of the gradients of the results what rows do. G
 * = U^T U makes it the sum over j of |e_j + sum over k > j of U_jk / U_jj e_k|_H^2 U_jj^2 / 2: rows
 * are rounded from the last place on, each to its goal less the compensation for those behind,
 * and costs U_jj^2, which is less than G_jj: those in front make up for the rest. */
#ifndef ROW_COUPLING_H
#define ROW_COUPLING_H

#include "sensitivity.h"

struct row_coupling {
    uint64_t rows;
    uint64_t at_once;     /* independent rows, which threads share */
    size_t *order;        /* [rows] the row at each place */
    double *compensation; /* [rows, rows] by place: how much of the errors of places that were
                    rounded before a place makes up for. NULL: rows are not coupled */
};

/* Of a weight whose sensitivity has draws, else none. answers: how many the network gives, as many
 * as it has classes: fewer samples do not estimate what gradients have in common, and there
 * is no coupling then. loss: [rows] G_rr before, what each row costs behind. PITH_ERR_MEMORY, _IO.
 */
enum pith_status pith_row_coupling_open(const struct pith_sensitivity *known, uint32_t value,
                                        uint64_t answers, double *loss, struct row_coupling *c,
                                        struct pith_error *err);
void pith_row_coupling_close(struct row_coupling *c); /* accepts zeros */

/* Rows of a place's own block, or before it, are not known to it: those from here on are. */
static inline uint64_t coupled_from(const struct row_coupling *c, uint64_t place)
{
    return c->rows - (c->rows - 1 - place) / c->at_once * c->at_once;
}

#endif
