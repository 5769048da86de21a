/* SPDX-License-Identifier: MIT */
#include "ptx_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include "emu_launch.h"
#include "ptx.h"

static const struct ptx_module *module;

static __attribute__((constructor)) void open_module(void)
{
    const char *path = getenv("PTX");
    if (!path)
        return;
    module = ptx_read(path);
    if (!module)
        exit(1);
}

bool ptx_given(void)
{
    return module;
}

void ptx_launch(uint32_t kernel, const uint32_t grid[3], const void *arg, uint32_t order)
{
    if (order != ON_PTX) {
        emu_launch(kernel, grid, arg, order);
        return;
    }
    const struct ptx_kernel *k = ptx_find(module, emu_kernel_name(kernel));
    if (!k) {
        fprintf(stderr, "ptx: no kernel %s\n", emu_kernel_name(kernel));
        abort();
    }
    ptx_run(k, kernel, grid, arg, NULL);
}
