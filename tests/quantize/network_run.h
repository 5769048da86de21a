/* SPDX-License-Identifier: MIT */
/* network_run.h - runs a model's only input through the runtime, and notes what its values were. */
#ifndef NETWORK_RUN_H
#define NETWORK_RUN_H

#include <stdlib.h>
#include <string.h>
#include "sample_models.h"
#include "pith_data.h"
#include "pith_pack.h"
#include "pith_host.h"
#include "base/snr.h"

/* n samples of so many numbers each, copied. */
static inline struct pith_data *data_of_rows(const float *x, uint64_t n, uint64_t elems)
{
    struct pith_data *data = NULL;
    float *copy = malloc((size_t)(n * elems) * sizeof *copy);
    if (copy)
        memcpy(copy, x, (size_t)(n * elems) * sizeof *copy);
    if (!copy ||
        pith_data_of_numbers(
            &(struct pith_numbers){
                .rank = 2, .dim = (const uint32_t[]){1, (uint32_t)elems}, .n = n, .x = copy},
            &data, NULL))
        abort();
    return data;
}

struct network_run {
    struct pith_buffer file;
    void *memory;
    struct pith_plan *plan;
    struct pith_model *noted; /* ranges go here; NULL: nowhere */
};

static inline void note_range(struct pith_value *v, const float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        v->min = x[i] < v->min ? x[i] : v->min;
        v->max = x[i] > v->max ? x[i] : v->max;
    }
    v->n_observed += n;
}

static inline void note_output(void *user, const struct pith_layer *layer,
                               const struct pith_tensor *out)
{
    struct network_run *r = user;
    if (out->type == PITH_F32)
        note_range(&r->noted->values[r->noted->nodes[layer->step].out[layer->output]], out->data,
                   out->bytes / sizeof(float));
}

static inline struct network_run open_network(const struct pith_model *m, struct pith_model *noted)
{
    struct network_run r = {.noted = noted};
    struct pith_error err = {0};
    SUCCEEDS(pith_model_pack(m, NULL, &r.file, &err));
    return r;
}

/* y: room for the first output, or NULL. */
static inline void run_network(const struct pith_model *m, struct pith_model *noted, const float *x,
                               uint64_t n, float *y)
{
    struct network_run r = open_network(m, noted);
    struct pith_need need;
    struct pith_tensor out;
    struct pith_opts o = {
        .size_bytes = sizeof o, .user = &r, .observe = noted ? note_output : NULL};
    assert_int_equal(pith_plan_size(r.file.data, r.file.bytes, &o, &need), PITH_OK);
    r.memory = aligned_alloc(need.align, (need.bytes + need.align - 1) & ~(need.align - 1));
    assert_int_equal(pith_plan_init(r.memory, need.bytes, r.file.data, r.file.bytes, &o, &r.plan),
                     PITH_OK);
    memcpy(pith_plan_input_data(r.plan, 0), x, n * sizeof *x);
    assert_int_equal(pith_plan_run(r.plan), PITH_OK);
    pith_plan_output(r.plan, 0, &out);
    if (y)
        memcpy(y, pith_plan_output_data(r.plan, 0), out.bytes);
    if (noted)
        note_range(&noted->values[noted->inputs[0]], x, n);
    free(r.memory);
    pith_buffer_free(&r.file);
}

static inline uint32_t count_ops(const struct pith_model *m, uint32_t op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        n += m->nodes[i].op == op;
    return n;
}

static inline const struct pith_node *first_op(const struct pith_model *m, uint32_t op)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == op)
            return &m->nodes[i];
    return NULL;
}

static inline double snr_db(const float *a, const float *b, uint64_t n)
{
    double signal = 0, noise = 0;
    for (uint64_t i = 0; i < n; i++) {
        signal += (double)a[i] * (double)a[i];
        noise += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    }
    return pith_snr_db(signal, noise);
}

#endif
