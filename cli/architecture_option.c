/* SPDX-License-Identifier: MIT */
#include "architecture_option.h"
#include "pith_onnx.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "pith_init.h"

static bool is_known(const char *name)
{
    for (uint32_t i = 0; pith_architecture_name(i); i++)
        if (strcmp(name, pith_architecture_name(i)) == 0)
            return true;
    return false;
}

/* What import would have stored. */
static enum pith_status add_meta(struct pith_model *m, const struct pith_import_opts *import)
{
    enum pith_status st = PITH_OK;
    if (import && import->preprocess)
        st = pith_model_set_meta(m, "preprocess", import->preprocess);
    if (!st && import && import->labels)
        st = pith_model_set_meta(m, "labels", import->labels);
    return st;
}

/* The history records only a name: a file's folder is no part of how the model came about. */
static enum pith_status add_history(struct pith_model *m, const char *architecture, uint64_t seed)
{
    char json[96];
    snprintf(json, sizeof json, "{\"init\":\"%s\",\"seed\":%" PRIu64 "}",
             is_known(architecture) ? architecture : "file", seed);
    return pith_model_add_history(m, "init", json);
}

static enum cli_exit open_architecture(const char *name, const struct pith_import_opts *import,
                                       struct pith_model **m)
{
    struct pith_error err = {0};
    if (is_known(name))
        return pith_architecture_new(name, NULL, m, &err) ? cli_fail(&err) : EXIT_DONE;
    if (strcmp(name, "-") == 0 || strpbrk(name, "./") || access(name, F_OK) == 0)
        return cli_load_model(name, import, m);
    char known[128] = "";
    for (uint32_t i = 0; pith_architecture_name(i); i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", pith_architecture_name(i));
    }
    cli_error("no architecture '%s': give a file, or one of %s (pith help init)", name, known);
    return EXIT_USAGE;
}

enum cli_exit cli_new_network(const char *architecture, const struct pith_import_opts *import,
                              uint64_t seed, struct pith_model **m)
{
    struct pith_error err = {0};
    struct pith_model *made = NULL;
    enum cli_exit rc = open_architecture(architecture, import, &made);
    if (!rc && pith_model_draw_weights(made, seed, &err))
        rc = cli_fail(&err);
    if (!rc && (add_meta(made, import) || add_history(made, architecture, seed)))
        rc = cli_no_memory();
    if (rc)
        pith_model_free(made);
    else
        *m = made;
    return rc;
}
