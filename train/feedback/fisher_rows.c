/* SPDX-License-Identifier: MIT */
/* fisher_rows.c - one slice of one sample: the squared gradient of a sum of samples would be that
 * of their sum only on the mean of draws. */
#include "pith_fisher_rows.h"

#include "drawn_gradient.h"
#include "pith_error_fill.h"

#include <stdlib.h>

struct fisher {
    const struct pith_model *m;
    struct pith_data *data;
    const struct pith_fisher_opts *opts;
    struct drawn_gradient drawn;
    struct pith_sensitivity *to;
    struct pith_error *err;
};

static double squares(const float *g, uint64_t n)
{
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += (double)g[k] * (double)g[k];
    return sum;
}

static void add_gradients(struct fisher *f)
{
    uint32_t n;
    const struct tape_parameter *all = pith_tape_parameters(f->drawn.tape, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct pith_row_sensitivity *to = &f->to->of[all[i].value];
        uint64_t cols = to->rows ? all[i].count / to->rows : 0;
        for (uint64_t r = 0; r < to->rows; r++)
            to->row[r] += squares(all[i].grad + r * cols, cols);
    }
}

static enum pith_status add_samples(struct fisher *f, uint64_t samples)
{
    const struct pith_fisher_opts *o = f->opts;
    struct tape *t = f->drawn.tape;
    for (uint64_t i = 0; i < samples; i++) {
        enum pith_status status =
            pith_data_read(f->data, i, pith_tape_input(t, 0, 0)->data, NULL, f->err);
        if (status)
            return status;
        pith_tape_forward(t);
        pith_drawn_backward(&f->drawn, i);
        add_gradients(f);
        if (o->progress && !o->progress(o->user, i + 1, samples))
            return pith_error_fill(f->err, PITH_ERR_ARGUMENT, "interrupted");
    }
    return PITH_OK;
}

static enum pith_status list_rows(struct fisher *f)
{
    uint32_t n;
    const struct tape_parameter *all = pith_tape_parameters(f->drawn.tape, &n);
    f->to->of = calloc(f->m->n_values + 1u, sizeof *f->to->of);
    for (uint32_t i = 0; i < n && f->to->of; i++) {
        if (all[i].value >= f->m->n_values || f->m->values[all[i].value].rank == 0)
            continue;
        struct pith_row_sensitivity *to = &f->to->of[all[i].value];
        to->rows = f->m->values[all[i].value].dim[0];
        to->row = calloc((size_t)to->rows, sizeof *to->row);
        if (!to->row)
            return pith_tape_no_memory(f->err);
    }
    return f->to->of ? PITH_OK : pith_tape_no_memory(f->err);
}

static void find_means(struct pith_sensitivity *s)
{
    for (uint32_t v = 0; v < s->n; v++)
        for (uint64_t r = 0; r < s->of[v].rows; r++)
            s->of[v].row[r] /= (double)s->n_samples;
}

static enum pith_status check(const struct pith_model *m, const struct pith_data *data,
                              struct pith_error *err)
{
    uint64_t elems = 1;
    if (m->n_inputs != 1)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "samples are for one input: the model has %u", m->n_inputs);
    for (uint32_t i = 0; i < m->values[m->inputs[0]].rank; i++)
        elems *= m->values[m->inputs[0]].dim[i];
    return elems == pith_data_elems(data)
               ? PITH_OK
               : pith_error_fill(err, PITH_ERR_ARGUMENT,
                                 "input '%.200s' takes %llu values, a sample has %llu",
                                 m->values[m->inputs[0]].name, (unsigned long long)elems,
                                 (unsigned long long)pith_data_elems(data));
}

enum pith_status pith_fisher_rows(const struct pith_model *m, struct pith_data *data,
                                  const struct pith_fisher_opts *opts, struct pith_sensitivity *s,
                                  struct pith_error *err)
{
    static const struct pith_fisher_opts none = {.size_bytes = sizeof none};
    struct fisher f = {.m = m, .data = data, .opts = opts ? opts : &none, .to = s, .err = err};
    uint64_t count = pith_data_count(data), wanted = f.opts->samples;
    wanted = wanted && wanted < count ? wanted : count;
    const struct pith_train_opts train = {.size_bytes = sizeof train,
                                          .threads = 1,
                                          .seed = f.opts->seed,
                                          .loss = f.opts->squares ? PITH_SQUARED_ERROR
                                                                  : PITH_CROSS_ENTROPY};
    *s = (struct pith_sensitivity){.n = m->n_values, .n_samples = wanted};
    enum pith_status status = check(m, data, err);
    if (!status)
        status = pith_drawn_open(m, &train, 1, 1, &f.drawn, err);
    if (!status)
        status = list_rows(&f);
    if (!status)
        status = add_samples(&f, wanted);
    if (!status)
        find_means(s);
    pith_drawn_close(&f.drawn);
    if (status)
        pith_fisher_rows_free(s);
    return status;
}

void pith_fisher_rows_free(struct pith_sensitivity *s)
{
    for (uint32_t i = 0; i < s->n && s->of; i++)
        free(s->of[i].row);
    free(s->of);
    *s = (struct pith_sensitivity){0};
}
