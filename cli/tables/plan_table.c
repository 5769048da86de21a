/* SPDX-License-Identifier: MIT */
/* plan_table.c - see plan_table.h. One row a step, with the places of its operands by
 * pith_plan_operand. */
#include "plan_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include "cli/common/json_out.h"
#include "pith_host.h"
#include "cli/common/table.h"

#define CELL_BYTES 160u

/* Text that ends in "..." where it does not fit. */
static void append(char cell[CELL_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append(char cell[CELL_BYTES], const char *format, ...)
{
    size_t at = strlen(cell);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(cell + at, CELL_BYTES - at, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= CELL_BYTES - at)
        memcpy(cell + CELL_BYTES - 4, "...", 4);
}

static void append_shape(char cell[CELL_BYTES], const struct pith_operand *o)
{
    append(cell, "%s%s ", cell[0] ? " " : "", pith_type_text(o->tensor.type));
    for (uint32_t i = 0; i < o->tensor.rank; i++)
        append(cell, i ? "x%" PRIu32 : "%" PRIu32, o->tensor.dim[i]);
    if (o->channels_last)
        append(cell, " channels-last");
}

static const char *place_text(enum pith_place place)
{
    static const char *const names[] = {"packed", "arena", "file", "plan"};
    return names[place];
}

/* Offsets in the arena; of all else, how many operands lie in the file, are packed, are kept. */
static void append_places(char cell[CELL_BYTES], const struct pith_plan *plan, uint32_t step,
                          bool outputs)
{
    uint32_t n[4] = {0};
    struct pith_operand o;
    for (uint32_t i = 0; !pith_plan_operand(plan, step, i, &o); i++) {
        if (o.role == PITH_ROLE_PACKED || o.role == PITH_ROLE_SCRATCH ||
            (o.role == PITH_ROLE_OUTPUT) != outputs)
            continue;
        if (o.place == PITH_PLACE_ARENA)
            append(cell, "%s%" PRIu64, cell[0] ? " " : "", o.offset);
        else
            n[o.place]++;
    }
    for (uint32_t place = 0; place < 4; place++)
        if (n[place] == 1)
            append(cell, "%s%s", cell[0] ? " " : "", place_text((enum pith_place)place));
        else if (n[place] > 1)
            append(cell, "%s%" PRIu32 " %s", cell[0] ? " " : "", n[place],
                   place_text((enum pith_place)place));
}

/* The cells of a row that its operands fill. */
struct row {
    char reads[CELL_BYTES], writes[CELL_BYTES], shape[CELL_BYTES];
    uint64_t scratch_bytes;
};

static void fill_row(const struct pith_plan *plan, uint32_t step, struct row *r)
{
    struct pith_operand o;
    *r = (struct row){0};
    append_places(r->reads, plan, step, false);
    append_places(r->writes, plan, step, true);
    for (uint32_t i = 0; !pith_plan_operand(plan, step, i, &o); i++) {
        if (o.role == PITH_ROLE_SCRATCH)
            r->scratch_bytes = o.tensor.bytes;
        if (o.role == PITH_ROLE_OUTPUT)
            append_shape(r->shape, &o);
    }
}

/* parts: some steps run a group of samples or a band of rows at a time, and a column says which. */
static void add_row(struct cli_table *t, const struct pith_plan *plan, const struct pith_layer *l,
                    bool parts)
{
    struct row r;
    char text[32];
    fill_row(plan, l->step, &r);
    cli_table_add(t, "%" PRIu32, l->step);
    cli_table_add(t, "%.*s", (int)l->name_bytes, l->name);
    cli_table_add(t, "%s%s%s", pith_op_text(l->op), l->activation ? " + " : "",
                  l->activation ? l->activation : "");
    cli_table_add(t, "%s", l->kernel);
    cli_table_add(t, "%s", r.shape);
    cli_table_add(t, "%s", r.reads);
    cli_table_add(t, "%s", r.writes);
    cli_table_add(t, "%s", l->weight_bytes ? pith_count_text(l->weight_bytes, text) : "");
    cli_table_add(t, "%s", r.scratch_bytes ? pith_count_text(r.scratch_bytes, text) : "");
    cli_table_add(t, "%s", l->macs ? pith_count_text(l->macs, text) : "");
    if (!parts)
        return;
    if (l->segment)
        snprintf(text, sizeof text, "%" PRIu32 ": %" PRIu32 " samples", l->segment, l->group);
    else
        snprintf(text, sizeof text, "%" PRIu32 " rows, with the next", l->band_rows);
    cli_table_add(t, "%s", l->segment || l->band_rows ? text : "");
}

static bool has_parts(const struct pith_plan *plan)
{
    struct pith_layer l;
    for (uint32_t i = 0; !pith_plan_layer(plan, i, &l); i++)
        if (l.segment || l.band_rows)
            return true;
    return false;
}

static void print_table(const struct pith_plan *plan, FILE *out)
{
    static const char *const heads[] = {"step",    "layer",    "operation", "kernel",
                                        "output",  "reads at", "writes at", "weights",
                                        "scratch", "MACs",     "at a time"};
    const bool parts = has_parts(plan);
    const uint32_t n = sizeof heads / sizeof *heads - !parts;
    struct cli_table t;
    struct pith_layer l;
    cli_table_start(&t, n);
    for (uint32_t i = 1; i < 7; i++)
        cli_table_left(&t, i);
    for (uint32_t i = 0; i < n; i++)
        cli_table_add(&t, "%s", heads[i]);
    for (uint32_t i = 0; !pith_plan_layer(plan, i, &l); i++)
        add_row(&t, plan, &l, parts);
    cli_table_print(&t, out);
}

static void json_operand(const struct pith_operand *o)
{
    static const char *const roles[] = {"input",  "residual", "packed",    "scratch",
                                        "output", "scale",    "zero_point"};
    cli_json_open(NULL, '{');
    cli_json_string("role", roles[o->role]);
    cli_json_uint("index", o->index);
    if (o->of)
        cli_json_string("of", o->of);
    cli_json_bytes("name", o->tensor.name, o->tensor.name_bytes);
    cli_json_uint("bytes", o->tensor.bytes);
    cli_json_string("place", place_text(o->place));
    cli_json_uint("offset", o->offset);
    cli_json_bool("channels_last", o->channels_last != 0);
    cli_json_close('}');
}

static void json_step(const struct pith_plan *plan, const struct pith_layer *l)
{
    struct pith_operand o;
    cli_json_open(NULL, '{');
    cli_json_bytes("layer", l->name, l->name_bytes);
    cli_json_string("op", pith_op_text(l->op));
    cli_json_string("kernel", l->kernel);
    cli_json_uint("choice", l->choice);
    cli_json_string("activation", l->activation ? l->activation : "");
    cli_json_uint("macs", l->macs);
    cli_json_uint("weight_bytes", l->weight_bytes);
    cli_json_uint("segment", l->segment);
    cli_json_uint("samples", l->group);
    cli_json_uint("lanes", l->lanes);
    cli_json_uint("band_rows", l->band_rows);
    cli_json_open("operands", '[');
    for (uint32_t i = 0; !pith_plan_operand(plan, l->step, i, &o); i++)
        json_operand(&o);
    cli_json_close(']');
    cli_json_close('}');
}

static void print_json(const struct pith_plan *plan)
{
    struct pith_layer l;
    cli_json_begin();
    cli_json_open("steps", '[');
    for (uint32_t i = 0; !pith_plan_layer(plan, i, &l); i++)
        json_step(plan, &l);
    cli_json_close(']');
    cli_json_end();
}

void cli_print_plan(const struct pith_plan *plan, const struct cli_common *common, FILE *out)
{
    if (common->json)
        print_json(plan);
    else
        print_table(plan, out);
}
