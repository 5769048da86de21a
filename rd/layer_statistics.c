/* SPDX-License-Identifier: MIT */
/* layer_statistics.c - some samples at a time, their rows laid out in panels, the panel's products
 * added by pith_gram.h. Threads take parts of the sums: rows of one matrix, or whole groups. */
#include "layer_statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_gram.h"
#include "host/pith_host.h"
#include "pith_im2col.h"
#include "pith_in_parallel.h"
#include "pith_kept_values.h"
#include "contract/pith_op_semantics.h"
#include "sample_doubt.h"

#define PANEL (4 * PITH_GRAM_PART) /* rows, at most; any multiple gives the same sums */
#define PANEL_BYTES ((size_t)4 << 20)
#define SAMPLES_BYTES (UINT64_C(2) << 20)
#define LEAST_ROWS 32768u
#define BLOCK 48u /* rows of a sum, that a thread takes at once */

/* ---- rows ------------------------------------------------------------------------------------ */

struct source {
    bool is_conv;
    struct window window;
    int64_t *place;  /* [window.out, window.taps] or NULL */
    uint64_t elems;  /* of a sample */
    uint64_t places; /* rows of a sample */
    uint64_t taken;  /* of these */
    size_t n;
    uint32_t groups;
};

static struct shape shape_of(const struct pith_value *v)
{
    struct shape s = {.rank = v->rank};
    memcpy(s.dim, v->dim, v->rank * sizeof *v->dim);
    return s;
}

static bool is_conv(const struct pith_node *node)
{
    return node->op == PITH_OP_CONV;
}

/* Only weights whose inputs are rows: a matrix product, a convolution of one to three axes, a
 * recurrent state. */
static bool can(const struct pith_model *m, const struct pith_node *node)
{
    uint32_t w = pith_node_weight(m, node);
    bool recurs = pith_op_is(node->op, TRAIT_RECURS);
    if (w == PITH_VALUE_NONE || (!recurs && !pith_node_by_rows(node)))
        return false;
    const struct pith_value *v = &m->values[w], *x = &m->values[node->in[0]];
    bool conv = is_conv(node) && x->rank >= 3 && x->rank <= 5;
    bool product = !is_conv(node) && v->rank == 2 && x->rank >= 1 &&
                   (recurs || x->dim[x->rank - 1] == v->dim[1]);
    return !x->constant && x->type == PITH_F32 && (conv || product);
}

/* Blocks of a convolution's rows are of whole channels. */
uint32_t pith_layer_statistics_blocks(const struct pith_model *m, const struct pith_node *node)
{
    if (!can(m, node))
        return 0;
    const struct pith_value *v = &m->values[node->in[1]];
    const uint64_t n = v->constant->count / v->dim[0];
    const bool grouped = pith_op_groups(node->op, node->attr) > 1;
    uint32_t blocks = 1;
    while (n / blocks > STATISTICS_MOST_COLUMNS || (blocks <= v->dim[1] && v->dim[1] % blocks != 0))
        blocks++;
    return blocks > v->dim[1] || (blocks > 1 && grouped) ? 0 : blocks;
}

/* n: columns of a row, the inputs that one output sums over. */
static bool open_source(const struct layer_input *from, struct source *s)
{
    const struct pith_model *m = pith_layer_walk_model(from->walk);
    const struct pith_node *node = from->node;
    const struct pith_value *w = &m->values[node->in[1]];
    const uint32_t blocks = pith_layer_statistics_blocks(m, node);
    *s = (struct source){.is_conv = is_conv(node),
                         .elems = from->elems,
                         .n = (size_t)(w->constant->count / w->dim[0] / blocks),
                         .groups = blocks * pith_op_groups(node->op, node->attr)};
    s->places = s->elems / (s->n * s->groups);
    if (!s->is_conv)
        return true;
    struct shape x = shape_of(&m->values[node->in[0]]), k = shape_of(w),
                 y = shape_of(&m->values[node->out[0]]);
    s->window = pith_window_conv(node->attr, &x, &k, &y);
    s->places = s->elems / (s->groups * (s->n / s->window.taps) * s->window.in) * s->window.out;
    s->place = malloc(s->window.out * s->window.taps * sizeof *s->place);
    if (s->place)
        pith_im2col_places(&s->window, s->place);
    return s->place != NULL;
}

/* The place of row number i of those taken of a sample. Rows of pictures are much alike, so a share
 * of them is enough; samples begin at different places, so that together they see all. */
static uint64_t place_of(const struct source *s, uint64_t samples, uint64_t sample, uint64_t i)
{
    uint64_t at = (i * s->places + sample * s->places / samples) / s->taken;
    return at < s->places ? at : s->places - 1;
}

/* x: the sample's; row: [n]. */
static void write_row(const struct source *s, const float *x, uint32_t group, uint64_t at,
                      float *row)
{
    if (!s->is_conv) {
        memcpy(row, x + (at * s->groups + group) * s->n, s->n * sizeof *row);
        return;
    }
    size_t taps = s->window.taps, channels = s->n / taps, in = s->window.in;
    const int64_t *place = s->place + at % s->window.out * taps;
    x += (at / s->window.out * s->groups + group) * channels * in;
    struct im2col_input from = {.data = x, .by_place = 1, .by_channel = in};
    pith_im2col_row(&from, place, taps, channels, row);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Two nets: the network as it is now, and as it came; H is of the first, crossed of both. Or the
 * first alone. */
struct sums {
    int nets;
    struct source from;
    struct layer_statistics *to;
    const struct pith_opts *runtime;
    const struct statistics_opts *opts;
    gram_tile *tile;
    uint32_t weight;       /* value */
    float *root;           /* [count, places] of what each place counts; NULL: 1 */
    uint64_t first, count; /* samples that are in memory */
    float *x[2];           /* [count, elems] of now, was */
    uint64_t begin;        /* first row of the panel, among those of these samples */
    size_t panel_rows;     /* that a panel has room for */
    size_t filled;         /* rows of the panel */
    uint32_t n_panels;     /* one, or one for each thread that takes groups */
    float **panel[2];      /* [n_panels][panel_rows, n] */
    struct sample_doubt doubt;
};

/* Where row i of the panel is: its sample, among those in memory, and its place. */
static uint64_t place_in_panel(const struct sums *s, size_t i, uint64_t *sample)
{
    uint64_t row = s->begin + i;
    *sample = row / s->from.taken;
    return place_of(&s->from, s->to->samples, s->first + *sample, row % s->from.taken);
}

static float root_of(const struct sums *s, size_t i)
{
    uint64_t sample, at = place_in_panel(s, i, &sample);
    return s->root ? s->root[sample * s->from.places + at] : 1;
}

static void fill_rows(struct sums *s, uint32_t panel, uint32_t group, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        uint64_t sample, at = place_in_panel(s, i, &sample);
        for (int net = 0; net < s->nets; net++) {
            float *to = s->panel[net][panel] + i * s->from.n;
            write_row(&s->from, s->x[net] + sample * s->from.elems, group, at, to);
            for (size_t k = 0; k < s->from.n && s->root; k++)
                to[k] *= s->root[sample * s->from.places + at];
        }
    }
}

/* Rows first .. last - 1 of a group's sums, and as many of its means. Triangle alone: H is
 * symmetric and is mirrored at the end. */
static void add_panel(struct sums *s, uint32_t panel, uint32_t group, size_t first, size_t last)
{
    size_t n = s->from.n, square = n * n * group;
    const float *now = s->panel[0][panel];
    struct gram_piece p = {s->tile, now, now, n, n, s->filled, true};
    pith_gram_add(&p, first, last, s->to->h + square);
    p = (struct gram_piece){.tile = s->tile, .a = now, .n_a = n, .n_b = n, .count = s->filled};
    if (s->nets == 2) {
        p.b = s->panel[1][panel];
        pith_gram_add(&p, first, last, s->to->crossed + square);
    }
    for (int net = 0; net < s->nets; net++)
        for (size_t i = 0; i < s->filled; i++) {
            double root = (double)root_of(s, i);
            for (size_t k = first; k < last; k++)
                s->to->mean[net][n * group + k] += root * (double)s->panel[net][panel][i * n + k];
        }
}

/* Some of the panel's rows are kept for it. */
static void doubt_panel(struct sums *s, uint32_t panel, uint32_t group)
{
    for (size_t i = 0; i < s->filled; i++)
        pith_doubt_add(&s->doubt, s->first + (s->begin + i) / s->from.taken,
                       (s->begin + i) % s->from.taken, group, s->panel[0][panel] + i * s->from.n,
                       root_of(s, i));
}

static void fill_block(void *arg, uint32_t i)
{
    struct sums *s = arg;
    size_t first = (size_t)i * BLOCK, last = first + BLOCK;
    fill_rows(s, 0, 0, first, last < s->filled ? last : s->filled);
}

static void add_block(void *arg, uint32_t i)
{
    struct sums *s = arg;
    size_t first = (size_t)i * BLOCK, last = first + BLOCK;
    if (rank_does(s->opts->ranks, i))
        add_panel(s, 0, 0, first, last < s->from.n ? last : s->from.n);
}

static void add_groups(void *arg, uint32_t panel)
{
    struct sums *s = arg;
    for (uint32_t g = panel; g < s->from.groups; g += s->n_panels) {
        fill_rows(s, panel, g, 0, s->filled);
        add_panel(s, panel, g, 0, s->from.n);
        doubt_panel(s, panel, g);
    }
}

/* With groups each thread has a panel and takes whole groups; with one the panel's rows are
 * filled and then summed in parallel. Either way each sum has one order. */
static void add_samples(struct sums *s)
{
    const uint64_t rows = s->count * s->from.taken;
    for (s->begin = 0; s->begin < rows; s->begin += s->filled) {
        s->filled = rows - s->begin < s->panel_rows ? (size_t)(rows - s->begin) : s->panel_rows;
        for (size_t i = 0; i < s->filled; i++)
            s->to->weight += (double)root_of(s, i) * (double)root_of(s, i);
        if (s->from.groups > 1) {
            pith_in_parallel(s->runtime, s->n_panels, add_groups, s);
            continue;
        }
        pith_in_parallel(s->runtime, (uint32_t)((s->filled + BLOCK - 1) / BLOCK), fill_block, s);
        pith_in_parallel(s->runtime, (uint32_t)((s->from.n + BLOCK - 1) / BLOCK), add_block, s);
        doubt_panel(s, 0, 0);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

void pith_layer_statistics_end(struct layer_statistics *s)
{
    free(s->h);
    free(s->crossed);
    free(s->mean[0]);
    free(s->mean[1]);
    *s = (struct layer_statistics){0};
}

struct layer_statistics pith_layer_statistics_none(size_t n)
{
    return (struct layer_statistics){.n = n, .groups = 1, .places = 1};
}

static bool open_sums(struct sums *s)
{
    struct layer_statistics *to = s->to;
    size_t n = s->from.n, square = n * n * s->from.groups;
    bool room = true;
    if (s->from.groups > 1 && s->runtime)
        s->n_panels = pith_threads_count(s->runtime);
    to->h = calloc(square, sizeof *to->h);
    to->crossed = s->nets == 2 ? calloc(square, sizeof *to->crossed) : NULL;
    for (int net = 0; net < s->nets; net++) {
        to->mean[net] = calloc(n * s->from.groups, sizeof **to->mean);
        s->x[net] = malloc((size_t)(s->count * s->from.elems) * sizeof **s->x);
        s->panel[net] = calloc(s->n_panels, sizeof **s->panel);
        for (uint32_t i = 0; i < s->n_panels && s->panel[net]; i++)
            room = (s->panel[net][i] = malloc(s->panel_rows * n * sizeof(float))) && room;
        room = room && to->mean[net] && s->x[net] && s->panel[net];
    }
    room = pith_doubt_open(&s->doubt, to->samples, s->from.taken, s->from.groups, n) && room;
    return room && to->h && (to->crossed || s->nets == 1);
}

static void close_sums(struct sums *s)
{
    for (int net = 0; net < 2; net++) {
        for (uint32_t i = 0; i < s->n_panels && s->panel[net]; i++)
            free(s->panel[net][i]);
        free(s->panel[net]);
        free(s->x[net]);
    }
    free(s->from.place);
    free(s->root);
    pith_doubt_close(&s->doubt);
}

/* Blocks of rows that other ranks have summed up. Groups are summed up by each: their matrices are
 * small. */
static bool gather_sums(const struct sums *s)
{
    const struct pith_sweep_ranks *k = s->from.groups == 1 ? s->opts->ranks : NULL;
    const size_t n = s->from.n, bytes = n * n * sizeof(double), item = BLOCK * n * sizeof(double);
    return rank_gather(k, s->to->h, bytes, item) &&
           rank_gather(k, s->to->mean[0], n * sizeof(double), BLOCK * sizeof(double)) &&
           (s->nets == 1 ||
            (rank_gather(k, s->to->crossed, bytes, item) &&
             rank_gather(k, s->to->mean[1], n * sizeof(double), BLOCK * sizeof(double))));
}

/* Sums become means of samples, with the places that were left out. So damping and lambda mean
 * the same for any number of samples. */
static void scale_sums(struct sums *sums)
{
    struct layer_statistics *s = sums->to;
    double by = s->places / s->weight;
    size_t square = s->n * s->n;
    for (uint32_t g = 0; g < s->groups; g++)
        pith_gram_mirror(s->h + g * square, s->n);
    for (size_t i = 0; i < s->groups * square; i++)
        s->h[i] *= by;
    for (size_t i = 0; i < s->groups * square && s->crossed; i++)
        s->crossed[i] *= by;
    for (int net = 0; net < sums->nets; net++)
        for (size_t i = 0; i < s->groups * s->n; i++)
            s->mean[net][i] /= s->weight;
    const struct doubted of = {s->h, s->mean[0], by, s->places, sums->opts->centre};
    s->doubt = pith_doubt_odds(&sums->doubt, &of);
}

/* Whole parts of the sums, so that the size changes no bit. */
static size_t rows_of_panel(size_t n)
{
    size_t rows = PANEL;
    while (rows > PITH_GRAM_PART && rows * n * sizeof(float) > PANEL_BYTES)
        rows -= PITH_GRAM_PART;
    return rows;
}

/* As many samples at once as fill a panel, if memory allows. */
static uint64_t samples_at_once(const struct source *s, uint64_t samples)
{
    uint64_t wanted = (PANEL + s->taken - 1) / s->taken;
    uint64_t most = SAMPLES_BYTES / (s->elems * sizeof(float)) + 1;
    wanted = wanted < most ? wanted : most;
    return wanted < samples ? wanted : samples;
}

/* At least LEAST_ROWS rows, so that small layers see enough. */
static void choose_rows(struct sums *s)
{
    struct layer_statistics *to = s->to;
    uint64_t wanted = s->opts->per_column * s->from.n;
    wanted = wanted > LEAST_ROWS || s->opts->few_rows ? wanted : LEAST_ROWS;
    uint64_t each = (wanted + to->samples - 1) / to->samples;
    s->from.taken = each < s->from.places ? each : s->from.places;
    to->n = s->from.n;
    to->groups = s->from.groups;
    to->rows = s->from.taken * to->samples;
    to->places = (double)s->from.places;
    s->panel_rows = rows_of_panel(s->from.n);
    s->count = samples_at_once(&s->from, to->samples);
}

/* What the places of the samples in memory count. */
static enum pith_status read_roots(struct sums *s, struct pith_error *err)
{
    const struct pith_sensitivity *known = s->opts->sensitivity;
    const uint64_t places = s->from.places, bytes = places * sizeof *s->root;
    enum pith_status status = PITH_OK;
    for (uint64_t k = 0; k < s->count && s->root && !status; k++)
        status = pith_kept_read(known->place, s->weight, (s->first + k) * bytes,
                                s->root + k * places, (size_t)bytes, err);
    const double share = s->opts->place_share;
    for (uint64_t i = 0; i < s->count * places && s->root && !status; i++)
        s->root[i] =
            (float)sqrt(1 - share + share * (double)s->root[i] / known->of[s->weight].place_mean);
    return status;
}

static bool open_roots(struct sums *s)
{
    const struct pith_sensitivity *known = s->opts->sensitivity;
    if (!known || !known->place || !(s->opts->place_share > 0) ||
        known->of[s->weight].n_places != s->from.places || !(known->of[s->weight].place_mean > 0) ||
        known->n_samples < s->to->samples)
        return true;
    s->root = malloc((size_t)(s->count * s->from.places) * sizeof *s->root);
    return s->root != NULL;
}

static enum pith_status read_samples(struct sums *s, const struct layer_input *const net[2],
                                     struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (int i = 0; i < s->nets; i++)
        for (uint64_t k = 0; k < s->count && !status; k++)
            status = pith_layer_input_read(net[i], s->first + k, s->x[i] + k * s->from.elems, err);
    return status ? status : read_roots(s, err);
}

enum pith_status pith_layer_statistics(const struct layer_input *now, const struct layer_input *was,
                                       const struct statistics_opts *opts,
                                       struct layer_statistics *to, struct pith_error *err)
{
    const struct layer_input *const net[] = {now, was};
    struct sums s = {.nets = was ? 2 : 1,
                     .tile = pith_gram_tile(),
                     .to = to,
                     .runtime = opts->runtime,
                     .opts = opts,
                     .weight = now->node->in[1],
                     .n_panels = 1};
    *to = (struct layer_statistics){.samples = opts->samples};
    bool room = open_source(now, &s.from);
    choose_rows(&s);
    enum pith_status status =
        room && open_sums(&s) && open_roots(&s) ? PITH_OK : pith_error_no_memory(err);
    const uint64_t each = s.count;
    for (s.first = 0; s.first < opts->samples && !status; s.first += each) {
        s.count = opts->samples - s.first < each ? opts->samples - s.first : each;
        status = read_samples(&s, net, err);
        if (!status)
            add_samples(&s);
    }
    if (!status && !gather_sums(&s))
        status = pith_error_no_memory(err);
    if (!status)
        scale_sums(&s);
    close_sums(&s);
    return status;
}
