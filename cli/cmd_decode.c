/* SPDX-License-Identifier: MIT */
/* pith decode: back to a plain .pith, or to ONNX with the effective weights. */
#include <stdio.h>
#include <string.h>
#include "cli/common/cli.h"
#include "pith_pack.h"
#include "pith_onnx.h"
#include "cli/common/json_out.h"

struct decode_options {
    struct cli_common common;
    const char *to;
};

static const struct cli_option options[] = {
    {0, "to", OPTION_TEXT, offsetof(struct decode_options, to), "FORM",
     "pith or onnx (default: by the suffix of -o FILE)", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* What is written: what --to says, else what the name of the file ends in. A name that promises
 * another form than --to, or one that pith cannot write, is refused. */
static enum cli_exit choose_form(const struct decode_options *o, const char **form)
{
    static const char *const others[] = {".pt",    ".pth",         ".tflite", ".h5",
                                         ".keras", ".safetensors", ".gguf",   ".pb",
                                         ".npy",   ".npz",         ".c",      ".h"};
    const char *name = o->common.output ? o->common.output : "-";
    const char *by_name = cli_ends_in(name, ".onnx")   ? "onnx"
                          : cli_ends_in(name, ".pith") ? "pith"
                                                       : NULL;
    if (o->to && strcmp(o->to, "onnx") != 0 && strcmp(o->to, "pith") != 0) {
        cli_error("--to '%s': give pith or onnx", o->to);
        return EXIT_USAGE;
    }
    if (o->to && by_name && strcmp(o->to, by_name) != 0) {
        cli_error("--to %s contradicts -o %s", o->to, name);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_ends_in(name, others[i])) {
            cli_error("-o %s: decode writes .pith and .onnx, no %s", name, others[i]);
            return EXIT_USAGE;
        }
    *form = o->to ? o->to : by_name ? by_name : "pith";
    return EXIT_DONE;
}

static enum cli_exit decode(const char *form, struct pith_model *m, struct pith_buffer *file)
{
    struct pith_error err = {0};
    if (strcmp(form, "onnx") == 0) {
        if (cli_sizes()->n > 0)
            m->n_sizes = 0; /* at these */
        if (pith_model_write_onnx(m, file, &err) == PITH_OK)
            return EXIT_DONE;
        if (m->n_sizes && err.status == PITH_ERR_UNSUPPORTED)
            cli_hint("--size %s=%u writes an ONNX file of fixed sizes", m->sizes[0].name,
                     m->sizes[0].value);
        return cli_fail(&err);
    }
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            m->values[i].constant->code = PITH_CODE_PLAIN;
    return pith_model_pack(m, NULL, file, &err) ? cli_fail(&err) : EXIT_DONE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct decode_options *o = opts;
    struct pith_model *m = NULL;
    struct pith_buffer file = {0};
    const char *path = n_operands ? operands[0] : "-", *form = NULL;
    char text[32];
    enum cli_exit rc = choose_form(o, &form);
    if (!rc)
        rc = cli_check_output(&o->common, path);
    if (!rc)
        rc = cli_load_model(path, NULL, &m);
    if (!rc)
        rc = decode(form, m, &file);
    if (!rc)
        rc = cli_write_output(&o->common, file.data, file.bytes);
    if (!rc && o->common.json)
        cli_json_size(file.bytes);
    if (!rc)
        cli_summary(&o->common, "decode     %s", cli_format_bytes(file.bytes, text));
    pith_buffer_free(&file);
    pith_model_free(m);
    return rc;
}

const struct cli_command cmd_decode = {
    "decode",
    "ship",
    "back to a plain .pith or to ONNX",
    "pith decode [MODEL] [--to pith|onnx] [-o FILE]",
    "-o NAME.onnx, or --to onnx, writes the network with the weights that the compressed file\n"
    "represents, so that any other runtime or viewer can check it. Weights that are 8-bit "
    "integers\n"
    "times a scale are written as such, with a DequantizeLinear behind them. Open sizes stay "
    "open,\n"
    "unless --size gives one: then all are fixed in the ONNX file. Standard output and\n"
    "names without a suffix get a .pith; the suffix of another format is refused.",
    options,
    sizeof(struct decode_options),
    0,
    1,
    run,
    NULL};
