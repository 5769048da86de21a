/* SPDX-License-Identifier: MIT */
#include "page.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"

static const char style[] =
    "*{box-sizing:border-box}html{background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;"
    "-webkit-text-size-adjust:100%}"
    "body{margin:0 auto;padding:16px 12px 48px;max-width:1560px}"
    "h1{font-size:1.6rem;line-height:1.2;margin:.4rem 0;overflow-wrap:anywhere}"
    "h2{font-size:1.2rem;margin:2.2rem 0 .3rem}h3{font-size:1rem;margin:0}"
    "p{margin:.3rem 0;max-width:75ch;overflow-wrap:anywhere}.soft,figcaption{color:var(--soft);"
    "font-size:.86rem}"
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.8rem 0}a{color:var(--after)}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:"
    "10px;"
    "margin:1rem 0}"
    ".tile,.card,figure{background:var(--card);border-radius:8px;padding:10px 12px;margin:0;"
    "min-width:0}"
    ""
    ".tile b{display:block;font-size:1.3rem;line-height:1.25;font-variant-numeric:tabular-nums}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));"
    "gap:12px;align-items:start}"
    ".columns{columns:auto 400px;column-gap:12px}.columns>*{break-inside:avoid;margin-bottom:12px}"
    ".card figure{padding:0}#network figure{margin-top:4px}"
    "figure h3,figcaption{overflow-wrap:anywhere}figure .chart{max-width:460px;margin-top:6px}"
    "table{border-collapse:collapse;width:100%;font-size:.84rem;"
    "font-variant-numeric:tabular-nums}"
    "th,td{text-align:right;padding:3px 6px;border-bottom:1px solid var(--grid);font-weight:400;"
    "white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere}"
    "thead th{color:var(--soft);vertical-align:bottom;white-space:normal}"
    "dl{display:grid;grid-template-columns:auto 1fr;gap:0 .8rem;margin:.4rem 0;font-size:.86rem}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem;background:var(--card);"
    "padding:10px;border-radius:8px;margin:.5rem 0}"
    "summary{cursor:pointer;overflow-wrap:anywhere}details.card>summary{font-weight:600}"
    ".maps{display:flex;flex-wrap:wrap;gap:10px;margin:.4rem 0}.maps figure{padding:0}"
    "img{image-rendering:pixelated;display:block;max-width:100%;background:#fff}"
    ".scroll{max-height:80vh;overflow-y:auto}"
    ".pick{display:inline-flex;gap:.3rem;margin:.3rem .9rem .3rem 0}"
    "#m1:not(:checked)~figure .m1,#m0:not(:checked)~figure .m0,#m2:not(:checked)~figure .m2"
    "{display:none}"
    ".changes{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,260px),1fr));"
    "gap:10px}.change{display:flex;gap:10px;font-size:.86rem}.change div{min-width:0;"
    "overflow-wrap:anywhere}.change img{width:84px;height:auto;flex:none;align-self:start;"
    "image-rendering:auto}"
    "@media(max-width:700px){.wide{display:none}}"
    "@media print{.scroll{max-height:none}nav,.pick,input{display:none}figure,.card,.tile"
    "{break-inside:avoid;border:1px solid var(--grid)}body{padding:0}}";

void pith_page_section(struct page *p, const char *id, const char *title)
{
    pith_put(&p->t, "<section id=\"%s\"><h2>%s</h2>\n", id, title);
}

void pith_page_section_end(struct page *p)
{
    pith_put(&p->t, "</section>\n");
}

static void put_figure(struct page *p, const struct chart *c, const char *caption)
{
    pith_put(&p->t, "<figure id=\"%s\"><h3>", c->name);
    pith_put_escaped(&p->t, c->title);
    pith_put(&p->t, "</h3><figcaption>");
    pith_put_escaped(&p->t, caption);
    pith_put(&p->t, "</figcaption>");
    pith_chart_put(c, PITH_CHART_IN_PAGE, &p->t);
    pith_put(&p->t, "</figure>\n");
}

static void give_figure(struct page *p, const struct chart *c)
{
    struct chart_text alone = {0};
    if (!p->r->o->figure || p->refused)
        return;
    pith_chart_put(c, PITH_CHART_ALONE, &alone);
    p->t.failed |= alone.failed;
    p->refused = !alone.failed && !p->r->o->figure(p->r->o->user, c->name, alone.data, alone.bytes);
    pith_text_free(&alone);
}

void pith_page_figure(struct page *p, struct chart *c, const char *caption)
{
    put_figure(p, c, caption);
    give_figure(p, c);
    pith_chart_free(c);
}

void pith_page_figure_inside(struct page *p, struct chart *c, const char *caption)
{
    put_figure(p, c, caption);
    pith_chart_free(c);
}

void pith_page_figure_alone(struct page *p, struct chart *c)
{
    give_figure(p, c);
    p->t.failed |= c->failed || c->svg.failed;
    pith_chart_free(c);
}

void pith_page_picture(struct page *p, const struct pith_buffer *png, const uint32_t size[2],
                       const char *alt)
{
    /* whole multiples of a pixel keep edges sharp */
    const uint32_t large = size[0] > size[1] ? size[0] : size[1];
    uint32_t scale = large ? 168 / large : 1;
    scale = scale < 1 ? 1 : scale > 8 ? 8 : scale;
    pith_put(&p->t, "<img width=\"%u\" height=\"%u\" alt=\"", size[0] * scale, size[1] * scale);
    pith_put_escaped(&p->t, alt);
    pith_put(&p->t, "\" src=\"");
    pith_put_png(&p->t, png);
    pith_put(&p->t, "\">");
}

const char *pith_page_db(double db, char *to)
{
    char number[NUMBER_BYTES];
    if (isnan(db))
        return strcpy(to, "-");
    if (isinf(db))
        return strcpy(to, db > 0 ? "no change" : "lost");
    snprintf(to, NUMBER_BYTES, "%.30s dB", pith_plain_number(db, 1, number));
    return to;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static struct page_tile *add_tile(struct page_tile *tile, uint32_t *n, const char *title)
{
    struct page_tile *t = &tile[(*n)++];
    *t = (struct page_tile){.title = title};
    return t;
}

static double all_weights(const struct report *r)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n_layers; i++)
        n += r->layer[i].count;
    return (double)n;
}

static void add_size(const struct report *r, struct page_tile *tile, uint32_t *n)
{
    char size[NUMBER_BYTES], number[NUMBER_BYTES];
    const bool has = r->side[0].m != NULL;
    const double was = has ? (double)r->side[0].file_bytes : 4 * all_weights(r);
    const double is = (double)r->side[1].file_bytes, ratio = was >= is ? was / is : is / was;
    struct page_tile *t = add_tile(tile, n, "File");
    pith_size_text(is, t->value);
    pith_size_text(was, size);
    if (has)
        strcpy(t->was, size);
    if (was > 0)
        snprintf(t->note, sizeof t->note, "%s%s: %s times %s",
                 has ? "" : "weights as f32: ", has ? "" : size,
                 pith_plain_number(ratio, ratio < 10 ? 2 : 1, number),
                 was >= is ? "smaller" : "larger");
}

/* A share of n in percent with its standard error. */
static const char *share_text(const struct report_side *s, char *to)
{
    char share[NUMBER_BYTES], error[NUMBER_BYTES];
    const double n = (double)s->labelled, x = (double)s->correct / n;
    snprintf(to, NUMBER_BYTES, "%.12s %% ± %.12s", pith_plain_number(100 * x, 1, share),
             pith_plain_number(100 * sqrt(x * (1 - x) / n), 1, error));
    return to;
}

static void add_accuracy(const struct report *r, struct page_tile *tile, uint32_t *n)
{
    const struct report_side *was = &r->side[0], *is = &r->side[1];
    const unsigned long long labelled = is->labelled, samples = r->accuracy[1].samples;
    char text[NUMBER_BYTES];
    if (labelled) {
        struct page_tile *t = add_tile(tile, n, "Top-1 accuracy");
        share_text(is, t->value);
        if (was->labelled)
            share_text(was, t->was);
        snprintf(t->note, sizeof t->note, "%s %llu samples (± one standard error)",
                 was->labelled ? ", on" : "on", labelled);
    }
    if (samples) {
        struct page_tile *t = add_tile(tile, n, "PSNR of the output");
        pith_page_db(r->accuracy[1].psnr, t->value);
        if (r->accuracy[0].samples)
            pith_page_db(r->accuracy[0].psnr, t->was);
        snprintf(t->note, sizeof t->note, "%s %llu samples", *t->was ? ", on" : "on", samples);
    }
    if (r->n_classes && was->top) {
        struct page_tile *t = add_tile(tile, n, "Same prediction");
        snprintf(t->value, sizeof t->value, "%.12s %%",
                 pith_plain_number(100 * (double)r->agree / (double)r->n_samples, 1, text));
        snprintf(t->note, sizeof t->note, "%llu of %llu changed", (unsigned long long)r->n_changed,
                 (unsigned long long)r->n_samples);
    } else if (r->compared.samples) {
        struct page_tile *t = add_tile(tile, n, "SQNR of the output");
        pith_page_db(r->compared.output.snr_db, t->value);
        snprintf(t->note, sizeof t->note, "on %llu %s", (unsigned long long)r->compared.samples,
                 r->random ? "random inputs" : "samples");
    }
}

static void add_speed(const struct report *r, struct page_tile *tile, uint32_t *n)
{
    const double ms = r->side[1].ms, was = r->side[0].ms;
    char number[NUMBER_BYTES];
    struct page_tile *t = add_tile(tile, n, ms > 0 ? "Time" : "Multiply-accumulates");
    if (ms > 0)
        snprintf(t->value, sizeof t->value, "%.20s ms", pith_plain_number(ms, 3, number));
    else
        pith_metric_text((double)r->side[1].macs, "", t->value);
    if (was > 0)
        snprintf(t->was, sizeof t->was, "%.20s ms", pith_plain_number(was, 3, number));
    strcpy(t->note, ms > 0 ? was > 0 ? "; medians, measured on this machine"
                                     : "median, measured on this machine"
                           : "of one inference; --time measures milliseconds");
}

static void add_rest(const struct report *r, struct page_tile *tile, uint32_t *n)
{
    char a[NUMBER_BYTES];
    const double weights = all_weights(r);
    uint64_t nonzeros = 0;
    for (uint32_t i = 0; i < r->n_layers; i++)
        nonzeros += r->layer[i].nonzeros;
    struct page_tile *t = add_tile(tile, n, "Memory to run (this CPU)");
    pith_size_text((double)r->side[1].need.bytes, t->value);
    pith_size_text((double)r->side[1].need.arena_bytes, a);
    if (r->side[0].m)
        pith_size_text((double)r->side[0].need.bytes, t->was);
    snprintf(t->note, sizeof t->note, "%sactivations take %s", r->side[0].m ? "; " : "", a);
    t = add_tile(tile, n, "Energy of an inference");
    pith_metric_text(pith_energy_sum(&r->after), "J", t->value);
    snprintf(t->note, sizeof t->note, "f32, dense: %s; estimate for 45 nm",
             pith_metric_text(pith_energy_sum(&r->before), "J", a));
    t = add_tile(tile, n, "Weights");
    pith_metric_text(weights, "", t->value);
    snprintf(t->note, sizeof t->note, "%s %% are not zero, in %u layers",
             pith_plain_number(weights > 0 ? 100 * (double)nonzeros / weights : 100, 1, a),
             r->n_layers);
}

uint32_t pith_page_tiles(const struct report *r, struct page_tile tile[PAGE_TILES])
{
    uint32_t n = 0;
    add_size(r, tile, &n);
    add_accuracy(r, tile, &n);
    add_speed(r, tile, &n);
    add_rest(r, tile, &n);
    return n;
}

static void put_tiles(struct page *p)
{
    struct page_tile tile[PAGE_TILES];
    const uint32_t n = pith_page_tiles(p->r, tile);
    pith_put(&p->t, "<div class=\"tiles\">\n");
    for (uint32_t i = 0; i < n; i++) /* texts of our own: nothing to escape */
        pith_put(&p->t,
                 "<div class=\"tile\"><span class=\"soft\">%s</span><b>%s</b><span "
                 "class=\"soft\">%s%s%s</span></div>\n",
                 tile[i].title, tile[i].value, *tile[i].was ? "was " : "", tile[i].was,
                 tile[i].note);
    pith_put(&p->t, "</div>\n");
}

/* ---- the rest of the frame ------------------------------------------------------------------- */

static void put_head(struct page *p)
{
    const struct report *r = p->r;
    pith_put(&p->t, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                    "<link rel=\"icon\" href=\"data:,\"><title>");
    pith_put_escaped(&p->t, r->o->name);
    pith_put(&p->t, " - pith report</title><style>%s%s</style></head><body>\n<h1>",
             pith_chart_style(), style);
    pith_put_escaped(&p->t, r->o->name);
    if (r->o->two_models) {
        pith_put(&p->t, " against ");
        pith_put_escaped(&p->t, r->o->vs_name);
    }
    pith_put(&p->t, "</h1>\n<p class=\"soft\">");
    if (r->side[0].m) {
        pith_put(&p->t, r->o->two_models ? "A: " : "Original: ");
        pith_put_escaped(&p->t, r->o->vs_name);
        pith_put(&p->t, r->o->two_models ? ", B: " : "");
        pith_put_escaped(&p->t, r->o->two_models ? r->o->name : "");
        pith_put(&p->t, ". ");
    }
    if (r->o->data_name && r->n_samples) {
        pith_put(&p->t, "Samples: %llu of ", (unsigned long long)r->n_samples);
        pith_put_escaped(&p->t, r->o->data_name);
        pith_put(&p->t, ". ");
    }
    pith_put(&p->t, "Made by pith report.</p>\n");
}

static void put_nav(struct page *p)
{
    static const struct {
        const char *id, *title;
    } link[] = {
        {"sweep-front", "Sweep"}, {"training-loss", "Training"}, {"bytes", "Bytes"},
        {"network", "Graph"},     {"energy-by-kind", "Energy"},  {"predictions", "Predictions"},
        {"layers", "Layers"},     {"details", "Each layer"},     {"commands", "Commands"}};
    const struct report *r = p->r;
    pith_put(&p->t, "<nav>");
    for (uint32_t i = 0; i < sizeof link / sizeof *link; i++)
        if ((i != 0 || r->sweep.n) && (i != 1 || r->n_epochs) && (i != 5 || r->n_classes))
            pith_put(&p->t, "<a href=\"#%s\">%s</a>", link[i].id, link[i].title);
    pith_put(&p->t, "</nav>\n");
}

/* Weights of one model that the other has not, with their names; n: 0. */
static void put_lacking(struct page *p, uint32_t side)
{
    const struct report *r = p->r;
    const struct report_side *s = &r->side[side];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_refs; i++) {
        bool paired = side && r->layer[i].vs != UINT32_MAX;
        for (uint32_t k = 0; !side && k < r->n_layers && !paired; k++)
            paired = r->layer[k].vs == i;
        if (paired || ++n > 20)
            continue;
        pith_put(&p->t, n > 1 ? ", " : "");
        pith_put_escaped(&p->t, s->ref[i].layer);
    }
    pith_put(&p->t, n > 20 ? ", ... (%u in all)" : n ? "" : "none", n);
}

/* What two models differ in beside their layers. */
static void put_difference(struct page *p)
{
    const struct report *r = p->r;
    char size[2][NUMBER_BYTES];
    if (!r->o->two_models)
        return;
    pith_page_section(p, "difference", "Structure");
    pith_put(&p->t,
             "<table><thead><tr><th></th><th>A</th><th>B</th></tr></thead><tbody>\n"
             "<tr><td>operators</td><td>%u</td><td>%u</td></tr>\n"
             "<tr><td>weights (arrays)</td><td>%u</td><td>%u</td></tr>\n",
             r->side[0].m->n_nodes, r->side[1].m->n_nodes, r->side[0].n_refs, r->side[1].n_refs);
    for (uint32_t side = 0; side < 2; side++)
        pith_metric_text((double)r->side[side].macs, "MAC", size[side]);
    pith_put(&p->t,
             "<tr><td>operations</td><td>%s</td><td>%s</td></tr></tbody></table>\n<p>Weights "
             "of A without a counterpart: ",
             size[0], size[1]);
    put_lacking(p, 0);
    pith_put(&p->t, ". Of B: ");
    put_lacking(p, 1);
    pith_put(&p->t, ".</p>\n");
    pith_page_section_end(p);
}

static void put_commands(struct page *p)
{
    const struct pith_model *m = p->r->side[1].m;
    pith_page_section(p, "commands", "Commands");
    if (p->r->o->command) {
        pith_put(&p->t, "<p>This page:</p><pre>");
        pith_put_escaped(&p->t, p->r->o->command);
        pith_put(&p->t, "</pre>\n");
    }
    pith_put(&p->t, m->n_history ? "<p>Stages that made the network, oldest first, with their "
                                   "options and results:</p>\n"
                                 : "<p>The file stores no history of its stages.</p>\n");
    for (uint32_t i = 0; i < m->n_history && i < 64; i++) {
        pith_put(&p->t, "<pre>");
        pith_put_escaped(&p->t, m->history[i].key);
        pith_put(&p->t, " ");
        char text[2048];
        snprintf(text, sizeof text, "%s", m->history[i].text);
        pith_put_escaped(&p->t, text);
        pith_put(&p->t, "</pre>\n");
    }
    pith_page_section_end(p);
}

enum { DETAILS_REST = 2500 }; /* bytes of headings and the end */

static enum pith_status put_all(struct page *p)
{
    struct pith_buffer json = {0};
    struct page tail = *p;
    enum pith_status st = pith_report_json(p->r, &json);
    if (st)
        return pith_error_no_memory(p->r->err);
    tail.t = (struct chart_text){0};
    put_commands(&tail);
    pith_put(&tail.t, "<script type=\"application/json\" id=\"pith\">");
    pith_put_bytes(&tail.t, (const char *)json.data, json.bytes);
    pith_put(&tail.t, "</script>\n</body></html>\n");
    pith_buffer_free(&json);
    put_head(p);
    put_nav(p);
    put_tiles(p);
    put_difference(p);
    if (p->r->sweep.n || p->r->n_epochs) {
        pith_page_section(p, "runs", "Sweep, run");
        pith_put(&p->t, "<div class=\"grid\">\n");
        pith_page_sweep(p);
        pith_page_curve(p);
        pith_put(&p->t, "</div>");
        pith_page_section_end(p);
    }
    pith_page_section(p, "bytes", "Bytes, graph, energy");
    pith_put(&p->t, "<div class=\"columns\">\n");
    pith_page_bytes(p);
    pith_page_graph(p);
    pith_page_energy(p);
    pith_put(&p->t, "</div>");
    pith_page_section_end(p);
    pith_page_predictions(p);
    pith_page_table(p);
    const size_t left = tail.t.bytes + DETAILS_REST;
    pith_page_details(p, left < PITH_REPORT_MOST_BYTES ? PITH_REPORT_MOST_BYTES - left : 0);
    if (tail.t.data)
        pith_put_bytes(&p->t, tail.t.data, tail.t.bytes);
    p->t.failed |= tail.t.failed;
    pith_text_free(&tail.t);
    return PITH_OK;
}

static enum pith_status make_page(struct report *r, struct pith_buffer *html)
{
    struct page p = {.r = r,
                     .was = r->o->two_models ? "A"
                            : r->side[0].m   ? "Original"
                                             : "as f32",
                     .is = r->o->two_models ? "B" : "after"};
    enum pith_status st = put_all(&p);
    if (!st && p.t.failed)
        st = pith_error_no_memory(r->err);
    if (!st && p.refused)
        st = pith_error_fill(r->err, PITH_ERR_IO, "a figure could not be written");
    if (st)
        pith_text_free(&p.t);
    else
        *html = (struct pith_buffer){(uint8_t *)p.t.data, p.t.bytes};
    return st;
}

enum pith_status pith_report(const struct pith_report_opts *o, struct pith_buffer *html,
                             struct pith_error *err)
{
    if (!o || !html || o->size_bytes != sizeof *o || !o->packed || !o->packed->data || !o->name ||
        (o->vs && !o->vs_name))
        return PITH_ERR_ARGUMENT;
    struct report r = {.o = o, .err = err};
    enum pith_status st = pith_report_gather(&r);
    if (st == PITH_ERR_MEMORY)
        (void)pith_error_no_memory(err);
    if (!st)
        st = make_page(&r, html);
    pith_report_free(&r);
    return st;
}
