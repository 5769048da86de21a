/* SPDX-License-Identifier: MIT */
/* file_temp.c - the list of temporary files that are being written. A name enters the list before
 * its file is made and leaves it after the file is gone, so a handler that walks the list at any
 * moment misses none. (A name in the list whose file could not be made is another's for as long as
 * one failed open takes; it is drawn from 62^6 names.)
 *
 * The list is global because signals are: a handler gets no argument. */
#define _GNU_SOURCE
#include "file_temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "pith_base.h"

#define PLACES 8u /* files written at once; the next ones are written all the same */
#define TRIES 100u
#define NAME_CHARS 6u

enum { FREE, FILLING, KNOWN };

static struct {
    atomic_int state;
    char path[FILE_PATH_CAP];
} list[PLACES];

void pith_file_remove_temps(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (atomic_load(&list[i].state) == KNOWN)
            (void)unlink(list[i].path);
}

static void take_place(struct file_temp *t)
{
    t->taken = NULL;
    t->path = t->own;
    for (uint32_t i = 0; i < PLACES; i++) {
        int free_now = FREE;
        if (!atomic_compare_exchange_strong(&list[i].state, &free_now, FILLING))
            continue;
        t->taken = &list[i].state;
        t->path = list[i].path;
        return;
    }
}

/* Names need not be secret, only rarely the same: O_EXCL finds out. */
static void draw_name(char out[NAME_CHARS], uint32_t attempt)
{
    static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t x = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    x = (x ^ ((uint64_t)getpid() << 40) ^ attempt) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    for (uint32_t i = 0; i < NAME_CHARS; i++, x /= 62)
        out[i] = chars[x % 62];
}

int pith_temp_make(struct file_temp *t, const char *target)
{
    static const char ending[] = ".pith-XXXXXX";
    size_t stem = strlen(target);
    if (stem + sizeof ending > FILE_PATH_CAP) {
        errno = ENAMETOOLONG;
        return -1;
    }
    take_place(t);
    int fd = -1;
    for (uint32_t i = 0; i < TRIES && fd < 0; i++) {
        memcpy(t->path, target, stem);
        memcpy(t->path + stem, ending, sizeof ending);
        draw_name(t->path + stem + sizeof ending - 1 - NAME_CHARS, i);
        if (t->taken)
            atomic_store(t->taken, KNOWN);
        fd = open(t->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
        if (t->taken)
            atomic_store(t->taken, FILLING);
        if (errno != EEXIST)
            break;
    }
    int reason = errno;
    if (t->taken)
        atomic_store(t->taken, FREE);
    errno = reason;
    return -1;
}

void pith_temp_release(struct file_temp *t, bool remove)
{
    int reason = errno;
    if (remove)
        (void)unlink(t->path);
    if (t->taken)
        atomic_store(t->taken, FREE);
    errno = reason;
}
