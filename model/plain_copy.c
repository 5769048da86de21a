/* SPDX-License-Identifier: MIT */
/* plain_copy.c - a copy of a view of the model, whose constants are others. */
#include "plain_copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"

/* constant: [n_values] room */
static void make_view(const struct pith_model *from, const bool *plain, bool borrow,
                      struct pith_value *value, struct pith_const *constant)
{
    memcpy(value, from->values, from->n_values * sizeof *value);
    for (uint32_t v = 0; v < from->n_values; v++) {
        if (!plain[v] || !value[v].constant)
            continue;
        constant[v] = *value[v].constant;
        constant[v].codebook = NULL;
        constant[v].data = borrow ? NULL : constant[v].data;
        value[v].constant = &constant[v];
    }
}

static enum pith_status copy_view(const struct pith_model *from, const bool *plain, bool borrow,
                                  struct pith_model **copy, struct pith_error *err)
{
    struct pith_model view = *from;
    struct pith_value *value = malloc((from->n_values + (size_t)1) * sizeof *value);
    struct pith_const *constant = malloc((from->n_values + (size_t)1) * sizeof *constant);
    enum pith_status status = value && constant ? PITH_OK : pith_error_no_memory(err);
    if (!status) {
        make_view(from, plain, borrow, value, constant);
        view.values = value;
        status = pith_model_copy(&view, copy, err);
    }
    for (uint32_t v = 0; v < from->n_values && borrow && !status; v++)
        if (plain[v] && from->values[v].constant)
            (*copy)->values[v].constant->data = from->values[v].constant->data;
    free(value);
    free(constant);
    return status;
}

enum pith_status pith_model_copy_plain(const struct pith_model *from, const bool *plain,
                                       struct pith_model **copy, struct pith_error *err)
{
    return copy_view(from, plain, false, copy, err);
}

enum pith_status pith_model_copy_weights(const struct pith_model *from, struct pith_model **copy,
                                         struct pith_error *err)
{
    struct pith_weight_ref *refs = malloc((from->n_nodes + (size_t)1) * sizeof *refs);
    bool *plain = calloc(from->n_values + (size_t)1, sizeof *plain);
    const uint32_t n = refs && plain ? pith_model_weights(from, refs) : 0;
    for (uint32_t i = 0; i < n; i++)
        plain[refs[i].value] = true;
    enum pith_status status =
        refs && plain ? copy_view(from, plain, true, copy, err) : pith_error_no_memory(err);
    free(refs);
    free(plain);
    return status;
}
