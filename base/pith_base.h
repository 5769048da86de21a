/* SPDX-License-Identifier: MIT */
/* pith_base.h - what every part of the toolchain stands on: where memory comes from, bytes that
 * somebody owns, and files that appear whole or not at all. */
#ifndef PITH_BASE_H
#define PITH_BASE_H

#include "pith_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* NULL as a `const struct pith_alloc *` stands for malloc and free. */
struct pith_alloc {
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *p);
    void *user;
};

/* Bytes from malloc; the receiver owns them: pith_buffer_free. */
struct pith_buffer {
    uint8_t *data;
    size_t bytes;
};
void pith_buffer_free(struct pith_buffer *buffer);

/* Writes path whole or not at all: temporary file in the same folder, fsync, rename. What was there
 * is replaced; a device or pipe is written to. PITH_ERR_IO: err->text gives the reason, the old
 * file is intact and no temporary file is left. */
enum pith_status pith_file_write(const char *path, const void *bytes, size_t n,
                                 struct pith_error *err);
/* The same for a file that is to be new: PITH_ERR_IO where one of that name exists by the time it
 * is written. Of several processes that write the same name, one gets PITH_OK. */
enum pith_status pith_file_write_new(const char *path, const void *bytes, size_t n,
                                     struct pith_error *err);
/* Unlinks the temporary files that these functions are writing, in any thread of the process. For
 * handlers of signals that end it (it is async-signal-safe): a write that goes on fails. Files past
 * the eighth written at once are not known. */
void pith_file_remove_temps(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
