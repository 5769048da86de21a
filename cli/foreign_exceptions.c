/* SPDX-License-Identifier: MIT */
/* foreign_exceptions.c - oneDNN, which trains, is C++: where it has no memory it may throw through
 * its C functions, and nobody can catch that here. So what the C++ library does with an exception
 * that nobody caught is replaced: std::bad_alloc ends the process as every other lack of memory
 * does. */
#include "foreign_exceptions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "json_out.h"
#include "pith_dnnl_hook.h"

/* std::type_info of the Itanium C++ ABI */
struct type_info {
    const void *virtual_table;
    const char *name;
};

static const struct type_info *(*current_type)(void); /* __cxa_current_exception_type */
static bool in_json;

static void on_terminate(void)
{
    const struct type_info *type = current_type();
    if (!type || strcmp(type->name, "St9bad_alloc") != 0)
        abort();
    cli_no_memory();
    if (in_json)
        cli_json_error(EXIT_MEMORY);
    fflush(stdout);
    pith_file_remove_temps();
    _exit(EXIT_MEMORY);
}

/* The C++ library is loaded just before oneDNN; asked for earlier, it would be one more thing that
 * commands which do not train could lack memory for. */
static void replace_terminate(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return;
    void *set = dlsym(library, "_ZSt13set_terminatePFvvE");
    void *type = dlsym(library, "__cxa_current_exception_type");
    void (*(*set_terminate)(void (*)(void)))(void);
    memcpy(&set_terminate, &set, sizeof set);
    memcpy(&current_type, &type, sizeof type);
    if (set && type)
        set_terminate(on_terminate);
}

void cli_end_on_bad_alloc(bool json)
{
    in_json = json;
    pith_dnnl_when_loaded(replace_terminate);
}
