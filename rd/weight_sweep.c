/* SPDX-License-Identifier: MIT */
/* weight_sweep.c - two walks through the samples, of the network as it came and as it becomes; at
 * each layer both stop. */
#include "weight_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layers/layer_round.h"
#include "layers/network_pair.h"
#include "layer_support.h"
#include "base/error_fill.h"
#include "base/narrow_float.h"
#include "numeric/error_feedback.h"
#include "model/plain_copy.h"
#include "step_choice.h"
#include "sweep_options.h"
#include "weight_store.h"

#define MEMORY_BYTES (UINT64_C(20) << 20)
#define PATHS 16u
#define TRELLIS_PATHS 32u   /* twice as many with 16 states */
#define TRELLIS_COLUMNS 16u /* of a row, so that a trellis gains something behind its beginning */
/* Bits of a weight from which on it pays: where nearly all weights are 0, adaptive streams code
 * where the others are by rows and columns, and levels of a trellis have no such places. (LeNet-5
 * at 0.4 bits: 21,080 bytes without, 32,905 with a trellis, by their counts 21,501 and 24,119.) */
#define TRELLIS_BITS 1.0
/* Damping makes steps finer where the Hessian is poorly estimated, by at most this
 * factor. (At equal KL 9 % of ResNet-20's bytes with 32 pictures.)
 */
#define FINER 2.0
#define SPARSE 0.25

struct sweep {
    const struct pith_model *was;
    struct pith_model *now;
    struct pith_weight_sweep_opts opts;
    struct recorded_feed *feed;
    struct network_pair pair;
    uint32_t *uses;   /* [n_values] */
    bool *done;       /* [n_values] constants that have a grid or halves */
    bool *is_last;    /* [n_nodes] no other weight is behind it */
    uint64_t answers; /* rows of the last weights, the most */
    struct pith_error *err;
};

/* A layer while it is swept. */
struct layer {
    const struct pith_weight_ref *ref;
    struct pith_const *weight;
    uint32_t bias;  /* value that is its own, constant; PITH_VALUE_NONE */
    const float *w; /* [rows, n] as it came */
    size_t n;
    uint32_t blocks; /* of columns: factor.groups of them, of factor.n columns each */
    bool data_free, by_row;
    uint32_t states; /* of its trellis; 0: none */
    struct layer_factor factor;
    double *mean[2]; /* [groups, n] of inputs now, before; NULL: data-free */
    double *loss;    /* [rows] of a squared error of its results */
    double *step;    /* [rows] */
    double *shift;   /* [rows] that the bias is to make up for */
    int16_t *q;      /* [rows, n] */
    /* Rows of one block after another: [blocks, rows, n / blocks]. */
    float *cut;
    double *cut_loss, *cut_step;
    struct layer_round round;
    struct row_coupling coupling;
    struct layer_support support;
};

/* ---- which layers ---------------------------------------------------------------------------- */

static void note_answers(struct sweep *s, const struct pith_node *node)
{
    const uint64_t rows = s->was->values[pith_node_weight(s->was, node)].dim[0];
    s->answers = rows > s->answers ? rows : s->answers;
}

/* feeds: whether some weight is behind a value. */
static void find_last(struct sweep *s, bool *feeds)
{
    const struct pith_model *m = s->was;
    for (uint32_t i = m->n_nodes; i-- > 0;) {
        const struct pith_node *node = &m->nodes[i];
        bool behind = false, weighs = pith_node_weight(m, node) != PITH_VALUE_NONE;
        for (uint32_t k = 0; k < node->n_out; k++)
            behind = behind || feeds[node->out[k]];
        s->is_last[i] = weighs && !behind;
        if (s->is_last[i])
            note_answers(s, node);
        for (uint32_t k = 0; k < node->n_in; k++)
            if (node->in[k] != PITH_VALUE_NONE)
                feeds[node->in[k]] = feeds[node->in[k]] || behind || weighs;
    }
}

/* 0: its weight has no moments. */
static uint32_t blocks_of(const struct sweep *s, const struct pith_weight_ref *ref)
{
    return s->uses[ref->value] == 1 && !(s->opts.without & PITH_SWEEP_NO_STATISTICS)
               ? pith_layer_blocks(s->was, &s->was->nodes[ref->node])
               : 0;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* How a row's places are ordered, as pith_layer_factor has it. */
static size_t window_of(const struct layer *l)
{
    if (l->states)
        return 0;
    return l->support.pattern ? pith_support_window(l->support.pattern, l->n, l->blocks) : 1;
}

static enum pith_status find_moments(struct sweep *s, struct layer *l, struct layer_moments *stats)
{
    const uint32_t node = l->ref->node;
    const struct moments_opts o = {.sensitivity = s->opts.sensitivity,
                                   .weight = l->ref->value,
                                   .place_share = s->opts.place_share,
                                   .centre = l->bias == PITH_VALUE_NONE ? 0 : PITH_BIAS_SHARE,
                                   .runtime = s->opts.runtime};
    enum pith_status status = PITH_OK;
    *stats = (struct layer_moments){0};
    if (!l->data_free)
        status = pith_network_pair_moments(
            &s->pair, node, pith_layer_walk_body(s->pair.walk[1], node), &o, stats, s->err);
    if (!status && !stats->n) {
        l->data_free = true;
        l->blocks = 1;
        *stats = pith_layer_moments_none(l->n);
    }
    return status;
}

/* As if inputs had been what they are now. */
static void forget_original(struct layer_moments *stats)
{
    free(stats->cross);
    stats->cross = NULL;
    memcpy(stats->mean[1], stats->mean[0], stats->groups * stats->n * sizeof **stats->mean);
}

static enum pith_status find_factor(struct sweep *s, struct layer *l)
{
    struct layer_moments stats;
    enum pith_status status = find_moments(s, l, &stats);
    if (!status && !l->data_free && s->opts.without & PITH_SWEEP_NO_CORRECTION)
        forget_original(&stats);
    if (!status)
        status = pith_layer_factor(&stats, l->bias == PITH_VALUE_NONE ? 0 : PITH_BIAS_SHARE,
                                   pith_layer_damping(&stats), window_of(l), &l->factor, s->err);
    for (int i = 0; i < 2; i++) {
        l->mean[i] = stats.mean[i];
        stats.mean[i] = NULL;
    }
    pith_layer_moments_end(&stats);
    return status;
}

/* Of a row: what its group has, or all blocks have together. */
static double trace_of(const struct layer *l, uint64_t row)
{
    const struct layer_factor *f = &l->factor;
    double sum = 0;
    if (l->blocks == 1)
        return f->trace[row / (l->ref->rows / f->groups)];
    for (uint32_t b = 0; b < l->blocks; b++)
        sum += f->trace[b];
    return sum;
}

static double noise_of(const struct layer *l, uint64_t row)
{
    const struct layer_factor *f = &l->factor;
    double sum = 0;
    if (l->blocks == 1)
        return f->noise[row / (l->ref->rows / f->groups)];
    for (uint32_t b = 0; b < l->blocks; b++)
        sum += f->noise[b] / l->blocks;
    return sum;
}

/* ---- sensitivity of the loss ----------------------------------------------------------------- */

/* Without Fisher information: unit sensitivity, a nat for each layer's results. */
static void guess_loss(const struct layer *l)
{
    const uint64_t rows = l->ref->rows;
    double power = 0;
    for (uint64_t i = 0; i < rows * l->n; i++)
        power += (double)l->w[i] * (double)l->w[i];
    for (uint64_t row = 0; row < rows; row++) {
        double trace = trace_of(l, row) / (double)l->n;
        l->loss[row] = power > 0 && trace > 0 ? 1 / (power * trace) : 1;
    }
}

static void find_loss(const struct sweep *s, struct layer *l)
{
    const struct pith_sensitivity *known = s->opts.sensitivity;
    const uint64_t rows = l->ref->rows;
    double all = 0;
    if (known && known->of[l->ref->value].rows == rows)
        for (uint64_t row = 0; row < rows; row++)
            all += l->loss[row] = known->of[l->ref->value].row[row];
    if (!(all > 0) || !isfinite(all)) {
        guess_loss(l);
        return;
    }
    pith_step_shrink(l->loss, rows, known->n_samples, s->is_last[l->ref->node]);
    for (uint64_t row = 0; row < rows; row++) {
        const double trace = trace_of(l, row), damping = l->factor.damping;
        l->loss[row] /= (trace > 0 ? trace : 1) * (1 + damping) / (1 + fmin(damping, FINER));
    }
}

/* Not those of the last layer, of whose classes few samples have any. Nor where a sample has one
 * place, so that it has one gradient and one input: what is common to these is chance. */
static enum pith_status couple_rows(const struct sweep *s, struct layer *l)
{
    const struct pith_sensitivity *known = s->opts.sensitivity;
    const struct pith_row_sensitivity *of = known ? &known->of[l->ref->value] : NULL;
    const bool can = of && of->rows == l->ref->rows && of->n_places > 1 && l->blocks == 1 &&
                     l->factor.groups == 1 && l->factor.u && !s->is_last[l->ref->node] &&
                     !(s->opts.without & PITH_SWEEP_NO_COUPLING);
    return can ? pith_row_coupling_open(known, l->ref->value, s->answers, l->loss, &l->coupling,
                                        s->err)
               : PITH_OK;
}

/* The largest integer. */
static int32_t levels_of(const struct sweep *s)
{
    return s->opts.levels ? (int32_t)(s->opts.levels - 1) / 2 : RATE_MOST;
}

/* Of a weight, by the counts of what is nearest. */
static double bits_of_nearest(const struct layer *l)
{
    const uint64_t rows = l->ref->rows;
    struct rate_table rate = {0};
    for (uint64_t row = 0; row < rows; row++)
        for (size_t k = 0; k < l->n; k++) {
            double q = nearbyint((double)l->w[row * l->n + k] / l->step[row]);
            const int16_t one = (int16_t)fmin(fmax(q, -RATE_MOST), RATE_MOST);
            pith_rate_count(&rate, &one, 1);
        }
    pith_rate_finish(&rate);
    return rate.total / ((double)rows * (double)l->n);
}

/* Steps of a trellis, if it has any; its integers reach half as far. */
static bool trellis_pays(struct layer *l, const struct step_choice *plain)
{
    struct step_choice c = *plain;
    c.trellis = true;
    if (bits_of_nearest(l) < TRELLIS_BITS)
        return false;
    l->by_row = pith_step_choose(&c, l->step);
    return pith_step_reach(&c, l->by_row, l->step);
}

static enum pith_status choose_steps(const struct sweep *s, struct layer *l)
{
    const uint64_t rows = l->ref->rows;
    double *loss = malloc((size_t)rows * sizeof *loss), *most = calloc((size_t)rows, sizeof *most);
    for (uint64_t row = 0; row < rows && loss && most; row++) {
        loss[row] = l->loss[row] * noise_of(l, row);
        for (size_t k = 0; k < l->n; k++)
            most[row] = fmax(most[row], fabs((double)l->w[row * l->n + k]));
    }
    struct step_choice c = {.rows = rows,
                            .n = l->n,
                            .lambda = s->opts.lambda,
                            .loss = loss,
                            .most = most,
                            .levels = levels_of(s),
                            .cut = s->opts.levels ? l->w : NULL,
                            .by_row = s->opts.steps == PITH_SWEEP_STEPS_AUTO
                                          ? -1
                                          : s->opts.steps == PITH_SWEEP_STEPS_ROW};
    if (loss && most) {
        l->by_row = pith_step_choose(&c, l->step);
        if (l->states && !trellis_pays(l, &c)) {
            l->states = 0;
            l->by_row = pith_step_choose(&c, l->step);
        }
    }
    free(loss);
    free(most);
    return loss && most ? PITH_OK : pith_error_no_memory(s->err);
}

/* ---- the bias -------------------------------------------------------------------------------- */

static void find_shift(const struct layer *l)
{
    const uint64_t rows = l->ref->rows, each = rows / (l->factor.groups / l->blocks);
    for (uint64_t row = 0; row < rows; row++) {
        const double *now = l->mean[0] + row / each * l->n, *was = l->mean[1] + row / each * l->n;
        l->shift[row] = 0;
        for (size_t k = 0; k < l->n; k++)
            l->shift[row] += (double)l->w[row * l->n + k] * was[k] -
                             l->step[row] * l->q[row * l->n + k] * now[k];
    }
}

static uint32_t own_bias(const struct sweep *s, const struct pith_weight_ref *ref)
{
    const uint32_t v = pith_weight_bias(s->was, ref->value);
    const struct pith_const *c = v == PITH_VALUE_NONE ? NULL : s->now->values[v].constant;
    return c && s->now->values[v].type == PITH_F32 && c->count == ref->rows ? v : PITH_VALUE_NONE;
}

static void store_halves(struct pith_const *c)
{
    float *b = c->data;
    for (uint64_t i = 0; i < c->count; i++)
        b[i] = pith_narrow_round(PITH_F16, b[i]);
    c->stored = PITH_F16;
}

/* By the same rule as a weight's steps: its inputs are all 1. */
static enum pith_status store_vector(const struct sweep *s, uint32_t v)
{
    const struct pith_sensitivity *known = s->opts.sensitivity;
    struct pith_const *c = s->now->values[v].constant;
    const float *b = c->data;
    double most = 0, loss = 0;
    for (uint64_t i = 0; i < c->count; i++)
        most = fmax(most, fabs((double)b[i]));
    for (uint64_t i = 0; known && i < known->of[v].rows; i++)
        loss += known->of[v].row[i] / (double)c->count;
    s->done[v] = true;
    double step = loss > 0 ? sqrt(12 * s->opts.lambda / (log(2) * loss)) : 0;
    if (!(step * RATE_MOST > most)) {
        store_halves(c);
        return PITH_OK;
    }
    int16_t *q = malloc((size_t)c->count * sizeof *q);
    for (uint64_t i = 0; i < c->count && q; i++)
        q[i] = (int16_t)nearbyint((double)b[i] / step);
    enum pith_status status =
        q ? pith_weight_store(s->now, c, q, &step, 1, false) : PITH_ERR_MEMORY;
    free(q);
    return status ? pith_error_no_memory(s->err) : PITH_OK;
}

static enum pith_status store_bias(const struct sweep *s, const struct layer *l)
{
    float *b = s->now->values[l->bias].constant->data;
    for (uint64_t i = 0; i < l->ref->rows; i++)
        b[i] += (float)l->shift[i];
    return store_vector(s, l->bias);
}

/* ---- a layer --------------------------------------------------------------------------------- */

static enum pith_status refit(const struct sweep *s, struct layer *l)
{
    double by;
    if (l->by_row || s->opts.without & PITH_SWEEP_NO_REFIT)
        return PITH_OK;
    enum pith_status status = pith_layer_refit(&l->round, &by, s->err);
    for (uint64_t row = 0; row < l->ref->rows && !status; row++)
        l->step[row] = (double)(float)(l->step[row] * by);
    return status;
}

/* A pruned weight, whose zeros take few bits. */
static bool is_sparse(const struct layer *l)
{
    const uint64_t n = l->ref->rows * l->n;
    uint64_t zeros = 0;
    for (uint64_t i = 0; i < n; i++)
        zeros += !(l->w[i] < 0 || l->w[i] > 0);
    return (double)zeros > SPARSE * (double)n;
}

/* Where column k of a row is among rows of blocks. */
static size_t cut_place(const struct layer *l, uint64_t row, size_t k)
{
    const size_t n = l->factor.n;
    return (k / n * (size_t)l->ref->rows + (size_t)row) * n + k % n;
}

static enum pith_status cut_rows(const struct sweep *s, struct layer *l)
{
    const size_t rows = (size_t)l->ref->rows;
    l->cut = malloc(rows * l->n * sizeof *l->cut);
    l->cut_loss = malloc(rows * l->blocks * sizeof *l->cut_loss);
    l->cut_step = malloc(rows * l->blocks * sizeof *l->cut_step);
    if (!l->cut || !l->cut_loss || !l->cut_step)
        return pith_error_no_memory(s->err);
    for (size_t i = 0; i < rows * l->n; i++)
        l->cut[cut_place(l, i / l->n, i % l->n)] = l->w[i];
    for (size_t i = 0; i < rows * l->blocks; i++) {
        l->cut_loss[i] = l->loss[i % rows];
        l->cut_step[i] = l->step[i % rows];
    }
    l->round.rows = rows * l->blocks;
    l->round.w = l->cut;
    l->round.loss = l->cut_loss;
    l->round.step = l->cut_step;
    return PITH_OK;
}

static enum pith_status join_rows(const struct sweep *s, struct layer *l)
{
    const size_t count = (size_t)l->ref->rows * l->n;
    l->q = malloc(count * sizeof *l->q);
    for (size_t i = 0; i < count && l->q; i++)
        l->q[i] = l->round.q[cut_place(l, i / l->n, i % l->n)];
    return l->q ? PITH_OK : pith_error_no_memory(s->err);
}

/* What a weight's bits are worth, and the error that it is rounded with by such a step. */
static double price_of(const struct sweep *s, const struct layer *l)
{
    return s->opts.lambda * (bits_of_nearest(l) + 0.5 / log(2));
}

static enum pith_status choose_support(const struct sweep *s, struct layer *l)
{
    const struct supported_layer of = {.factor = &l->factor,
                                       .rows = l->round.rows,
                                       .weight_rows = l->ref->rows,
                                       .weight_cols = l->n,
                                       .blocks = l->blocks,
                                       .w = l->round.w,
                                       .weight = l->w,
                                       .loss = l->round.loss,
                                       .keep_zeros = l->round.keep_zeros,
                                       .runtime = s->opts.runtime};
    l->support.price = l->support.pattern ? price_of(s, l) : 0;
    enum pith_status status = pith_support_choose(&l->support, &of, s->err);
    l->round.kept = l->support.kept;
    l->round.choose_kept = l->support.windows.factor ? pith_support_row : NULL;
    l->round.choice = &l->support;
    return status;
}

static enum pith_status round_rows(const struct sweep *s, struct layer *l)
{
    l->round = (struct layer_round){.factor = &l->factor,
                                    .rows = l->ref->rows,
                                    .w = l->w,
                                    .loss = l->loss,
                                    .step = l->step,
                                    .lambda = s->opts.lambda * s->opts.rate_share,
                                    .keep_zeros = is_sparse(l),
                                    .own_factors = true,
                                    .lowest = -levels_of(s),
                                    .most = levels_of(s),
                                    .states = l->states,
                                    .paths = s->opts.paths ? s->opts.paths
                                             : l->states   ? TRELLIS_PATHS * (l->states > 8 ? 2 : 1)
                                                           : PATHS,
                                    .coupling = l->coupling.compensation ? &l->coupling : NULL,
                                    .runtime = s->opts.runtime};
    enum pith_status status = cut_rows(s, l);
    if (!status)
        status = pith_layer_targets(&l->factor, l->round.w, l->round.rows, s->opts.runtime, s->err);
    if (!status)
        status = choose_support(s, l);
    if (!status)
        status = pith_layer_round(&l->round, s->err);
    if (!status)
        status = refit(s, l);
    return status ? status : join_rows(s, l);
}

static enum pith_status store(const struct sweep *s, struct layer *l)
{
    if (pith_weight_store(s->now, l->weight, l->q, l->step, l->by_row ? l->ref->rows : 1,
                          l->support.pattern != NULL))
        return pith_error_no_memory(s->err);
    s->done[l->ref->value] = true;
    if (l->bias == PITH_VALUE_NONE)
        return PITH_OK;
    if (!l->data_free)
        find_shift(l);
    return store_bias(s, l);
}

static bool open_layer(const struct sweep *s, const struct pith_weight_ref *ref, struct layer *l)
{
    const size_t rows = (size_t)ref->rows;
    *l = (struct layer){.ref = ref,
                        .weight = s->now->values[ref->value].constant,
                        .w = s->was->values[ref->value].constant->data,
                        .n = (size_t)ref->cols,
                        .blocks = blocks_of(s, ref),
                        .loss = calloc(rows, sizeof *l->loss),
                        .step = calloc(rows, sizeof *l->step),
                        .shift = calloc(rows, sizeof *l->shift)};
    l->data_free = l->blocks == 0;
    l->blocks += l->data_free;
    if (pith_sweep_has_pattern(&s->opts) &&
        pith_prune_leaves(s->was, ref, &s->opts.pattern, NULL) == PITH_PRUNE_TAKEN)
        l->support.pattern = &s->opts.pattern;
    /* A trellis goes through a row whole. */
    const bool can = l->blocks == 1 && l->n >= TRELLIS_COLUMNS && !l->support.pattern;
    l->states = can && !s->opts.levels ? s->opts.states : 0;
    l->bias = own_bias(s, ref);
    return l->loss && l->step && l->shift;
}

static void close_layer(struct layer *l)
{
    pith_layer_factor_end(&l->factor);
    pith_row_coupling_close(&l->coupling);
    pith_support_close(&l->support);
    free(l->mean[0]);
    free(l->mean[1]);
    free(l->loss);
    free(l->step);
    free(l->shift);
    free(l->q);
    free(l->cut);
    free(l->cut_loss);
    free(l->cut_step);
    free(l->round.q);
    free(l->round.error);
}

static enum pith_status sweep_layer(struct sweep *s, struct layer *l)
{
    enum pith_status status = find_factor(s, l);
    if (!status) {
        find_loss(s, l);
        status = couple_rows(s, l);
    }
    if (!status)
        status = choose_steps(s, l);
    if (!status)
        status = round_rows(s, l);
    /* What is large is not needed any more. */
    free(l->factor.u);
    free(l->factor.target);
    l->factor.u = l->factor.target = NULL;
    return status ? status : store(s, l);
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool report_layer(const struct sweep *s, const struct layer *l,
                         struct pith_swept_layer *swept, struct pith_weight_sweep_report *report)
{
    const uint64_t rows = l->ref->rows;
    swept->layer = l->ref->layer;
    swept->weights = rows * l->n;
    swept->bits = l->round.bits;
    swept->by_row = l->by_row;
    swept->data_free = l->data_free;
    for (uint64_t row = 0; row < l->round.rows; row++)
        swept->loss += 0.5 * l->round.loss[row] * l->round.error[row];
    for (uint64_t row = 0; row < rows; row++)
        swept->step += log(l->step[row]) / (double)rows;
    swept->step = exp(swept->step);
    report->n_layers++;
    report->n_data_free += l->data_free;
    report->weights += swept->weights;
    report->bits += swept->bits;
    report->loss += swept->loss;
    return (!s->opts.on_layer || s->opts.on_layer(s->opts.user, swept)) &&
           (!s->opts.stop || !s->opts.stop(s->opts.user));
}

static enum pith_status sweep_layers(struct sweep *s, struct pith_weight_sweep_report *report)
{
    struct pith_weight_ref *refs = malloc((s->was->n_nodes + (size_t)1) * sizeof *refs);
    uint32_t n = refs ? pith_model_weights(s->was, refs) : 0;
    enum pith_status status = refs ? PITH_OK : pith_error_no_memory(s->err);
    for (uint32_t i = 0; i < n && !status; i++) {
        struct layer l;
        struct pith_swept_layer swept = {.number = i, .n_layers = n};
        status = open_layer(s, &refs[i], &l) ? sweep_layer(s, &l) : pith_error_no_memory(s->err);
        if (!status && !report_layer(s, &l, &swept, report))
            status = pith_error_fill(s->err, PITH_ERR_ARGUMENT, "interrupted");
        close_layer(&l);
    }
    free(refs);
    return status;
}

/* Constants beside the layers' that the loss is known to mind: normalizations, what is added. */
static enum pith_status store_others(const struct sweep *s)
{
    const struct pith_sensitivity *known = s->opts.sensitivity;
    enum pith_status status = PITH_OK;
    for (uint32_t v = 0; v < s->now->n_values && known && !status; v++) {
        const struct pith_value *value = &s->now->values[v];
        bool plain = value->constant && value->type == PITH_F32 && !value->constant->codebook;
        if (plain && !s->done[v] && known->of[v].rows && value->constant->count > 1)
            status = store_vector(s, v);
    }
    return status;
}

static enum pith_status open_sweep(struct sweep *s, struct pith_data *data)
{
    const size_t nodes = s->was->n_nodes + (size_t)1, values = s->was->n_values + (size_t)1;
    bool *feeds = calloc(values, sizeof *feeds);
    s->uses = calloc(values, sizeof *s->uses);
    s->done = calloc(values, sizeof *s->done);
    s->is_last = calloc(nodes, sizeof *s->is_last);
    bool room = feeds && s->uses && s->done && s->is_last;
    if (room) {
        pith_model_count_uses(s->was, values, s->uses, NULL);
        find_last(s, feeds);
    }
    free(feeds);
    if (!room)
        return pith_error_no_memory(s->err);
    enum pith_status status = pith_model_copy_weights(s->was, &s->now, s->err);
    if (!status)
        status =
            pith_recorded_feed_open(s->was, s->opts.feed, data, s->opts.samples, &s->feed, s->err);
    const struct layer_walk_opts o = {
        .feed = s->feed, .runtime = s->opts.runtime, .memory_bytes = s->opts.memory_bytes / 2};
    return status ? status : pith_network_pair_open(s->was, s->now, &o, &s->pair, s->err);
}

static void close_sweep(struct sweep *s)
{
    pith_network_pair_close(&s->pair);
    pith_model_free(s->now);
    free(s->uses);
    free(s->done);
    pith_recorded_feed_close(s->feed);
    free(s->is_last);
}

enum pith_status pith_weight_sweep(const struct pith_model *m, struct pith_data *calibration,
                                   const struct pith_weight_sweep_opts *opts,
                                   struct pith_model **out, struct pith_weight_sweep_report *report,
                                   struct pith_error *err)
{
    struct pith_weight_sweep_report total = {0};
    struct sweep s = {.was = m, .err = err};
    memcpy(&s.opts, opts, opts->size_bytes < sizeof s.opts ? opts->size_bytes : sizeof s.opts);
    if (s.opts.memory_bytes == 0)
        s.opts.memory_bytes = MEMORY_BYTES;
    enum pith_status status = pith_sweep_check(m, &s.opts, err);
    if (!status)
        status = open_sweep(&s, calibration);
    if (!status)
        status = sweep_layers(&s, &total);
    if (!status)
        status = store_others(&s);
    if (!status) {
        *out = s.now;
        s.now = NULL;
        if (report)
            *report = total;
    }
    close_sweep(&s);
    return status;
}
