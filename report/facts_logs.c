/* SPDX-License-Identifier: MIT */
/* facts_logs.c - what other commands wrote: epochs of a training, files of a search, results of a
 * sweep. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "base/number_text.h"
#include "compress/recipe/json_value.h"
#include "facts.h"

enum { COLUMNS = 5, MOST_EPOCHS = 4096, MOST_FILES = 256 };

/* ---- a training ------------------------------------------------------------------------------ */

static const char *const column_name[COLUMNS] = {"epoch", "loss", "top1", "val_loss", "val_top1"};

/* Field i of a line of n bytes; false: there are less. */
static bool take_field(const char *line, size_t n, uint32_t i, char *to, size_t room)
{
    for (uint32_t k = 0;; k++) {
        const char *comma = memchr(line, ',', n);
        const size_t length = comma ? (size_t)(comma - line) : n;
        if (k == i) {
            snprintf(to, room, "%.*s", (int)(length < room ? length : room - 1), line);
            return true;
        }
        if (!comma)
            return false;
        line += length + 1;
        n -= length + 1;
    }
}

static size_t line_of(const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n);
    size_t length = end ? (size_t)(end - text) : n;
    return length > 0 && text[length - 1] == '\r' ? length - 1 : length;
}

static bool find_columns(const char *head, size_t n, uint32_t at[COLUMNS])
{
    char field[32];
    memset(at, 0xff, COLUMNS * sizeof *at);
    for (uint32_t i = 0; i < 64 && take_field(head, n, i, field, sizeof field); i++)
        for (uint32_t c = 0; c < COLUMNS; c++)
            if (strcmp(field, column_name[c]) == 0)
                at[c] = i;
    return at[0] != UINT32_MAX && at[1] != UINT32_MAX;
}

static enum pith_status take_epoch(struct report *r, const char *line, size_t n,
                                   const uint32_t at[COLUMNS], uint32_t number)
{
    char field[48];
    for (uint32_t c = 0; c < COLUMNS; c++) {
        double x = NAN;
        const bool there = at[c] != UINT32_MAX && take_field(line, n, at[c], field, sizeof field);
        if (there && !pith_parse_number(field, &x) && c < 2)
            return pith_error_fill(r->err, PITH_ERR_CORRUPT, "%s: line %u: '%s' is no number",
                                   r->o->curve.name, number, field);
        r->curve[c][r->n_epochs] = x;
    }
    r->n_epochs++;
    return PITH_OK;
}

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
    const bool events = log->bytes > 0 && log->data[0] == '{';
    uint32_t at[COLUMNS], number = 0;
    enum pith_status st = PITH_OK;
    if (!log->data)
        return PITH_OK;
    for (uint32_t c = 0; c < COLUMNS; c++) {
        r->curve[c] = calloc(MOST_EPOCHS, sizeof **r->curve);
        if (!r->curve[c])
            return pith_error_no_memory(r->err);
    }
    for (size_t i = 0; i < log->bytes && !st;) {
        const char *line = log->data + i;
        const size_t n = line_of(line, log->bytes - i);
        const char *end = memchr(line, '\n', log->bytes - i);
        number++;
        if (events)
            st = n > 0 ? take_event(r, line, n, number) : PITH_OK;
        else if (number == 1 && !find_columns(line, n, at))
            st = pith_error_fill(r->err, PITH_ERR_CORRUPT,
                                 "%s: neither events nor a table of epochs, as pith train --log "
                                 "writes them",
                                 log->name);
        else if (number > 1 && n > 0 && r->n_epochs < MOST_EPOCHS)
            st = take_epoch(r, line, n, at, number);
        i += end ? (size_t)(end - line) + 1 : log->bytes - i;
    }
    if (!st && events && r->n_epochs == 0)
        st = pith_error_fill(r->err, PITH_ERR_CORRUPT, "%s: its last run has no epoch and no file",
                             log->name);
    return st;
}

/* ---- a search -------------------------------------------------------------------------------- */

/* What limits the loss: the drop where the samples resolve it, else the KL divergence of classes,
 * else the SQNR, as noise so that more is worse. */
static void choose_loss(struct report *r, const json_t *root)
{
    const json_t *first = json_array_get(json_object_get(root, "files"), 0);
    if (json_is_true(json_object_get(root, "labels_resolve"))) {
        r->loss = REPORT_DROP;
        r->limit = number_of(root, "limit");
    } else if (isfinite(number_of(first, "kl"))) {
        r->loss = REPORT_KL;
        r->limit = number_of(root, "kl_limit");
    } else {
        r->loss = REPORT_NOISE;
        r->limit = -number_of(root, "snr_limit_db");
    }
}

static void take_file(struct report *r, const json_t *o)
{
    static const char *const key[] = {"drop", "kl", "snr_db"};
    struct report_file *f = &r->file[r->n_files];
    const char *encoder = json_string_value(json_object_get(o, "encoder"));
    const double loss = number_of(o, key[r->loss]);
    *f = (struct report_file){.quality = number_of(o, "quality"),
                              .bytes = number_of(o, "bytes"),
                              .loss = r->loss == REPORT_NOISE ? -loss : loss,
                              .fits = json_is_true(json_object_get(o, "fits")),
                              .chosen = json_is_true(json_object_get(o, "chosen"))};
    snprintf(f->encoder, sizeof f->encoder, "%s", encoder ? encoder : "");
    r->n_files += f->bytes > 0;
}

static enum pith_status read_search(struct report *r)
{
    const struct pith_report_log *log = &r->o->search;
    json_t *root = NULL;
    if (!log->data)
        return PITH_OK;
    enum pith_status st = pith_json_load(log->data, log->bytes, log->name, &root, r->err);
    if (st)
        return st;
    const json_t *files = json_object_get(root, "files");
    const size_t n = json_array_size(files);
    r->file = calloc(MOST_FILES, sizeof *r->file);
    if (n == 0)
        st = pith_error_fill(r->err, PITH_ERR_CORRUPT,
                             "%s: no list 'files', as pith compress --json prints it", log->name);
    else if (!r->file)
        st = pith_error_no_memory(r->err);
    else
        choose_loss(r, root);
    for (size_t i = 0; i < n && i < MOST_FILES && !st; i++)
        take_file(r, json_array_get(files, i));
    json_decref(root);
    return st;
}

enum pith_status pith_report_logs(struct report *r)
{
    enum pith_status st = read_curve(r);
    if (!st)
        st = read_search(r);
    if (!st && r->o->sweep.data) {
        st = pith_sweep_results_add(&r->sweep, r->o->sweep.data, r->o->sweep.bytes, r->err);
        if (!st && r->sweep.n == 0)
            st = pith_error_fill(r->err, PITH_ERR_CORRUPT, "%s: no line is a result of pith sweep",
                                 r->o->sweep.name);
        r->n_front = st ? 0 : pith_sweep_front(&r->sweep);
    }
    return st;
}
