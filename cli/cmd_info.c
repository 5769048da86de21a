/* SPDX-License-Identifier: MIT */
/* pith info: what is in a model, to the byte. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/tables/coder_table.h"
#include "cli/common/engine_options.h"
#include "base/escape_text.h"
#include "pith_load.h"
#include "cli/common/json_out.h"
#include "cli/tables/layer_table.h"
#include "cli/tables/plan_table.h"
#include "pith_host.h"
#include "cli/tables/range_table.h"

struct info_options {
    struct cli_common common;
    bool bytes, history, meta, ranges, build, plan;
    const char *target;
};

static const struct cli_option options[] = {
    {0, "bytes", OPTION_FLAG, offsetof(struct info_options, bytes), NULL,
     "bytes of every section; -v: of every weight, too", 0, 0},
    {0, "history", OPTION_FLAG, offsetof(struct info_options, history), NULL,
     "stages that made the model, with options and results", 0, 0},
    {0, "meta", OPTION_FLAG, offsetof(struct info_options, meta), NULL,
     "stored preprocessing and class names", 0, 0},
    {0, "ranges", OPTION_FLAG, offsetof(struct info_options, ranges), NULL,
     "calibrated ranges, scales and zero points", 0, 0},
    {0, "build", OPTION_FLAG, offsetof(struct info_options, build), NULL,
     "compiler flags for a runtime with only what this file uses", 0, 0},
    {0, "plan", OPTION_FLAG, offsetof(struct info_options, plan), NULL,
     "execution plan on this CPU: steps, kernels, memory", 0, 0},
    CLI_TARGET_OPTION(struct info_options, target, "figures for"),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* The operators of a network as bits (build_choice.h): numbers 0 to 63, and 64 to 127. */
struct operators {
    uint64_t low, high;
};

static struct operators operators_of(const struct pith_model *m)
{
    struct operators ops = {0, 0};
    for (uint32_t i = 0; i < m->n_nodes; i++)
        *(m->nodes[i].op < 64 ? &ops.low : &ops.high) |= UINT64_C(1) << (m->nodes[i].op & 63);
    return ops;
}

#define FLAGS_ROOM 256

static void build_flags(const struct layer_rows *r, char text[FLAGS_ROOM])
{
    struct operators ops = operators_of(r->model);
    snprintf(text, FLAGS_ROOM,
             "-DPITH_BUILD_OPS_LOW=0x%" PRIx64 "ull -DPITH_BUILD_OPS_HIGH=0x%" PRIx64
             "ull -DPITH_BUILD_PARTS=0x%" PRIx32,
             ops.low, ops.high, r->account->parts);
}

/* What running it takes. No weight is decoded for it. */
struct cost {
    uint64_t macs, arena_bytes, plan_bytes;
    bool decodes; /* coded weights are decoded at each run */
};

/* *e: closed by the caller. */
static enum cli_exit open_plan(const struct info_options *o, const struct pith_packed *packed,
                               const char *plan_name, const struct pith_buffer *plan_file,
                               struct pith_engine **e)
{
    struct pith_error err = {0};
    struct pith_engine_opts opts;
    enum cli_exit rc = cli_engine_opts(&o->common, &opts);
    if (rc)
        return rc;
    if (o->target)
        opts.cpu_mask = PITH_CPU_REF; /* microcontrollers run the reference kernels */
    opts.threads = 1;
    opts.flags = PITH_FLAG_OUTLINE;
    opts.plan_file = plan_file->data;
    opts.plan_file_bytes = plan_file->bytes;
    opts.plan_name = plan_name;
    if (plan_file->data) /* a broken one is refused where it is opened */
        pith_plan_file_options(plan_file->data, plan_file->bytes, &opts.batch, &opts.threads);
    return pith_engine_open_packed(packed, &opts, e, &err) ? cli_fail(&err) : EXIT_DONE;
}

static struct cost cost_of(struct pith_engine *e)
{
    struct cost cost = {.arena_bytes = pith_engine_need(e).arena_bytes,
                        .plan_bytes = pith_engine_need(e).bytes};
    struct pith_layer l;
    for (uint32_t i = 0; i < pith_plan_layer_count(pith_engine_plan(e)); i++)
        if (!pith_plan_layer(pith_engine_plan(e), i, &l)) {
            cost.macs += l.macs;
            cost.decodes |= l.decodes != 0;
        }
    return cost;
}

static void print_sections(const struct pith_byte_account *a)
{
    char text[32];
    for (uint32_t i = 0; i < PITH_SECTIONS; i++)
        if (a->section[i])
            printf("%s %s | ", pith_section_name((enum pith_section)i),
                   pith_count_text(a->section[i], text));
    printf("= %s\n", pith_count_text(a->total, text));
}

static void json_exported(const struct pith_export *e)
{
    if (!e)
        return;
    cli_json_open("exported", '{');
    cli_json_uint("model_bytes", e->model_bytes);
    cli_json_uint("code_bytes", e->code_bytes);
    cli_json_uint("arena_bytes", e->arena_bytes);
    cli_json_uint("stack_bytes", e->stack_bytes);
    cli_json_uint("instructions", e->instructions);
    cli_json_close('}');
}

/* A copy with each open size another, smaller one. NULL: there are none, or no memory. */
static struct pith_model *with_other_sizes(const struct pith_model *m)
{
    struct pith_model *other = NULL;
    uint32_t *value = m->n_sizes ? calloc(m->n_sizes, sizeof *value) : NULL;
    if (!value || pith_model_copy(m, &other, NULL)) {
        free(value);
        return NULL;
    }
    bool done = false;
    for (uint32_t step = 96; step > 0 && !done; step -= step > 32 ? 32 : step > 8 ? 8 : 1) {
        bool apart = true; /* sizes that are equal are not there */
        for (uint32_t i = 0; i < m->n_sizes; i++) {
            uint32_t less = step * (1 + i), is = m->sizes[i].value;
            apart = apart && (is > less || is == 1);
            value[i] = is > less ? is - less : is > 1 ? (is + 1) / 2 : is + 1;
        }
        done = (apart || step == 1) && !pith_model_set_sizes(other, value, NULL);
    }
    free(value);
    return other;
}

static void print_json(const struct layer_rows *r, const struct cost *cost,
                       const struct pith_export *exported)
{
    char flags[FLAGS_ROOM];
    cli_json_begin();
    cli_json_uint("bytes", r->account->total);
    cli_json_uint("weights", r->weights);
    cli_json_uint("nonzeros", r->kept);
    cli_json_uint("macs", cost->macs);
    cli_json_number("ratio", 4 * (double)r->weights / (double)r->account->total);
    cli_json_number("bits_per_weight",
                    r->weights ? 8 * (double)r->bytes / (double)r->weights : 0.0);
    cli_json_uint("arena_bytes", cost->arena_bytes);
    cli_json_uint("plan_bytes", cost->plan_bytes);
    cli_json_bool("decodes_each_run", cost->decodes);
    struct pith_model *other = with_other_sizes(r->model);
    cli_json_open("sizes", '[');
    for (uint32_t i = 0; i < r->model->n_sizes; i++) {
        cli_json_open(NULL, '{');
        cli_json_string("name", r->model->sizes[i].name);
        cli_json_uint("value", r->model->sizes[i].value);
        cli_json_uint("min", pith_model_least_size(other, i));
        cli_json_uint("max", r->model->sizes[i].max);
        cli_json_close('}');
    }
    pith_model_free(other);
    cli_json_close(']');
    build_flags(r, flags);
    cli_json_string("build", flags);
    cli_json_layers(r);
    cli_json_open("sections", '{');
    for (uint32_t i = 0; i < PITH_SECTIONS; i++)
        cli_json_uint(pith_section_name((enum pith_section)i), r->account->section[i]);
    cli_json_close('}');
    cli_json_ranges(r->model);
    json_exported(exported);
    cli_json_end();
}

#define MOST_TIMES 64u

/* A sum of two sizes, or a size times or divided by a small number, that is v with the sizes of m
 * and w with those of `other`; "?": none of these. */
static const char *simple_formula(const struct pith_model *m, const struct pith_model *other,
                                  uint32_t v, uint32_t w, char text[160])
{
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        const struct pith_size *a = &m->sizes[i], *b = &other->sizes[i];
        for (uint32_t k = i + 1; k < m->n_sizes; k++)
            if (a->value + m->sizes[k].value == v && b->value + other->sizes[k].value == w) {
                snprintf(text, 160, "%.70s + %.70s", a->name, m->sizes[k].name);
                return text;
            }
        for (uint32_t k = 2; k <= MOST_TIMES; k++) {
            const bool times = (uint64_t)k * a->value == v && (uint64_t)k * b->value == w;
            const bool part = a->value == (uint64_t)k * v && b->value == (uint64_t)k * w;
            if (times)
                snprintf(text, 160, "%u*%.70s", k, a->name);
            else if (part)
                snprintf(text, 160, "%.70s/%u", a->name, k);
            if (times || part)
                return text;
        }
    }
    return "?";
}

/* The formula of the open sizes that is v in both: dims of the model as it is, and `other`. */
static const char *formula_of(const struct pith_model *m, const struct pith_model *other,
                              uint32_t v, uint32_t w, char text[160])
{
    for (uint32_t i = 0; i < m->n_sized; i++) {
        uint32_t input = m->sized[i].slot / PITH_MAX_RANK, dim = m->sized[i].slot % PITH_MAX_RANK;
        if (m->values[m->inputs[input]].dim[dim] == v &&
            other->values[other->inputs[input]].dim[dim] == w)
            return m->sized[i].formula;
    }
    for (uint32_t i = 0; i < m->n_sizes; i++)
        if (m->sizes[i].value == v && other->sizes[i].value == w)
            return m->sizes[i].name;
    return simple_formula(m, other, v, w, text);
}

/* As dimension i; what is more than a name in brackets. */
static int put_formula(char *text, size_t room, uint32_t i, const char *formula)
{
    const bool sum = strpbrk(formula, " /*") != NULL;
    return snprintf(text, room, "%s%s%s%s", i ? "x" : "", sum ? "(" : "", formula, sum ? ")" : "");
}

/* end: as in pith_model_end_type. other: the model with other sizes; NULL: it has no open ones. */
static void print_end(const struct pith_model *m, const struct pith_model *other, uint32_t end)
{
    const bool input = end < m->n_inputs, batch_open = m->batch_open;
    const uint32_t value = input ? m->inputs[end] : m->outputs[end - m->n_inputs];
    const struct pith_value *v = &m->values[value];
    char dims[PITH_MAX_RANK * 160] = "", formula[160];
    size_t n = 0;
    for (uint32_t i = 0; i < v->rank; i++) {
        const uint32_t dim = v->dim[i], with = other ? other->values[value].dim[i] : dim;
        n += (size_t)(i == 0 && batch_open ? snprintf(dims, sizeof dims, "N")
                      : with != dim
                          ? put_formula(dims + n, sizeof dims - n, i,
                                        formula_of(m, other, dim, with, formula))
                          : snprintf(dims + n, sizeof dims - n, "%s%u", i ? "x" : "", dim));
    }
    cli_print("%s %s %s %s", input ? "input " : "output", v->name,
              pith_type_text(pith_model_end_type(m, end)), dims);
}

static void print_ends(const struct pith_model *m)
{
    struct pith_model *other = with_other_sizes(m);
    for (uint32_t end = 0; end < m->n_inputs + m->n_outputs; end++)
        print_end(m, other, end);
    for (uint32_t i = 0; i < m->n_sizes; i++)
        cli_print("size   %s %" PRIu32 " to %" PRIu32 ", here %" PRIu32, m->sizes[i].name,
                  pith_model_least_size(other, i), m->sizes[i].max, m->sizes[i].value);
    pith_model_free(other);
}

/* Of any length; cut short where memory is. */
static void print_escaped(const char *text)
{
    size_t room = 4 * strlen(text) + 1;
    char *shown = malloc(room);
    if (shown) {
        pith_escape_text(text, shown, room);
        fputs(shown, stdout);
    }
    free(shown);
}

static void print_lines(const char *text)
{
    for (size_t n; (n = strcspn(text, "\n")) < strlen(text); text += n + 1) {
        char *line = strndup(text, n);
        if (line)
            print_escaped(line);
        free(line);
        putchar('\n');
    }
    print_escaped(text);
    putchar('\n');
}

static void print_texts(const struct info_options *o, const struct pith_model *m)
{
    for (uint32_t i = 0; o->meta && i < m->n_meta; i++) {
        print_escaped(m->meta[i].key);
        fputs(": ", stdout);
        print_lines(m->meta[i].text);
    }
    for (uint32_t i = 0; o->history && i < m->n_history; i++)
        print_lines(m->history[i].text);
}

/* What pith export makes of the network, or why it makes nothing. */
struct on_target {
    struct pith_export *code; /* NULL: refused */
    struct pith_error why;
};

static enum cli_exit export_for(const struct info_options *o, const struct pith_packed *packed,
                                struct on_target *t)
{
    struct pith_export_opts opts;
    struct pith_model *m = NULL;
    pith_export_opts_init(&opts, sizeof opts);
    opts.no_files = true;
    enum cli_exit rc = cli_target(o->target, &opts.target);
    if (rc)
        return rc;
    if (pith_model_read(packed->data, packed->bytes, packed->name, NULL, &m, &t->why))
        return cli_fail(&t->why);
    const enum pith_status st = pith_export_c(m, &opts, &t->code, &t->why);
    pith_model_free(m);
    return st && st != PITH_ERR_UNSUPPORTED ? cli_fail(&t->why) : EXIT_DONE;
}

static void print_exported(const struct info_options *o, const struct on_target *t)
{
    char a[32], b[32], c[32], d[32];
    if (t->code)
        cli_print("exported: flash %s bytes (model %s, code about %s), arena %s bytes, stack about "
                  "%" PRIu64 ", %.3g million instructions a run",
                  pith_count_text(t->code->model_bytes + t->code->code_bytes, a),
                  pith_count_text(t->code->model_bytes, b), pith_count_text(t->code->code_bytes, c),
                  pith_count_text(t->code->arena_bytes, d), t->code->stack_bytes,
                  (double)t->code->instructions / 1e6);
    else if (o->target)
        cli_print("not exported: %s", t->why.text);
}

/* "": there are none. */
static const char *when_decoded(const struct layer_rows *r, const struct cost *cost)
{
    if (!r->account->coded)
        return "";
    return cost->decodes ? "; coded weights are decoded at each run"
                         : "; coded weights are decoded once";
}

static void print_text(const struct info_options *o, const struct layer_rows *r,
                       const struct cost *cost, const struct on_target *on_target)
{
    const struct pith_model *m = r->model;
    char a[32], b[32], c[32], d[32];
    if (o->bytes) {
        print_sections(r->account);
        return;
    }
    if (o->build) {
        char flags[FLAGS_ROOM];
        build_flags(r, flags);
        puts(flags);
        return;
    }
    print_ends(m);
    print_texts(o, m);
    if (o->ranges)
        cli_print_ranges(m, stdout);
    cli_print_layers(r, stdout);
    cli_print("%u nodes, %s MACs; flash %s bytes, arena %s bytes, plan %s bytes%s%s%s", m->n_nodes,
              pith_count_text(cost->macs, a), pith_count_text(r->account->total, b),
              pith_count_text(cost->arena_bytes, c), pith_count_text(cost->plan_bytes, d),
              o->target ? " on " : "", o->target ? o->target : "", when_decoded(r, cost));
    print_exported(o, on_target);
}

/* Each coder is tried, which takes what the weights are. */
static enum cli_exit print_coders(const struct pith_packed *packed,
                                  const struct pith_byte_account *account)
{
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    if (pith_model_read(packed->data, packed->bytes, packed->name, NULL, &m, &err))
        return cli_fail(&err);
    enum cli_exit rc = cli_print_coders(m, account, stdout);
    pith_model_free(m);
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct info_options *o = opts;
    struct pith_packed packed = {
        0}; /* an ONNX file is shown as the .pith that import would make of it */
    struct layer_rows rows = {0};
    struct cost cost = {0};
    struct on_target on_target = {0};
    struct pith_engine *e = NULL;
    struct pith_buffer plan_file = {0};
    const char *plan_name = n_operands > 1 ? operands[1] : NULL;
    enum cli_exit rc = cli_load_packed(n_operands ? operands[0] : "-", &packed);
    if (!rc && plan_name)
        rc = cli_read_file(plan_name, &plan_file);
    if (!rc)
        rc = cli_layer_rows(packed.data, packed.bytes, packed.name, packed.outline, &rows);
    if (!rc && !o->plan && !plan_name)
        rc = cli_count_nonzeros(&rows, packed.data, packed.bytes, packed.name);
    if (!rc && o->target)
        rc = export_for(o, &packed, &on_target);
    if (!rc)
        rc = open_plan(o, &packed, plan_name, &plan_file, &e);
    if (!rc)
        cost = cost_of(e);
    if (!rc && (o->plan || plan_name))
        cli_print_plan(pith_engine_plan(e), &o->common, stdout);
    else if (!rc && o->common.json)
        print_json(&rows, &cost, on_target.code);
    else if (!rc)
        print_text(o, &rows, &cost, &on_target);
    if (!rc && o->bytes && o->common.verbose && !o->common.json)
        rc = print_coders(&packed, rows.account);
    pith_export_free(on_target.code);
    pith_engine_close(e);
    pith_buffer_free(&plan_file);
    cli_layer_rows_free(&rows);
    pith_packed_free(&packed);
    return rc;
}

const struct cli_command cmd_info = {
    "info",
    "look",
    "content of a model, to the byte",
    "pith info [MODEL [PLAN]] [--bytes] [--history] [--plan]",
    "One row per weight: shape, share of nonzero weights, bits per index, code, bytes in the file "
    "with\n"
    "its tables, bytes as f32. The bits of the total are file bits per weight. arena: memory for\n"
    "activations; plan: all memory of an execution plan.\n"
    "--plan prints one row per step on this CPU. A value lies at an offset in the arena, in the "
    "file\n"
    "(read in place) or in the plan (constants); \"in place\" shares memory with an input. A "
    "second file\n"
    "from pith plan prints that plan.\n"
    "--target: memory of the runtime there, with one thread (an upper bound: pointers count 8 "
    "bytes);\n"
    "then flash, memory, stack and instructions of a run of the code that pith export writes.",
    options,
    sizeof(struct info_options),
    0,
    2,
    run,
    NULL};
