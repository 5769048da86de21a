/* SPDX-License-Identifier: MIT */
/* checkpoint.h - what a run is made of, in a file, so that another process can go on with it.
 *
 *     pith_checkpoint_open(folder, identity, NULL, &c, &err);
 *     pith_checkpoint_add_u64(c, "step", 0, &step);            // each number that must survive
 *     pith_checkpoint_read(c, &found, &err);                      // fills all of it, or none
 *     ... pith_checkpoint_write(c, &err) ...                      // whole or not at all
 *     pith_checkpoint_free(c);
 *
 * The file DIR/checkpoint: "PITHRUN" NUL, u32 version, u32 length of the identity, the identity,
 * then for each block its name [16], u32 number, u32 zero, u64 bytes, its elements; CRC32C of all
 * that. Everything is little-endian. A struct is stored field by field, a block each: its bytes
 * would differ between machines, and no check could detect a bad one.
 *
 * The identity is a text of lines "name value": a checkpoint with
 * another one is refused, and the message shows the first line that differs. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "pith_train.h"

struct checkpoint;

/* Of several processes (ranks, borrowed until free; NULL: one) all call the same functions; rank 0
 * reads and writes the file, and all end with the same status.
 *
 * Makes the folder if it is not there, and removes what a killed run left half-written. Borrows
 * neither text. PITH_ERR_IO, _MEMORY. */
enum pith_status pith_checkpoint_open(const char *folder, const char *identity,
                                      const struct pith_ranks *ranks, struct checkpoint **c,
                                      struct pith_error *err);
void pith_checkpoint_free(struct checkpoint *c); /* accepts NULL */
/* Block (name, number): n elements, borrowed until free. name: at most 15 characters, borrowed.
 * NULL instead of the elements: nothing is added. Without memory the next read or write fails.
 *
 * A file with an element out of its range is refused: a flag is 0 or 1, an f32 is what the range
 * says. The caller checks what else its numbers must be, those of an f64 at all. */
void pith_checkpoint_add_flags(struct checkpoint *c, const char *name, uint32_t number,
                               uint8_t *flag, uint64_t n);
void pith_checkpoint_add_u32(struct checkpoint *c, const char *name, uint32_t number, uint32_t *x);
void pith_checkpoint_add_u64(struct checkpoint *c, const char *name, uint32_t number, uint64_t *x);
void pith_checkpoint_add_f64(struct checkpoint *c, const char *name, uint32_t number, double *x);
enum checkpoint_range {
    CHECKPOINT_NOT_NAN, /* infinite: a constant can be, such as the mask of an attention */
    CHECKPOINT_NOT_NEGATIVE,
    CHECKPOINT_POSITIVE /* and finite */
};
void pith_checkpoint_add_f32(struct checkpoint *c, const char *name, uint32_t number,
                             enum checkpoint_range range, float *x, uint64_t n);
/* Bytes whose number changes, checked by the caller: reading puts a new allocation in its place, or
 * an empty buffer. */
void pith_checkpoint_add_buffer(struct checkpoint *c, const char *name, struct pith_buffer *buffer);
/* PITH_ERR_IO: names the file; the one before stays as it was. PITH_ERR_MEMORY. */
enum pith_status pith_checkpoint_write(const struct checkpoint *c, struct pith_error *err);
/* What is there, if anything, is of this run; nothing is read into blocks, which may come later.
 * Fails as pith_checkpoint_read does. */
enum pith_status pith_checkpoint_check(const struct checkpoint *c, struct pith_error *err);
/* *found: false where there is none. PITH_ERR_CORRUPT: truncated or damaged; PITH_ERR_ARGUMENT: of
 * another run; PITH_ERR_VERSION: of another version of the file; PITH_ERR_IO, _MEMORY. Blocks
 * change when all is well, and only then. */
enum pith_status pith_checkpoint_read(const struct checkpoint *c, bool *found,
                                      struct pith_error *err);
/* Removes the file, if there is one. PITH_ERR_IO. */
enum pith_status pith_checkpoint_remove(const struct checkpoint *c, struct pith_error *err);
const char *pith_checkpoint_path(const struct checkpoint *c);

#endif
