/* SPDX-License-Identifier: MIT */
/* chart_graph.c - a graph of operators, one row each. A value occupies a lane from the node that
 * gives it to the last one that reads it; its reader takes the lane over where the value ends
 * there, so that a chain stays in one lane and a branch has one of its own. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "chart.h"

enum { GRAPH_ROW = 19, GRAPH_TOP = 6, LANES_WIDTH = 84, VALUE_WIDTH = 78 };

struct layout {
    const struct chart_graph *g;
    uint32_t *lane;  /* owns: [n] of each node */
    uint32_t *last;  /* owns: [n] the last reader of each; itself: none */
    uint32_t *taken; /* owns: [n + 1] by lane: 1 + the node whose value is in it; 0: free */
    uint32_t n_lanes;
    double wide; /* of a lane */
};

static bool lanes_of(struct layout *l)
{
    const struct chart_graph *g = l->g;
    l->lane = calloc((size_t)g->n + 1, sizeof *l->lane);
    l->last = calloc((size_t)g->n + 1, sizeof *l->last);
    l->taken = calloc((size_t)g->n + 2, sizeof *l->taken);
    if (!l->lane || !l->last || !l->taken)
        return false;
    for (uint32_t i = 0; i < g->n; i++) {
        l->last[i] = i;
        for (uint32_t k = 0; k < g->node[i].n_from; k++)
            l->last[g->node[i].from[k]] = i;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        for (uint32_t k = 0; k < g->node[i].n_from; k++) {
            const uint32_t from = g->node[i].from[k];
            if (l->last[from] == i && l->taken[l->lane[from]] == from + 1)
                l->taken[l->lane[from]] = 0;
        }
        uint32_t at = 0;
        while (l->taken[at])
            at++;
        l->lane[i] = at;
        l->taken[at] = l->last[i] > i ? i + 1 : 0;
        l->n_lanes = at + 1 > l->n_lanes ? at + 1 : l->n_lanes;
    }
    l->wide = fmin(14, (double)LANES_WIDTH / l->n_lanes);
    return true;
}

static double lane_x(const struct layout *l, uint32_t node)
{
    return 9 + l->lane[node] * l->wide;
}

static double row_y(uint32_t node)
{
    return GRAPH_TOP + GRAPH_ROW * (node + 0.5);
}

static void put_point(struct chart_text *t, const char *way, double x, double y)
{
    pith_put(t, "%s", way);
    pith_put_number(t, x, 1);
    pith_put(t, " ");
    pith_put_number(t, y, 1);
}

/* Down the lane of the value, and in the last row over to the lane of its reader. */
static void put_edge(struct chart_text *t, const struct layout *l, uint32_t from, uint32_t to)
{
    const double x = lane_x(l, from), y = row_y(to);
    put_point(t, "M", x, row_y(from));
    if (l->lane[from] == l->lane[to]) {
        pith_put(t, "V");
        pith_put_number(t, y, 1);
        return;
    }
    pith_put(t, "V");
    pith_put_number(t, y - GRAPH_ROW, 1);
    put_point(t, "C", x, y - GRAPH_ROW / 3.0);
    put_point(t, " ", lane_x(l, to), y - GRAPH_ROW * 2 / 3.0);
    put_point(t, " ", lane_x(l, to), y);
}

static void put_measure(struct chart_text *t, const struct layout *l, uint32_t measure)
{
    char text[64];
    pith_put(t, "<g class=\"m%" PRIu32 "\">", measure);
    for (uint32_t i = 0; i < l->g->n; i++) {
        const struct chart_node *node = &l->g->node[i];
        const bool has = !isnan(node->share[measure]);
        pith_put(t, "<circle class=\"n h%" PRIu32 "\" cx=\"",
                 has ? pith_heat_class(node->share[measure]) : 0);
        pith_put_number(t, lane_x(l, i), 1);
        pith_put(t, "\" cy=\"");
        pith_put_number(t, row_y(i), 1);
        pith_put(t, "\" r=\"%s\"/>", has ? "5" : "2.5");
        if (node->text[measure])
            pith_put_text(t, CHART_WIDTH - 4, row_y(i) + 4, "s e",
                          pith_text_fit(node->text[measure], VALUE_WIDTH - 4, text, sizeof text));
    }
    pith_put(t, "</g>");
}

void pith_chart_graph(struct chart *c, const char *name, const struct chart_graph *g)
{
    *c = (struct chart){.name = name, .title = "Graph", .height = 2 * GRAPH_TOP + GRAPH_ROW * g->n};
    struct layout l = {.g = g};
    struct chart_text *t = &c->svg;
    c->failed = !lanes_of(&l);
    if (!c->failed) {
        const double left = 20 + l.n_lanes * l.wide;
        char text[200];
        pith_put(t, "<path class=\"edge\" d=\"");
        for (uint32_t i = 0; i < g->n; i++)
            for (uint32_t k = 0; k < g->node[i].n_from; k++)
                put_edge(t, &l, g->node[i].from[k], i);
        pith_put(t, "\"/>");
        for (uint32_t i = 0; i < g->n; i++)
            pith_put_text(t, left, row_y(i) + 4, "",
                          pith_text_fit(g->node[i].label, CHART_WIDTH - VALUE_WIDTH - left - 4,
                                        text, sizeof text));
        for (uint32_t measure = g->first; measure <= g->last; measure++)
            put_measure(t, &l, measure);
    }
    free(l.lane);
    free(l.last);
    free(l.taken);
}
