/* SPDX-License-Identifier: MIT */
/* architecture_option.h - what `init ARCH` and `train --init ARCH` name: a known architecture, or a
 * file whose weights are drawn anew. */
#ifndef ARCHITECTURE_OPTION_H
#define ARCHITECTURE_OPTION_H

#include "cli/common/cli.h"
#include "pith_onnx.h"

/* The network with drawn weights, the import's preprocessing and labels, and an entry in its
 * history. import may be NULL. */
enum cli_exit cli_new_network(const char *architecture, const struct pith_import_opts *import,
                              uint64_t seed, struct pith_model **m);

#endif
