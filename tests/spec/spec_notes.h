/* SPDX-License-Identifier: MIT */
/* spec_notes.h - names, meta and history: F7, F8, F9. Prints them. */
#ifndef SPEC_NOTES_H
#define SPEC_NOTES_H

#include "spec_bytes.h"

/* Each reads one chunk. */
void read_names(struct span s, uint64_t n_values, uint64_t n_nodes);
void read_meta(struct span s);
void read_history(struct span s);

#endif
