/* SPDX-License-Identifier: MIT */
/* kept_values.h - arrays that wait for their next reader: in memory to a limit, the others
 * each in a file without a name, in $TMPDIR or /var/tmp, which is gone with the process however
 * that ends.
 */
#ifndef PITH_KEPT_VALUES_H
#define PITH_KEPT_VALUES_H

#include "pith_base.h"

struct kept_values;

/* n arrays, none of which is there yet, with most_bytes of memory for all together. NULL: no
 * memory. */
struct kept_values *pith_kept_new(uint32_t n, uint64_t most_bytes);
void pith_kept_free(struct kept_values *k); /* accepts NULL */
/* Makes room for array i of `total` bytes, unless it is there. PITH_ERR_MEMORY, _IO. */
enum pith_status pith_kept_open(struct kept_values *k, uint32_t i, uint64_t total,
                                struct pith_error *err);
/* Of array i, which is there, the bytes from `at` on; others may write at once. PITH_ERR_IO. */
enum pith_status pith_kept_write(struct kept_values *k, uint32_t i, uint64_t at, const void *data,
                                 size_t bytes, struct pith_error *err);
/* What was written there. PITH_ERR_IO. */
enum pith_status pith_kept_read(const struct kept_values *k, uint32_t i, uint64_t at, void *data,
                                size_t bytes, struct pith_error *err);
/* All of array i, which is there, until it is dropped. PITH_ERR_IO. */
enum pith_status pith_kept_map(struct kept_values *k, uint32_t i, const void **data,
                               struct pith_error *err);
/* Array i is not read any more; it may be there or not. */
void pith_kept_drop(struct kept_values *k, uint32_t i);

#endif
