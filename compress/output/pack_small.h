/* SPDX-License-Identifier: MIT */
/* pack_small.h - networks whose history outweighs what is saved. */
#ifndef PITH_PACK_SMALL_H
#define PITH_PACK_SMALL_H

#include "pith_pack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PITH_SMALL_BYTES (1u << 20)

/* Bytes of m's plain file where its constants take less than PITH_SMALL_BYTES; else 0. */
enum pith_status pith_small_bytes(const struct pith_model *m, uint64_t *bytes,
                                  struct pith_error *err);

/* pith_model_pack, but without history where the file would have more than plain_bytes (0: never).
 */
enum pith_status pith_pack_small(const struct pith_model *m, const struct pith_pack_opts *pack,
                                 uint64_t plain_bytes, struct pith_buffer *file,
                                 struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
