/* SPDX-License-Identifier: MIT */
/* file_temp.h - what a file is written to before it has its name. Where the file system can, that
 * has no name at all, and whatever ends the process leaves nothing. Else it lies beside its target,
 * known by name as long as it exists, so that a signal handler can remove it
 * (pith_file_remove_temps in pith_base.h); the name says the process, so that what a killed one
 * left is known and removed. */
#ifndef FILE_TEMP_H
#define FILE_TEMP_H

#include <stdatomic.h>
#include <stdbool.h>

#define FILE_PATH_CAP 4096u

struct file_temp {
    atomic_int *taken; /* private; NULL: all places are taken, the file is not known by name */
    char *path;        /* where the name stands: in the list, or `own`; empty: it has none */
    int fd;            /* private: of what has no name, to give it one */
    char own[FILE_PATH_CAP];
};

/* Opens one for writing and reading, 0600, and returns its descriptor, which is the caller's to
 * close. -1: errno says why, ENAMETOOLONG too, and nothing is to be released. */
int pith_temp_make(struct file_temp *t, const char *target);
/* The name of t becomes `target`: whatever has it now is replaced, or (new) EEXIST. 0, or -1 and
 * errno.
 */
int pith_temp_replace(struct file_temp *t, const char *target);
int pith_temp_new(struct file_temp *t, const char *target);
/* Forgets the name, after one of the two; `remove`: unlinks it first. */
void pith_temp_release(struct file_temp *t, bool remove);

#endif
