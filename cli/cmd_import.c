/* SPDX-License-Identifier: MIT */
/* pith import: ONNX in, .pith out, nothing compressed yet. */
#include <inttypes.h>
#include <stdio.h>
#include "cli/common/json_out.h"
#include "model/exact_grid.h"
#include "pith_onnx.h"

struct import_options {
    struct cli_common common;
    struct cli_import import;
    bool free_weights;
};

static const struct cli_option options[] = {
    CLI_IMPORT_OPTIONS(struct import_options, import),
    {0, "no-grids", OPTION_FLAG, offsetof(struct import_options, free_weights), NULL,
     "keep quantized weights as floats", 0, 0},
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

/* "grids      26 weights of few values, 53 of integers times a scale a row" */
static void say_grids(const struct cli_common *c, const struct pith_grids_found *f)
{
    char few[64] = "", rows[64] = "", narrow[64] = "";
    if (f->n_few)
        snprintf(few, sizeof few, ", %u of few values", f->n_few);
    if (f->n_rows)
        snprintf(rows, sizeof rows, ", %u of integers times a scale a row", f->n_rows);
    if (f->n_narrow)
        snprintf(narrow, sizeof narrow, ", %u of f16 or bf16 numbers", f->n_narrow);
    cli_summary(c, "grids      %u weights and constants are kept as such%s%s%s",
                f->n_few + f->n_rows + f->n_narrow, few, rows, narrow);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct import_options *o = opts;
    struct pith_import_opts import;
    struct cli_import_storage *storage = NULL;
    struct pith_model *m = NULL;
    const char *path = n_operands ? operands[0] : "-";
    uint64_t bytes = 0;
    struct pith_grids_found found = {0};
    char a[32], b[32];
    enum cli_exit rc = cli_check_model_output(&o->common, path);
    if (rc)
        return rc;
    rc = cli_import_opts(&o->import, &import, &storage);
    if (rc)
        return rc;
    import.strict = true;
    import.grids = &found;
    import.no_grids = o->free_weights;
    rc = cli_load_model(path, &import, &m);
    if (!rc)
        rc = cli_write_model(&o->common, m, &bytes);
    if (!rc && o->common.json)
        print_json(m, bytes);
    if (!rc)
        cli_summary(&o->common, "import     %s  %u node%s, %s weights, %s", path, m->n_nodes,
                    m->n_nodes == 1 ? "" : "s", pith_count_text(count_weights(m), a),
                    cli_format_bytes(bytes, b));
    if (!rc && (found.n_few || found.n_rows || found.n_narrow))
        say_grids(&o->common, &found);
    pith_model_free(m);
    cli_import_free(storage);
    return rc;
}

const struct cli_command cmd_import = {
    "import",
    "make",
    "read an ONNX network",
    "pith import net.onnx [-o net.pith] [options]",
    "Constants are folded and unused nodes are dropped. Batch normalization and activations stay "
    "as\n"
    "they are. Open dimensions stay open: a symbolic first dimension is the batch, others get a\n"
    "name and a largest value (--size S=128:4096 sets both). Where a network has other nodes at\n"
    "other sizes, --input-shape fixes them; N and ? in it leave a dimension open.\n"
    "Preprocessing given here is stored in the model and applied by run, eval and compress:\n"
    "value = (pixel * scale - mean) / std.\n"
    "A file with an opset newer than 28 is read as opset 28, with a warning; a node with an "
    "attribute\n"
    "that opset 28 does not have is refused. Weights that are already quantized (at most 256 "
    "values,\n"
    "or 8-bit integers times a scale per row) get a codebook, and f16 and bf16 weights take 2 "
    "bytes.\n"
    "train then moves the values of the codebook, not single weights; --no-grids keeps floats.\n"
    "Names longer than 240 bytes (inputs and outputs: 255, with a warning) are shortened; a '~' "
    "and a\n"
    "hash stand for the rest. Layer patterns see the short names.\n"
    "\n"
    "  pith import net.onnx -o net.pith \\\n"
    "      --preprocess scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225\n"
    "  pith import asr.onnx --input-shape audio:1x16000 --set-input sr=16000 -o asr.pith",
    options,
    sizeof(struct import_options),
    0,
    1,
    run,
    NULL};
