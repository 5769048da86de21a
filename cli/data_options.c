/* SPDX-License-Identifier: MIT */
#include "data_options.h"
#include <stdio.h>
#include <string.h>

/* A data set may be opened twice, for training and for validation. */
static void hint_once(void *user, const char *text)
{
    static char last[400];
    (void)user;
    if (strcmp(last, text) != 0)
        cli_hint("%s", text);
    snprintf(last, sizeof last, "%s", text);
}

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
    o->class_names = pith_model_get_meta(m, "labels");
    if (m->n_outputs) {
        const struct pith_value *v = &m->values[m->outputs[0]];
        o->output_rank = v->rank;
        memcpy(o->output_dim, v->dim, sizeof o->output_dim);
    }
    o->warn = hint_once;
    o->max_bytes = cli_max_memory();
    o->skip_broken = cli_skips_broken();
}
