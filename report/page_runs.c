/* SPDX-License-Identifier: MIT */
/* page_runs.c - predictions, results of a sweep, and what a run logged. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "page.h"

enum { CONFUSED = 12, MOST_SERIES = 4 };

/* ---- a sweep --------------------------------------------------------------------------------- */

struct points {
    double *x, *y; /* own: [n] */
    uint32_t n;
};

static bool make_points(struct points *p, uint32_t room)
{
    p->x = calloc(room + (size_t)1, sizeof *p->x);
    p->y = calloc(room + (size_t)1, sizeof *p->y);
    p->n = 0;
    return p->x && p->y;
}

static void free_points(struct points *p)
{
    free(p->x);
    free(p->y);
}

static void add_point(struct points *p, double x, double y)
{
    p->x[p->n] = x;
    p->y[p->n++] = y;
}

void pith_page_sweep(struct page *p)
{
    const struct report *r = p->r;
    const struct pith_sweep_results *s = &r->sweep;
    struct points front, rest;
    struct chart c;
    if (!s->n)
        return;
    const bool made = make_points(&front, s->n), too = make_points(&rest, s->n);
    const bool regression = s->point[0].regression;
    const double scale = regression ? 1 : 100;
    uint32_t n_other = 0;
    for (uint32_t i = 0; made && too && i < s->n; i++) {
        /* one model and data set: others do not compare */
        if (!pith_sweep_comparable(&s->point[i], &s->point[0])) {
            n_other++;
            continue;
        }
        add_point(i < r->n_front ? &front : &rest, (double)s->point[i].bytes / 1024,
                  scale * s->point[i].quality);
    }
    const struct chart_series series[] = {
        {"Pareto front", front.x, front.y, front.n, true, true, "a"},
        {"other results", rest.x, rest.y, rest.n, false, true, "b"}};
    const struct chart_plot plot = {.series = series,
                                    .n_series = 2,
                                    .x_name = "KiB",
                                    .y_name = regression ? "PSNR, dB" : "top-1, %",
                                    .log_x = true};
    char caption[160];
    snprintf(caption, sizeof caption, "%u results of pith sweep on %.60s%s", s->n - n_other,
             *s->point[0].model ? s->point[0].model : "one model",
             n_other ? "; results on other models or data are left out" : "");
    pith_chart_plot(&c, "sweep-front", "Results of the sweep", &plot);
    c.failed = !made || !too;
    pith_page_figure(p, &c, caption);
    free_points(&front);
    free_points(&rest);
}

/* ---- a training ------------------------------------------------------------------------------ */

static bool has_any(const double *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            return true;
    return false;
}

void pith_page_curve(struct page *p)
{
    static const char *const classes[] = {"", "a", "b", "c", "d"};
    static const char *const names[] = {"", "training", "", "validation", ""};
    const struct report *r = p->r;
    struct chart c;
    if (!r->n_epochs)
        return;
    for (uint32_t kind = 1; kind <= 2; kind++) {
        struct chart_series series[2];
        uint32_t n = 0;
        for (uint32_t k = kind; k <= 4; k += 2)
            if (has_any(r->curve[k], r->n_epochs))
                series[n++] = (struct chart_series){names[k == kind ? 1 : 3],
                                                    r->curve[0],
                                                    r->curve[k],
                                                    r->n_epochs,
                                                    !r->curve_of_files,
                                                    r->curve_of_files || r->n_epochs <= 30,
                                                    classes[k == kind ? 1 : 3]};
        const struct chart_plot plot = {.series = series,
                                        .n_series = n,
                                        .x_name = r->curve_of_files ? "bytes" : "epoch",
                                        .y_name = kind == 1 ? "loss" : "top-1"};
        if (!n)
            continue;
        pith_chart_plot(&c, kind == 1 ? "training-loss" : "training-accuracy",
                        r->curve_of_files ? kind == 1 ? "Loss by bytes" : "Accuracy by bytes"
                        : kind == 1       ? "Loss by epoch"
                                          : "Accuracy by epoch",
                        &plot);
        pith_page_figure(p, &c, "");
    }
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Classes that take part in the most wrong predictions of either model, where there are more than
 * a heat map has room for. */
struct confused {
    uint32_t *order; /* owns: [n] classes, ascending */
    uint32_t *place; /* owns: [n_classes] in order, or UINT32_MAX */
    uint32_t n;
};

static void count_wrong(const struct report *r, uint64_t *wrong)
{
    for (uint32_t side = 0; side < 2; side++)
        for (uint64_t i = 0; r->side[side].top && i < r->n_samples; i++) {
            const uint32_t top = r->side[side].top[i];
            if (r->label[i] == PITH_NO_LABEL || top >= r->n_classes || r->label[i] == top)
                continue;
            wrong[top]++;
            wrong[r->label[i]]++;
        }
}

static bool choose_classes(const struct report *r, struct confused *c)
{
    uint64_t *wrong = calloc(r->n_classes, sizeof *wrong);
    const uint32_t most = r->n_classes <= 12 ? r->n_classes : CONFUSED;
    *c = (struct confused){.order = calloc(r->n_classes, sizeof *c->order),
                           .place = calloc(r->n_classes, sizeof *c->place)};
    if (!wrong || !c->order || !c->place) {
        free(wrong);
        return false;
    }
    count_wrong(r, wrong);
    bool *chosen = (bool *)calloc(r->n_classes, sizeof *chosen);
    for (uint32_t k = 0; chosen && k < most; k++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < r->n_classes; i++)
            if (!chosen[i] && (wrong[i] || r->n_classes == most) &&
                (best == UINT32_MAX || wrong[i] > wrong[best]))
                best = i;
        if (best != UINT32_MAX)
            chosen[best] = true;
    }
    for (uint32_t i = 0; i < r->n_classes; i++) {
        c->place[i] = UINT32_MAX;
        if (chosen && chosen[i]) {
            c->place[i] = c->n;
            c->order[c->n++] = i;
        }
    }
    const bool good = chosen != NULL;
    free(chosen);
    free(wrong);
    return good;
}

static void put_confusion(struct page *p, const struct confused *k, uint32_t side)
{
    const struct report *r = p->r;
    uint64_t *count = calloc((size_t)k->n * k->n + 1, sizeof *count);
    char(*text)[80] = calloc(k->n + (size_t)1, sizeof *text);
    const char **label = calloc(k->n + (size_t)1, sizeof *label);
    struct chart c;
    if (!count || !text || !label)
        p->t.failed = true;
    for (uint64_t i = 0; count && i < r->n_samples; i++) {
        const uint32_t top = r->side[side].top[i];
        if (r->label[i] == PITH_NO_LABEL || top >= r->n_classes ||
            k->place[r->label[i]] == UINT32_MAX || k->place[top] == UINT32_MAX)
            continue;
        count[(size_t)k->place[r->label[i]] * k->n + k->place[top]]++;
    }
    for (uint32_t i = 0; text && label && i < k->n; i++)
        label[i] = pith_class_text(r, k->order[i], text[i], sizeof text[i]);
    if (count && text && label) {
        char title[160];
        snprintf(title, sizeof title, "Confusion%s%.100s", r->side[0].top ? ", " : "",
                 r->side[0].top ? (side ? p->is : p->was) : "");
        const struct chart_heat heat = {k->n, count, label, "label", "prediction"};
        pith_chart_heat(&c, side ? "confusion" : "confusion-before", title, &heat);
        pith_page_figure(p, &c,
                         k->n < r->n_classes
                             ? "The classes that take part in the most errors. Shades are "
                               "shares of a row."
                             : "Shades are shares of a row.");
    }
    free(count);
    free(text);
    free((void *)label);
}

static void put_prediction(struct page *p, const char *name, uint32_t top, float probability)
{
    char text[200], number[NUMBER_BYTES];
    pith_put(&p->t, "<br>");
    pith_put_escaped(&p->t, name);
    pith_put(&p->t, ": ");
    pith_put_escaped(&p->t, pith_class_text(p->r, top, text, sizeof text));
    pith_put(&p->t, " (%s %%)", pith_plain_number(100 * (double)probability, 0, number));
}

static void put_changes(struct page *p)
{
    const struct report *r = p->r;
    char text[200];
    if (!r->n_changes)
        return;
    pith_put(&p->t,
             "<p>%" PRIu64 " of %" PRIu64 " predictions changed. %s:</p>\n<div class=\"changes\">",
             r->n_changed, r->n_samples,
             r->n_changes < r->n_changed ? "Twelve of them, correct and certain ones first"
                                         : "All of them");
    for (uint32_t i = 0; i < r->n_changes; i++) {
        const struct report_change *c = &r->change[i];
        pith_put(&p->t, "<div class=\"card change\">");
        if (c->png.data) {
            pith_put(&p->t, "<img alt=\"\" src=\"");
            pith_put_png(&p->t, &c->png);
            pith_put(&p->t, "\">");
        }
        pith_put(&p->t, "<div><b>");
        pith_put_escaped(&p->t, c->name);
        pith_put(&p->t, "</b>");
        if (c->label != PITH_NO_LABEL) {
            pith_put(&p->t, "<br>label: ");
            pith_put_escaped(&p->t, pith_class_text(r, c->label, text, sizeof text));
        }
        put_prediction(p, p->was, c->top[0], c->probability[0]);
        put_prediction(p, p->is, c->top[1], c->probability[1]);
        pith_put(&p->t, "</div></div>\n");
    }
    pith_put(&p->t, "</div>\n");
}

void pith_page_predictions(struct page *p)
{
    const struct report *r = p->r;
    struct confused k = {.n = 0};
    if (!r->n_classes)
        return;
    pith_page_section(p, "predictions", "Predictions");
    if (r->label && !choose_classes(r, &k))
        p->t.failed = true;
    if (k.n) {
        pith_put(&p->t, "<div class=\"grid\">");
        for (uint32_t side = 0; side < 2; side++)
            if (r->side[side].top)
                put_confusion(p, &k, side);
        pith_put(&p->t, "</div>\n");
    } else if (!r->label)
        pith_put(&p->t,
                 "<p class=\"soft\">The samples have no labels: accuracy is not known.</p>\n");
    put_changes(p);
    if (r->side[0].top && !r->n_changed)
        pith_put(&p->t, "<p>No prediction changed.</p>\n");
    pith_page_section_end(p);
    free(k.order);
    free(k.place);
}
