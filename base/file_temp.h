/* SPDX-License-Identifier: MIT */
/* file_temp.h - temporary files beside their targets, known by name as long as they exist, so that
 * a signal handler can remove them (pith_file_remove_temps in pith_model.h). */
#ifndef FILE_TEMP_H
#define FILE_TEMP_H

#include <stdatomic.h>
#include <stdbool.h>

#define FILE_PATH_CAP 4096u

struct file_temp {
    atomic_int *taken; /* private; NULL: all places are taken, the file is not known by name */
    char *path;        /* where the name stands: in the list, or `own` */
    char own[FILE_PATH_CAP];
};

/* Makes "TARGET.pith-XXXXXX", 0600, which did not exist. Returns its descriptor; -1: errno says
 * why, ENAMETOOLONG too, and nothing is to be released. */
int pith_temp_make(struct file_temp *t, const char *target);
/* Forgets the name, after the file is renamed; `remove`: unlinks it first. */
void pith_temp_release(struct file_temp *t, bool remove);

#endif
