/* SPDX-License-Identifier: MIT */
/* expand_recurrent.h - RNN, GRU and LSTM as loops of ordinary operators, whose products can be
 * integers. */
#ifndef EXPAND_RECURRENT_H
#define EXPAND_RECURRENT_H

#include "pith_quantize.h"

/* The network computes the same, in the same order. Left as they are: those that opts keeps, and
 * those with lengths, with computed weights, with activations other than Sigmoid, Tanh and Relu,
 * and without a grid for their outputs. PITH_ERR_MEMORY. */
enum pith_status pith_expand_recurrent(struct pith_model *m, const struct pith_quantize_opts *opts,
                                       struct pith_error *err);

#endif
