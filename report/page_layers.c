/* SPDX-License-Identifier: MIT */
/* page_layers.c - bytes, graph, energy and histograms of the layers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "op_interface/op_traits.h"
#include "page.h"
#include "pith_host.h"

enum { MOST_BARS = 64, MOST_NODES = 400, SUMMARY_BARS = 12, OPEN_DETAILS = 6 };

/* ---- bars ------------------------------------------------------------------------------------ */

static const char *const byte_units[] = {"bytes", "KiB", "MiB", "GiB", NULL};
static const char *const joule_units[] = {"pJ", "nJ", "µJ", "mJ", "J", NULL};

/* One bar for each layer: what is drawn (side 0: before) and written beside it. */
struct measure {
    double (*value)(const struct report_layer *l, uint32_t side);
    const char *(*note)(const double value[2], char to[NUMBER_BYTES]);
};

static double bytes_of(const struct report_layer *l, uint32_t side)
{
    return (double)(side ? l->bytes : l->before_bytes);
}

static const char *ratio_note(const double value[2], char to[NUMBER_BYTES])
{
    char size[NUMBER_BYTES], number[NUMBER_BYTES];
    const double ratio = value[1] > 0 ? value[0] / value[1] : 0;
    snprintf(to, NUMBER_BYTES, "%.20s%s%.12s%s", pith_size_text(value[1], size),
             ratio > 0 ? ", " : "",
             ratio > 0 ? pith_plain_number(ratio, ratio < 0.1 ? 3 : ratio < 10, number) : "",
             ratio > 0 ? "x" : "");
    return to;
}

static double picojoules_of(const struct report_layer *l, uint32_t side)
{
    return 1e12 * pith_energy_sum(side ? &l->after : &l->before);
}

static const char *joule_note(const double value[2], char to[NUMBER_BYTES])
{
    return pith_metric_text(1e-12 * value[1], "J", to);
}

struct bar_set {
    struct chart_bar bar[MOST_BARS + 1];
    char note[MOST_BARS + 1][NUMBER_BYTES];
    uint32_t n;
};

/* The `most` (1..MOST_BARS) layers that had most, in the order of execution, and the sum of the
 * others. */
static void make_bars(const struct report *r, const struct measure *m, uint32_t most,
                      struct bar_set *s)
{
    double rest[2] = {0, 0};
    s->n = 0;
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const struct report_layer *l = &r->layer[i];
        const double value[2] = {m->value(l, 0), m->value(l, 1)};
        uint32_t larger = 0;
        for (uint32_t k = 0; k < r->n_layers; k++)
            larger += m->value(&r->layer[k], 0) > value[0] ||
                      (k < i && m->value(&r->layer[k], 0) >= value[0]);
        if (larger < most) {
            s->bar[s->n] =
                (struct chart_bar){l->name, {value[0], value[1]}, m->note(value, s->note[s->n])};
            s->n++;
            continue;
        }
        rest[0] += value[0];
        rest[1] += value[1];
    }
    if (r->n_layers > s->n) {
        s->bar[s->n] =
            (struct chart_bar){"all others", {rest[0], rest[1]}, m->note(rest, s->note[s->n])};
        s->n++;
    }
}

/* The largest bars below the first tiles, for a place without the page: a file alone. */
static void put_summary(struct page *p, const struct measure *bytes)
{
    struct page_tile tile[PAGE_TILES];
    char text[PAGE_TILES][200];
    const char *line[PAGE_TILES];
    const uint32_t n = pith_page_tiles(p->r, tile) - 3; /* not memory, energy, weights */
    struct bar_set s;
    struct chart c;
    make_bars(p->r, bytes, SUMMARY_BARS, &s);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "%.60s: %s%s%s", i ? tile[i].title : p->r->o->name,
                 tile[i].value, *tile[i].was ? ", was " : "", tile[i].was);
        line[i] = text[i];
    }
    const struct chart_bars bars = {s.bar, s.n, 2, {p->was, p->is}, byte_units, 1024, line, n};
    pith_chart_bars(&c, "summary", "Bytes by layer", &bars);
    pith_page_figure_alone(p, &c);
}

static void put_sections(struct page *p)
{
    struct bar_set s = {.n = 0};
    struct chart c;
    for (uint32_t i = 0; i < PITH_SECTIONS; i++) {
        const double bytes = (double)p->r->side[1].account->section[i];
        if (bytes > 0) {
            s.bar[s.n] = (struct chart_bar){pith_section_name((enum pith_section)i),
                                            {bytes, NAN},
                                            pith_size_text(bytes, s.note[s.n])};
            s.n++;
        }
    }
    const struct chart_bars bars = {s.bar, s.n, 1, {NULL, NULL}, byte_units, 1024, NULL, 0};
    pith_chart_bars(&c, "bytes-by-section", "Bytes by section of the file", &bars);
    pith_page_figure(p, &c, "The sum is the size of the file.");
}

void pith_page_bytes(struct page *p)
{
    static const struct measure bytes = {bytes_of, ratio_note};
    struct bar_set s;
    struct chart c;
    make_bars(p->r, &bytes, MOST_BARS, &s);
    const struct chart_bars bars = {s.bar, s.n, 2, {p->was, p->is}, byte_units, 1024, NULL, 0};
    if (s.n) {
        pith_chart_bars(&c, "bytes-by-layer", "Bytes by layer", &bars);
        pith_page_figure(p, &c,
                         "Weights of each layer. At the right: bytes in the file, and how "
                         "many times smaller.");
        put_summary(p, &bytes);
    }
    if (!p->r->side[1].onnx)
        put_sections(p);
}

void pith_page_energy(struct page *p)
{
    static const struct measure energy = {picojoules_of, joule_note};
    const struct report_energy *was = &p->r->before, *is = &p->r->after;
    const struct chart_bar part[3] = {
        {"arithmetic", {1e12 * was->arithmetic, 1e12 * is->arithmetic}, NULL},
        {"weights (DRAM)", {1e12 * was->weights, 1e12 * is->weights}, NULL},
        {"activations", {1e12 * was->activations, 1e12 * is->activations}, NULL}};
    struct bar_set s;
    struct chart c;
    struct chart_bars bars = {part, 3, 2, {"f32, dense", "as stored"}, joule_units, 1000, NULL, 0};
    pith_chart_bars(&c, "energy-by-kind", "Energy of an inference, estimated", &bars);
    pith_page_figure(
        p, &c,
        "For 45 nm CMOS by the table of Horowitz (ISSCC 2014). Weights are fetched once from DRAM "
        "(640 pJ for 32 bits) in their stored bytes; activations pass SRAM (5 pJ for 32 bits); a "
        "product of floats takes 4.6 pJ, of 8-bit integers 0.3 pJ; products with zero weights are "
        "skipped. It compares networks and predicts no battery.");
    make_bars(p->r, &energy, MOST_BARS, &s);
    bars.bar = s.bar;
    bars.n = s.n;
    if (s.n) {
        pith_chart_bars(&c, "energy-by-layer", "Energy by layer, estimated", &bars);
        pith_page_figure(p, &c, "");
    }
}

/* ---- table ----------------------------------------------------------------------------------- */

static void put_cell(struct page *p, const char *text, bool wide)
{
    pith_put(&p->t, wide ? "<td class=\"wide\">" : "<td>");
    pith_put_escaped(&p->t, text);
    pith_put(&p->t, "</td>");
}

static const char *cost_text(const struct report_layer *l, char *to)
{
    char number[NUMBER_BYTES];
    if (!isnan(l->ms))
        snprintf(to, NUMBER_BYTES, "%.20s ms", pith_plain_number(l->ms, 4, number));
    else if (l->macs)
        pith_metric_text((double)l->macs, "MAC", to);
    else
        strcpy(to, "-");
    return to;
}

static void put_row(struct page *p, const struct report_layer *l)
{
    char text[NUMBER_BYTES * 2];
    pith_put(&p->t, "<tr>");
    put_cell(p, l->name, false);
    put_cell(p, l->shape, true);
    put_cell(p, pith_size_text((double)l->before_bytes, text), true);
    put_cell(p, pith_size_text((double)l->bytes, text), false);
    put_cell(p, pith_plain_number(l->count ? 8 * (double)l->bytes / (double)l->count : 0, 2, text),
             false);
    put_cell(p,
             pith_plain_number(l->count ? 100 - 100 * (double)l->nonzeros / (double)l->count : 0, 1,
                               text),
             false);
    put_cell(p, l->grid, true);
    put_cell(p, l->code, true);
    put_cell(p, pith_page_db(l->alone_db, text), true);
    put_cell(p, l->kernel ? l->kernel : "-", true);
    put_cell(p, cost_text(l, text), true);
    pith_put(&p->t, "</tr>\n");
}

void pith_page_table(struct page *p)
{
    pith_page_section(p, "layers", "Layers");
    pith_put(
        &p->t,
        "<p class=\"soft\">Bits: of the file, for each weight. Alone: SQNR of the outputs when "
        "only this layer is compressed%s.</p>\n<table><thead><tr><th>layer</th>"
        "<th class=\"wide\">shape</th><th class=\"wide\">before</th><th>bytes</th>"
        "<th>bits</th><th>zeros, %%</th><th class=\"wide\">grid</th><th class=\"wide\">code</th>"
        "<th class=\"wide\">alone</th><th class=\"wide\">kernel</th>"
        "<th class=\"wide\">cost</th></tr></thead><tbody>\n",
        p->r->sense_samples ? "" : " (needs --vs and -d)");
    for (uint32_t i = 0; i < p->r->n_layers; i++)
        put_row(p, &p->r->layer[i]);
    pith_put(&p->t, "</tbody></table>");
    pith_page_section_end(p);
}

/* ---- graph ----------------------------------------------------------------------------------- */

/* Operators in blocks: a layer and what follows it alone, such as its activation. */
struct blocks {
    uint32_t *block;               /* owns: [n_nodes] */
    uint32_t *head;                /* owns: [n] its first node */
    uint32_t *tail;                /* owns: [n] its last one */
    uint32_t *producer;            /* owns: [n_values] node or UINT32_MAX */
    uint32_t *uses;                /* owns: [n_values] */
    struct chart_node *node;       /* owns: [n] */
    char (*label)[224];            /* owns: [n] */
    char (*text)[3][NUMBER_BYTES]; /* owns: [n] */
    uint32_t *from;                /* owns: all readings */
    uint32_t n;
};

static void free_blocks(struct blocks *b)
{
    free(b->block);
    free(b->head);
    free(b->tail);
    free(b->producer);
    free(b->uses);
    free(b->node);
    free(b->label);
    free(b->text);
    free(b->from);
}

/* The only node whose result this one reads; UINT32_MAX: there are several, or none. */
static uint32_t only_producer(const struct blocks *b, const struct pith_node *node)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] == PITH_VALUE_NONE)
            continue;
        const uint32_t from = b->producer[node->in[i]];
        if (from == UINT32_MAX)
            continue;
        if (found != UINT32_MAX && found != from)
            return UINT32_MAX;
        found = from;
    }
    return found;
}

static bool joins(const struct pith_model *m, const struct blocks *b, uint32_t i)
{
    const struct pith_node *node = &m->nodes[i];
    const uint32_t from = only_producer(b, node);
    if (from == UINT32_MAX || from >= i || pith_op_traits(node->op).weight_input ||
        pith_opens_body(node->op) || pith_closes_body(node->op) ||
        pith_opens_body(m->nodes[from].op) || m->nodes[from].n_out != 1)
        return false;
    uint32_t times = 0;
    for (uint32_t k = 0; k < node->n_in; k++)
        times += node->in[k] == m->nodes[from].out[0];
    return b->uses[m->nodes[from].out[0]] == times && b->tail[b->block[from]] == from;
}

static bool make_blocks(const struct pith_model *m, struct blocks *b)
{
    uint64_t readings = 1;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        readings += m->nodes[i].n_in;
    const size_t n = m->n_nodes + (size_t)1;
    *b = (struct blocks){.block = calloc(n, sizeof *b->block),
                         .head = calloc(n, sizeof *b->head),
                         .tail = calloc(n, sizeof *b->tail),
                         .producer = calloc(m->n_values + (size_t)1, sizeof *b->producer),
                         .uses = calloc(m->n_values + (size_t)1, sizeof *b->uses),
                         .node = calloc(n, sizeof *b->node),
                         .label = calloc(n, sizeof *b->label),
                         .text = calloc(n, sizeof *b->text),
                         .from = calloc((size_t)readings, sizeof *b->from)};
    if (!b->block || !b->head || !b->tail || !b->producer || !b->uses || !b->node || !b->label ||
        !b->text || !b->from)
        return false;
    pith_model_count_uses(m, m->n_values, b->uses, b->producer);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const bool in = joins(m, b, i);
        b->block[i] = in ? b->block[only_producer(b, &m->nodes[i])] : b->n;
        if (!in)
            b->head[b->n++] = i;
        b->tail[b->block[i]] = i;
    }
    return true;
}

/* Blocks that block i reads, each once; at: its place in b->from, after which the next one's begin.
 */
static uint32_t find_sources(const struct pith_model *m, struct blocks *b, uint32_t i, uint32_t at)
{
    uint32_t n = 0;
    for (uint32_t k = b->head[i]; k <= b->tail[i]; k++)
        for (uint32_t in = 0; b->block[k] == i && in < m->nodes[k].n_in; in++) {
            const uint32_t v = m->nodes[k].in[in];
            const uint32_t from = v == PITH_VALUE_NONE ? UINT32_MAX : b->producer[v];
            bool known = from == UINT32_MAX || b->block[from] >= i;
            for (uint32_t j = 0; j < n && !known; j++)
                known = b->from[at + j] == b->block[from];
            if (!known)
                b->from[at + n++] = b->block[from];
        }
    b->node[i].from = b->from + at;
    b->node[i].n_from = n;
    return at + n;
}

static const struct report_layer *layer_of(const struct report *r, const struct blocks *b,
                                           uint32_t i)
{
    for (uint32_t k = 0; k < r->n_layers; k++)
        if (b->block[r->side[1].ref[k].node] == i)
            return &r->layer[k];
    return NULL;
}

static double error_of(const struct report *r, const struct blocks *b, uint32_t i)
{
    const struct pith_model *m = r->side[1].m;
    const struct report_layer *l = layer_of(r, b, i);
    for (uint32_t k = b->tail[i] + 1; k-- > b->head[i];) {
        const struct pith_node *node = &m->nodes[k];
        const char *label = node->name[0] ? node->name : m->values[node->out[0]].name;
        for (uint32_t c = 0; b->block[k] == i && label[0] && c < r->compared.n_layers; c++)
            if (strcmp(r->compared.layers[c].layer, label) == 0)
                return r->compared.layers[c].snr_db;
    }
    return l ? l->layer_db : NAN;
}

static void put_label(const struct pith_model *m, struct blocks *b, uint32_t i,
                      const struct report_layer *l)
{
    const struct pith_node *head = &m->nodes[b->head[i]];
    const struct pith_node *tail = &m->nodes[b->tail[i]];
    const char *name = l ? l->name : head->name[0] ? head->name : m->values[head->out[0]].name;
    const char *op = l ? l->op : pith_op_text(head->op);
    if (l)
        snprintf(b->label[i], sizeof b->label[i], "%.100s  %.40s %.60s", name, op, l->shape);
    else
        snprintf(b->label[i], sizeof b->label[i], "%.100s  %.40s%s%.40s", name, op,
                 head == tail ? "" : " + ", head == tail ? "" : pith_op_text(tail->op));
    b->node[i].label = b->label[i];
}

static void measure_block(const struct report *r, struct blocks *b, uint32_t i, double most_bytes,
                          double most_cost)
{
    const struct report_layer *l = layer_of(r, b, i);
    struct chart_node *node = &b->node[i];
    const double db = error_of(r, b, i);
    put_label(r->side[1].m, b, i, l);
    for (uint32_t k = 0; k < 3; k++)
        node->share[k] = NAN;
    if (l) {
        node->share[0] = (double)l->bytes / most_bytes;
        node->text[0] = pith_size_text((double)l->bytes, b->text[i][0]);
        node->share[2] = (isnan(l->ms) ? (double)l->macs : l->ms) / most_cost;
        node->text[2] = cost_text(l, b->text[i][2]);
    }
    if (!isnan(db)) {
        node->share[1] = isinf(db) ? db < 0 : (60 - db) / 60; /* 0 dB: darkest; 60 dB: lightest */
        node->text[1] = pith_page_db(db, b->text[i][1]);
    }
}

static void put_graph(struct page *p, const struct blocks *b, bool has_error)
{
    const bool timed = p->r->o->seconds > 0;
    const struct chart_graph g = {b->node, b->n < MOST_NODES ? b->n : MOST_NODES, 0, 2};
    struct chart c;
    pith_put(&p->t,
             "<span class=\"soft\">Colour: </span><input type=\"radio\" name=\"measure\" id=\"m0\" "
             "checked><label class=\"pick\" "
             "for=\"m0\">bytes</label>%s"
             "<input type=\"radio\" name=\"measure\" id=\"m2\"><label class=\"pick\" "
             "for=\"m2\">%s</label>\n",
             has_error ? "<input type=\"radio\" name=\"measure\" id=\"m1\"><label class=\"pick\" "
                         "for=\"m1\">error</label>"
                       : "<input type=\"radio\" name=\"measure\" id=\"m1\" hidden>",
             timed ? "time" : "MACs");
    char caption[200];
    snprintf(caption, sizeof caption,
             "Values flow down. A row is an operator and what follows it alone. Strong colour: "
             "many bytes or operations, a low SQNR.");
    if (b->n > MOST_NODES)
        snprintf(caption, sizeof caption,
                 "The first %u of %u blocks. Strong colour: many bytes or operations, a low SQNR.",
                 MOST_NODES, b->n);
    /* in the page all three, of which one is shown; as files each by itself */
    pith_chart_graph(&c, "graph", &g);
    pith_page_figure_inside(p, &c, caption);
    static const char *const names[] = {"graph-bytes", "graph-error", "graph-cost"};
    for (uint32_t k = 0; k < 3; k++) {
        const struct chart_graph one = {g.node, g.n, k, k};
        if (k == 1 && !has_error)
            continue;
        pith_chart_graph(&c, names[k], &one);
        pith_page_figure_alone(p, &c);
    }
}

void pith_page_graph(struct page *p)
{
    const struct report *r = p->r;
    const struct pith_model *m = r->side[1].m;
    struct blocks b;
    bool has_error = false;
    if (!make_blocks(m, &b)) {
        p->t.failed = true;
        free_blocks(&b);
        return;
    }
    double most_bytes = 1, most_cost = 1e-9;
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const struct report_layer *l = &r->layer[i];
        most_bytes = fmax(most_bytes, (double)l->bytes);
        most_cost = fmax(most_cost, isnan(l->ms) ? (double)l->macs : l->ms);
    }
    for (uint32_t i = 0, at = 0; i < b.n; i++) {
        at = find_sources(m, &b, i, at);
        measure_block(r, &b, i, most_bytes, most_cost);
        has_error |= !isnan(b.node[i].share[1]);
    }
    pith_put(&p->t, "<div id=\"network\">");
    put_graph(p, &b, has_error);
    pith_put(&p->t, "</div>\n");
    free_blocks(&b);
}

/* ---- each layer ------------------------------------------------------------------------------ */

static void put_term(struct page *p, const char *term, const char *text)
{
    pith_put(&p->t, "<dt>%s</dt><dd>", term);
    pith_put_escaped(&p->t, text);
    pith_put(&p->t, "</dd>");
}

static void put_facts(struct page *p, const struct report_layer *l)
{
    char text[200], a[NUMBER_BYTES], b[NUMBER_BYTES];
    pith_put(&p->t, "<dl>");
    snprintf(
        text, sizeof text, "%s %s, %.10s %% zeros", l->op, l->shape,
        pith_plain_number(l->count ? 100 - 100 * (double)l->nonzeros / (double)l->count : 0, 1, a));
    put_term(p, "weights", text);
    snprintf(text, sizeof text, "%s, was %s; %s bits, %s, %s", pith_size_text((double)l->bytes, a),
             pith_size_text((double)l->before_bytes, b), pith_plain_number(l->bits, 0, text + 150),
             l->grid, l->code);
    put_term(p, "stored", text);
    if (l->weights.n_levels) {
        snprintf(text, sizeof text, "%u distinct", l->weights.n_levels);
        put_term(p, "values", text);
    }
    if (!isnan(l->weight_db))
        put_term(p, "SQNR of weights", pith_page_db(l->weight_db, text));
    if (!isnan(l->alone_db))
        put_term(p, "SQNR of outputs, alone", pith_page_db(l->alone_db, text));
    if (!isnan(l->layer_db))
        put_term(p, "SQNR of its results", pith_page_db(l->layer_db, text));
    if (l->kernel) {
        snprintf(text, sizeof text, "%s, %s", l->kernel, cost_text(l, a));
        put_term(p, "kernel", text);
    }
    pith_put(&p->t, "</dl>");
}

static void put_histogram(struct page *p, uint32_t i)
{
    const struct report_layer *l = &p->r->layer[i];
    char name[32], title[300];
    struct chart c;
    const struct chart_histogram h = {
        .low = l->weights.low,
        .high = l->weights.high,
        .n_bins = REPORT_BINS,
        .bin = {l->weights.has_before ? l->weights.bin[0] : NULL, l->weights.bin[1]},
        .level = l->weights.level,
        .level_count = l->weights.level_count,
        .n_levels = l->weights.n_levels,
        .x_name = l->integers ? "weight (integer)" : "weight"};
    if (!l->count || !(l->weights.high > l->weights.low))
        return;
    snprintf(name, sizeof name, "weights-%03u", i);
    snprintf(title, sizeof title, "Weights of %.200s", l->name);
    pith_chart_histogram(&c, name, title, &h);
    pith_page_figure(p, &c,
                     l->weights.n_levels ? "Sticks: how often each stored value occurs." : "");
}

static void put_maps(struct page *p, const struct report_layer *l)
{
    char text[200];
    pith_put(&p->t, "<div class=\"maps\">");
    if (l->picture.weight.data) {
        pith_put(&p->t, "<figure>");
        pith_page_picture(p, &l->picture.weight, l->picture.weight_side, "weights");
        pith_put(&p->t, "<figcaption>weights: a row for each output</figcaption></figure>");
    }
    if (l->picture.activation.data) {
        pith_put(&p->t, "<figure>");
        pith_page_picture(p, &l->picture.activation, l->picture.activation_side, "activations");
        if (l->picture.n_maps)
            snprintf(text, sizeof text, "results: %u of %u maps", l->picture.n_maps,
                     l->picture.n_channels);
        else
            snprintf(text, sizeof text, "results, row by row");
        pith_put(&p->t, "<figcaption>%s</figcaption></figure>", text);
    }
    pith_put(&p->t, "</div>");
}

static void put_detail(struct page *p, uint32_t i, bool open)
{
    const struct report_layer *l = &p->r->layer[i];
    char size[NUMBER_BYTES];
    pith_put(&p->t, "<details class=\"card\" id=\"layer-%u\"%s><summary>", i, open ? " open" : "");
    pith_put_escaped(&p->t, l->name);
    pith_put(&p->t, " <span class=\"soft\">%s</span></summary>",
             pith_size_text((double)l->bytes, size));
    put_facts(p, l);
    put_histogram(p, i);
    put_maps(p, l);
    pith_put(&p->t, "</details>\n");
}

struct rank {
    uint64_t bytes;
    uint32_t layer;
};

static int most_bytes_first(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* Each into a text of its own; the first ones, by bytes, that fit together. */
void pith_page_details(struct page *p, size_t most_bytes)
{
    const uint32_t n = p->r->n_layers;
    struct chart_text *card = calloc(n + (size_t)1, sizeof *card);
    struct rank *rank = calloc(n + (size_t)1, sizeof *rank);
    bool *shown = calloc(n + (size_t)1, sizeof *shown);
    uint32_t n_shown = 0;
    if (!card || !rank || !shown) {
        p->t.failed = true;
        free(card);
        free(rank);
        free(shown);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        rank[i] = (struct rank){p->r->layer[i].bytes, i};
    qsort(rank, n, sizeof *rank, most_bytes_first);
    size_t bytes = p->t.bytes;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = rank[k].layer;
        struct page one = *p;
        one.t = (struct chart_text){0};
        put_detail(&one, i, k < OPEN_DETAILS);
        card[i] = one.t;
        p->refused |= one.refused;
        shown[i] = bytes + card[i].bytes <= most_bytes;
        bytes += shown[i] ? card[i].bytes : 0;
        n_shown += shown[i];
    }
    pith_page_section(p, "details", "Each layer");
    pith_put(&p->t, "<p>Histograms are scaled to their highest bin. Pictures of weights: blue is "
                    "positive, orange negative, white zero; each shows the first rows and "
                    "columns that fit. Results of a layer are those for the first sample, dark "
                    "is large.</p>\n");
    if (n_shown < n)
        pith_put(&p->t,
                 "<p class=\"soft\">%u of %u layers fit into the page, those with the most "
                 "bytes first; the numbers of all are in its JSON.</p>\n",
                 n_shown, n);
    pith_put(&p->t, "<div class=\"columns\">");
    for (uint32_t i = 0; i < n; i++) {
        if (shown[i] && card[i].data)
            pith_put_bytes(&p->t, card[i].data, card[i].bytes);
        p->t.failed |= card[i].failed;
        pith_text_free(&card[i]);
    }
    pith_put(&p->t, "</div>");
    pith_page_section_end(p);
    free(card);
    free(rank);
    free(shown);
}
