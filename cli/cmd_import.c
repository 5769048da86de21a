/* SPDX-License-Identifier: MIT */
/* pith import: ONNX in, .pith out, nothing compressed yet. */
#include <inttypes.h>
#include "json_out.h"
#include "pith_onnx.h"

struct import_options {
    struct cli_common common;
    struct cli_import import;
};

static const struct cli_option options[] = {
    CLI_IMPORT_OPTIONS(struct import_options, import),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static uint64_t count_weights(const struct pith_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->n_values; i++)
        n += m->values[i].constant ? m->values[i].constant->count : 0;
    return n;
}

static void print_json(const struct pith_model *m, uint64_t bytes)
{
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_uint("nodes", m->n_nodes);
    cli_json_uint("weights", count_weights(m));
    cli_json_end();
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct import_options *o = opts;
    struct pith_import_opts import;
    struct cli_import_storage *storage = NULL;
    struct pith_model *m = NULL;
    const char *path = n_operands ? operands[0] : "-";
    uint64_t bytes = 0;
    char a[32], b[32];
    enum cli_exit rc = cli_check_model_output(&o->common, path);
    if (rc)
        return rc;
    rc = cli_import_opts(&o->import, &import, &storage);
    if (rc)
        return rc;
    rc = cli_load_model(path, &import, &m);
    if (!rc)
        rc = cli_write_model(&o->common, m, &bytes);
    if (!rc && o->common.json)
        print_json(m, bytes);
    if (!rc)
        cli_say(&o->common, "import     %s  %u node%s, %s weights, %s", path, m->n_nodes,
                m->n_nodes == 1 ? "" : "s", cli_format_count(count_weights(m), a),
                cli_format_bytes(bytes, b));
    pith_model_free(m);
    cli_import_free(storage);
    return rc;
}

const struct cli_command cmd_import = {
    "import",
    "make",
    "read an ONNX network",
    "pith import net.onnx [-o net.pith] [options]",
    "Constants are folded and dead nodes dropped; batch normalisation and activations stay as "
    "they\n"
    "are. A symbolic first dimension becomes the open batch; every other open dimension needs\n"
    "--input-shape. Preprocessing given here is stored in the model and applied by run, eval and\n"
    "compress: value = (pixel * scale - mean) / std.\n"
    "A file of a newer opset than 28 is read as one of 28, with a warning; a node with an "
    "attribute\n"
    "that 28 does not have is refused. Names of more than 240 bytes (of inputs and outputs, with "
    "a\n"
    "warning: 255) keep their head, and a '~' and a hash stand for the rest: layer patterns see "
    "that.\n\n"
    "  pith import net.onnx -o net.pith \\\n"
    "      --preprocess scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225\n"
    "  pith import asr.onnx --input-shape audio:1x16000 --set-input sr=16000 -o asr.pith",
    options,
    sizeof(struct import_options),
    0,
    1,
    run,
    NULL};
