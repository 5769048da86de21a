/* SPDX-License-Identifier: MIT */
#include "http_library.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include "base/error_fill.h"

/* The version of the interface; Debian 12 and 13 and Ubuntu 22.04 and 24.04 have it. */
#define LIBRARY "libmicrohttpd.so.12"

struct http_library http;

/* The address is copied as bytes, since ISO C does not convert an object pointer into a function
 * pointer. */
static bool find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

enum pith_status http_library_load(struct pith_error *err)
{
    if (http.start_daemon)
        return PITH_OK;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "cannot serve: " LIBRARY
                               " is not installed (Debian, Ubuntu: libmicrohttpd12)");
#define FIND(name)                                                                                 \
    if (!find(library, "MHD_" #name, &http.name))                                                  \
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,                                          \
                               "cannot serve: " LIBRARY " has no MHD_" #name);
    HTTP_FUNCTIONS(FIND)
#undef FIND
    return PITH_OK;
}
