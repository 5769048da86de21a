/* SPDX-License-Identifier: MIT */
/* folded_features.c - a feature names a value, or the node that gives it. Folding a normalization
 * into the layer before makes that layer give the normalization's value, and its own value is no
 * more: by its name a feature would then silently be about another value than the teacher's. */
#include "folded_features.h"

#include <string.h>

#include "pith_error_fill.h"

void pith_features_before_folding(const struct pith_model *m, const struct pith_train_opts *opts,
                                  struct folded_features *h)
{
    h->n = opts->n_features < PITH_STAGE_FEATURES ? opts->n_features : PITH_STAGE_FEATURES;
    for (uint32_t i = 0; i < h->n; i++) {
        h->feature[i] = opts->features[i];
        uint32_t v = h->feature[i].student ? pith_model_value_named(m, h->feature[i].student)
                                           : PITH_VALUE_NONE;
        h->value[i] = v == PITH_VALUE_NONE ? NULL : m->values[v].name;
    }
}

/* Is the value still there, and does anything give it? */
static bool is_given(const struct pith_model *m, const char *value)
{
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (m->values[m->inputs[i]].name == value)
            return true;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            if (m->values[m->nodes[i].out[k]].name == value)
                return true;
    return false;
}

/* Whoever has the name of the node now gives what stands behind it; of a value nobody knows. */
static enum pith_status fail_folded(const struct pith_model *m, const struct folded_features *h,
                                    uint32_t i, struct pith_error *err)
{
    const char *name = h->feature[i].student;
    uint32_t now = pith_model_value_named(m, name);
    if (now != PITH_VALUE_NONE && m->values[now].name != h->value[i] && m->values[now].name[0])
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "feature %u: what '%.100s' gives is folded away, as integers train with the "
            "network: name '%.100s', which stands behind it",
            i + 1, name, m->values[now].name);
    return pith_error_fill(
        err, PITH_ERR_ARGUMENT,
        "feature %u: '%.100s' is folded away, as integers train with the network: name what "
        "stands behind its normalization",
        i + 1, name);
}

/* Names that nothing has are left to training, which says so. */
enum pith_status pith_features_behind_folding(const struct pith_model *m, struct folded_features *h,
                                              struct pith_error *err)
{
    for (uint32_t i = 0; i < h->n; i++) {
        if (!h->value[i])
            continue;
        if (!is_given(m, h->value[i]))
            return fail_folded(m, h, i, err);
        if (h->value[i][0])
            h->feature[i].student = h->value[i];
    }
    return PITH_OK;
}
