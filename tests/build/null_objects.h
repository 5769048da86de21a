/* SPDX-License-Identifier: MIT */
/* null_objects.h - what calls of null_arguments.py are made with, each in a process of its own. */
#ifndef NULL_OBJECTS_H
#define NULL_OBJECTS_H
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "all_headers.h"

static unsigned char zeros[1 << 16] __attribute__((aligned(64)));

struct call {
    int (*call)(void);
    const char *function, *with;
};

/* Options of the right size and without values. */
static void *sized(size_t bytes)
{
    static unsigned char of[4][1 << 13] __attribute__((aligned(64)));
    static unsigned n;
    const uint32_t size_bytes = (uint32_t)bytes;
    memcpy(of[n % 4], &size_bytes, sizeof size_bytes);
    return of[n++ % 4];
}

static void *unsized(size_t bytes)
{
    (void)bytes;
    return zeros;
}

static void *filled(size_t bytes)
{
    static unsigned char of[1 << 13] __attribute__((aligned(64)));
    memset(of, 0xff, bytes);
    return of;
}

enum { ENDED = 100 }; /* before the status of a call that returned: a sanitizer ends with 1 */

static int call_all(const struct call *c, size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(ENDED + c[i].call());
        }
        if (child < 0 || waitpid(child, &status, 0) < 0)
            return 1;
        if (WIFEXITED(status) && WEXITSTATUS(status) == ENDED + PITH_ERR_ARGUMENT)
            continue;
        printf("%s with %s: %s %d\n", c[i].function, c[i].with,
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - ENDED);
        wrong = 1;
    }
    return wrong;
}

#endif
