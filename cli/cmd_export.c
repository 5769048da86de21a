/* SPDX-License-Identifier: MIT */
/* pith export: a network as C source. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/common/engine_options.h"
#include "cli/common/json_out.h"
#include "export/export.h"
#include "cli/common/table.h"

struct export_options {
    struct cli_common common;
    const char *folder, *name, *target, *input, *arena;
    uint32_t selftest;
    uint64_t flash_limit;
};

static const struct cli_option options[] = {
    {0, "c", OPTION_TEXT, offsetof(struct export_options, folder), "DIR",
     "folder to make, with NAME.h, NAME.c and a test", 0, 0},
    {0, "name", OPTION_TEXT, offsetof(struct export_options, name), "NAME",
     "prefix of files and functions (default: net)", 0, 0},
    CLI_TARGET_OPTION(struct export_options, target, "processor:"),
    {0, "input", OPTION_TEXT, offsetof(struct export_options, input), "TYPE",
     "first input as f32 (default), u8 or i8: the network's own integers", 0, 0},
    {0, "arena", OPTION_TEXT, offsetof(struct export_options, arena), "WHERE",
     "working memory: static (default), or caller: an argument", 0, 0},
    {0, "flash-limit", OPTION_BYTES, offsetof(struct export_options, flash_limit), "BYTES",
     "code weights of as many layers as this size of model and code needs", 1, 1e18},
    {0, "selftest", OPTION_U32, offsetof(struct export_options, selftest), "N",
     "stored inputs and outputs (default 4)", 1, 64},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void defaults(void *opts)
{
    ((struct export_options *)opts)->selftest = 4;
}

static enum cli_exit choose(const struct export_options *o, struct pith_export_opts *e)
{
    static const char *const inputs[] = {"f32", "u8", "i8", NULL}, *const arenas[] = {
                                                                       "static", "caller", NULL};
    int input, arena;
    enum pith_export_target target = PITH_TARGET_GENERIC;
    if (o->target && cli_target(o->target, &target))
        return EXIT_USAGE;
    if (!cli_find_word(o->input, inputs, &input)) {
        cli_error("--input '%s': give f32, u8 or i8", o->input);
        return EXIT_USAGE;
    }
    if (!cli_find_word(o->arena, arenas, &arena)) {
        cli_error("--arena '%s': give static or caller", o->arena);
        return EXIT_USAGE;
    }
    pith_export_opts_init(e, sizeof *e);
    e->name = o->name ? o->name : "net";
    e->input = (enum pith_export_input)input;
    e->target = target;
    e->caller_arena = arena == 1;
    e->selftest = o->selftest;
    e->flash_limit = o->flash_limit;
    return EXIT_DONE;
}

static enum cli_exit cannot_make(const char *path)
{
    cli_error("cannot make '%s': %s", path, strerror(errno));
    return EXIT_IO;
}

static void remove_folder(const char *folder, const struct pith_export *e)
{
    char path[4096];
    for (uint32_t i = 0; i < e->n_files; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, e->file[i].name) < (int)sizeof path)
            unlink(path);
    rmdir(folder);
}

/* Under a name of its own first: the folder is there with all files, or is not. */
static enum cli_exit write_folder(const char *folder, const struct pith_export *e)
{
    char temp[4096], path[4096 + 64];
    struct pith_error err = {0};
    struct stat st;
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    if (lstat(folder, &st) == 0) {
        cli_error("'%s' exists: give a folder that does not", folder);
        return EXIT_IO;
    }
    if (n + 16 > sizeof temp) {
        errno = ENAMETOOLONG;
        return cannot_make(folder);
    }
    snprintf(temp, sizeof temp, "%.*s.%ld", (int)n, folder, (long)getpid());
    if (mkdir(temp, 0777))
        return cannot_make(folder);
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < e->n_files && !rc; i++) {
        snprintf(path, sizeof path, "%s/%s", temp, e->file[i].name);
        if (pith_file_write_new(path, e->file[i].text, e->file[i].bytes, &err))
            rc = cli_fail(&err);
    }
    if (!rc && rename(temp, folder))
        rc = cannot_make(folder);
    if (rc)
        remove_folder(temp, e);
    return rc;
}

static void print_layers(const struct pith_export *e)
{
    struct cli_table t;
    cli_table_start(&t, 5);
    cli_table_left(&t, 1);
    const char *const heads[] = {"layer", "kernel", "MACs", "model bytes", "output bytes"};
    for (uint32_t i = 0; i < 5; i++)
        cli_table_add(&t, "%s", heads[i]);
    for (uint32_t i = 0; i < e->n_layers; i++) {
        const struct pith_export_layer *l = &e->layer[i];
        cli_table_add(&t, "%s", l->name);
        cli_table_add(&t, "%s", l->kernel);
        cli_table_add(&t, "%" PRIu64, l->macs);
        cli_table_add(&t, "%" PRIu64, l->model_bytes);
        cli_table_add(&t, "%" PRIu64, l->output_bytes);
    }
    cli_table_print(&t, stdout);
}

static void print_json(const struct pith_export *e)
{
    cli_json_begin();
    cli_json_uint("model_bytes", e->model_bytes);
    cli_json_uint("code_bytes", e->code_bytes);
    cli_json_uint("arena_bytes", e->arena_bytes);
    cli_json_uint("macs", e->macs);
    cli_json_open("files", '[');
    for (uint32_t i = 0; i < e->n_files; i++)
        cli_json_string(NULL, e->file[i].name);
    cli_json_close(']');
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < e->n_layers; i++) {
        cli_json_open(NULL, '{');
        cli_json_string("name", e->layer[i].name);
        cli_json_string("kernel", e->layer[i].kernel);
        cli_json_uint("macs", e->layer[i].macs);
        cli_json_uint("model_bytes", e->layer[i].model_bytes);
        cli_json_uint("output_bytes", e->layer[i].output_bytes);
        cli_json_close('}');
    }
    cli_json_close(']');
    cli_json_end();
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct export_options *o = opts;
    struct pith_export_opts choice;
    struct pith_export *e = NULL;
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    if (!o->folder) {
        cli_error("where to? --c DIR");
        return EXIT_USAGE;
    }
    enum cli_exit rc = choose(o, &choice);
    if (!rc)
        rc = cli_load_model(n_operands ? operands[0] : "-", NULL, &m);
    if (!rc && pith_export_c(m, &choice, &e, &err))
        rc = cli_fail(&err);
    pith_model_free(m);
    if (!rc && !o->common.dry_run)
        rc = write_folder(o->folder, e);
    if (!rc && o->common.json)
        print_json(e);
    if (!rc && !o->common.json && !o->common.quiet) {
        print_layers(e);
        cli_print("flash: model %" PRIu64 " bytes, code about %" PRIu64 "; working memory %" PRIu64
                  " bytes, %" PRIu64 " multiply-accumulates",
                  e->model_bytes, e->code_bytes, e->arena_bytes, e->macs);
    }
    pith_export_free(e);
    return rc;
}

const struct cli_command cmd_export = {
    "export",
    "ship",
    "C source for microcontrollers",
    "pith export [MODEL] --c DIR [--name NAME] [--target CPU] [--input f32|u8|i8]",
    "Writes C99 source without dependencies: the weights as constant arrays, the kernels that the\n"
    "network needs, and NAME_run, whose results have the bits of pith's reference kernels. No "
    "heap,\n"
    "no library calls. `make test` in the folder runs stored inputs and compares outputs to the "
    "bit.\n"
    "Integers of 8 bits run fast on Cortex-M (DSP instructions where the compiler has them): "
    "quantize\n"
    "first. What has no C kernel is refused, with the layer's name; then nothing is written.\n"
    "\n"
    "--target: generic (default), cortex-m0, -m3, -m4 (without FPU), -m4f, -m7, -m33, -m55, -m85, "
    "rv32.\n"
    "\n"
    "  pith quantize net.onnx -d data.npy -o net.pith\n"
    "  pith export net.pith --c kws --name kws --target cortex-m4f --input u8\n"
    "  make -C kws test",
    options,
    sizeof(struct export_options),
    0,
    1,
    run,
    defaults};
