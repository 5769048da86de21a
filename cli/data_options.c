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

void cli_hint_data(const struct pith_data *data, const char *preprocess)
{
    static bool said;
    if (pith_data_reordered(data))
        cli_hint("%s", pith_data_reordered(data));
    if (preprocess || said || !pith_data_pictures(data))
        return;
    said = true;
    cli_hint(
        "the model stores no preprocessing: pixels are fed as they are, 0 to 255 (--preprocess "
        "imagenet, caffe, unit, signed, raw or SPEC; see pith help preprocess)");
}
