/* SPDX-License-Identifier: MIT */
/* facts_runs.c - both models on the samples: predictions of each, and on a few of them how far what
 * every layer gives is apart. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "report/chart/chart_picture.h"
#include "core/tensor.h"
#include "facts.h"
#include "pith_preprocess.h"
#include "pith_sense.h"

enum { COMPARED = 8, SENSED = 4, THUMBNAIL = 56, CLASSES_MOST = 1 << 20 };

enum pith_status pith_report_progress(struct report *r, const char *part, uint64_t done,
                                      uint64_t all)
{
    if (!r->o->progress || r->o->progress(r->o->user, part, done, all))
        return PITH_OK;
    return pith_error_fill(r->err, PITH_ERR_STOPPED, "interrupted");
}

static struct pith_data *leading_data(const struct report *r)
{
    for (uint32_t i = 0; r->o->feed && i < r->o->feed->n_inputs; i++)
        if (r->o->feed->input[i].data)
            return r->o->feed->input[i].data;
    return NULL;
}

/* ---- predictions ----------------------------------------------------------------------------- */

struct pass {
    struct report *r;
    struct report_side *side;
    uint64_t done;
    enum pith_status st;
};

static double probability_of(const float *score, uint64_t n, uint64_t c)
{
    double max = -INFINITY, sum = 0;
    if (pith_scores_are_probabilities(score, n))
        return (double)score[c];
    for (uint64_t i = 0; i < n; i++)
        max = fmax(max, (double)score[i]);
    for (uint64_t i = 0; i < n; i++)
        sum += exp((double)score[i] - max);
    return exp((double)score[c] - max) / sum;
}

static bool take_prediction(void *user, uint64_t sample)
{
    struct pass *p = user;
    const uint32_t n = p->r->n_classes;
    const float *score = pith_plan_output_data(pith_engine_plan(p->side->engine), 0);
    const uint64_t top = pith_top_class(score, n);
    p->side->top[sample] = (uint32_t)top;
    p->side->probability[sample] = top < n ? (float)probability_of(score, n, top) : NAN;
    p->st = pith_report_progress(p->r, "predictions", ++p->done, p->r->n_samples);
    return !p->st;
}

static enum pith_status predict(struct report *r, struct report_side *s)
{
    struct pass p = {.r = r, .side = s};
    s->top = calloc((size_t)r->n_samples + 1, sizeof *s->top);
    s->probability = calloc((size_t)r->n_samples + 1, sizeof *s->probability);
    if (!s->top || !s->probability)
        return pith_error_no_memory(r->err);
    const enum pith_status st = pith_feed_run(s->engine, r->o->feed, take_prediction, &p, r->err);
    return p.st ? pith_error_fill(r->err, p.st, "interrupted") : st;
}

static enum pith_status read_labels(struct report *r)
{
    struct pith_data *data = pith_feed_labels(r->o->feed);
    if (pith_data_label_count(data) != 1)
        return PITH_OK;
    r->label = malloc(((size_t)r->n_samples + 1) * sizeof *r->label);
    if (!r->label)
        return pith_error_no_memory(r->err);
    for (uint64_t i = 0; i < r->n_samples; i++) {
        r->label[i] = pith_data_label(data, i);
        if (r->label[i] != PITH_NO_LABEL && (r->label[i] < 0 || r->label[i] >= r->n_classes))
            return pith_error_fill(r->err, PITH_ERR_ARGUMENT,
                                   "%.300s has label %" PRId64
                                   ", the model's classes are 0 to %" PRIu32,
                                   pith_data_sample_name(data, i), r->label[i], r->n_classes - 1);
    }
    return PITH_OK;
}

static void count_correct(struct report *r, struct report_side *s)
{
    for (uint64_t i = 0; r->label && i < r->n_samples; i++)
        if (r->label[i] != PITH_NO_LABEL) {
            s->labelled++;
            s->correct += s->top[i] == (uint64_t)r->label[i];
        }
}

/* ---- pictures of samples --------------------------------------------------------------------- */

/* How numbers become pixels: what the preprocessing made of a picture is undone; other numbers are
 * stretched from the least to the largest. */
struct pixels {
    struct pith_preprocess pre;
    double low, scale; /* of other numbers; scale 0: it is a picture */
};

static uint8_t pixel_of(const struct pixels *p, double x, uint32_t c)
{
    const struct pith_preprocess *pre = &p->pre;
    const double std = pre->n_std ? (double)pre->std[pre->n_std > 1 ? c : 0] : 1;
    const double mean = pre->n_mean ? (double)pre->mean[pre->n_mean > 1 ? c : 0] : 0;
    const double pixel = p->scale > 0
                             ? (x - p->low) * p->scale
                             : (x * std + mean) / (pre->scale != 0 ? (double)pre->scale : 1);
    return (uint8_t)(pixel < 0 ? 0 : pixel > 255 ? 255 : pixel + 0.5);
}

static void find_pixels(const struct report *r, const struct pith_data *data, const float *x,
                        uint64_t n, struct pixels *p)
{
    const char *text = pith_model_get_meta(r->side[1].m, "preprocess");
    double low = INFINITY, high = -INFINITY;
    *p = (struct pixels){.scale = 0};
    pith_preprocess_init(&p->pre);
    if (text)
        (void)pith_preprocess_parse(text, strlen(text), &p->pre);
    if (pith_data_pictures(data))
        return;
    for (uint64_t i = 0; i < n; i++) {
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    p->low = low;
    p->scale = high > low ? 255 / (high - low) : 1;
}

/* Of [1, C, H, W] or [1, H, W, C] with C 1 or 3; false: it is no picture. */
struct layout {
    uint32_t c, h, w;
    uint64_t step_c, step_y, step_x;
};

static bool find_layout(const uint32_t *dim, uint32_t rank, struct layout *l)
{
    *l = (struct layout){0};
    if (rank != 4 || dim[0] != 1)
        return false;
    if (dim[1] == 1 || dim[1] == 3)
        *l = (struct layout){dim[1], dim[2], dim[3], (uint64_t)dim[2] * dim[3], dim[3], 1};
    else
        *l = (struct layout){dim[3], dim[1], dim[2], 1, (uint64_t)dim[2] * dim[3], dim[3]};
    return (l->c == 1 || l->c == 3) && l->h >= 8 && l->w >= 8;
}

/* The mean of the pixels that a pixel of the thumbnail stands for. */
static void shrink(const float *x, const struct layout *l, const struct pixels *how, uint32_t wide,
                   uint32_t high, uint8_t *pixels)
{
    for (uint32_t y = 0; y < high; y++)
        for (uint32_t px = 0; px < wide; px++)
            for (uint32_t c = 0; c < l->c; c++) {
                const uint32_t y0 = y * l->h / high, y1 = (y + 1) * l->h / high;
                const uint32_t x0 = px * l->w / wide, x1 = (px + 1) * l->w / wide;
                double sum = 0;
                uint32_t n = 0;
                for (uint32_t i = y0; i < y1 || i == y0; i++)
                    for (uint32_t k = x0; k < x1 || k == x0; k++, n++)
                        sum += pixel_of(
                            how, (double)x[c * l->step_c + i * l->step_y + k * l->step_x], c);
                const uint32_t to = how->pre.bgr && l->c == 3 ? 2 - c : c;
                pixels[((size_t)y * wide + px) * l->c + to] = (uint8_t)(sum / n + 0.5);
            }
}

static enum pith_status picture_of(struct report *r, struct pith_data *data, uint64_t sample,
                                   struct pith_buffer *png)
{
    uint32_t dim[PITH_MAX_RANK];
    struct layout l;
    if (!find_layout(dim, pith_data_shape(data, dim), &l))
        return PITH_OK;
    const uint32_t wide = l.w >= l.h ? (l.w < THUMBNAIL ? l.w : THUMBNAIL)
                                     : (uint32_t)((uint64_t)THUMBNAIL * l.w / l.h) + 1;
    const uint32_t high = (uint32_t)((uint64_t)wide * l.h / l.w);
    float *x = malloc((size_t)pith_data_elems(data) * sizeof *x + 1);
    uint8_t *pixels = malloc((size_t)wide * (high + 1) * l.c);
    enum pith_status st =
        x && pixels ? pith_data_read(data, sample, x, NULL, r->err) : pith_error_no_memory(r->err);
    if (!st && high) {
        struct pixels how;
        find_pixels(r, data, x, pith_data_elems(data), &how);
        shrink(x, &l, &how, wide, high, pixels);
        st = pith_png_encode(pixels, wide, high, l.c, png);
    }
    free(x);
    free(pixels);
    return st;
}

/* ---- predictions that changed ---------------------------------------------------------------- */

/* Lost ones first, then those whose probability fell most. */
static double loss_of(const struct report *r, uint64_t i)
{
    const bool was_right = r->label && r->label[i] == (int64_t)r->side[0].top[i];
    return (was_right ? 2 : 0) + (double)r->side[0].probability[i];
}

static void keep_change(struct report *r, uint64_t sample)
{
    uint32_t at = r->n_changes < REPORT_CHANGES ? r->n_changes++ : REPORT_CHANGES;
    for (; at > 0 && loss_of(r, sample) > loss_of(r, r->change[at - 1].sample); at--)
        if (at < REPORT_CHANGES)
            r->change[at] = r->change[at - 1];
    if (at < REPORT_CHANGES)
        r->change[at] = (struct report_change){.sample = sample};
}

static enum pith_status find_changes(struct report *r)
{
    struct pith_data *data = leading_data(r);
    enum pith_status st = PITH_OK;
    for (uint64_t i = 0; i < r->n_samples; i++) {
        const bool same = r->side[0].top[i] == r->side[1].top[i];
        r->agree += same;
        r->n_changed += !same;
        if (!same)
            keep_change(r, i);
    }
    for (uint32_t i = 0; i < r->n_changes && data && !st; i++) {
        struct report_change *c = &r->change[i];
        snprintf(c->name, sizeof c->name, "%s", pith_data_sample_name(data, c->sample));
        c->label = r->label ? r->label[c->sample] : PITH_NO_LABEL;
        for (uint32_t side = 0; side < 2; side++) {
            c->top[side] = r->side[side].top[c->sample];
            c->probability[side] = r->side[side].probability[c->sample];
        }
        st = picture_of(r, data, c->sample, &c->png);
    }
    return st;
}

static enum pith_status run_classes(struct report *r)
{
    enum pith_status st = read_labels(r);
    for (uint32_t side = 0; side < 2 && !st; side++)
        if (r->side[side].engine) {
            st = predict(r, &r->side[side]);
            if (!st)
                count_correct(r, &r->side[side]);
        }
    return st || !r->side[0].engine ? st : find_changes(r);
}

static enum pith_status run_targets(struct report *r)
{
    enum pith_status st = PITH_OK;
    for (uint32_t side = 0; side < 2 && !st; side++)
        if (r->side[side].engine)
            st = pith_evaluate(r->side[side].engine, r->o->feed, NULL, &r->accuracy[side], r->err);
    return st;
}

/* Classes of output 0, a row of them for each sample in both models: by the operators that one of
 * them ends in, or because samples have labels. */
static uint32_t classes_of(const struct report *r)
{
    struct pith_data *labels = pith_feed_labels(r->o->feed);
    bool classes = false;
    uint64_t n = 0;
    for (uint32_t side = 0; side < 2; side++) {
        struct pith_tensor t;
        if (!r->side[side].m)
            continue;
        const struct output_kind kind = pith_output_kind(r->side[side].packed->outline, 0);
        pith_plan_output(pith_engine_plan(r->side[side].engine), 0, &t);
        const uint64_t scores = t.bytes / sizeof(float);
        if (t.type != PITH_F32 || (n && n != scores) || scores < 2 || scores > CLASSES_MOST)
            return 0;
        classes |= pith_data_label_count(labels) == 1 && pith_is_row(t.dim, t.rank);
        classes |= kind.classes == scores && kind.rows == 1;
        n = scores;
    }
    return classes ? (uint32_t)n : 0;
}

enum pith_status pith_report_runs(struct report *r)
{
    struct pith_data *labels = pith_feed_labels(r->o->feed);
    r->class_names = pith_model_get_meta(r->side[1].m, "labels");
    if (!r->class_names && r->side[0].m)
        r->class_names = pith_model_get_meta(r->side[0].m, "labels");
    if (!r->o->feed || !leading_data(r))
        return PITH_OK;
    r->n_samples = pith_feed_count(r->o->feed);
    if (labels && pith_data_target_elems(labels))
        return run_targets(r);
    r->n_classes = classes_of(r);
    return r->n_classes ? run_classes(r) : PITH_OK;
}

const char *pith_class_text(const struct report *r, int64_t c, char *to, size_t room)
{
    const char *name = r->class_names;
    for (int64_t i = 0; name && i < c; i++) {
        name = strchr(name, '\n');
        name = name ? name + 1 : NULL;
    }
    if (c == PITH_NO_LABEL)
        snprintf(to, room, "no label");
    else if (c >= (int64_t)r->n_classes)
        snprintf(to, room, "NaN");
    else if (name && *name && *name != '\n')
        snprintf(to, room, "%" PRId64 " %.*s", c, (int)strcspn(name, "\n"), name);
    else
        snprintf(to, room, "%" PRId64, c);
    return to;
}

/* ---- a few samples --------------------------------------------------------------------------- */

#define MOST_INPUTS 64u

/* What the data sets of the feed had picked. */
struct picked {
    uint32_t *number[MOST_INPUTS];
    uint64_t n[MOST_INPUTS];
    uint32_t n_inputs;
};

static enum pith_status pick_few(const struct pith_feed *feed, uint64_t most, struct picked *p,
                                 struct pith_error *err)
{
    const bool stream = feed->n_states > 0;
    for (uint32_t i = 0; i < feed->n_inputs && i < MOST_INPUTS; i++) {
        struct pith_data *d = feed->input[i].data;
        p->n_inputs = i + 1;
        if (!d)
            continue;
        uint64_t n = 0;
        const uint32_t *had = pith_data_picked(d, &n);
        const uint64_t count = pith_data_count(d), few = count < most ? count : most;
        uint32_t number[COMPARED];
        p->number[i] = had ? malloc((size_t)n * sizeof *had) : NULL;
        if (had && !p->number[i])
            return pith_error_no_memory(err);
        if (had)
            memcpy(p->number[i], had, (size_t)n * sizeof *had);
        p->n[i] = had ? n : 0;
        for (uint64_t k = 0; k < few; k++) {
            const uint64_t at = stream ? k : k * count / few;
            number[k] = had ? p->number[i][at] : (uint32_t)at;
        }
        const enum pith_status st = pith_data_pick(d, number, few, err);
        if (st)
            return st;
    }
    return PITH_OK;
}

static enum pith_status pick_back(const struct pith_feed *feed, struct picked *p,
                                  struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        if (feed->input[i].data && !st)
            st = pith_data_pick(feed->input[i].data, p->number[i], p->n[i], err);
        free(p->number[i]);
    }
    return st;
}

static const char *node_label(const struct pith_model *m, uint32_t node)
{
    return m->nodes[node].name[0] ? m->nodes[node].name : m->values[m->nodes[node].out[0]].name;
}

/* Layers are compared under the first model's names, or the second's where it has none. */
static void take_layer_errors(struct report *r)
{
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const uint32_t vs = r->layer[i].vs;
        if (vs == UINT32_MAX)
            continue;
        const char *label = node_label(r->side[0].m, r->side[0].ref[vs].node);
        if (!*label)
            label = node_label(r->side[1].m, r->side[1].ref[i].node);
        for (uint32_t k = 0; k < r->compared.n_layers; k++)
            if (strcmp(r->compared.layers[k].layer, label) == 0)
                r->layer[i].layer_db = r->compared.layers[k].snr_db;
    }
}

static enum pith_status compare(struct report *r)
{
    const struct pith_engine_opts engine = {
        .size_bytes = sizeof engine, .threads = r->o->threads, .cpu_mask = r->o->cpu_mask};
    const struct pith_compare_opts opts = {.size_bytes = sizeof opts,
                                           .feed = leading_data(r) ? r->o->feed : NULL,
                                           .seed = 1,
                                           .layers = true,
                                           .engine = &engine};
    r->random = !opts.feed;
    const enum pith_status st =
        pith_compare(r->side[0].m, r->side[1].m, &opts, &r->compared, r->err);
    if (st)
        r->compared = (struct pith_comparison){0};
    else
        take_layer_errors(r);
    return st;
}

/* ---- one weight at a time -------------------------------------------------------------------- */

/* The weights of the second model for that of the first. */
static bool give_weight(void *user, const struct pith_weight_ref *ref, const float *was, float *to)
{
    const struct report *r = user;
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const struct report_layer *l = &r->layer[i];
        bool integers;
        if (l->vs == UINT32_MAX || r->side[0].ref[l->vs].value != ref->value)
            continue;
        return l->weights.has_before &&
               !pith_weight_numbers(r->side[1].m, &r->side[1].ref[i], was, to, &integers);
    }
    return false;
}

static bool sense_progress(void *user, uint64_t done, uint64_t total)
{
    return !pith_report_progress(user, "one layer at a time", done, total);
}

/* s has the first model's weights of floats, in their order. */
static enum pith_status take_alone(struct report *r, const struct pith_sense *s)
{
    struct pith_weight_ref *ref = calloc(r->side[0].m->n_nodes + (size_t)1, sizeof *ref);
    if (!ref)
        return pith_error_no_memory(r->err);
    const uint32_t n = pith_model_weights(r->side[0].m, ref);
    for (uint32_t i = 0; i < r->n_layers; i++)
        for (uint32_t k = 0; k < n && k < s->n_layers && r->layer[i].vs != UINT32_MAX; k++)
            if (ref[k].value == r->side[0].ref[r->layer[i].vs].value)
                r->layer[i].alone_db = s->layer[k].cost[0].output_db;
    r->sense_samples = s->samples;
    free(ref);
    return PITH_OK;
}

static enum pith_status sense(struct report *r)
{
    const struct pith_calibrate_opts samples = {.size_bytes = sizeof samples,
                                                .feed = r->o->feed,
                                                .threads = r->o->threads,
                                                .cpu_mask = r->o->cpu_mask,
                                                .progress = sense_progress,
                                                .user = r};
    const struct pith_sense_trial trial = {PITH_SENSE_GIVEN, 0};
    const struct pith_sense_opts opts = {.size_bytes = sizeof opts,
                                         .samples = &samples,
                                         .n_samples = SENSED,
                                         .trials = &trial,
                                         .n_trials = 1,
                                         .given = give_weight,
                                         .given_user = r};
    struct pith_sense s = {0};
    enum pith_status st = pith_sense(r->side[0].m, &opts, &s, r->err);
    if (st == PITH_ERR_UNSUPPORTED) /* no weights of floats, or no output of them */
        return PITH_OK;
    if (!st)
        st = take_alone(r, &s);
    pith_sense_free(&s);
    return st;
}

enum pith_status pith_report_errors(struct report *r)
{
    struct picked p = {.n_inputs = 0};
    enum pith_status st = PITH_OK, back;
    if (!r->side[0].m)
        return PITH_OK;
    if (r->o->feed)
        st = pick_few(r->o->feed, COMPARED, &p, r->err);
    if (!st)
        st = pith_report_progress(r, "comparison", 0, 1);
    if (!st)
        st = compare(r);
    if (!st && leading_data(r))
        st = sense(r);
    back = r->o->feed ? pick_back(r->o->feed, &p, r->err) : PITH_OK;
    return st ? st : back;
}

/* ---- activations ----------------------------------------------------------------------------- */

struct watching {
    struct report *r;
    uint32_t side; /* pixels */
    enum pith_status st;
};

/* Element i; NAN of types that no picture is made of. */
static float element(const struct pith_tensor *t, uint64_t i)
{
    switch (t->type) {
    case PITH_F32:
        return ((const float *)t->data)[i];
    case PITH_I32:
        return (float)((const int32_t *)t->data)[i];
    case PITH_I8:
        return ((const int8_t *)t->data)[i];
    case PITH_U8:
        return ((const uint8_t *)t->data)[i];
    default:
        return NAN;
    }
}

static void watch_layer(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct watching *w = user;
    for (uint32_t i = 0; i < w->r->n_layers && !w->st; i++) {
        struct report_layer *l = &w->r->layer[i];
        const uint64_t n = out->bytes / pith_type_bytes(out->type);
        if (l->node != layer->step || layer->output || l->picture.activation.data || !n ||
            isnan(element(out, 0)))
            continue;
        float *x = malloc((size_t)n * sizeof *x);
        for (uint64_t k = 0; x && k < n; k++)
            x[k] = element(out, k);
        w->st = x ? pith_map_picture(x, out, w->side, l) : PITH_ERR_MEMORY;
        free(x);
    }
}

static bool one_sample(void *user, uint64_t sample)
{
    (void)user;
    (void)sample;
    return true;
}

enum pith_status pith_report_activations(struct report *r)
{
    struct watching w = {.r = r, .side = r->n_layers <= 12 ? 128 : r->n_layers <= 30 ? 80 : 56};
    const struct pith_engine_opts opts = {.size_bytes = sizeof opts,
                                          .threads = r->o->threads,
                                          .cpu_mask = r->o->cpu_mask,
                                          .user = &w,
                                          .observe = watch_layer};
    struct picked p = {.n_inputs = 0};
    struct pith_engine *e = NULL;
    if (!leading_data(r))
        return PITH_OK;
    enum pith_status st = pick_few(r->o->feed, 1, &p, r->err);
    if (!st)
        st = pith_engine_open_packed(r->side[1].packed, &opts, &e, r->err);
    if (!st)
        st = pith_feed_run(e, r->o->feed, one_sample, NULL, r->err);
    if (!st && w.st)
        st = pith_error_no_memory(r->err);
    pith_engine_close(e);
    const enum pith_status back = pick_back(r->o->feed, &p, r->err);
    return st ? st : back;
}
