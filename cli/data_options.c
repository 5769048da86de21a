/* SPDX-License-Identifier: MIT */
#include "data_options.h"
#include <string.h>

void cli_data_shape(const struct pith_model *m, uint32_t input, struct pith_data_opts *o)
{
    if (!o->preprocess)
        o->preprocess = pith_model_get_meta(m, "preprocess");
    if (input < m->n_inputs) {
        const struct pith_value *v = &m->values[m->inputs[input]];
        o->input_name = v->name;
        o->rank = v->rank;
        memcpy(o->dim, v->dim, sizeof o->dim);
    }
}

enum cli_exit cli_open_data(const struct cli_data *in, const struct pith_model *m,
                            struct pith_data **data)
{
    struct pith_error err = {0};
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = in->path,
                               .labels = in->labels,
                               .range = in->range,
                               .preprocess = in->preprocess};
    if (!in->path) {
        cli_error("no data: give -d DATA");
        return EXIT_USAGE;
    }
    cli_data_shape(m, 0, &o);
    return pith_data_open(&o, data, &err) ? cli_fail(&err) : EXIT_DONE;
}

enum cli_exit cli_engine_opts(const struct cli_common *c, struct pith_engine_opts *opts)
{
    enum cli_exit rc;
    *opts = (struct pith_engine_opts){.size_bytes = sizeof *opts};
    rc = cli_threads(c, &opts->threads);
    return rc ? rc : cli_cpu_mask(&opts->cpu_mask);
}
