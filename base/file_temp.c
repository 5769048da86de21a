/* SPDX-License-Identifier: MIT */
/* file_temp.c - the list of temporary files that are being written. A name enters the list before
 * its file is made and leaves it after the file is gone, so a handler that walks the list at any
 * moment misses none. (A name in the list whose file could not be made is another's for as long as
 * one failed open takes; it is drawn from 62^6 names.)
 *
 * The list is global because signals are: a handler gets no argument. */
#define _GNU_SOURCE
#include "file_temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "pith_base.h"

#define PLACES 8u /* files written at once; the next ones are written all the same */
#define TRIES 100u
#define NAME_CHARS 6u
#define MARK ".pith-"      /* TARGET.pith-PROCESS-XXXXXX */
#define STALE_SECONDS 3600 /* the process may be another machine's: what is new is let alone */

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

/* ---- what killed processes left -------------------------------------------------------------- */

/* The process that a name of `base` says; 0: it is no such name. */
static pid_t process_of(const char *name, const char *base, size_t n_base)
{
    char *end;
    if (strncmp(name, base, n_base) != 0 || strncmp(name + n_base, MARK, sizeof MARK - 1) != 0)
        return 0;
    long pid = strtol(name + n_base + sizeof MARK - 1, &end, 10);
    return *end == '-' && strlen(end + 1) == NAME_CHARS && pid > 0 ? (pid_t)pid : 0;
}

static bool is_stale(int folder, const char *name, pid_t process)
{
    struct stat st;
    return kill(process, 0) != 0 && errno == ESRCH &&
           fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           time(NULL) - st.st_mtime > STALE_SECONDS;
}

static void sweep(const char *target)
{
    char folder[FILE_PATH_CAP];
    const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
    int n = slash ? (int)(slash - target) + 1 : 0;
    snprintf(folder, sizeof folder, "%.*s", n ? n : 1, n ? target : ".");
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        pid_t process = process_of(e->d_name, base, strlen(base));
        if (process && is_stale(dirfd(dir), e->d_name, process))
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    }
    (void)closedir(dir);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A place in the list and the beginning of a name. */
static bool begin_name(struct file_temp *t, const char *target)
{
    int n = snprintf(t->own, sizeof t->own, "%s" MARK "%ld-XXXXXX", target, (long)getpid());
    if (n < 0 || (size_t)n >= FILE_PATH_CAP) {
        t->own[0] = 0; /* cut off, it may be the target's own name */
        errno = ENAMETOOLONG;
        return false;
    }
    take_place(t);
    if (t->taken)
        memcpy(t->path, t->own, (size_t)n + 1);
    return true;
}

static void end_name(struct file_temp *t)
{
    int reason = errno;
    if (t->taken)
        atomic_store(t->taken, FREE);
    t->taken = NULL;
    t->own[0] = 0;
    t->path = t->own;
    errno = reason;
}

/* Draws names until `make` finds one free; what it returns, or -1 with errno. */
static int try_names(struct file_temp *t, int (*make)(const struct file_temp *t))
{
    for (uint32_t i = 0; i < TRIES; i++) {
        draw_name(t->path + strlen(t->path) - NAME_CHARS, i);
        if (t->taken)
            atomic_store(t->taken, KNOWN);
        int made = make(t);
        if (made >= 0)
            return made;
        if (t->taken)
            atomic_store(t->taken, FILLING);
        if (errno != EEXIST)
            break;
    }
    end_name(t);
    return -1;
}

static int make_file(const struct file_temp *t)
{
    return open(t->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* A file without a name gets one. */
static int link_file(int fd, const char *path)
{
    char of[64];
    snprintf(of, sizeof of, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, of, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static int link_temp(const struct file_temp *t)
{
    return link_file(t->fd, t->path);
}

/* -1: the file system, or a system without /proc, has none. */
static int make_nameless(const char *target)
{
#ifdef O_TMPFILE
    char folder[FILE_PATH_CAP], of[64];
    const char *slash = strrchr(target, '/');
    int n = slash ? (int)(slash - target) + 1 : 0;
    if (snprintf(folder, sizeof folder, "%.*s", n ? n : 1, n ? target : ".") >= (int)sizeof folder)
        return -1;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    snprintf(of, sizeof of, "/proc/self/fd/%d", fd);
    if (fd < 0 || access(of, F_OK) == 0)
        return fd;
    (void)close(fd);
#else
    (void)target;
#endif
    return -1;
}

int pith_temp_make(struct file_temp *t, const char *target)
{
    t->taken = NULL;
    t->path = t->own;
    t->own[0] = 0;
    t->fd = -1;
    int fd = make_nameless(target);
    if (fd >= 0 && (t->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
        (void)close(fd);
        return -1;
    }
    if (fd >= 0)
        return fd;
    if (!begin_name(t, target))
        return -1;
    sweep(target);
    return try_names(t, make_file);
}

/* Where the file system has no RENAME_NOREPLACE: a second name, and where it has no second names
 * either (FAT), an empty file that this process alone can make and then replaces. */
static int give_new_name_by_link(const char *temp, const char *target)
{
    if (link(temp, target) == 0)
        return unlink(temp);
    if (errno == EEXIST)
        return -1;
    int fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    (void)close(fd);
    if (rename(temp, target) == 0)
        return 0;
    int reason = errno;
    (void)unlink(target);
    errno = reason;
    return -1;
}

int pith_temp_new(struct file_temp *t, const char *target)
{
    if (!t->path[0])
        return link_file(t->fd, target);
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, t->path, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
        return -1;
#endif
    return give_new_name_by_link(t->path, target);
}

int pith_temp_replace(struct file_temp *t, const char *target)
{
    if (!t->path[0]) {
        if (!begin_name(t, target))
            return -1;
        sweep(target);
        if (try_names(t, link_temp) < 0)
            return -1;
    }
    return rename(t->path, target);
}

void pith_temp_release(struct file_temp *t, bool remove)
{
    int reason = errno;
    if (remove && t->path[0])
        (void)unlink(t->path);
    end_name(t);
    if (t->fd >= 0)
        (void)close(t->fd);
    errno = reason;
}
