/* SPDX-License-Identifier: MIT
 *
 * Linked by plant_mutations.py into the shared object that it compiles with -finstrument-functions:
 * where PITH_CALLED names a file, the addresses of all functions that were called, as in the symbol
 * table, are appended to it when the process ends, with those of its forked children. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MOST_BYTES = 1 << 26 }; /* of code and what lies before it */
struct seen {
    size_t n; /* all behind is 0 */
    unsigned char called[MOST_BYTES];
};
static struct seen *seen;
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    size_t at = (size_t)((const char *)function - __ehdr_start);
    if (at >= MOST_BYTES || !seen)
        return;
    seen->called[at] = 1;
    if (at >= seen->n)
        seen->n = at + 1;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}

__attribute__((constructor)) static void map_seen(void)
{
    void *map = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    seen = map == MAP_FAILED ? NULL : map;
}

__attribute__((destructor)) static void append_called(void)
{
    const char *path = getenv("PITH_CALLED");
    FILE *f = path && seen ? fopen(path, "a") : NULL;
    if (!f)
        return;
    for (size_t at = 0; at < seen->n; at++)
        if (seen->called[at])
            fprintf(f, "%zx\n", at);
    fclose(f);
}
