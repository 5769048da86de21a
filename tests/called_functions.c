/* SPDX-License-Identifier: MIT
 *
 * Linked by plant_mutations.py into the shared object that it compiles with -finstrument-functions:
 * where PITH_CALLED names a file, the addresses of all functions that were called, as in the symbol
 * table, are appended to it when the process ends. */
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BYTES = 1 << 26 }; /* of code and what lies before it */
static unsigned char called[MOST_BYTES];
static size_t n_seen; /* all behind is 0 */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    size_t at = (size_t)((const char *)function - __ehdr_start);
    if (at >= MOST_BYTES)
        return;
    called[at] = 1;
    if (at >= n_seen)
        n_seen = at + 1;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}

__attribute__((destructor)) static void append_called(void)
{
    const char *path = getenv("PITH_CALLED");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    for (size_t at = 0; at < n_seen; at++)
        if (called[at])
            fprintf(f, "%zx\n", at);
    fclose(f);
}
