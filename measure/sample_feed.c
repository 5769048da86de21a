/* SPDX-License-Identifier: MIT */
#include "sample_feed.h"
#include <inttypes.h>
#include "error_fill.h"

enum pith_status pith_feed_check(const struct pith_plan *plan, const struct pith_data *data,
                                 struct pith_error *err)
{
    struct pith_tensor t;
    if (pith_plan_input_count(plan) != 1)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "the model has %u inputs: data can feed one (freeze the others with "
                               "--set-input at import)",
                               pith_plan_input_count(plan));
    pith_plan_input(plan, 0, &t);
    if (t.type != PITH_F32)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "the model's input is not f32");
    if (t.bytes != pith_data_elems(data) * sizeof(float))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "a sample has %" PRIu64 " values, the model's input %" PRIu64,
                               pith_data_elems(data), t.bytes / sizeof(float));
    return PITH_OK;
}

enum pith_status pith_feed_sample(struct pith_plan *plan, struct pith_data *data, uint64_t i,
                                  int64_t *label, struct pith_error *err)
{
    return pith_data_read(data, i, pith_plan_input_data(plan, 0), label, err);
}
