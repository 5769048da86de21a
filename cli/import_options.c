/* SPDX-License-Identifier: MIT */
/* From "--input-shape x:1x3x224x224" and its kin to struct pith_import_opts. */
#include <stdlib.h>
#include <string.h>
#include "cli/common/cli.h"
#include "pith_onnx.h"
#include "pith_preprocess.h"

struct cli_import_storage {
    struct pith_input_shape shapes[CLI_LIST_MAX];
    struct pith_input_value values[CLI_LIST_MAX];
    const char *outputs[CLI_LIST_MAX];
    char *owned[2 * CLI_LIST_MAX + 2];
    uint32_t n_owned;
    char preprocess[PITH_PREPROCESS_TEXT_BYTES];
};

static char *keep(struct cli_import_storage *s, const char *text)
{
    char *copy = strdup(text);
    if (copy)
        s->owned[s->n_owned++] = copy;
    return copy;
}

/* "name:1x3x224x224", or without name for the only input; N leaves the batch open, ? any dimension.
 */
static bool parse_shape(char *text, struct pith_input_shape *out)
{
    char *colon = strrchr(text, ':'), *dims = colon ? colon + 1 : text;
    if (colon)
        *colon = '\0';
    out->name = colon ? text : NULL;
    for (char *save = NULL, *d = strtok_r(dims, "x,", &save); d; d = strtok_r(NULL, "x,", &save)) {
        uint64_t v = 0;
        bool open = strcmp(d, "?") == 0 || (strcmp(d, "N") == 0 && out->rank == 0);
        if (out->rank == PITH_MAX_RANK ||
            (!open && (!pith_parse_uint(d, &v) || v == 0 || v > INT32_MAX)))
            return false;
        out->dim[out->rank++] = (uint32_t)v;
    }
    return out->rank > 0;
}

static enum cli_exit parse_lists(const struct cli_import *in, struct cli_import_storage *s)
{
    for (uint32_t i = 0; i < in->shapes.n; i++) {
        char *copy = keep(s, in->shapes.item[i]);
        if (!copy)
            return cli_no_memory();
        if (!parse_shape(copy, &s->shapes[i])) {
            cli_error("--input-shape '%s': not of the form name:1x3x224x224", in->shapes.item[i]);
            return EXIT_USAGE;
        }
    }
    for (uint32_t i = 0; i < in->set_inputs.n; i++) {
        const char *text = in->set_inputs.item[i], *equals = strchr(text, '=');
        char *copy = keep(s, text);
        if (!copy)
            return cli_no_memory();
        if (!equals) {
            cli_error("--set-input '%s': not of the form name=value", text);
            return EXIT_USAGE;
        }
        copy[equals - text] = '\0';
        s->values[i] = (struct pith_input_value){copy, copy + (equals - text) + 1};
    }
    return EXIT_DONE;
}

static enum cli_exit parse_outputs(const char *text, struct cli_import_storage *s, uint32_t *n)
{
    char *copy = keep(s, text);
    if (!copy)
        return cli_no_memory();
    for (char *save = NULL, *o = strtok_r(copy, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
        if (*n == CLI_LIST_MAX) {
            cli_error("--outputs: more than %d names", CLI_LIST_MAX);
            return EXIT_USAGE;
        }
        s->outputs[(*n)++] = o;
    }
    return EXIT_DONE;
}

static enum cli_exit read_labels(const char *path, struct cli_import_storage *s,
                                 const char **labels)
{
    struct pith_buffer file;
    enum cli_exit rc = cli_read_file(path, &file);
    char *text;
    if (rc)
        return rc;
    text = malloc(file.bytes + 1);
    if (!text) {
        pith_buffer_free(&file);
        return cli_no_memory();
    }
    memcpy(text, file.data, file.bytes);
    text[file.bytes] = '\0';
    s->owned[s->n_owned++] = text;
    pith_buffer_free(&file);
    *labels = text;
    return EXIT_DONE;
}

enum cli_exit cli_read_preprocess(const char *text, char *canonical)
{
    struct pith_preprocess pre;
    struct pith_error err = {0};
    if (pith_preprocess_read(text, strlen(text), &pre, &err)) {
        cli_error("--preprocess: %s", err.text);
        return EXIT_USAGE;
    }
    if (pith_preprocess_format(&pre, canonical, PITH_PREPROCESS_TEXT_BYTES)) {
        cli_error("--preprocess '%s': too long", text);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

enum cli_exit cli_import_opts(const struct cli_import *in, struct pith_import_opts *opts,
                              struct cli_import_storage **storage)
{
    struct cli_import_storage *s = calloc(1, sizeof *s);
    enum cli_exit rc;
    if (!s)
        return cli_no_memory();
    *opts = (struct pith_import_opts){.size_bytes = sizeof *opts, .warn = cli_import_warn};
    rc = parse_lists(in, s);
    if (!rc && in->outputs)
        rc = parse_outputs(in->outputs, s, &opts->n_outputs);
    if (!rc && in->labels)
        rc = read_labels(in->labels, s, &opts->labels);
    if (!rc && in->preprocess)
        rc = cli_read_preprocess(in->preprocess, s->preprocess);
    if (!rc && in->preprocess)
        opts->preprocess = s->preprocess;
    if (rc) {
        cli_import_free(s);
        return rc;
    }
    opts->max_bytes = cli_max_memory();
    opts->shapes = s->shapes;
    opts->n_shapes = in->shapes.n;
    opts->set_inputs = s->values;
    opts->n_set_inputs = in->set_inputs.n;
    opts->outputs = opts->n_outputs ? s->outputs : NULL;
    *storage = s;
    return EXIT_DONE;
}

void cli_import_free(struct cli_import_storage *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_owned; i++)
        free(s->owned[i]);
    free(s);
}
