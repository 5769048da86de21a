/* SPDX-License-Identifier: MIT */
/* mixed_precision.c - a greedy allocation: what gains most for its price is taken first. Layers
 * that 8 bits are too few for stay float, at the price of their products; their weights become
 * codebooks, at the price of the error that this adds.
 *
 * The network of integers runs the held-out samples. Where its outputs are less than ENOUGH_DB
 * above their error, each layer is tried alone on a few of them: it in integers (rounded to
 * nearest, which takes no time), all others float. The errors of layers add up, so what one loses
 * is gained if it stays float. The layer that gains most for its price goes first, until WANTED_DB
 * are expected. What a few samples show to be far below what is worth a price is not tried on the
 * others, and a layer whose price is more than may be spent on none.
 * Its price is its products, and passes over what has to be converted; a share of all products may
 * be spent.
 *
 * Where less than PITH_KEEP_FLOOR_DB is left, the layer that loses most stays float whatever its
 * price, if that brings PITH_KEEP_GAIN_DB; then the next, up to PITH_KEEP_MOST. A network whose
 * error is spread over all layers therefore keeps none: that would be slow without being good. Nor
 * does one of more than PITH_KEEP_TRIED layers, or one in fixed point, which is for machines
 * without floats. Each step is quantized and measured, and undone where the outputs are no better.
 *
 * A layer that stays float takes the depthwise layer in front of it along: kernels of bytes write
 * bytes.
 *
 * What stays float is stored as f16, and its weights as codebooks of a byte a weight: what such a
 * layer loses as integers lies in its input's bytes as a rule, not in its weights. The error of the
 * outputs may grow by CODEBOOK_SHARE, or up to CODEBOOK_ENOUGH_DB below them, and no more
 * predictions may change. All codebooks together are tried first. Where they are too coarse, each
 * is tried alone, and the one that saves most for its error is taken first. */
#include "mixed_precision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer_trial.h"
#include "output_sqnr.h"
#include "base/error_fill.h"
#include "quantize/transform/fold_affine.h"
#include "quantize/layer/integer_plan.h"
#include "op_interface/op_traits.h"
#include "pith_pack.h"
#include "quantize/round/rounded_layers.h"
#include "quantize/store_floats.h"
#include "quantize/transform/transpose_weight.h"

#define FEW 8u        /* samples that a trial of one layer runs */
#define FEW_STEPS 64u /* of a stream */
#define LEAST 0.02    /* of all error: what gains less is not worth its price */
#define WANTED_DB 28

#define ENOUGH_DB 25
#define ALIKE_DB 15
#define SHARE 0.25 /* of all products, that floats may compute */
#define PASSES 40  /* over a value, in products, to convert it */

#define CODEBOOK_SHARE 0.05 /* of the error without them: 0.2 dB */
#define CODEBOOK_ENOUGH_DB (PITH_KEEP_FLOOR_DB + 10)

/* A layer of the float network that may stay float, or a weight that stayed float and may have a
 * codebook. */
struct candidate {
    const char *name; /* of the layer, m's; NULL: a codebook */
    double gain;     /* the outputs' relative noise where the layer alone is of integers; bytes that
                        the codebook saves; 0: taken */
    double price;    /* in products; in noise that the codebook adds */
    uint32_t before; /* the candidate that stays float with it; n_candidates: none */
    uint32_t value;  /* of the codebook's weight */
    float *was;      /* owns: its elements without the codebook; NULL: it has none */
};

struct allocation {
    struct pith_model before; /* borrows m's arrays: the float network */
    struct pith_model *m;
    struct pith_quantize_opts opts;
    const struct mixed_request *request;
    struct output_sqnr answers;
    const char **keep; /* own: patterns of opts, then those added; texts are m's */
    uint32_t n_requested;
    struct rounded_layers rounded;             /* owns */
    struct pith_quantize_layer *layer, *trial; /* [n_layers], [n_trial]; trial: owns */
    uint32_t n_layers, n_trial;  /* what is kept is not taken apart, so it may be fewer */
    struct candidate *candidate; /* owns: [n_candidates] */
    uint32_t n_candidates;
    struct pith_error *err;
};

/* ---- measuring ------------------------------------------------------------------------------- */

static void see(void *user, uint32_t value, float *x, size_t n)
{
    pith_sqnr_see(user, value, x, n);
}

/* The first n of the held-out samples. */
static enum pith_status run_samples(struct allocation *k, const struct pith_model *m, uint64_t n)
{
    struct observed_run run = {
        .see = see, .user = &k->answers, .answers_only = true, .own_sizes = true};
    enum pith_status st = pith_observed_run_open(&run, m, k->request->samples, k->err);
    for (uint64_t i = 0; !st && i < n && i < pith_observed_run_samples(&run); i++)
        st = pith_observed_run_sample(&run, i, k->err);
    if (!st && k->answers.no_memory)
        st = pith_error_no_memory(k->err);
    pith_observed_run_close(&run);
    return st;
}

static enum pith_status measure(struct allocation *k, const struct pith_model *m, uint64_t n,
                                bool keeps)
{
    const struct pith_stage_context *context = k->request->context;
    enum pith_status st = pith_held_out_pick(k->request->held, PART_HELD, k->err), back;
    pith_sqnr_begin(&k->answers, m, keeps);
    if (!st)
        st = run_samples(k, m, n);
    back = pith_held_out_pick(k->request->held, PART_FITTED, k->err);
    if (!st && !back && context->stop && context->stop(context->user))
        st = pith_error_fill(k->err, PITH_ERR_ARGUMENT, "interrupted");
    return st ? st : back;
}

/* The float network's answers: to the held-out samples, and to the fitted ones. */
static enum pith_status measure_float(struct allocation *k)
{
    enum pith_status st = measure(k, &k->before, UINT64_MAX, true);
    if (st || !k->request->held->n_held)
        return st;
    pith_sqnr_begin_more(&k->answers, &k->before);
    return run_samples(k, &k->before, k->request->held->n_fitted);
}

/* What layers read in the best network so far is near enough to what they read in the next one for
 * the same rounding to serve both; else all are rounded anew. */
static void keep_rounded(struct allocation *k, const struct pith_stage_report *r)
{
    if (!(r->loss.output_db >= ALIKE_DB))
        pith_rounded_free(&k->rounded);
}

/* m becomes what opts make of the float network, and is measured on up to n samples. */
static enum pith_status quantize(struct allocation *k, const struct pith_quantize_opts *opts,
                                 uint64_t n)
{
    *k->m = k->before;
    enum pith_status st = pith_quantize(k->m, opts, k->trial, &k->n_trial, k->err);
    return st ? st : measure(k, k->m, n, false);
}

static double noise_now(const struct allocation *k)
{
    return pith_sqnr_noise(&k->answers);
}

static uint64_t changed_now(const struct allocation *k)
{
    uint64_t changed;
    (void)pith_sqnr_predictions(&k->answers, &changed);
    return changed;
}

/* What is now in m goes into the report. */
static void take_measured(const struct allocation *k, struct pith_stage_report *r)
{
    r->loss.output_db = pith_sqnr_db(&k->answers); /* which may be infinite */
    r->loss.reported_db =
        pith_sqnr_reported_db(&k->answers, k->request->samples->feed, &r->loss.reported_error_db);
    r->loss.held_out = k->request->held->n_held;
    r->loss.expected_changes = pith_sqnr_expected_changes(&k->answers);
    r->loss.predictions = pith_sqnr_predictions(&k->answers, &r->loss.changed);
    r->loss.measured = true;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *name_of(const struct pith_model *m, const struct pith_node *node)
{
    return node->name[0] || node->n_out == 0 ? node->name : m->values[node->out[0]].name;
}

static bool is_float_layer(const struct allocation *k, const char *name, size_t length)
{
    const struct pith_model *m = &k->before;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const char *own = name_of(m, &m->nodes[i]);
        if (strncmp(own, name, length) == 0 && own[length] == 0)
            return true;
    }
    return false;
}

/* Plans are made of the float network, which knows a layer that was taken apart by its whole name
 * alone: of `name:first-last` that is `name`. In m's memory; NULL: no memory. */
static const char *float_name(const struct allocation *k, const char *name)
{
    const char *part = strrchr(name, ':');
    if (!part || is_float_layer(k, name, strlen(name)) ||
        !is_float_layer(k, name, (size_t)(part - name)))
        return name;
    char *whole = pith_model_strdup(k->m, name);
    if (whole)
        whole[part - name] = 0;
    return whole;
}

/* ---- what each layer costs ------------------------------------------------------------------- */

/* Rounded to nearest, which takes no time. */
static void take_no_data(struct pith_quantize_opts *o)
{
    o->data = NULL;
    o->feed = NULL;
    o->rounding = PITH_ROUND_NEAREST;
    o->bias_correct = false;
    o->keep_biases = true;
}

static uint32_t trial_samples(const struct allocation *k)
{
    const struct pith_feed *feed = k->request->samples->feed;
    return feed && feed->n_states > 0 ? FEW_STEPS : FEW;
}

/* k->m becomes the network with all layers float but layer i. */
static enum pith_status make_alone(struct allocation *k, uint32_t i)
{
    struct pith_quantize_opts o = k->opts;
    const char **keep = malloc((k->n_candidates + (size_t)1) * sizeof *keep);
    enum pith_status st = keep ? PITH_OK : pith_error_no_memory(k->err);
    o.n_keep = 0;
    for (uint32_t l = 0; l < k->n_candidates && !st; l++) {
        if (l == i)
            continue;
        keep[o.n_keep] = pith_weight_pattern(k->m, k->candidate[l].name);
        st = keep[o.n_keep++] ? PITH_OK : pith_error_no_memory(k->err);
    }
    o.keep = keep;
    o.same_numbers = true;
    take_no_data(&o);
    *k->m = k->before;
    if (!st)
        st = pith_quantize(k->m, &o, k->trial, &k->n_trial, k->err);
    free(keep);
    return st;
}

/* *noise: relative to the outputs, where layer i alone computes with integers. trial: NULL where
 * the network has to run from its beginning. */
static enum pith_status try_alone(struct allocation *k, uint32_t i, struct layer_trial *trial,
                                  double little, double *noise)
{
    enum pith_status st = make_alone(k, i);
    *noise = 0;
    if (st) /* alone it cannot be; so nothing is known */
        return st == PITH_ERR_UNSUPPORTED ? PITH_OK : st;
    st = trial ? pith_layer_trial_run(trial, k->m, little, noise, k->err) : PITH_ERR_UNSUPPORTED;
    if (st != PITH_ERR_UNSUPPORTED)
        return st;
    st = measure(k, k->m, trial_samples(k), false);
    if (!st)
        *noise = fmin(pith_sqnr_noise(&k->answers) / k->answers.all.signal, 1);
    return st == PITH_ERR_UNSUPPORTED ? PITH_OK : st;
}

static const struct pith_node *node_of(const struct allocation *k, const char *name)
{
    for (uint32_t i = 0; i < k->before.n_nodes; i++)
        if (strcmp(name_of(&k->before, &k->before.nodes[i]), name) == 0)
            return &k->before.nodes[i];
    return NULL;
}

/* Multiplications of a layer with weights. */
static double products_of(const struct pith_model *m, const struct pith_node *node)
{
    const struct pith_value *w = &m->values[node->in[1]];
    return (double)pith_value_elems(&m->values[node->out[0]]) * (double)w->constant->count /
           w->dim[0];
}

static double products_of_all(const struct pith_model *m)
{
    double sum = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (pith_has_weight(m, &m->nodes[i]))
            sum += products_of(m, &m->nodes[i]);
    return sum;
}

/* HUGE_VAL: it cannot be bought. */
static double price_of(const struct allocation *k, const char *name)
{
    const struct pith_model *m = &k->before;
    const struct pith_node *node = node_of(k, name);
    if (!node || !pith_has_weight(m, node))
        return HUGE_VAL;
    return products_of(m, node) + PASSES * ((double)pith_value_elems(&m->values[node->in[0]]) +
                                            (double)pith_value_elems(&m->values[node->out[0]]));
}

/* The depthwise layer that writes what the layer reads, itself or through activations. */
static uint32_t depthwise_before(const struct allocation *k, const char *name)
{
    const struct pith_model *m = &k->before;
    const struct pith_node *node = node_of(k, name);
    if (!node)
        return k->n_candidates;
    do
        node = pith_model_producer(m, node->in[0]);
    while (node && pith_op_is(node->op, TRAIT_CLAMPS));
    if (node && pith_has_weight(m, node) && pith_node_is_depthwise(m, node))
        for (uint32_t i = 0; i < k->n_candidates; i++)
            if (strcmp(k->candidate[i].name, name_of(m, node)) == 0)
                return i;
    return k->n_candidates;
}

static enum pith_status list_candidates(struct allocation *k)
{
    k->candidate = calloc(k->n_layers + (size_t)1, sizeof *k->candidate);
    if (!k->candidate)
        return pith_error_no_memory(k->err);
    for (uint32_t i = 0; i < k->n_layers; i++) {
        const char *name = k->layer[i].why ? NULL : float_name(k, k->layer[i].layer);
        if (!name && !k->layer[i].why)
            return pith_error_no_memory(k->err);
        for (uint32_t l = 0; l < k->n_candidates && name; l++)
            if (strcmp(k->candidate[l].name, name) == 0)
                name = NULL; /* another part of it */
        if (name)
            k->candidate[k->n_candidates++].name = name;
    }
    return PITH_OK;
}

static enum pith_status try_each(struct allocation *k)
{
    const struct pith_stage_context *context = k->request->context;
    struct layer_trial trial = {0};
    enum pith_status st = list_candidates(k), back;
    if (!st)
        st = pith_held_out_pick(k->request->held, PART_HELD, k->err);
    if (!st)
        st = pith_layer_trial_open(&trial, &k->before, k->request->samples, trial_samples(k),
                                   k->err);
    const bool can = !st;
    const double share = noise_now(k) / k->answers.all.signal,
                 little = isfinite(share) ? LEAST * share : 0;
    double most = HUGE_VAL; /* price that a layer is tried for */
    if (pith_sqnr_db(&k->answers) >= PITH_KEEP_FLOOR_DB)
        most = SHARE * products_of_all(&k->before);
    back = pith_held_out_pick(k->request->held, PART_FITTED, k->err);
    st = st && st != PITH_ERR_UNSUPPORTED ? st : back;
    for (uint32_t i = 0; i < k->n_candidates && !st; i++) {
        struct candidate *c = &k->candidate[i];
        c->price = price_of(k, c->name);
        if (c->price <= most)
            st = try_alone(k, i, can ? &trial : NULL, little, &c->gain);
        c->before = depthwise_before(k, c->name);
        if (!st && context->stop && context->stop(context->user))
            st = pith_error_fill(k->err, PITH_ERR_ARGUMENT, "interrupted");
    }
    pith_layer_trial_close(&trial);
    return st;
}

/* ---- the allocation -------------------------------------------------------------------------- */

static double gain_of_all(const struct allocation *k)
{
    double sum = 0;
    for (uint32_t i = 0; i < k->n_candidates; i++)
        sum += k->candidate[i].gain;
    return sum;
}

/* With the depthwise layer that goes along. */
static struct candidate whole_of(const struct allocation *k, uint32_t i)
{
    struct candidate c = k->candidate[i];
    if (c.before < k->n_candidates) {
        c.gain += k->candidate[c.before].gain;
        c.price += k->candidate[c.before].gain > 0 ? k->candidate[c.before].price : 0;
    }
    return c;
}

/* The most gain, above `least`, for its price that may be paid; n_candidates: none. */
static uint32_t worth_most(const struct allocation *k, double least, double budget)
{
    uint32_t best = k->n_candidates;
    for (uint32_t i = 0; i < k->n_candidates; i++) {
        const struct candidate c = whole_of(k, i);
        if (k->candidate[i].gain > 0 && c.gain > least && c.price <= budget &&
            (best == k->n_candidates ||
             c.gain * whole_of(k, best).price > whole_of(k, best).gain * c.price))
            best = i;
    }
    return best;
}

/* The costliest, if without it the rest would cost that much less; else none. */
static uint32_t costliest(const struct allocation *k)
{
    const double total = gain_of_all(k);
    uint32_t worst = k->n_candidates;
    for (uint32_t i = 0; i < k->n_candidates; i++)
        if (k->candidate[i].gain > 0 &&
            (worst == k->n_candidates || k->candidate[i].gain > k->candidate[worst].gain))
            worst = i;
    const bool enough =
        worst < k->n_candidates &&
        (total - k->candidate[worst].gain) * pow(10, PITH_KEEP_GAIN_DB / 10) < total;
    return enough ? worst : k->n_candidates;
}

/* What a step adds to the options. */
struct step {
    struct pith_quantize_opts opts;
    uint32_t taken[PITH_STAGE_LAYERS], n; /* candidates */
};

static bool add_pattern(struct allocation *k, struct step *s, uint32_t i)
{
    const char *pattern = pith_weight_pattern(k->m, k->candidate[i].name);
    k->keep[s->opts.n_keep++] = pattern;
    s->taken[s->n++] = i;
    k->candidate[i].gain = 0;
    return pattern != NULL;
}

static enum pith_status take(struct allocation *k, struct step *s, uint32_t i)
{
    const uint32_t before = k->candidate[i].before;
    bool ok = true;
    if (before < k->n_candidates && k->candidate[before].gain > 0)
        ok = add_pattern(k, s, before);
    return ok && add_pattern(k, s, i) ? PITH_OK : pith_error_no_memory(k->err);
}

/* As many as are expected to bring WANTED_DB. */
static enum pith_status take_worthy(struct allocation *k, struct step *s, double db)
{
    const double total = gain_of_all(k);
    double budget = SHARE * products_of_all(&k->before);
    enum pith_status st = PITH_OK;
    while (!st && s->n + 2 <= PITH_STAGE_LAYERS / 2 &&
           db + 10 * log10(total / gain_of_all(k)) < WANTED_DB) {
        const uint32_t i = worth_most(k, LEAST * gain_of_all(k), budget);
        if (i == k->n_candidates)
            break;
        budget -= whole_of(k, i).price;
        st = take(k, s, i);
    }
    return st;
}

/* Those kept say why. db: without them. */
static enum pith_status explain(struct allocation *k, const struct step *s, double db)
{
    char text[96];
    snprintf(text, sizeof text, "kept: as integers the outputs had %.1f dB", db);
    char *why = pith_model_strdup(k->m, text);
    for (uint32_t i = 0; i < s->n && why; i++)
        for (uint32_t l = 0; l < k->n_trial; l++)
            if (strcmp(k->trial[l].layer, k->candidate[s->taken[i]].name) == 0)
                k->trial[l].why = why;
    return why ? PITH_OK : pith_error_no_memory(k->err);
}

/* Quantized and measured with what the step adds. *better: and so it stays. */
static enum pith_status try_step(struct allocation *k, struct step *s, double gain_db,
                                 struct pith_stage_report *r, bool *better)
{
    struct pith_model best = *k->m;
    const double db = r->loss.output_db;
    s->opts.keep = k->keep;
    keep_rounded(k, r);
    enum pith_status st = quantize(k, &s->opts, UINT64_MAX);
    *better = !st && pith_sqnr_db(&k->answers) > db + gain_db;
    if (!*better) {
        *k->m = best;
        return st == PITH_ERR_UNSUPPORTED ? PITH_OK : st; /* nothing is left to quantize */
    }
    st = explain(k, s, db);
    memcpy(k->layer, k->trial, k->n_trial * sizeof *k->layer);
    k->n_layers = k->n_trial;
    k->opts = s->opts;
    take_measured(k, r);
    r->n_kept_float += s->n;
    return st;
}

static enum pith_status allocate(struct allocation *k, struct pith_stage_report *r)
{
    struct step s = {.opts = k->opts};
    struct pith_model best = *k->m;
    enum pith_status st = try_each(k);
    *k->m = best;
    bool better = true;
    if (!st && k->request->may_buy)
        st = take_worthy(k, &s, r->loss.output_db);
    if (!st && s.n > 0)
        st = try_step(k, &s, 0, r, &better);
    for (uint32_t n = 0;
         !st && better && n < PITH_KEEP_MOST && r->loss.output_db < PITH_KEEP_FLOOR_DB; n++) {
        const uint32_t i = costliest(k);
        if (i == k->n_candidates)
            break;
        s = (struct step){.opts = k->opts};
        st = take(k, &s, i);
        if (!st)
            st = try_step(k, &s, PITH_KEEP_GAIN_DB, r, &better);
    }
    r->n_layers = k->n_layers;
    return st;
}

static enum pith_status fold(struct allocation *k)
{
    enum pith_status st = pith_model_fold_batch_norm(k->m, NULL, k->err);
    if (!st)
        st = pith_fold_affine(k->m, k->err);
    if (!st)
        st = pith_transpose_weights(k->m, &k->opts, k->err);
    k->before = *k->m;
    k->keep = calloc(k->opts.n_keep + 2u * PITH_STAGE_LAYERS, sizeof *k->keep);
    k->trial = calloc(PITH_QUANTIZE_PARTS * (k->before.n_nodes + (size_t)1), sizeof *k->trial);
    if (!st && (!k->keep || !k->trial || pith_sqnr_open(&k->answers, k->m)))
        st = pith_error_no_memory(k->err);
    for (uint32_t i = 0; i < k->opts.n_keep && !st; i++)
        k->keep[i] = k->opts.keep[i];
    return st;
}

/* ---- storing what is kept -------------------------------------------------------------------- */

/* The file's bytes if nothing stayed float for what it costs; what stays for other reasons is
 * stored as it is now. Rounded to nearest, which takes as many, but for biases that correction
 * gives to layers without. */
static enum pith_status count_integer_bytes(struct allocation *k, struct pith_stage_report *r)
{
    struct pith_model m = k->before;
    struct pith_quantize_opts o = k->opts;
    struct pith_buffer file = {0};
    o.n_keep = k->n_requested;
    take_no_data(&o);
    enum pith_status st = pith_quantize(&m, &o, NULL, NULL, k->err);
    if (!st)
        st = pith_model_pack(&m, NULL, &file, k->err);
    r->integer_bytes = st ? 0 : file.bytes;
    pith_buffer_free(&file);
    return st == PITH_ERR_UNSUPPORTED ? PITH_OK : st; /* the size of the file is unknown */
}

/* What the outputs may be with codebooks. */
struct codebook_limits {
    double most_noise;
    uint64_t changed; /* predictions without codebooks */
};

static bool is_within(const struct allocation *k, const struct codebook_limits *l)
{
    return noise_now(k) <= l->most_noise && changed_now(k) <= l->changed;
}

static enum pith_status give_codebook(struct allocation *k, struct candidate *c)
{
    const struct pith_const *w = k->m->values[c->value].constant;
    const size_t bytes = (size_t)w->count * sizeof(float);
    c->was = malloc(bytes);
    if (!c->was)
        return pith_error_no_memory(k->err);
    memcpy(c->was, w->data, bytes);
    return pith_store_codebook(k->m, c->value, k->err);
}

static void take_codebook(struct allocation *k, struct candidate *c)
{
    struct pith_const *w = k->m->values[c->value].constant;
    memcpy(w->data, c->was, (size_t)w->count * sizeof(float));
    w->codebook = NULL;
    w->stored = PITH_F16;
    free(c->was);
    c->was = NULL;
}

/* Tables of a Gather are read, not multiplied with: they are no layers. */
static enum pith_status list_codebooks(struct allocation *k)
{
    struct pith_weight_ref *refs = calloc(k->m->n_nodes + (size_t)1, sizeof *refs);
    const uint32_t n = refs ? pith_model_weights(k->m, refs) : 0;
    free(k->candidate);
    k->candidate = calloc(n + (size_t)1, sizeof *k->candidate);
    k->n_candidates = 0;
    for (uint32_t i = 0; i < n && k->candidate; i++) {
        const struct pith_const *w = k->m->values[refs[i].value].constant;
        if (pith_op_has_weight(refs[i].op) && pith_may_store_codebook(w))
            k->candidate[k->n_candidates++] = (struct candidate){
                .value = refs[i].value, .gain = (double)w->count, .before = UINT32_MAX};
    }
    const bool room = refs && k->candidate;
    free(refs);
    return room ? PITH_OK : pith_error_no_memory(k->err);
}

static enum pith_status try_all_codebooks(struct allocation *k, const struct codebook_limits *l,
                                          bool *stay)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < k->n_candidates && !st; i++)
        st = give_codebook(k, &k->candidate[i]);
    if (!st)
        st = measure(k, k->m, UINT64_MAX, false);
    *stay = !st && is_within(k, l);
    for (uint32_t i = 0; i < k->n_candidates && !st && !*stay; i++)
        take_codebook(k, &k->candidate[i]);
    return st;
}

static enum pith_status price_codebooks(struct allocation *k, double noise)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < k->n_candidates && !st; i++) {
        st = give_codebook(k, &k->candidate[i]);
        if (!st)
            st = measure(k, k->m, UINT64_MAX, false);
        k->candidate[i].price = fmax(noise_now(k) - noise, 0);
        if (!st)
            take_codebook(k, &k->candidate[i]);
    }
    return st;
}

static enum pith_status allocate_codebooks(struct allocation *k, const struct codebook_limits *l,
                                           double noise)
{
    enum pith_status st = price_codebooks(k, noise);
    uint32_t i;
    while (!st && (i = worth_most(k, 0, l->most_noise - noise)) < k->n_candidates) {
        struct candidate *c = &k->candidate[i];
        st = give_codebook(k, c);
        if (!st)
            st = measure(k, k->m, UINT64_MAX, false);
        c->gain = 0;
        if (!st && is_within(k, l))
            noise = noise_now(k);
        else if (!st)
            take_codebook(k, c);
    }
    return st;
}

static enum pith_status store_codebooks(struct allocation *k, struct pith_stage_report *r)
{
    enum pith_status st = list_codebooks(k);
    bool all = false;
    if (!st && k->n_candidates > 0)
        st = measure(k, k->m, UINT64_MAX, false);
    const double noise = noise_now(k);
    const struct codebook_limits l = {
        fmax((1 + CODEBOOK_SHARE) * noise,
             k->answers.all.signal * pow(10, -CODEBOOK_ENOUGH_DB / 10)),
        changed_now(k)};
    if (!st && k->n_candidates > 0 && isfinite(noise)) {
        st = try_all_codebooks(k, &l, &all);
        if (!st && !all)
            st = allocate_codebooks(k, &l, noise);
    }
    for (uint32_t i = 0; i < k->n_candidates; i++) {
        if (!k->candidate[i].was)
            continue;
        const uint64_t n = k->m->values[k->candidate[i].value].constant->count;
        r->floats.n_codebooks++;
        r->floats.n_indexed += n;
        r->floats.n_narrow -= n;
        free(k->candidate[i].was);
    }
    return st;
}

static enum pith_status store_kept(struct allocation *k, struct pith_stage_report *r)
{
    struct pith_stored_floats stored = {0};
    enum pith_type type = k->request->floats ? k->request->floats : PITH_F16;
    if (type == PITH_F32)
        return PITH_OK;
    enum pith_status st = pith_store_floats(k->m, type, &stored, k->err);
    r->floats.type = type;
    r->floats.n_narrow = stored.n_numbers;
    r->floats.n_beyond = stored.n_beyond;
    if (!st && !k->request->floats)
        st = store_codebooks(k, r);
    if (!st)
        st = measure(k, k->m, UINT64_MAX, false);
    if (!st)
        take_measured(k, r);
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Where all integers cannot be, it is said by pith_quantize, so that goes first. */
enum pith_status pith_quantize_mixed(struct pith_model *m, const struct pith_quantize_opts *opts,
                                     const struct mixed_request *request,
                                     struct pith_stage_report *r, struct pith_error *err)
{
    struct allocation k = {.m = m,
                           .opts = *opts,
                           .request = request,
                           .n_requested = opts->n_keep,
                           .layer = r->quantize,
                           .err = err};
    k.opts.rounded = &k.rounded;
    enum pith_status st = fold(&k);
    if (!st)
        st = pith_quantize(m, &k.opts, r->quantize, &r->n_layers, err);
    k.n_layers = r->n_layers;
    if (!st)
        st = measure_float(&k);
    if (!st)
        st = measure(&k, m, UINT64_MAX, false);
    bool measured = !st;
    if (st == PITH_ERR_UNSUPPORTED && k.n_layers > 0)
        st = PITH_OK; /* quantized, and then no way to watch it */
    if (measured) {
        const double enough = request->may_buy ? ENOUGH_DB : PITH_KEEP_FLOOR_DB;
        take_measured(&k, r);
        if (r->loss.output_db < enough && request->may_keep && k.n_layers <= PITH_KEEP_TRIED)
            st = allocate(&k, r);
    }
    if (!st && r->n_kept_float > 0)
        st = store_kept(&k, r);
    if (!st && r->n_kept_float > 0)
        st = count_integer_bytes(&k, r);
    if (st)
        *m = k.before;
    pith_sqnr_close(&k.answers);
    pith_rounded_free(&k.rounded);
    free(k.keep);
    free(k.candidate);
    free(k.trial);
    return st;
}
