/* SPDX-License-Identifier: MIT */
/* pith check: will it import, is it sound, does data fit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "data_options.h"
#include "pith_onnx.h"
#include "table.h"

struct check_options {
    struct cli_common common;
    struct cli_import import;
    struct cli_data data;
};

static const struct cli_option options[] = {
    CLI_DATA_OPTIONS(struct check_options, data),
    CLI_IMPORT_OPTIONS(struct check_options, import),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void print_issues(const char *path, const struct pith_onnx_report *r)
{
    struct cli_table t;
    printf("%s: %u of %u nodes unsupported\n", path, r->n_unsupported, r->n_nodes);
    cli_table_start(&t, 4);
    for (uint32_t i = 0; i < r->n_issues; i++) {
        char names[400];
        size_t n = 0;
        names[0] = '\0';
        for (uint32_t k = 0; k < r->issues[i].n_nodes && n < sizeof names; k++)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", k ? " " : "",
                                  r->issues[i].nodes[k]);
        cli_table_add(&t, "  %s", r->issues[i].op);
        cli_table_add(&t, "%ux", r->issues[i].count);
        cli_table_add(&t, "%s", names);
        cli_table_add(&t, "%s", r->issues[i].hint);
    }
    cli_table_print(&t, stdout);
}

static void print_report(const char *path, const struct pith_onnx_report *r)
{
    if (r->n_unsupported)
        print_issues(path, r);
    for (uint32_t i = 0; i < r->n_open; i++)
        printf("%s: input '%s' dim %u '%s' is open: give --input-shape %s\n", path,
               r->open_dims[i].input, r->open_dims[i].dim, r->open_dims[i].symbol,
               r->open_dims[i].example);
    for (uint32_t i = 0; i < r->n_nonfinite; i++)
        printf("%s: weight '%s' has %" PRIu64 " values that are NaN or infinite\n", path,
               r->nonfinite[i].tensor, r->nonfinite[i].count);
    if (!r->n_unsupported && !r->n_open && !r->n_nonfinite)
        printf("%s: ok, %u nodes\n", path, r->n_nodes);
}

static void print_json(const struct pith_onnx_report *r)
{
    printf("{\"pith\":1,\"ok\":%s,\"unsupported\":[",
           r->n_unsupported || r->n_open || r->n_nonfinite ? "false" : "true");
    for (uint32_t i = 0; i < r->n_issues; i++)
        printf("%s{\"op\":\"%s\",\"count\":%u}", i ? "," : "", r->issues[i].op, r->issues[i].count);
    puts("]}");
}

/* NaN and infinite weights make the honest answer no; what cannot be imported is exit 5. */
static enum cli_exit check_onnx(const struct check_options *o, const char *path,
                                const struct pith_import_opts *import)
{
    struct pith_onnx_report *r;
    struct pith_error err = {0};
    struct pith_buffer file;
    char dir[4096] = ".";
    const char *slash = strrchr(path, '/');
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    if (slash)
        snprintf(dir, sizeof dir, "%.*s", (int)(slash - path + 1), path);
    if (pith_onnx_check(file.data, file.bytes, path, dir, import, &r, &err)) {
        pith_buffer_free(&file);
        return cli_fail(&err);
    }
    if (o->common.json)
        print_json(r);
    else
        print_report(path, r);
    rc = r->n_unsupported || r->n_open ? EXIT_UNSUPPORTED : r->n_nonfinite ? EXIT_NO : EXIT_DONE;
    pith_onnx_report_free(r);
    pith_buffer_free(&file);
    return rc;
}

static bool is_pith(const char *path)
{
    uint8_t head[8] = {0};
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f)
        fclose(f);
    /* an ONNX file begins with a protobuf field: a varint tag, never with pith's first byte */
    return n > 0 && (head[0] & 0x80) != 0;
}

/* A .pith is checked by reading it: every chunk, stream and shape; then a plan is made. */
static enum cli_exit check_model(const struct check_options *o, const char *path,
                                 const struct pith_import_opts *import)
{
    struct pith_model *m = NULL;
    struct pith_data *data = NULL;
    struct pith_engine *e;
    struct pith_engine_opts engine;
    struct pith_error err = {0};
    enum cli_exit rc = cli_load_model(path, import, &m);
    if (!rc)
        rc = cli_engine_opts(&o->common, &engine);
    if (!rc && !pith_engine_open(m, &engine, &e, &err))
        pith_engine_close(e);
    else if (!rc)
        rc = cli_fail(&err);
    if (!rc && o->data.path)
        rc = cli_open_data(&o->data, m, &data);
    if (!rc && !o->common.json && is_pith(path))
        printf("%s: ok, %u nodes\n", path, m->n_nodes);
    if (!rc && o->common.json && is_pith(path))
        puts("{\"pith\":1,\"ok\":true,\"unsupported\":[]}");
    if (!rc && data)
        printf("%s: %" PRIu64 " samples fit%s\n", o->data.path, pith_data_count(data),
               pith_data_labelled(data) ? ", labelled" : ", no labels");
    pith_data_free(data);
    pith_model_free(m);
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct check_options *o = opts;
    struct pith_import_opts import;
    struct cli_import_storage *storage = NULL;
    enum cli_exit rc = cli_import_opts(&o->import, &import, &storage);
    (void)n_operands;
    if (!rc && !is_pith(operands[0]))
        rc = check_onnx(o, operands[0], &import);
    if (!rc)
        rc = check_model(o, operands[0], &import);
    cli_import_free(storage);
    return rc;
}

const struct cli_command cmd_check = {
    "check", "look", "will it import, is it sound, does data fit",
    "pith check MODEL [-d DATA] [--input-shape NAME:DIMS]",
    "Lists every unsupported node at once with what to do about it, open dimensions, and weights\n"
    "that are NaN or infinite. Exit 5: cannot be imported; 1: imports but is unsound.",
    options, sizeof(struct check_options), 1, 1, run};
