/* SPDX-License-Identifier: MIT */
/* pith_train_options.h - the options of training as rows (pith_option.h): what each is called, what
 * it may be and is by default, what it needs, whether it is part of a run's identity. */
#ifndef PITH_TRAIN_OPTIONS_H
#define PITH_TRAIN_OPTIONS_H

#include "pith_option.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of struct pith_train_opts. */
extern const struct pith_option_set pith_train_options;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
