/* SPDX-License-Identifier: MIT */
/* history_beside.h - what a compact or tiny file leaves out, as a text of JSON to lie beside
 * it: small.pith.json holds the names of small.pith's inputs, outputs and layers, and its history.
 *
 *     {"pith":1,"file":{"bytes":819,"end":"5c0e77a1"},"inputs":["data"],"outputs":["prob"],
 *      "layers":["conv1","ip1"],"history":[{"verb":"prune","did":{"do":"prune",...}}]}
 *
 * end: the last four bytes of the file, which are its checksum: another file's text is not taken.
 */
#ifndef PITH_HISTORY_BESIDE_H
#define PITH_HISTORY_BESIDE_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* m: what file was packed from. The caller owns *text; its data is NULL where the file holds all
 * itself. PITH_ERR_MEMORY, and what pith_unpack answers. */
enum pith_status pith_history_beside(const struct pith_model *m, const struct pith_buffer *file,
                                     struct pith_buffer *text, struct pith_error *err);

#define PITH_HISTORY_END 4

/* Gives m, of a file of so many bytes that ends so, what text[n] holds, where that belongs to it
 * and m has no history. Text that does not belong or is broken changes nothing. PITH_ERR_MEMORY:
 * some is given. */
enum pith_status pith_history_take(struct pith_model *m, uint64_t bytes,
                                   const uint8_t end[PITH_HISTORY_END], const char *text, size_t n);

#ifdef __cplusplus
}
#endif
#endif
