/* SPDX-License-Identifier: MIT */
#include "ptx_launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emu_launch.h"
#include "ptx.h"

/* A store of the interpreter: what was there before, and what it left. */
struct stored {
    uint8_t *to;
    size_t bytes;
    uint8_t before[16], after[16];
};
struct store_log {
    struct stored *of;
    size_t n, room;
};

static struct {
    const struct ptx_module *module;
    bool alone;
} ptx;

static __attribute__((constructor)) void open_module(void)
{
    const char *path = getenv("PTX");
    if (!path)
        return;
    ptx.module = ptx_read(path);
    if (!ptx.module)
        exit(1);
    ptx.alone = getenv("PTX_ALONE") != NULL;
}

static void log_store(void *to, size_t bytes, void *user)
{
    struct store_log *l = user;
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->of = realloc(l->of, l->room * sizeof *l->of);
    }
    struct stored *s = &l->of[l->n++];
    s->to = to;
    s->bytes = bytes;
    memcpy(s->before, to, bytes);
}

/* Where it stored twice, the last is what it left, and the first knows what was there before. */
static void take_back(struct store_log *l)
{
    for (size_t i = 0; i < l->n; i++)
        memcpy(l->of[i].after, l->of[i].to, l->of[i].bytes);
    for (size_t i = l->n; i-- > 0;)
        memcpy(l->of[i].to, l->of[i].before, l->of[i].bytes);
}

static bool both_nan(const void *a, const void *b, size_t bytes)
{
    float x, y;
    if (bytes != sizeof x)
        return false;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return isnan(x) && isnan(y);
}

static void compare(const struct store_log *l, uint32_t kernel)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct stored *s = &l->of[i];
        bool same = memcmp(s->to, s->after, s->bytes) == 0;
        if (!same && !both_nan(s->to, s->after, s->bytes)) {
            fprintf(stderr,
                    "ptx: kernel %s stores other bits than the emulator (store %zu of %zu)\n",
                    emu_kernel_name(kernel), i, l->n);
            abort();
        }
    }
}

void ptx_launch(uint32_t kernel, const uint32_t grid[3], const void *arg, uint32_t order)
{
    const struct ptx_kernel *k = NULL;
    struct store_log log = {0};
    if (ptx.module && order == 0) {
        k = ptx_find(ptx.module, emu_kernel_name(kernel));
        if (!k) {
            fprintf(stderr, "ptx: no kernel %s\n", emu_kernel_name(kernel));
            abort();
        }
        ptx_run(k, kernel, grid, arg, NULL, log_store, &log);
    }
    if (k && ptx.alone) {
        free(log.of);
        return;
    }
    take_back(&log);
    emu_launch(kernel, grid, arg, order);
    compare(&log, kernel);
    free(log.of);
}
