/* SPDX-License-Identifier: MIT */
/* dnnl_load.c - oneDNN through dlopen, once. It is never unloaded: its OpenMP keeps threads. */
#include "dnnl_load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct dnnl_functions pith_dnnl;
static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* *to (a pointer to a function): what `name` is in the library. The copy of bytes is how POSIX
 * means dlsym's result to become one. */
static bool find(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void load(void)
{
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    found = true;
#define FIND(name) found = find(library, "dnnl_" #name, &pith_dnnl.name) && found;
    DNNL_FUNCTIONS(FIND)
#undef FIND
    /* the handle reaches the libraries that this one stands on */
    found = find(library, "omp_set_num_threads", &pith_dnnl.set_threads) && found;
    found = find(library, "omp_get_max_threads", &pith_dnnl.max_threads) && found;
}

bool pith_dnnl_load(void)
{
    pthread_once(&once, load);
    return found;
}
