/* SPDX-License-Identifier: MIT */
/* run_identity.c - contents are compared by a 64-bit hash (FNV-1a): it detects mistakes, not
 * forgeries.
 */
#include "run_identity.h"
#include "op_interface/op_info.h"
#include "train/tape/tape.h"
#include "core/tensor.h"
#include "pith_train_options.h"
#include "pith_runtime.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

struct text {
    char *at;
    size_t n, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    if (t->n + length + 1 > t->room) {
        size_t room = 2 * (t->n + length + 1) + 1024;
        char *grown = realloc(t->at, room);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->at = grown;
        t->room = room;
    }
    memcpy(t->at + t->n, line, length + 1);
    t->n += length;
}

/* ---- contents -------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n && p; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

static uint64_t graph_hash(const struct pith_model *m)
{
    uint64_t h = hash(hash_start, m->inputs, m->n_inputs * sizeof *m->inputs);
    h = hash(h, m->outputs, m->n_outputs * sizeof *m->outputs);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *n = &m->nodes[i];
        h = hash(h, &n->op, sizeof n->op);
        h = hash(h, n->attr, pith_op_get(n->op)->n_slots * sizeof *n->attr);
        h = hash(h, n->in, n->n_in * sizeof *n->in);
        h = hash(h, n->out, n->n_out * sizeof *n->out);
    }
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_value *v = &m->values[i];
        h = hash(h, &v->type, sizeof v->type);
        h = hash(h, v->dim, v->rank * sizeof *v->dim);
    }
    return h;
}

static uint64_t weights_hash(const struct pith_model *m)
{
    uint64_t h = hash_start;
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        if (!c)
            continue;
        h = hash(h, c->data, (size_t)c->count * pith_type_bytes(m->values[i].type));
        h = hash(h, c->mask, (size_t)c->count);
        const struct pith_codebook *b = c->codebook;
        if (!b)
            continue;
        h = hash(h, b->centroid, (size_t)(b->n_groups * b->n_centroids) * sizeof *b->centroid);
        h = hash(h, b->index, (size_t)c->count);
    }
    return h;
}

static void add_model(struct text *t, const char *what, const struct pith_model *m)
{
    if (!m)
        return;
    add(t, "graph of the %s %016" PRIx64 "\n", what, graph_hash(m));
    add(t, "weights of the %s %016" PRIx64 "\n", what, weights_hash(m));
}

/* How many samples, and what the first, the middle and the last hold. */
static enum pith_status add_data(struct text *t, const char *what, struct pith_data *data,
                                 struct pith_error *err)
{
    if (!data)
        return PITH_OK;
    uint64_t n = pith_data_count(data), elems = pith_data_elems(data), h = hash_start;
    const uint64_t sample[] = {0, n / 2, n - 1}, targets = pith_data_target_elems(data);
    float *x = malloc((size_t)((elems > targets ? elems : targets) + 1) * sizeof *x);
    enum pith_status status = x ? PITH_OK : pith_tape_no_memory(err);
    for (size_t i = 0; i < sizeof sample / sizeof *sample && !status && n; i++) {
        status = pith_data_read(data, sample[i], x, NULL, err);
        if (status)
            continue;
        const int64_t none = 0, *label = pith_data_labels(data, sample[i]);
        const uint64_t n_labels = label ? pith_data_label_count(data) : 1;
        h = hash(h, x, (size_t)elems * sizeof *x);
        h = hash(h, label ? label : &none, (size_t)n_labels * sizeof none);
        if (targets)
            status = pith_data_read_target(data, sample[i], x);
        if (targets && !status)
            h = hash(h, x, (size_t)targets * sizeof *x);
    }
    free(x);
    add(t, "%s %" PRIu64 " samples %016" PRIx64 "\n", what, n, h);
    return status;
}

/* ---- options --------------------------------------------------------------------------------- */

static void add_options(struct text *t, const struct pith_train_opts *opts)
{
    char line[PITH_OPTION_LINE_BYTES];
    add(t, "seed %" PRIu64 "\nkeep_best %s\nenough %.17g\n", opts->seed,
        opts->keep_best ? "yes" : "no", opts->enough);
    for (uint32_t i = 0; i < pith_train_options.n; i++) {
        const struct pith_option *o = &pith_train_options.rows[i];
        if (!(o->flags & PITH_OPTION_RUN))
            continue;
        pith_option_line(o, (const char *)opts + o->at, line);
        add(t, "%s\n", line);
    }
    const char *augment = opts->augment ? opts->augment : "";
    if (strlen(augment) > 400) /* where a line is cut */
        add(t, "augment, all of it %016" PRIx64 "\n", hash(hash_start, augment, strlen(augment)));
}

/* The graph has those of values (fake_quant_graph.h). */
static void add_integers(struct text *t, const struct pith_train_integers *q)
{
    for (uint32_t i = 0; q && i < q->n_weights; i++)
        add(t, "integers %" PRIu32 " from %" PRId32 " to %" PRId32 " by %s\n", q->weights[i].value,
            q->weights[i].lowest, q->weights[i].highest, q->weights[i].by_row ? "row" : "tensor");
    if (q && q->radix)
        add(t, "radix\n");
}

/* ---- the whole ------------------------------------------------------------------------------- */

enum pith_status pith_run_identity(const struct pith_model *m, struct pith_data *train,
                                   struct pith_data *val, const struct pith_train_opts *opts,
                                   char **text, struct pith_error *err)
{
    struct text t = {0};
    add(&t, "pith %" PRIu32 "\n", pith_version());
    add_model(&t, "model", m);
    add_model(&t, "teacher", opts->teacher);
    enum pith_status status = add_data(&t, "data", train, err);
    if (!status)
        status = add_data(&t, "validation", val, err);
    add_options(&t, opts);
    add_integers(&t, opts->integers);
    if (!status && t.failed)
        status = pith_tape_no_memory(err);
    if (status)
        free(t.at);
    else
        *text = t.at;
    return status;
}

uint64_t pith_run_identity_hash(const char *text)
{
    return hash(hash_start, text, strlen(text));
}
