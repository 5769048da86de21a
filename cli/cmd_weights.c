/* SPDX-License-Identifier: MIT */
/* pith weights: the weights of one layer as a picture or an array. */
#include <stdlib.h>
#include "cli/common/cli.h"
#include "cli/common/json_out.h"
#include "pith_data.h"
#include "pith_report.h"

struct weights_options {
    struct cli_common common;
    const char *layer;
};

static const struct cli_option options[] = {
    {0, "layer", OPTION_TEXT, offsetof(struct weights_options, layer), "NAME",
     "layer or tensor, as pith info shows it", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static enum cli_exit write_weight(const struct weights_options *o,
                                  const struct pith_weight_array *w)
{
    struct pith_error err = {0};
    struct pith_buffer file = {0};
    const bool png = cli_ends_in(o->common.output, ".png");
    if (png ? pith_weight_png(w, &file, &err)
            : pith_npy_write(PITH_F32, w->rank, w->dim, w->x, &file, &err))
        return cli_fail(&err);
    const enum cli_exit rc = cli_write_output(&o->common, file.data, file.bytes);
    if (!rc && o->common.json)
        cli_json_size(file.bytes);
    pith_buffer_free(&file);
    return rc;
}

static enum cli_exit run(void *options_given, char **operands, uint32_t n_operands)
{
    const struct weights_options *o = options_given;
    const char *net = n_operands ? operands[0] : "-", *to = o->common.output;
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    struct pith_weight_array w = {.x = NULL};
    if (!to || (!cli_ends_in(to, ".png") && !cli_ends_in(to, ".npy"))) {
        cli_error("name the output: -o FILE.png or -o FILE.npy");
        return EXIT_USAGE;
    }
    enum cli_exit rc = cli_check_output(&o->common, net);
    if (!rc)
        rc = cli_load_model(net, NULL, &m);
    if (!rc && pith_weight_read(m, o->layer, &w, &err))
        rc = cli_fail(&err);
    if (!rc)
        rc = write_weight(o, &w);
    free(w.x);
    pith_model_free(m);
    return rc;
}

const struct cli_command cmd_weights = {
    "weights",
    "misc",
    "weights of a layer as a picture or an array",
    "pith weights [MODEL] --layer NAME -o w.png|w.npy",
    "A picture has one pixel for each weight: a row for each output, a column for each input, and\n"
    "for convolutions a kernel at each crossing. Blue is positive, orange negative, white zero.\n"
    "An array has the stored shape, as f32; integers stay integers.\n"
    "\n"
    "  pith weights net.pith --layer conv1 -o conv1.png\n"
    "  pith weights net.pith --layer conv1 -o conv1.npy",
    options,
    sizeof(struct weights_options),
    0,
    1,
    run,
    NULL};
