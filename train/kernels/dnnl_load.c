/* SPDX-License-Identifier: MIT */
/* dnnl_load.c - oneDNN through dlopen, once. It is never unloaded: its OpenMP keeps threads. */
#include "dnnl_load.h"
#include "dnnl_desc.h"
#include "pith_cpu_allowed.h"
#include "pith_dnnl_hook.h"
#include "pith_runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct dnnl_functions pith_dnnl;
static bool found;
static void (*when_loaded)(void);
static pthread_once_t once = PTHREAD_ONCE_INIT;

bool pith_dnnl_find(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* The library of 2 is asked for first: docs/results/training-speed.md was measured with it. Debian
 * 13 names the file of 3.7 libdnnl.so.3.6: some minor versions are tried. */
static void *open_library(int *major)
{
    enum { LAST_MINOR = 31 };
    *major = 2;
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library)
        return library;
    *major = 3;
    library = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
    for (int minor = LAST_MINOR; minor >= 0 && !library; minor--) {
        char name[32];
        snprintf(name, sizeof name, "libdnnl.so.3.%d", minor);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* For the life of the process, as the library is. */
static bool keep_scratch_apart(void)
{
    dnnl_primitive_attr_t a;
    if (pith_dnnl.primitive_attr_create(&a) != dnnl_success ||
        pith_dnnl.primitive_attr_set_scratchpad_mode(a, dnnl_scratchpad_mode_user) != dnnl_success)
        return false;
    pith_dnnl_take_attributes(a);
    return true;
}

/* What is masked for Pith's own kernels (PITH_CPU) is for the library's, whose least level is
 * SSE4.1. It asks the processor once, so this comes before all else; on other processors it has no
 * levels.
 */
static void mask_levels(void)
{
    uint32_t may = pith_cpu_allowed(), can = pith_cpu_features();
    if (can & ~may & PITH_CPU_AVX2)
        pith_dnnl.set_max_cpu_isa(dnnl_cpu_isa_sse41);
    else if (can & ~may & PITH_CPU_AVX512)
        pith_dnnl.set_max_cpu_isa(dnnl_cpu_isa_avx2);
}

static void load(void)
{
    int major;
    /* First, since oneDNN 3 takes memory, and may throw, while it is loaded. */
    if (when_loaded && dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL))
        when_loaded();
    void *library = open_library(&major);
    if (!library)
        return;
    found = pith_dnnl_find_descs(library, major);
#define FIND(name) found = pith_dnnl_find(library, "dnnl_" #name, &pith_dnnl.name) && found;
    DNNL_FUNCTIONS(FIND)
#undef FIND
    if (found)
        mask_levels();
    found = found && keep_scratch_apart();
    /* the handle reaches the libraries that this one stands on */
    found = pith_dnnl_find(library, "omp_set_num_threads", &pith_dnnl.set_threads) && found;
    found = pith_dnnl_find(library, "omp_get_max_threads", &pith_dnnl.max_threads) && found;
}

void pith_dnnl_when_loaded(void (*then)(void))
{
    when_loaded = then;
}

bool pith_dnnl_load(void)
{
    pthread_once(&once, load);
    return found;
}
