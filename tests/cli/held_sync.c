/* SPDX-License-Identifier: MIT */
/* held_sync.c - preloaded, it holds a process at the moment its output lies in a temporary file:
 * fsync leaves the file SYNC_MARK.PID behind and waits for the file SYNC_GO, a minute at most. With
 * NO_TMPFILE, NO_NOREPLACE and NO_LINK set the file system is one without those calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd)
{
    const char *mark = getenv("SYNC_MARK"), *go = getenv("SYNC_GO");
    char name[256];
    if (mark) {
        snprintf(name, sizeof name, "%s.%d", mark, (int)getpid());
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    for (int i = 0; go && i < 6000 && access(go, F_OK) != 0; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    return (int)syscall(SYS_fsync, fd);
}

static int open_named(const char *path, int flags, va_list more)
{
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("NO_TMPFILE")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int fd = open_named(path, flags, more);
    va_end(more);
    return fd;
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    if (flags && getenv("NO_NOREPLACE")) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int link(const char *from, const char *to)
{
    if (getenv("NO_LINK")) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
