/* SPDX-License-Identifier: MIT */
#include "feedback_sweep.h"

#include <stdlib.h>
#include <string.h>

/* What a unit of samples touches in one network between two layers; and all units at once, in both.
 */
#define UNIT_BYTES (UINT64_C(16) << 20)
#define UNITS_BYTES (UINT64_C(64) << 20)
#define KEPT_BYTES (UINT64_C(32) << 20) /* in memory, beside as much as the parameters have */

/* ---- one stretch ----------------------------------------------------------------------------- */

enum pith_status pith_sweep_read(const struct feedback_sweep *s, uint64_t unit, struct tape *t,
                                 uint32_t slice)
{
    const uint64_t n = pith_data_count(s->data), elems = pith_data_elems(s->data);
    float *x = pith_tape_input(t, slice, 0)->data;
    enum pith_status status = PITH_OK;
    for (uint64_t i = unit * s->samples; i < (unit + 1) * s->samples && !status; i++, x += elems)
        status = pith_data_read(s->data, i % n, x, NULL, s->err);
    return status;
}

/* Inputs from outside are read again; all but the first stay zeros. */
static enum pith_status load_unit(struct feedback_sweep *s, const struct tape_stretch *stretch,
                                  uint32_t slice, uint64_t unit)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < stretch->n_in && !status; i++) {
        const uint32_t tensor = stretch->in[i];
        const uint64_t bytes = pith_tensor_bytes(s->now, tensor);
        void *now = pith_tensor_data(s->now, slice, tensor);
        void *before = pith_tensor_data(s->before, slice, tensor);
        if (s->life[tensor].made != LIFE_INPUT) {
            status = pith_kept_read(s->kept[0], tensor, unit * bytes, now, bytes, s->err);
            if (!status)
                status = pith_kept_read(s->kept[1], tensor, unit * bytes, before, bytes, s->err);
        } else if (now == pith_tape_input(s->now, slice, 0)->data) {
            status = pith_sweep_read(s, unit, s->now, slice);
            memcpy(before, now, bytes);
        }
    }
    return status;
}

static enum pith_status keep_unit(struct feedback_sweep *s, const struct tape_stretch *stretch,
                                  uint32_t slice, uint64_t unit)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < stretch->n_out; i++)
        for (int net = 0; net < 2 && !status; net++) {
            const uint32_t tensor = stretch->out[i];
            const uint64_t bytes = pith_tensor_bytes(s->now, tensor);
            const void *data = pith_tensor_data(net ? s->before : s->now, slice, tensor);
            status = pith_kept_write(s->kept[net], tensor, s->n_units * bytes, unit * bytes, data,
                                     bytes, s->err);
        }
    return status;
}

static void run_steps(struct feedback_sweep *s, uint32_t from, uint32_t to)
{
    pith_tape_steps_forward(s->now, from, to);
    pith_tape_steps_forward(s->before, from, to);
}

/* n units from `first` on, one in each slice. */
static enum pith_status run_units(struct feedback_sweep *s, const struct tape_stretch *stretch,
                                  uint64_t first, uint32_t n, const struct sweep_use *use)
{
    enum pith_status status = PITH_OK;
    s->now->n_own = s->before->n_own = n;
    for (uint32_t k = 0; k < n && !status; k++)
        status = load_unit(s, stretch, k, first + k);
    if (!status)
        run_steps(s, stretch->from, stretch->cut);
    for (uint32_t k = 0; k < n && !status; k++)
        status = keep_unit(s, stretch, k, first + k);
    for (uint32_t i = stretch->cut; i < stretch->to && !status; i++) {
        for (uint32_t k = 0; k < n && !status; k++)
            status = use->look(use->arg, i, k, first + k);
        if (!status && i + 1 < stretch->to)
            run_steps(s, i, i + 1);
    }
    return status;
}

/* Where several steps are looked at, units come alone: sums are then taken in the same order
 * however many threads there are. */
static enum pith_status run_stretch(struct feedback_sweep *s, uint32_t cut, uint32_t to,
                                    const struct sweep_use *use)
{
    const uint32_t n = to > cut + 1 ? 1 : s->slices;
    struct tape_stretch now = {0}, before = {0};
    if (s->at == to)
        return PITH_OK;
    enum pith_status status = pith_stretch_open(s->now, s->life, s->at, cut, to, &now, s->err);
    if (!status)
        status = pith_stretch_open(s->before, s->life, s->at, cut, to, &before, s->err);
    for (uint64_t u = 0; u < s->n_units && !status; u += n)
        status = run_units(s, &now, u, n, use);
    for (uint32_t i = 0; i < now.n_in; i++)
        for (int net = 0; net < 2 && s->life[now.in[i]].last < cut; net++)
            pith_kept_drop(s->kept[net], now.in[i]);
    pith_stretch_close(s->now, &now);
    pith_stretch_close(s->before, &before);
    s->at = cut;
    return status;
}

/* Between two layers there may be much: then it goes in several stretches. */
enum pith_status pith_sweep_go(struct feedback_sweep *s, uint32_t cut, uint32_t to,
                               const struct sweep_use *use)
{
    enum pith_status status = PITH_OK;
    while (!status && s->at < cut && pith_stretch_bytes(s->now, s->life, s->at, to) > UNIT_BYTES) {
        uint32_t end = cut;
        while (end - s->at > 1 && pith_stretch_bytes(s->now, s->life, s->at, end) > UNIT_BYTES)
            end = s->at + (end - s->at) / 2;
        status = run_stretch(s, end, end, NULL);
    }
    return status ? status : run_stretch(s, cut, to, use);
}

/* ---- opening --------------------------------------------------------------------------------- */

static enum pith_status make_tapes(const struct pith_model *m, struct feedback_sweep *s)
{
    struct tape_opts o = {.batch = s->samples * s->slices,
                          .threads = s->slices,
                          .slices = s->slices,
                          .unchecked = true,
                          .forward_only = true};
    enum pith_status status = pith_tape_new(m, &o, &s->now, s->err);
    o.borrows = true;
    return status ? status : pith_tape_new(m, &o, &s->before, s->err);
}

/* The most that a stretch to the next product touches, cut where it is cut above. */
static uint64_t worst_stretch(const struct feedback_sweep *s)
{
    uint64_t worst = 0;
    for (uint32_t i = 0, from = 0; i < s->now->n_steps; i++) {
        const struct tape_step *step = &s->now->step[i];
        const struct pith_node *node = &s->now->m->nodes[step->at];
        uint32_t w = !step->converts && node->n_in > 1 ? node->in[1] : PITH_VALUE_NONE;
        if (w == PITH_VALUE_NONE || s->now->parameter_of[w] == UINT32_MAX)
            continue;
        uint64_t bytes = pith_stretch_bytes(s->now, s->life, from, i + 1);
        worst = bytes > worst ? bytes : worst;
        from = i;
    }
    return worst;
}

/* Of n samples that take so many bytes as many as fit, a divisor of n. */
static uint32_t fitting(uint32_t n, uint64_t bytes, uint64_t most)
{
    uint32_t fit = n;
    while (fit > 1 && (n % fit || bytes / n * fit > most))
        fit--;
    return fit;
}

/* How many samples are a unit does not depend on the threads: they give the same bits. */
static void choose_units(struct feedback_sweep *s)
{
    const uint32_t n = s->samples;
    const uint64_t worst = worst_stretch(s);
    const uint32_t fit = fitting(n, worst, UNIT_BYTES);
    s->samples = fit;
    uint64_t unit = worst / n * fit;
    while (s->slices < PITH_TRAIN_SLICES && 2 * s->slices <= s->opts->threads &&
           4 * s->slices * unit <= UNITS_BYTES)
        s->slices *= 2;
}

static uint64_t parameter_bytes(const struct tape *t)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < t->n_parameters; i++)
        bytes += t->parameter[i].count * sizeof(float);
    return bytes;
}

static void close_tapes(struct feedback_sweep *s)
{
    pith_tape_free(s->now);
    pith_tape_free(s->before);
    free(s->life);
    s->now = s->before = NULL;
    s->life = NULL;
}

void pith_sweep_close(struct feedback_sweep *s)
{
    close_tapes(s);
    pith_kept_free(s->kept[0]);
    pith_kept_free(s->kept[1]);
    *s = (struct feedback_sweep){0};
}

static enum pith_status open_tapes(const struct pith_model *m, struct feedback_sweep *s)
{
    enum pith_status status = make_tapes(m, s);
    if (!status && !(s->life = pith_tape_lives(s->now)))
        status = pith_tape_no_memory(s->err);
    return status;
}

enum pith_status pith_sweep_open(const struct pith_model *m, struct pith_data *data,
                                 const struct pith_train_opts *opts, uint32_t most_samples,
                                 uint64_t n_samples, struct feedback_sweep *s,
                                 struct pith_error *err)
{
    *s = (struct feedback_sweep){
        .data = data, .opts = opts, .err = err, .samples = most_samples, .slices = 1};
    enum pith_status status = open_tapes(m, s);
    if (!status)
        choose_units(s);
    if (!status && (s->slices > 1 || s->samples != most_samples)) {
        close_tapes(s);
        status = open_tapes(m, s);
    }
    if (status)
        return status;
    s->n_units = n_samples / s->samples;
    const uint64_t most = (KEPT_BYTES + parameter_bytes(s->now)) / 2;
    for (int net = 0; net < 2; net++)
        if (!(s->kept[net] = pith_kept_new(s->now->n_values * TAPE_LAYOUTS, most)))
            return pith_tape_no_memory(err);
    return PITH_OK;
}
