/* SPDX-License-Identifier: MIT */
/* unpack.h - the bytes of a .pith back into a model. */
#ifndef PITH_UNPACK_H
#define PITH_UNPACK_H

#include "pith_model.h"

/* Do the bytes begin as a .pith does? (They may still be broken.) */
bool pith_is_pith(const void *bytes, size_t n);

/* Zeros are the defaults. */
struct unpack_opts {
    uint32_t flags;     /* PITH_FLAG_NO_CHECKSUM or 0 */
    uint64_t max_bytes; /* of the tensors in memory; 0: 4 GiB */
    const struct pith_alloc *alloc;
    /* Nothing is read of what weights hold: of constants with two axes or more, `count` alone is
     * known, data is NULL, and neither mask nor codebook is set. max_bytes counts them all the
     * same. */
    bool outline;
};

/* name stands in messages; opts may be NULL. Values are numbered as in the file. *m is untouched on
 * failure. */
enum pith_status pith_unpack(const void *bytes, size_t n, const char *name,
                             const struct unpack_opts *opts, struct pith_model **m,
                             struct pith_error *err);

/* What calibrate saw and chose: bytes of the chunk `stat` (n may be 0) into m's values.
 * PITH_ERR_CORRUPT: broken, or it does not fit their shapes; PITH_ERR_LIMIT: takes more than
 * max_bytes of memory; PITH_ERR_MEMORY. */
enum pith_status pith_unpack_stats(struct pith_model *m, const uint8_t *bytes, size_t n,
                                   uint64_t max_bytes);

#endif
