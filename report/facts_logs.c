/* SPDX-License-Identifier: MIT */
/* facts_logs.c - what other commands wrote: events of a run, results of a sweep. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "compress/recipe/json_value.h"
#include "facts.h"

enum { COLUMNS = 5, MOST_EPOCHS = 4096 };

static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* A line of pith train, compress or sweep --log. Of several runs the last counts; of one without
 * epochs its files. */
static enum pith_status take_event(struct report *r, const char *line, size_t n, uint32_t number)
{
    static const char *const key[COLUMNS] = {"epoch", "loss", "accuracy", "val_loss",
                                             "val_accuracy"};
    json_t *o = json_loadb(line, n, 0, NULL);
    const char *text = json_string_value(json_object_get(o, "event")), *event = text ? text : "";
    const bool epoch = strcmp(event, "epoch") == 0, file = strcmp(event, "file") == 0;
    if (strcmp(event, "start") == 0 || (epoch && r->curve_of_files)) {
        r->n_epochs = 0;
        r->curve_of_files = false;
    }
    r->curve_of_files |= file && r->n_epochs == 0;
    if ((epoch || (file && r->curve_of_files)) && r->n_epochs < MOST_EPOCHS) {
        for (uint32_t c = 0; c < COLUMNS; c++)
            r->curve[c][r->n_epochs] = number_of(o, file && c == 0 ? "bytes" : key[c]);
        r->n_epochs++;
    }
    json_decref(o);
    return text ? PITH_OK
                : pith_error_fill(r->err, PITH_ERR_CORRUPT, "%s: line %u is no event",
                                  r->o->curve.name, number);
}

static enum pith_status read_curve(struct report *r)
{
    const struct pith_report_log *log = &r->o->curve;
    uint32_t number = 0;
    enum pith_status st = PITH_OK;
    if (!log->data)
        return PITH_OK;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        r->curve[c] = calloc(MOST_EPOCHS, sizeof **r->curve);
        if (!r->curve[c])
            return pith_error_no_memory(r->err);
    }
    for (size_t i = 0; i < log->bytes && !st;) {
        const char *line = log->data + i, *end = memchr(line, '\n', log->bytes - i);
        const size_t n = end ? (size_t)(end - line) : log->bytes - i;
        number++;
        if (n > 0)
            st = take_event(r, line, n, number);
        i += n + (end != NULL);
    }
    if (!st && r->n_epochs == 0)
        st = pith_error_fill(r->err, PITH_ERR_CORRUPT, "%s: its last run has no epoch and no file",
                             log->name);
    return st;
}

enum pith_status pith_report_logs(struct report *r)
{
    enum pith_status st = read_curve(r);
    if (!st && r->o->sweep.data) {
        st = pith_sweep_results_add(&r->sweep, r->o->sweep.data, r->o->sweep.bytes, r->err);
        if (!st && r->sweep.n == 0)
            st = pith_error_fill(r->err, PITH_ERR_CORRUPT, "%s: no line is a result of pith sweep",
                                 r->o->sweep.name);
        r->n_front = st ? 0 : pith_sweep_front(&r->sweep);
    }
    return st;
}
