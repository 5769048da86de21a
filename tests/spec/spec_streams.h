/* SPDX-License-Identifier: MIT */
/* spec_streams.h - cutting a tensor's streams out of DATA while its fields are read: F6, first
 * half; the fields with their lengths, and which tables they need: F5, F6. */
#ifndef SPEC_STREAMS_H
#define SPEC_STREAMS_H

#include "spec_tensor.h"

/* s: the fields; data: what is left of DATA. */
void read_streams(struct span *s, struct tensor *t, struct span *data);
void read_adaptive_streams(struct span *s, struct tensor *t, bool is_last, struct span *data);

#endif
