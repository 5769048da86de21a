/* SPDX-License-Identifier: MIT */
/* generate.h - random numbers and files of the programs that generate data: make_digits,
 * make_keywords. The same seed gives the same numbers on every machine. */
#ifndef GENERATE_H
#define GENERATE_H
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t state; /* the seed; splitmix64 */

static double uniform(double low, double high)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return low + (high - low) * (double)(z >> 11) / 9007199254740992.0;
}

static void stop(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(3);
}

static void make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        stop(path);
}

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f)
        stop(path);
    return f;
}

static void finish(FILE *f, const char *folder)
{
    int failed = ferror(f);
    if (fclose(f) != 0 || failed)
        stop(folder);
}

#endif
