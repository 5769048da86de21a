/* SPDX-License-Identifier: MIT */
#include "sweep_keep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array_files.h"
#include "pith_base.h"

enum cli_exit cli_sweep_keep_open(const char *folder)
{
    struct stat st;
    if ((mkdir(folder, 0777) == 0 || errno == EEXIST) && stat(folder, &st) == 0) {
        if (S_ISDIR(st.st_mode) && access(folder, W_OK) == 0)
            return EXIT_DONE;
        errno = S_ISDIR(st.st_mode) ? EACCES : ENOTDIR;
    }
    cli_error("cannot keep models in '%s': %s", folder, strerror(errno));
    return EXIT_IO;
}

static bool make_path(const char *folder, const struct pith_sweep_point *p,
                      char path[CLI_PATH_BYTES])
{
    char name[PITH_SWEEP_NAME_BYTES];
    pith_sweep_file_name(p, name);
    return snprintf(path, CLI_PATH_BYTES, "%s/%s", folder, name) < CLI_PATH_BYTES;
}

static bool is_same(const struct pith_sweep_point *a, const struct pith_sweep_point *b)
{
    return a->combination == b->combination && strcmp(a->spec, b->spec) == 0;
}

enum cli_exit cli_sweep_keep(const char *folder, struct pith_sweep_results *results,
                             struct pith_sweep_results *one, const struct pith_buffer *file)
{
    const uint32_t n = pith_sweep_front(results);
    char path[CLI_PATH_BYTES];
    struct pith_error err = {0};
    bool best = false;
    for (uint32_t i = 0; i < n && !best; i++)
        best = is_same(&results->point[i], &one->point[0]);
    if (!best)
        return EXIT_DONE;
    if (!make_path(folder, &one->point[0], path)) {
        cli_error("%s: name too long", folder);
        return EXIT_USAGE;
    }
    return pith_file_write(path, file->data, file->bytes, &err) ? cli_fail(&err) : EXIT_DONE;
}

void cli_sweep_keep_front(const char *folder, struct pith_sweep_results *results)
{
    const uint32_t n = pith_sweep_front(results);
    char path[CLI_PATH_BYTES];
    for (uint32_t i = 0; i < results->n; i++) {
        if (!make_path(folder, &results->point[i], path))
            continue;
        if (i >= n)
            unlink(path);
        else if (access(path, F_OK) != 0)
            cli_warn("%s, combination %" PRIu64 " is on the front, and its model was not kept",
                     results->point[i].model, results->point[i].combination);
    }
}
