/* SPDX-License-Identifier: MIT */
#include "row_scale.h"

#include "channel_dependency.h"

#include <math.h>
#include <stdlib.h>

static bool may_multiply(const struct pith_model *m, const struct channel_link *link,
                         const struct pith_weight_ref *ref)
{
    bool plain = link->bias == PITH_VALUE_NONE || !m->values[link->bias].constant->codebook;
    return plain && pith_channel_bias_is_own(m, link, ref);
}

/* The rows of `makes` take one step, their mean; those of `reads` what is left. */
static bool even(const struct channel_link *makes, const struct channel_link *reads, uint64_t rows,
                 double *const *step, struct row_scale *scale)
{
    struct scaled *first = &scale->of[makes->value], *second = &scale->of[reads->value];
    double mean = 0;
    *first = (struct scaled){rows, malloc((size_t)rows * sizeof(float)), makes->bias, true};
    *second = (struct scaled){rows, malloc((size_t)rows * sizeof(float)), PITH_VALUE_NONE, false};
    if (!first->times || !second->times)
        return false;
    for (uint64_t r = 0; r < rows; r++)
        mean += log2(step[makes->value][r]) / (double)rows;
    for (uint64_t r = 0; r < rows; r++) {
        double times = exp2(mean) / step[makes->value][r];
        first->times[r] = (float)times;
        second->times[r] = (float)(1 / times);
        step[reads->value][r] /= times;
        step[makes->value][r] = exp2(mean);
    }
    return true;
}

enum pith_status pith_row_scale_find(const struct pith_model *m, double *const *step,
                                     struct row_scale *scale, struct pith_error *err)
{
    uint32_t n = 0;
    struct channel_link *link = calloc(m->n_nodes + 1u, sizeof *link);
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    *scale = (struct row_scale){m->n_values, calloc(m->n_values + 1u, sizeof *scale->of)};
    bool ok = link && refs && scale->of && pith_channel_dependencies(m, link, refs, &n) == PITH_OK;
    for (uint32_t i = 0; i < n && ok; i++) {
        uint32_t k = link[i].by_row ? link[i].source : PITH_VALUE_NONE;
        if (k == PITH_VALUE_NONE || link[k].by_row || !may_multiply(m, &link[k], &refs[k]) ||
            !step[link[k].value] || !step[link[i].value])
            continue; /* a depthwise weight has steps of its own already */
        ok = even(&link[k], &link[i], refs[i].rows, step, scale);
    }
    free(link);
    free(refs);
    if (ok)
        return PITH_OK;
    pith_row_scale_free(scale);
    return pith_tape_no_memory(err);
}

bool pith_row_scale_evens(const struct row_scale *scale, uint32_t value)
{
    return scale->of && scale->of[value].evened;
}

static void multiply(float *data, uint64_t count, const struct scaled *by)
{
    uint64_t cols = count / by->rows;
    for (uint64_t k = 0; k < count; k++)
        data[k] *= by->times[k / cols];
}

static void multiply_value(struct pith_model *m, struct tape *t, uint32_t value,
                           const struct scaled *by)
{
    uint32_t n;
    struct tape_parameter *all = pith_tape_parameters(t, &n);
    multiply(m->values[value].constant->data, m->values[value].constant->count, by);
    for (uint32_t i = 0; i < n; i++)
        if (all[i].value == value)
            multiply(all[i].data, all[i].count, by);
}

void pith_row_scale_apply(const struct row_scale *scale, struct pith_model *m, struct tape *t)
{
    for (uint32_t i = 0; i < scale->n; i++) {
        const struct scaled *by = &scale->of[i];
        if (!by->times)
            continue;
        multiply_value(m, t, i, by);
        if (by->bias != PITH_VALUE_NONE)
            multiply_value(m, t, by->bias, by);
    }
}

void pith_row_scale_free(struct row_scale *scale)
{
    for (uint32_t i = 0; i < scale->n && scale->of; i++)
        free(scale->of[i].times);
    free(scale->of);
    *scale = (struct row_scale){0};
}
