/* SPDX-License-Identifier: MIT */
/* layer_moments.c - some samples at a time, their rows laid out in panels, the panel's products
 * added by gram.h. Threads take parts of the sums: rows of one matrix, or whole groups. */
#include "layer_moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "numeric/gram.h"
#include "pith_host.h"
#include "base/in_parallel.h"
#include "base/kept_values.h"
#include "shrinkage.h"

#define PANEL (4 * PITH_GRAM_PART) /* rows, at most; any multiple gives the same sums */
#define PANEL_BYTES ((size_t)4 << 20)
#define SAMPLES_BYTES (UINT64_C(2) << 20)
#define BLOCK 48u /* rows of a sum, that a thread takes at once */

/* ---- sums ------------------------------------------------------------------------------------ */

/* net: the rows, and the others, if there are any. */
struct sums {
    int nets;
    const struct layer_rows *net[2];
    struct layer_moments *to;
    const struct moments_opts *opts;
    gram_tile *tile;
    uint64_t taken;        /* rows of a sample */
    float *root;           /* [count, places] of what each place counts; NULL: 1 */
    uint64_t first, count; /* samples that are in memory, among those summed up */
    float *x[2];           /* [count, elems] of each net */
    uint64_t begin;        /* first row of the panel, among those of these samples */
    size_t panel_rows;     /* that a panel has room for */
    size_t filled;         /* rows of the panel */
    uint32_t n_panels;     /* one, or one for each thread that takes groups */
    float **panel[2];      /* [n_panels][panel_rows, n] of each net */
    struct shrinkage shrinkage;
};

/* Of all, where it is number i among those summed up. */
static uint64_t sample_at(const struct sums *s, uint64_t i)
{
    return s->opts->step ? s->opts->first + i * s->opts->step : i;
}

/* Where row i of the panel is: its sample, among those in memory, and its place. Rows of pictures
 * are much alike, so a share of them is enough; samples begin at different places, so that together
 * they see all. */
static uint64_t place_in_panel(const struct sums *s, size_t i, uint64_t *sample)
{
    const uint64_t row = s->begin + i, places = s->net[0]->places;
    *sample = row / s->taken;
    const uint64_t number = sample_at(s, s->first + *sample),
                   at = (row % s->taken * places + number * places / s->opts->samples) / s->taken;
    return at < places ? at : places - 1;
}

static float root_of(const struct sums *s, size_t i)
{
    if (!s->root)
        return 1;
    uint64_t sample, at = place_in_panel(s, i, &sample);
    return s->root[sample * s->net[0]->places + at];
}

static void fill_rows(struct sums *s, uint32_t panel, uint32_t group, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        uint64_t sample, at = place_in_panel(s, i, &sample);
        for (int net = 0; net < s->nets; net++) {
            const struct layer_rows *from = s->net[net];
            float *to = s->panel[net][panel] + i * from->n;
            pith_layer_row(from, s->x[net] + sample * from->elems, group, at, to);
            for (size_t k = 0; k < from->n && s->root; k++)
                to[k] *= s->root[sample * from->places + at];
        }
    }
}

/* Of one net's means, those of the columns first .. last - 1. */
static void add_means(struct sums *s, int net, uint32_t panel, uint32_t group, size_t first,
                      size_t last)
{
    const size_t n = s->net[net]->n;
    double *mean = s->to->mean[net] + n * group;
    for (size_t i = 0; i < s->filled; i++) {
        const double root = (double)root_of(s, i);
        for (size_t k = first; k < last; k++)
            mean[k] += root * (double)s->panel[net][panel][i * n + k];
    }
}

/* Rows first .. last - 1 of a group's sums, and as many of its means, the last ones with what is
 * left of the others'. Triangle alone: H is symmetric and is mirrored at the end. */
static void add_panel(struct sums *s, uint32_t panel, uint32_t group, size_t first, size_t last)
{
    const size_t n = s->net[0]->n, m = s->nets == 2 ? s->net[1]->n : 0;
    const float *x = s->panel[0][panel];
    struct gram_piece p = {s->tile, x, x, n, n, s->filled, true};
    pith_gram_add(&p, first, last, s->to->h + n * n * group);
    add_means(s, 0, panel, group, first, last);
    if (m == 0)
        return;
    p = (struct gram_piece){s->tile, x, s->panel[1][panel], n, m, s->filled, false};
    pith_gram_add(&p, first, last, s->to->cross + n * m * group);
    add_means(s, 1, panel, group, first, last == n ? m : last < m ? last : m);
}

/* Some of the panel's rows are kept for it. */
static void add_shrinkage(struct sums *s, uint32_t panel, uint32_t group)
{
    for (size_t i = 0; i < s->filled; i++)
        pith_shrinkage_add(&s->shrinkage, s->first + (s->begin + i) / s->taken,
                           (s->begin + i) % s->taken, group, s->panel[0][panel] + i * s->net[0]->n,
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
    const size_t n = s->net[0]->n, first = (size_t)i * BLOCK, last = first + BLOCK;
    add_panel(s, 0, 0, first, last < n ? last : n);
}

static void add_groups(void *arg, uint32_t panel)
{
    struct sums *s = arg;
    for (uint32_t g = panel; g < s->net[0]->groups; g += s->n_panels) {
        fill_rows(s, panel, g, 0, s->filled);
        add_panel(s, panel, g, 0, s->net[0]->n);
        add_shrinkage(s, panel, g);
    }
}

/* With groups each thread has a panel and takes whole groups; with one the panel's rows are
 * filled and then summed in parallel. Either way each sum has one order. */
static void add_samples(struct sums *s)
{
    const struct pith_opts *runtime = s->opts->runtime;
    const uint64_t rows = s->count * s->taken;
    for (s->begin = 0; s->begin < rows; s->begin += s->filled) {
        s->filled = rows - s->begin < s->panel_rows ? (size_t)(rows - s->begin) : s->panel_rows;
        for (size_t i = 0; i < s->filled; i++)
            s->to->weight += (double)root_of(s, i) * (double)root_of(s, i);
        if (s->net[0]->groups > 1) {
            pith_in_parallel(runtime, s->n_panels, add_groups, s);
            continue;
        }
        pith_in_parallel(runtime, (uint32_t)((s->filled + BLOCK - 1) / BLOCK), fill_block, s);
        pith_in_parallel(runtime, (uint32_t)((s->net[0]->n + BLOCK - 1) / BLOCK), add_block, s);
        add_shrinkage(s, 0, 0);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

void pith_layer_moments_end(struct layer_moments *m)
{
    free(m->h);
    free(m->cross);
    free(m->mean[0]);
    free(m->mean[1]);
    *m = (struct layer_moments){0};
}

struct layer_moments pith_layer_moments_none(size_t n)
{
    return (struct layer_moments){.n = n, .groups = 1, .places = 1};
}

static bool open_sums(struct sums *s)
{
    struct layer_moments *to = s->to;
    const size_t n = s->net[0]->n, groups = s->net[0]->groups;
    bool room = true;
    if (groups > 1 && s->opts->runtime)
        s->n_panels = pith_threads_count(s->opts->runtime);
    to->h = calloc(groups * n * n, sizeof *to->h);
    to->cross = s->nets == 2 ? calloc(groups * n * s->net[1]->n, sizeof *to->cross) : NULL;
    for (int net = 0; net < s->nets; net++) {
        const struct layer_rows *from = s->net[net];
        to->mean[net] = calloc(from->n * groups, sizeof **to->mean);
        s->x[net] = malloc((size_t)(s->count * from->elems) * sizeof **s->x);
        s->panel[net] = calloc(s->n_panels, sizeof **s->panel);
        for (uint32_t i = 0; i < s->n_panels && s->panel[net]; i++)
            room = (s->panel[net][i] = malloc(s->panel_rows * from->n * sizeof(float))) && room;
        room = room && to->mean[net] && s->x[net] && s->panel[net];
    }
    room = pith_shrinkage_open(&s->shrinkage, to->samples, s->taken, (uint32_t)groups, n) && room;
    return room && to->h && (to->cross || s->nets == 1);
}

static void close_sums(struct sums *s)
{
    for (int net = 0; net < 2; net++) {
        for (uint32_t i = 0; i < s->n_panels && s->panel[net]; i++)
            free(s->panel[net][i]);
        free(s->panel[net]);
        free(s->x[net]);
    }
    free(s->root);
    pith_shrinkage_close(&s->shrinkage);
}

/* Sums become means of samples, with the places that were left out. So damping and lambda mean
 * the same for any number of samples. */
static void scale_sums(struct sums *s)
{
    struct layer_moments *to = s->to;
    const double by = to->places / to->weight;
    const size_t n = to->n, square = n * n;
    for (uint32_t g = 0; g < to->groups; g++)
        pith_gram_mirror(to->h + g * square, n);
    for (size_t i = 0; i < to->groups * square; i++)
        to->h[i] *= by;
    for (size_t i = 0; s->nets == 2 && i < to->groups * n * s->net[1]->n; i++)
        to->cross[i] *= by;
    for (int net = 0; net < s->nets; net++)
        for (size_t i = 0; i < to->groups * s->net[net]->n; i++)
            to->mean[net][i] /= to->weight;
    const struct shrunk of = {to->h, to->mean[0], by, to->places, s->opts->centre};
    to->shrinkage = pith_shrinkage_find(&s->shrinkage, &of);
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
static uint64_t samples_at_once(const struct sums *s)
{
    uint64_t wanted = (PANEL + s->taken - 1) / s->taken;
    uint64_t most = SAMPLES_BYTES / (s->net[0]->elems * sizeof(float)) + 1;
    wanted = wanted < most ? wanted : most;
    return wanted < s->to->samples ? wanted : s->to->samples;
}

static void choose_rows(struct sums *s)
{
    struct layer_moments *to = s->to;
    const struct moments_opts *o = s->opts;
    const struct layer_rows *from = s->net[0];
    uint64_t wanted = o->per_column * from->n;
    wanted = wanted > o->least_rows ? wanted : o->least_rows;
    const uint64_t each = (wanted + o->samples - 1) / o->samples;
    s->taken = each < from->places ? each : from->places;
    to->n = from->n;
    to->runtime = o->runtime;
    to->n_others = s->nets == 2 ? s->net[1]->n : 0;
    to->groups = from->groups;
    to->samples = o->step ? (o->samples - o->first + o->step - 1) / o->step : o->samples;
    to->rows = s->taken * to->samples;
    to->places = (double)from->places;
    s->panel_rows = rows_of_panel(from->n);
    s->count = samples_at_once(s);
}

/* What the places of the samples in memory count. */
static enum pith_status read_roots(struct sums *s, struct pith_error *err)
{
    const struct pith_sensitivity *known = s->opts->sensitivity;
    const uint64_t places = s->net[0]->places, bytes = places * sizeof *s->root;
    const uint32_t weight = s->opts->weight;
    const double share = s->opts->place_share;
    enum pith_status status = PITH_OK;
    for (uint64_t k = 0; k < s->count && s->root && !status; k++)
        status = pith_kept_read(known->place, weight, sample_at(s, s->first + k) * bytes,
                                s->root + k * places, (size_t)bytes, err);
    for (uint64_t i = 0; i < s->count * places && s->root && !status; i++)
        s->root[i] =
            (float)sqrt(1 - share + share * (double)s->root[i] / known->of[weight].place_mean);
    return status;
}

static bool open_roots(struct sums *s)
{
    const struct pith_sensitivity *known = s->opts->sensitivity;
    const struct pith_row_sensitivity *of = known ? &known->of[s->opts->weight] : NULL;
    if (!known || !known->place || !(s->opts->place_share > 0) ||
        of->n_places != s->net[0]->places || !(of->place_mean > 0) ||
        known->n_samples < s->opts->samples)
        return true;
    s->root = malloc((size_t)(s->count * s->net[0]->places) * sizeof *s->root);
    return s->root != NULL;
}

static enum pith_status read_samples(struct sums *s, struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    for (int i = 0; i < s->nets; i++)
        for (uint64_t k = 0; k < s->count && !status; k++)
            status = s->net[i]->read(s->net[i]->of, sample_at(s, s->first + k),
                                     s->x[i] + k * s->net[i]->elems, err);
    return status ? status : read_roots(s, err);
}

enum pith_status pith_layer_moments(const struct layer_rows *rows, const struct layer_rows *others,
                                    const struct moments_opts *opts, struct layer_moments *m,
                                    struct pith_error *err)
{
    struct sums s = {.nets = others ? 2 : 1,
                     .net = {rows, others},
                     .tile = pith_gram_tile(),
                     .to = m,
                     .opts = opts,
                     .n_panels = 1};
    *m = (struct layer_moments){0};
    choose_rows(&s);
    enum pith_status status = open_sums(&s) && open_roots(&s) ? PITH_OK : pith_error_no_memory(err);
    const uint64_t each = s.count;
    for (s.first = 0; s.first < m->samples && !status; s.first += each) {
        s.count = m->samples - s.first < each ? m->samples - s.first : each;
        status = read_samples(&s, err);
        if (!status)
            add_samples(&s);
    }
    if (!status)
        scale_sums(&s);
    close_sums(&s);
    return status;
}

/* E[(x - m)(x - m)^T] = E[x x^T] - m m^T. */
void pith_layer_centre(struct layer_moments *s, double share)
{
    const size_t n = s->n, m = s->cross ? s->n_others : 0;
    const double by = share * s->places;
    for (size_t i = 0; i < s->groups * n && s->h; i++) {
        const double x = s->mean[0][i], *row = s->mean[0] + i / n * n,
                     *other = m ? s->mean[1] + i / n * m : NULL;
        for (size_t k = 0; k < n; k++)
            s->h[i * n + k] -= by * x * row[k];
        for (size_t k = 0; k < m; k++)
            s->cross[i * m + k] -= by * x * other[k];
    }
}
