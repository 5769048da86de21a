/* SPDX-License-Identifier: MIT */
/* data_folder.h - files of a test in a folder of its own, which the test makes and removes. */
#ifndef DATA_FOLDER_H
#define DATA_FOLDER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"

static char folder[64];

/* The path of a file there, for the next 15 calls. */
static inline const char *at(const char *name)
{
    static char path[16][256];
    static int next;
    char *p = path[next++ % 16];
    snprintf(p, 256, "%s/%s", folder, name);
    return p;
}

static inline void put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

FIXTURE(make_folder)
{
    strcpy(folder, "/tmp/pith-data-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

FIXTURE(remove_folder)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

#endif
