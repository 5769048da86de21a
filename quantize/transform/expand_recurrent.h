/* SPDX-License-Identifier: MIT */
/* expand_recurrent.h - RNN, GRU and LSTM as loops of ordinary operators, whose products can be
 * integers. */
#ifndef PITH_EXPAND_RECURRENT_H
#define PITH_EXPAND_RECURRENT_H

#include "pith_model.h"

struct pith_quantize_opts;

/* The network computes the same, in the same order. Left as they are: those with lengths, with
 * computed weights, or with activations other than Sigmoid, Tanh and Relu; where opts is not NULL,
 * also those that it keeps and those without a grid for their outputs. PITH_ERR_MEMORY. */
enum pith_status pith_expand_recurrent(struct pith_model *m, const struct pith_quantize_opts *opts,
                                       struct pith_error *err);

#endif
