/* SPDX-License-Identifier: MIT */
/* checked_opts.h - options for a further call on an image whose checksums were tested before: they
 * read every byte of the file, so once is enough. */
#ifndef CHECKED_OPTS_H
#define CHECKED_OPTS_H

#include <string.h>
#include "pith_runtime.h"

/* given: accepted by an earlier call; may be NULL. */
static inline struct pith_opts checked_opts(const struct pith_opts *given)
{
    struct pith_opts opts;
    pith_opts_init(&opts, sizeof opts);
    if (given)
        memcpy(&opts, given, given->size_bytes < sizeof opts ? given->size_bytes : sizeof opts);
    opts.size_bytes = sizeof opts;
    opts.flags |= PITH_FLAG_NO_CHECKSUM;
    return opts;
}

#endif
