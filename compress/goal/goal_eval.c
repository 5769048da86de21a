/* SPDX-License-Identifier: MIT */
/* goal_eval.c - the original runs once over the validation and test samples, and its answers
 * are kept; each candidate runs over them and is compared. Sums are taken in the order of samples,
 * so that figures are the same for every number of threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/difference.h"
#include "measure/engine.h"
#include "base/error_fill.h"
#include "base/number_text.h"
#include "export/export.h"
#include "pith_load.h"
#include "pith_tune.h"
#include "goal_figures.h"
#include "sample_split.h"
#include "uncertain_loss.h"

#define KEPT_FLOATS 16777216.0 /* of answers, a part: 64 MB */
#define CHOOSING_MACS 4e11     /* a pass over the validation samples: some 10 s of a core */
#define CALIBRATING_MACS 1.5e11
#define LEAST_MOST 64.0 /* samples, whatever the network costs */
#define MOST_CHOOSING 4096.0
#define MOST_CALIBRATING 1024.0
/* Fewest samples, and standard deviations from chance accuracy, at which labels are taken for those
 * of another data set.
 */
#define LEAST_LABELLED 16u
#define GUESSES 2.0

static char candidate_name[] = "the compressed network"; /* for messages */

/* The original's answers to a part. */
struct kept {
    float *y; /* owns: [n] of all calls and outputs, one behind the other */
    size_t n, room;
    uint64_t *start; /* owns: [calls * outputs + 1] in y */
    uint32_t *right; /* owns: [calls], with labels: predictions that are right */
    uint64_t calls, room_calls;
    uint64_t predictions, all_right; /* of all calls: that have a label; of them, right */
    double squares;                  /* with targets: sum of mean squared errors */
};

struct pith_goal_eval {
    const struct pith_feed *feed;
    struct pith_engine_opts engine;
    const struct pith_model *original; /* borrowed: candidates run at its sizes */
    struct sample_split split;
    struct pith_data *labelled; /* borrowed; NULL: none is */
    enum pith_goal_metric metric;
    struct eval_output *out; /* owns: [n_out] */
    uint32_t n_out;
    bool by_class; /* the loss is that of one output's rows of classes */
    struct kept kept[PITH_GOAL_PARTS];
    float *target; /* owns: room for one */
    void (*ran)(void *user, uint64_t calls, uint64_t all);
    void *ran_user;
};

/* A run over a part: of the original, which is kept, or of a candidate. */
struct pass {
    struct pith_goal_eval *j;
    struct kept *kept;
    struct pith_engine *engine;        /* whose plan follows the sizes of samples */
    struct pith_difference_sums *sums; /* of each output of a candidate; NULL: it is kept */
    float *y;                          /* of a candidate: [kept->n] its answers */
    uint64_t calls, right;
    double change_squares; /* of how many more or fewer are right in a call than were */
    uint64_t before, all;  /* calls of earlier passes, of all that are one piece of work */
    double squares;
    enum pith_status st;
    uint32_t nan_output; /* with PITH_ERR_UNSUPPORTED: of the original, for nan_sample */
    uint64_t nan_sample;
};

/* ---- outputs and labels ---------------------------------------------------------------------- */

static bool is_state(const struct pith_feed *feed, uint32_t output)
{
    for (uint32_t i = 0; i < feed->n_states; i++)
        if (feed->state[i].output == output)
            return true;
    return false;
}

static void leave_labels(struct pith_goal_eval *j, void (*warn)(void *user, const char *text),
                         const char *why)
{
    char text[240];
    j->metric = PITH_METRIC_NONE;
    snprintf(text, sizeof text, "labels do not fit: %s; losses are measured without labels", why);
    if (warn)
        warn(j->ran_user, text);
}

static void find_labels(struct pith_goal_eval *j, const struct pith_model *m,
                        void (*warn)(void *user, const char *text))
{
    char why[160], shape[PITH_SHAPE_TEXT];
    j->labelled = pith_feed_labels(j->feed);
    if (!j->labelled || m->n_outputs == 0)
        return;
    const struct pith_value *y = &m->values[m->outputs[0]];
    j->metric = pith_data_labelled(j->labelled) ? PITH_METRIC_TOP1 : PITH_METRIC_PSNR;
    if (j->metric == PITH_METRIC_PSNR || pith_data_label_count(j->labelled) > 1 ||
        pith_is_row(y->dim, y->rank))
        return;
    snprintf(why, sizeof why, "samples have one, the output is %s, no row of scores",
             pith_shape_text(y->dim, y->rank, shape));
    leave_labels(j, warn, why);
}

static enum pith_status find_outputs(struct pith_goal_eval *j, const struct pith_model *m,
                                     const double *weight, struct pith_error *err)
{
    j->out = calloc(m->n_outputs + 1u, sizeof *j->out);
    if (!j->out)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        const struct pith_value *y = &m->values[m->outputs[i]];
        if (y->type != PITH_F32 || is_state(j->feed, i) || (weight && !(weight[i] > 0)))
            continue;
        struct eval_output *o = &j->out[j->n_out++];
        *o = (struct eval_output){i, weight ? weight[i] : 1, pith_output_kind(m, i)};
        const uint64_t n = pith_value_elems(y), rows = j->metric == PITH_METRIC_TOP1
                                                           ? pith_data_label_count(j->labelled)
                                                           : 0;
        if (i == 0 && rows && (rows > 1 || o->kind.classes == 0) && n % rows == 0 && n / rows >= 2)
            o->kind =
                (struct output_kind){.classes = (uint32_t)(n / rows), .rows = rows, .inner = 1};
        if (j->metric == PITH_METRIC_PSNR)
            o->kind.classes = 0;
        j->by_class = i == 0 && o->kind.inner == 1 && (o->kind.rows == 1 || y->rank == 3);
    }
    j->by_class = j->by_class && j->n_out == 1;
    if (j->n_out == 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "no output of floats: there is nothing to measure a loss on");
    return PITH_OK;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static enum pith_status check_labels(const struct pith_goal_eval *j, struct pith_error *err)
{
    const struct eval_output *o = &j->out[0];
    const uint64_t n = pith_data_count(j->labelled), classes = o->kind.classes;
    const uint64_t n_labels = pith_data_label_count(j->labelled);
    for (uint64_t i = 0; i < n * n_labels && o->output == 0 && classes > 0; i++) {
        const int64_t label = pith_data_labels(j->labelled, i / n_labels)[i % n_labels];
        const bool none = n_labels > 1 ? label < 0 : label == PITH_NO_LABEL;
        if (!none && (label < 0 || (uint64_t)label >= classes))
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "labels do not fit: sample %llu has class %lld, output 0 has "
                                   "classes 0 to %llu",
                                   (unsigned long long)(i / n_labels), (long long)label,
                                   (unsigned long long)classes - 1);
    }
    return PITH_OK;
}

/* A limit in points of nothing would be kept by any file. */
static void check_labels_fit(struct pith_goal_eval *j, void (*warn)(void *user, const char *text))
{
    uint64_t n = 0, right = 0;
    char why[160];
    for (int part = PITH_GOAL_VALIDATE; part < PITH_GOAL_PARTS; part++) {
        n += j->kept[part].predictions;
        right += j->kept[part].all_right;
    }
    const double classes = (double)j->out[0].kind.classes, mean = (double)n / classes;
    if (n < LEAST_LABELLED || classes < 2 ||
        (double)right > mean + GUESSES * sqrt(mean * (1 - 1 / classes)))
        return;
    snprintf(why, sizeof why, "the network is right on %llu of %llu, guessing on about %.0f",
             (unsigned long long)right, (unsigned long long)n, mean);
    leave_labels(j, warn, why);
}

/* ---- passes ---------------------------------------------------------------------------------- */

static bool grow(struct kept *k, uint64_t more, uint32_t n_out)
{
    if (k->n + more > k->room) {
        size_t room = (k->n + (size_t)more) * 2;
        float *y = realloc(k->y, room * sizeof *y);
        if (!y)
            return false;
        k->y = y;
        k->room = room;
    }
    if (k->calls == k->room_calls) {
        uint64_t room = k->room_calls * 2 + 64;
        uint64_t *start = realloc(k->start, (size_t)(room * n_out + 1) * sizeof *start);
        k->start = start ? start : k->start;
        uint32_t *right = start ? realloc(k->right, (size_t)room * sizeof *right) : NULL;
        k->right = right ? right : k->right;
        if (!right)
            return false;
        k->room_calls = room;
    }
    return true;
}

/* What the network under way gives for a sample: [*n] numbers. */
static const float *answer_of(const struct pass *p, uint32_t output, uint64_t *n)
{
    struct pith_plan *plan = pith_engine_plan(p->engine);
    struct pith_tensor t;
    pith_plan_output(plan, output, &t);
    *n = t.bytes / sizeof(float);
    return pith_plan_output_data(plan, output);
}

/* The original's answer is what all others are compared with. */
static bool is_number(struct pass *p, uint32_t output, const float *y, uint64_t n, uint64_t sample)
{
    for (uint64_t k = 0; k < n; k++)
        if (isnan(y[k])) {
            p->nan_output = output;
            p->nan_sample = sample;
            return false;
        }
    return true;
}

static enum pith_status keep_answer(struct pass *p, uint64_t sample)
{
    struct kept *k = p->kept;
    for (uint32_t i = 0; i < p->j->n_out; i++) {
        uint64_t n;
        const float *y = answer_of(p, p->j->out[i].output, &n);
        if (!is_number(p, p->j->out[i].output, y, n, sample))
            return PITH_ERR_UNSUPPORTED;
        if (!grow(k, n, p->j->n_out))
            return PITH_ERR_MEMORY;
        k->start[k->calls * p->j->n_out + i] = k->n;
        memcpy(k->y + k->n, y, (size_t)n * sizeof *y);
        k->n += (size_t)n;
        k->start[k->calls * p->j->n_out + i + 1] = k->n;
    }
    return PITH_OK;
}

static void compare_answer(struct pass *p)
{
    const struct kept *k = p->kept;
    const uint64_t first = p->calls * p->j->n_out;
    for (uint32_t i = 0; i < p->j->n_out; i++) {
        const struct output_kind *kind = &p->j->out[i].kind;
        uint64_t n_a = k->start[first + i + 1] - k->start[first + i], n_b;
        const float *a = k->y + k->start[first + i], *b = answer_of(p, p->j->out[i].output, &n_b);
        if (n_a != n_b) {
            pith_difference_add_missing(&p->sums[i], a, n_a);
            continue;
        }
        pith_difference_add(&p->sums[i], kind, a, b, n_a);
        memcpy(p->y + k->start[first + i], b, (size_t)n_b * sizeof *b);
    }
}

/* How often output 0 says what the labels do; *labelled: how many there are. A sample without a
 * label counts as wrong. */
static uint32_t count_right(struct pass *p, uint64_t sample, uint64_t *labelled)
{
    uint64_t n;
    const float *y = answer_of(p, 0, &n);
    const int64_t *label = pith_data_labels(p->j->labelled, sample);
    const uint64_t rows = pith_data_label_count(p->j->labelled), classes = n / rows;
    uint32_t right = 0;
    *labelled = rows == 1;
    for (uint64_t i = 0; i < rows; i++) {
        *labelled += rows > 1 && label[i] >= 0;
        right += label[i] >= 0 && (uint64_t)label[i] < classes &&
                 pith_top_class(y + i * classes, classes) == (uint64_t)label[i];
    }
    return right;
}

/* Labels of positions are as many as the model's own size has; a picture of another size has
 * others.
 */
static bool labels_fit(const struct pass *p)
{
    const uint64_t rows = pith_data_label_count(p->j->labelled);
    const struct eval_output *o = &p->j->out[0];
    uint64_t n;
    answer_of(p, 0, &n);
    return rows < 2 || o->output != 0 || o->kind.rows != rows || n == rows * o->kind.classes;
}

static enum pith_status add_squares(struct pass *p, uint64_t sample)
{
    uint64_t n = pith_data_target_elems(p->j->labelled), n_y;
    const float *y = answer_of(p, 0, &n_y);
    double sum = 0;
    if (n != n_y)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = pith_data_read_target(p->j->labelled, sample, p->j->target);
    for (uint64_t i = 0; i < n && !st; i++) {
        double off = (double)y[i] - (double)p->j->target[i];
        sum += off * off;
    }
    p->squares += sum / (double)n;
    return st;
}

static bool take(void *user, uint64_t sample)
{
    struct pass *p = user;
    if (p->j->engine.stop && p->j->engine.stop(p->j->engine.stop_user))
        p->st = PITH_ERR_STOPPED;
    else if (!p->sums)
        p->st = keep_answer(p, sample);
    if (!p->st && p->j->metric == PITH_METRIC_PSNR)
        p->st = add_squares(p, sample);
    if (!p->st && p->j->metric == PITH_METRIC_TOP1 && !labels_fit(p))
        p->st = PITH_ERR_ARGUMENT;
    if (p->st)
        return false;
    if (p->sums)
        compare_answer(p);
    if (p->j->metric == PITH_METRIC_TOP1) {
        uint64_t labelled;
        const uint32_t right = count_right(p, sample, &labelled);
        p->right += right;
        if (!p->sums) {
            p->kept->right[p->calls] = right;
            p->kept->predictions += labelled;
            p->kept->all_right += right;
        } else {
            const double change = (double)right - (double)p->kept->right[p->calls];
            p->change_squares += change * change;
        }
    }
    p->calls++;
    if (!p->sums)
        p->kept->calls = p->calls;
    if (p->j->ran)
        p->j->ran(p->j->ran_user, p->before + p->calls, p->all);
    return true;
}

static const char *sample_name(const struct pith_feed *feed, uint64_t sample)
{
    for (uint32_t i = 0; i < feed->n_inputs; i++)
        if (feed->input[i].data)
            return pith_data_sample_name(feed->input[i].data, sample);
    return "its only sample";
}

static enum pith_status explain(const struct pass *p, enum pith_status st, struct pith_error *err)
{
    if (p->st == PITH_ERR_MEMORY)
        return pith_error_no_memory(err);
    if (p->st == PITH_ERR_STOPPED)
        return pith_error_fill(err, PITH_ERR_STOPPED, "interrupted");
    if (p->st == PITH_ERR_ARGUMENT)
        return pith_error_fill(err, p->st, "labels or a target do not fit output 0");
    if (p->st == PITH_ERR_UNSUPPORTED)
        return pith_error_fill(err, p->st,
                               "cannot compress: output %u of the network is NaN for %.200s",
                               p->nan_output, sample_name(p->j->feed, p->nan_sample));
    return p->st ? pith_error_fill(err, p->st, "cannot read a target") : st;
}

static enum pith_status run_pass(struct pass *p, struct pith_engine *e, enum pith_goal_part part,
                                 struct pith_error *err)
{
    enum pith_status st = pith_goal_eval_pick(p->j, part, err);
    p->engine = e;
    if (!st)
        st = pith_feed_run(e, p->j->feed, take, p, err);
    return explain(p, st, err);
}

/* ---- the evaluation -------------------------------------------------------------------------- */

static enum pith_status pick(const struct pith_feed *feed, const uint32_t *numbers, uint64_t n,
                             struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < feed->n_inputs && !st; i++)
        if (feed->input[i].data)
            st = pith_data_pick(feed->input[i].data, numbers, n, err);
    return st;
}

enum pith_status pith_goal_eval_pick(struct pith_goal_eval *j, enum pith_goal_part part,
                                     struct pith_error *err)
{
    if (!j)
        return PITH_ERR_ARGUMENT;
    return pick(j->feed, j->split.numbers[part], j->split.n[part], err);
}

enum pith_status pith_goal_eval_pick_training(struct pith_goal_eval *j, struct pith_error *err)
{
    if (!j)
        return PITH_ERR_ARGUMENT;
    return pick(j->feed, j->split.training, j->split.n_training, err);
}

enum pith_goal_metric pith_goal_eval_metric(const struct pith_goal_eval *j)
{
    if (!j)
        return PITH_METRIC_NONE;
    return j->metric;
}

uint64_t pith_goal_eval_count(const struct pith_goal_eval *j, enum pith_goal_part part)
{
    if (!j)
        return 0;
    return j->split.n[part];
}

uint32_t pith_goal_eval_classes(const struct pith_goal_eval *j)
{
    if (!j)
        return 0;
    return j->by_class ? j->out[0].kind.classes : 0;
}

double pith_goal_eval_spread(const struct pith_goal_eval *j)
{
    if (!j)
        return 0;
    const struct kept *k = &j->kept[PITH_GOAL_VALIDATE];
    double sum = 0;
    if (pith_goal_eval_classes(j) == 0)
        return 0;
    const uint64_t n = k->n / j->out[0].kind.classes; /* rows of all calls: there is one output */
    for (uint64_t row = 0; row < n; row++)
        sum += pith_score_variance(&j->out[0].kind, k->y + row * j->out[0].kind.classes);
    return n > 0 ? sqrt(sum / (double)n) : 0;
}

void pith_goal_eval_scales(const struct pith_goal_eval *j, double *scale)
{
    if (!j || !scale)
        return;
    const struct kept *k = &j->kept[PITH_GOAL_VALIDATE];
    for (uint32_t i = 0; i < j->n_out; i++) {
        double power = 0;
        for (uint64_t call = 0; call < k->calls; call++)
            for (uint64_t at = k->start[call * j->n_out + i];
                 at < k->start[call * j->n_out + i + 1]; at++)
                power += isfinite(k->y[at]) ? (double)k->y[at] * (double)k->y[at] : 0;
        scale[j->out[i].output] = power > 0 ? sqrt(j->out[i].weight * (double)k->calls / power) : 0;
    }
}

bool pith_goal_eval_shares(const struct pith_goal_eval *j)
{
    if (!j)
        return false;
    return j->split.shared;
}

static uint64_t most_of(double macs, double budget, double floats, double most)
{
    double n = fmin(most, fmax(LEAST_MOST, floor(budget / fmax(macs, 1))));
    return (uint64_t)fmax(1, fmin(n, floor(KEPT_FLOATS / fmax(floats, 1))));
}

/* One network calls itself that often for each of its samples: steps of a sequence. */
static uint64_t calls_of(const struct pith_feed *feed)
{
    for (uint32_t i = 0; i < feed->n_inputs; i++)
        if (feed->input[i].data)
            return pith_data_steps(feed->input[i].data);
    return 1;
}

static uint64_t calls_in(const struct pith_goal_eval *j, enum pith_goal_part part)
{
    return j->split.n[part] * calls_of(j->feed);
}

static enum pith_status split_samples(struct pith_goal_eval *j, const struct pith_model *m,
                                      struct pith_engine *e, const struct pith_goal_eval_opts *o,
                                      struct pith_error *err)
{
    uint64_t n = pith_feed_count(j->feed), calls = calls_of(j->feed);
    double macs = 0, floats = 0;
    if (n < PITH_GOAL_LEAST)
        return pith_error_fill(
            err, PITH_ERR_ARGUMENT,
            "selection and test need separate samples: at least %u, better %u or more",
            PITH_GOAL_LEAST, PITH_GOAL_THREE_PARTS);
    for (uint32_t i = 0; i < pith_plan_layer_count(pith_engine_plan(e)); i++) {
        struct pith_layer l;
        if (!pith_plan_layer(pith_engine_plan(e), i, &l))
            macs += (double)l.macs * (double)calls;
    }
    for (uint32_t i = 0; i < j->n_out; i++)
        floats += (double)pith_value_elems(&m->values[m->outputs[j->out[i].output]]);
    uint64_t choosing = most_of(macs, CHOOSING_MACS, floats, MOST_CHOOSING);
    uint64_t calibrating = most_of(macs, CALIBRATING_MACS, 0, MOST_CALIBRATING);
    const uint64_t most[PITH_GOAL_PARTS] = {calibrating, choosing, choosing};
    bool stream = j->feed->n_states > 0 && calls == 1;
    return pith_sample_split(n, o->seed, stream, most, &j->split) ? PITH_OK
                                                                  : pith_error_no_memory(err);
}

static enum pith_status run_original(struct pith_goal_eval *j, struct pith_engine *e,
                                     struct pith_error *err)
{
    const uint64_t choose = calls_in(j, PITH_GOAL_VALIDATE),
                   all = choose + (j->split.shared ? 0 : calls_in(j, PITH_GOAL_TEST));
    enum pith_status st = PITH_OK;
    for (int part = PITH_GOAL_VALIDATE; part < PITH_GOAL_PARTS && !st; part++) {
        struct pass p = {.j = j,
                         .kept = &j->kept[part],
                         .before = part == PITH_GOAL_VALIDATE ? 0 : choose,
                         .all = all};
        if (part == PITH_GOAL_TEST && j->split.shared)
            break;
        st = run_pass(&p, e, (enum pith_goal_part)part, err);
        j->kept[part].squares = p.squares;
    }
    return st;
}

/* Whether any number of the original's outputs is finite. */
static bool answers(const struct kept *k)
{
    for (size_t i = 0; i < k->n; i++)
        if (isfinite(k->y[i]))
            return true;
    return false;
}

enum pith_status pith_goal_eval_new(const struct pith_model *m, const struct pith_feed *feed,
                                    const struct pith_goal_eval_opts *opts,
                                    struct pith_goal_eval **eval, struct pith_error *err)
{
    if (!m || !feed || !opts || !eval || feed->size_bytes != sizeof *feed ||
        opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct pith_goal_eval *j = calloc(1, sizeof *j);
    struct pith_engine *e = NULL;
    if (!j)
        return pith_error_no_memory(err);
    j->feed = feed;
    j->original = m;
    j->engine = opts->engine;
    j->engine.size_bytes = sizeof j->engine;
    j->engine.ordered = true; /* the same is found on every CPU */
    j->ran = opts->ran;
    j->ran_user = opts->user;
    find_labels(j, m, opts->warn);
    enum pith_status st = find_outputs(j, m, opts->weight, err);
    if (!st && j->metric == PITH_METRIC_TOP1)
        st = check_labels(j, err);
    if (!st && j->metric == PITH_METRIC_PSNR) {
        j->target = malloc((size_t)pith_data_target_elems(j->labelled) * sizeof *j->target);
        st = j->target ? PITH_OK : pith_error_no_memory(err);
    }
    if (!st)
        st = pith_engine_open(m, &j->engine, &e, err);
    if (!st)
        st = split_samples(j, m, e, opts, err);
    if (!st)
        st = run_original(j, e, err);
    if (!st && !answers(&j->kept[PITH_GOAL_VALIDATE]))
        st = pith_error_fill(err, PITH_ERR_ARGUMENT,
                             "every output is NaN or infinite on every sample: there is nothing to "
                             "measure a loss on");
    if (!st && j->metric == PITH_METRIC_TOP1)
        check_labels_fit(j, opts->warn);
    pith_engine_close(e);
    if (st)
        pith_goal_eval_free(j);
    else
        *eval = j;
    return st;
}

void pith_goal_eval_free(struct pith_goal_eval *j)
{
    if (!j)
        return;
    pick(j->feed, NULL, 0, NULL);
    for (int i = 0; i < PITH_GOAL_PARTS; i++) {
        free(j->kept[i].y);
        free(j->kept[i].start);
        free(j->kept[i].right);
    }
    pith_sample_split_free(&j->split);
    free(j->target);
    free(j->out);
    free(j);
}

/* ---- measuring a file ----------------------------------------------------------------------- */

/* A file from elsewhere may be another network. */
static enum pith_status check_outputs(const struct pith_goal_eval *j, struct pith_engine *e,
                                      struct pith_error *err)
{
    for (uint32_t i = 0; i < j->n_out; i++) {
        struct pith_tensor t;
        if (pith_plan_output(pith_engine_plan(e), j->out[i].output, &t) || t.type != PITH_F32)
            return pith_error_fill(err, PITH_ERR_CORRUPT, "%s has no output %u of floats",
                                   candidate_name, (unsigned)j->out[i].output);
    }
    return PITH_OK;
}

/* At the sizes that the original has: an empty cache is a size that no file has. */
static enum pith_status open_candidate(const struct pith_goal_eval *j,
                                       const struct pith_buffer *file,
                                       const struct pith_engine_opts *opts, struct pith_engine **e,
                                       struct pith_error *err)
{
    const struct pith_packed packed = {
        .data = file->data, .bytes = file->bytes, .name = candidate_name};
    enum pith_status st = pith_engine_open_packed(&packed, opts, e, err);
    return st ? st : pith_engine_follow_sizes(*e, j->original, err);
}

enum pith_status pith_goal_eval_measure(struct pith_goal_eval *j, enum pith_goal_part part,
                                        const struct pith_buffer *file, struct pith_goal_loss *loss,
                                        struct pith_error *err)
{
    if (!j || !file || !loss)
        return PITH_ERR_ARGUMENT;
    struct kept *kept = &j->kept[j->split.shared ? PITH_GOAL_VALIDATE : part];
    struct pass p = {.j = j,
                     .kept = kept,
                     .sums = calloc(j->n_out, sizeof *p.sums),
                     .y = calloc(kept->n + 1, sizeof *p.y),
                     .all = calls_in(j, part)};
    struct pith_engine *e = NULL;
    enum pith_status st = p.sums && p.y ? PITH_OK : pith_error_no_memory(err);
    if (!st)
        st = open_candidate(j, file, &j->engine, &e, err);
    if (!st)
        st = check_outputs(j, e, err);
    if (!st)
        st = run_pass(&p, e, part, err);
    pith_engine_close(e);
    const struct goal_sums sums = {.out = j->out,
                                   .n_out = j->n_out,
                                   .metric = j->metric,
                                   .sums = p.sums,
                                   .was = kept->y,
                                   .now = p.y,
                                   .calls = p.calls,
                                   .right = p.right,
                                   .right_before = kept->all_right,
                                   .predictions = kept->predictions,
                                   .change_squares = p.change_squares,
                                   .squares_before = kept->squares,
                                   .squares = p.squares};
    if (!st)
        st = pith_goal_figures(&sums, loss, err);
    free(p.sums);
    free(p.y);
    return st;
}

enum pith_status pith_goal_eval_ram(const struct pith_goal_eval *j, const struct pith_buffer *file,
                                    uint64_t *bytes, struct pith_error *err)
{
    if (!j || !file || !bytes)
        return PITH_ERR_ARGUMENT;
    struct pith_engine_opts opts = j->engine;
    struct pith_engine *e = NULL;
    opts.ordered = false; /* what this machine takes */
    enum pith_status st = open_candidate(j, file, &opts, &e, err);
    if (!st)
        *bytes = pith_engine_need(e).bytes;
    pith_engine_close(e);
    return st;
}

enum pith_status pith_goal_eval_target_ram(const struct pith_buffer *file, int target,
                                           uint64_t *bytes, struct pith_error *err)
{
    if (!file || !bytes)
        return PITH_ERR_ARGUMENT;
    struct pith_export_opts opts;
    struct pith_export *e = NULL;
    struct pith_model *m = NULL;
    enum pith_status st = pith_model_read(file->data, file->bytes, candidate_name, NULL, &m, err);
    if (st)
        return st;
    pith_export_opts_init(&opts, sizeof opts);
    opts.target = (enum pith_export_target)target;
    opts.no_files = true;
    st = pith_export_c(m, &opts, &e, err);
    pith_model_free(m);
    *bytes = e ? e->arena_bytes : UINT64_MAX;
    pith_export_free(e);
    return st == PITH_ERR_UNSUPPORTED ? PITH_OK : st;
}

#define TUNE_SECONDS 2.0 /* of measuring a file */

enum pith_status pith_goal_eval_latency(const struct pith_goal_eval *j,
                                        const struct pith_buffer *file, double *seconds,
                                        struct pith_error *err)
{
    if (!j || !file || !seconds)
        return PITH_ERR_ARGUMENT;
    const struct pith_tune_opts tune = {.size_bytes = sizeof tune, .seconds = TUNE_SECONDS};
    struct pith_engine_opts opts = j->engine;
    struct pith_tuned found;
    opts.ordered = false; /* as for ram */
    const struct pith_packed packed = {
        .data = file->data, .bytes = file->bytes, .name = candidate_name};
    enum pith_status st = pith_tune(&packed, &opts, &tune, &found, err);
    if (st)
        return st;
    *seconds = fmin(found.planned.ms_p90, found.tuned.ms_p90) / 1e3;
    pith_tuned_free(&found);
    return PITH_OK;
}
