/* SPDX-License-Identifier: MIT */
/* model_answers.h - what the runtime makes of a model for one synthetic sample. */
#ifndef MODEL_ANSWERS_H
#define MODEL_ANSWERS_H

#include <string.h>
#include "pith_host.h"
#include "pith_model.h"
#include "pith_pack.h"

static inline void model_answers(const struct pith_model *m, uint32_t n_x, float *y, uint32_t n_y)
{
    struct pith_session *s;
    struct pith_buffer file;
    struct pith_error err;
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_OK);
    assert_int_equal(pith_open_memory(file.data, file.bytes, NULL, &s, &err), PITH_OK);
    struct pith_plan *p = pith_plan_of(s);
    float *x = pith_plan_input_data(p, 0);
    for (uint32_t i = 0; i < n_x; i++)
        x[i] = (float)(i * 37 % 101) / 101.0f;
    assert_int_equal(pith_plan_run(p), PITH_OK);
    memcpy(y, pith_plan_output_data(p, 0), n_y * sizeof *y);
    pith_close(s);
    pith_buffer_free(&file);
}

#endif
