/* SPDX-License-Identifier: MIT */
/* pith init: a network that has not learned anything yet, of a known architecture or of a given
 * one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "architecture_option.h"
#include "pith_onnx.h"
#include "cli/common/json_out.h"

struct init_options {
    struct cli_common common;
    struct cli_import import;
};

static const struct cli_option options[] = {
    CLI_IMPORT_OPTIONS(struct init_options, import),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static uint64_t count_parameters(const struct pith_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->n_values; i++)
        n += m->values[i].constant ? m->values[i].constant->count : 0;
    return n;
}

static enum cli_exit finish(const struct cli_common *c, const struct pith_model *m,
                            const char *architecture)
{
    uint64_t bytes = 0;
    char n[32];
    enum cli_exit rc = cli_write_model(c, m, &bytes);
    if (!rc && c->json) {
        cli_json_begin();
        cli_json_uint("bytes", bytes);
        cli_json_uint("nodes", m->n_nodes);
        cli_json_uint("weights", count_parameters(m));
        cli_json_end();
    }
    if (!rc)
        cli_summary(c, "init       %s  %u nodes, %s weights, seed %" PRIu64, architecture,
                    m->n_nodes, pith_count_text(count_parameters(m), n), c->seed);
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct init_options *o = opts;
    struct pith_import_opts import;
    struct cli_import_storage *storage = NULL;
    struct pith_model *m = NULL;
    (void)n_operands;
    enum cli_exit rc = cli_check_model_output(&o->common, operands[0]);
    if (!rc)
        rc = cli_import_opts(&o->import, &import, &storage);
    if (!rc)
        rc = cli_new_network(operands[0], &import, o->common.seed, &m);
    if (!rc)
        rc = finish(&o->common, m, operands[0]);
    pith_model_free(m);
    cli_import_free(storage);
    return rc;
}

const struct cli_command cmd_init = {
    "init",
    "make",
    "make a network with fresh weights",
    "pith init lenet5|lenet300|digits|dscnn|resnet20|MODEL [-o FILE] [--seed N]",
    "Known architectures: lenet5 (LeNet-5 as in Caffe, 20-50-500-10), lenet300 (784-300-100-10) "
    "and\n"
    "digits (8-16-64-10) for pictures of 1 x 28 x 28, dscnn for keywords (MLPerf Tiny's, 49 frames "
    "of\n"
    "10 features), and resnet20 for CIFAR-10 (3 x 32 x 32, shortcuts of option A). Any other "
    "network,\n"
    ".onnx or .pith, gives its architecture and gets fresh weights.\n"
    "Weights have variance 2 / fan-in before a ReLU and 1 / fan-in elsewhere (He et al., 2015; "
    "Glorot\n"
    "and Bengio, 2010); biases are 0. The same seed gives the same weights on every machine.\n"
    "\n"
    "  pith init lenet5 --preprocess scale=1/255 -o start.pith\n"
    "  pith train start.pith -d train-images-idx3-ubyte.gz --hold 0::10 --epochs 20 -o lenet5.pith",
    options,
    sizeof(struct init_options),
    1,
    1,
    run,
    NULL};
