/* SPDX-License-Identifier: MIT */
#include "range_table.h"
#include "cli/common/json_out.h"
#include "pith_calibrate.h"
#include "pith_host.h"
#include "cli/common/table.h"

static bool is_told(const struct pith_value *v)
{
    return v->n_observed > 0 || v->grid;
}

/* In files without names: what gave the value. */
static const char *name_of(const struct pith_model *m, uint32_t v, char text[32])
{
    if (m->values[v].name && m->values[v].name[0])
        return m->values[v].name;
    snprintf(text, 32, "value %u", v);
    return text;
}

static void add_grid(struct cli_table *t, const struct pith_grid *g)
{
    if (!g) {
        for (int i = 0; i < 4; i++)
            cli_table_add(t, "-");
        return;
    }
    bool has_sign = g->type == PITH_I8 || g->type == PITH_I16;
    cli_table_add(t, "%s %c%u", pith_range_method_text(g->method), has_sign ? 'i' : 'u', g->bits);
    cli_table_add(t, "%d", g->zero_point);
    cli_table_add(t, "%.4g", (double)g->scale[0] * (pith_grid_lowest(g) - g->zero_point));
    if (g->n > 1)
        cli_table_add(t, "by %u channels", g->n);
    else
        cli_table_add(t, "%.4g", (double)g->scale[0] * (pith_grid_highest(g) - g->zero_point));
}

static void add_value(struct cli_table *t, const struct pith_model *m, uint32_t i)
{
    const struct pith_value *v = &m->values[i];
    char text[32];
    cli_table_add(t, "%s", name_of(m, i, text));
    if (v->n_observed > 0) {
        cli_table_add(t, "%.4g", (double)v->min);
        cli_table_add(t, "%.4g", (double)v->max);
    } else {
        cli_table_add(t, "-");
        cli_table_add(t, "-");
    }
    if (v->stats)
        cli_table_add(t, "%.3f", (double)v->stats->n_zero / (double)v->stats->n);
    else
        cli_table_add(t, "-");
    add_grid(t, v->grid);
}

void cli_print_ranges(const struct pith_model *m, FILE *out)
{
    static const char *const head[] = {"value", "min",  "max",  "zeros",
                                       "grid",  "zero", "from", "to"};
    struct cli_table t;
    bool any = false;
    cli_table_start(&t, 8);
    for (uint32_t i = 0; i < m->n_values; i++) {
        if (!is_told(&m->values[i]))
            continue;
        for (int k = 0; k < 8 && !any; k++)
            cli_table_add(&t, "%s", head[k]);
        any = true;
        add_value(&t, m, i);
    }
    cli_table_print(&t, out);
}

static void json_grid(const struct pith_grid *g)
{
    cli_json_open("grid", '{');
    cli_json_string("type", pith_type_text(g->type));
    cli_json_uint("bits", g->bits);
    cli_json_string("method", pith_range_method_text(g->method));
    cli_json_number("zero_point", g->zero_point);
    if (g->n > 1)
        cli_json_uint("axis", g->axis);
    cli_json_open("scale", '[');
    for (uint32_t i = 0; i < g->n; i++)
        cli_json_number(NULL, (double)g->scale[i]);
    cli_json_close(']');
    cli_json_close('}');
}

void cli_json_ranges(const struct pith_model *m)
{
    char text[32];
    cli_json_open("ranges", '[');
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_value *v = &m->values[i];
        if (!is_told(v))
            continue;
        cli_json_open(NULL, '{');
        cli_json_string("name", name_of(m, i, text));
        cli_json_number("min", (double)v->min);
        cli_json_number("max", (double)v->max);
        cli_json_uint("observed", v->n_observed);
        if (v->stats)
            cli_json_uint("zeros", v->stats->n_zero);
        if (v->grid)
            json_grid(v->grid);
        cli_json_close('}');
    }
    cli_json_close(']');
}
