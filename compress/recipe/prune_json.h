/* SPDX-License-Identifier: MIT */
/* prune_json.h - the forms that options of `prune` have in recipes. */
#ifndef PRUNE_JSON_H
#define PRUNE_JSON_H

#include "own_json.h"

/* Ends with own == NULL. */
extern const struct own_json pith_prune_own_json[];

#endif
