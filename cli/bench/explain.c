/* SPDX-License-Identifier: MIT */
/* explain.c - see explain.h. Planning chooses by a cost model of a class of machines; here each
 * kernel is timed on this machine, so that a wrong choice shows. */
#include "explain.h"
#include <inttypes.h>
#include <stdio.h>
#include "cli/common/json_out.h"
#include "cli/common/table.h"

#define FASTER 0.97 /* of the chosen kernel's time: below it, timing is noise (tune.c) */

bool cli_explain_refuses(const char *plan, const char *device)
{
    if (plan || device)
        cli_error("--explain times kernels on this CPU: it cannot go with --plan or --device");
    return plan || device;
}

enum cli_exit cli_explain(const struct pith_packed *packed, const struct pith_engine_opts *opts,
                          double seconds, struct cli_explained *explained)
{
    const struct pith_tune_opts tune = {.size_bytes = sizeof tune, .seconds = seconds};
    struct pith_engine_opts o = *opts;
    struct pith_error err = {0};
    o.profile = false;
    return pith_tune(packed, &o, &tune, &explained->found, &err) ? cli_fail(&err) : EXIT_DONE;
}

void cli_explain_free(struct cli_explained *explained)
{
    pith_tuned_free(&explained->found);
}

/* The kernels of one step: entries [from, from + n) of those found; chosen: the planned one's. */
struct choice {
    const struct pith_tuned_kernel *kernel, *chosen, *fastest;
    uint32_t n;
};

/* n 0: the step has one kernel. */
static struct choice choice_of(const struct pith_tuned *t, uint32_t step)
{
    struct choice c = {0};
    for (uint32_t i = 0, n; i < t->n_kernels && !c.n; i += n) {
        n = pith_tuned_of_step(t, i);
        if (t->kernel[i].step == step)
            c = (struct choice){.kernel = &t->kernel[i], .fastest = &t->kernel[i], .n = n};
    }
    for (uint32_t i = 0; i < c.n; i++) {
        if (c.kernel[i].planned)
            c.chosen = &c.kernel[i];
        if (c.kernel[i].ns < c.fastest->ns)
            c.fastest = &c.kernel[i];
    }
    return c;
}

static const char *why(const struct choice *c)
{
    if (!c->chosen)
        return "the only one";
    return (double)c->fastest->ns < FASTER * (double)c->chosen->ns
               ? "least by cost, not by time: pith tune"
               : "least by cost, and by time";
}

/* "conv-f32 300.1, conv-f32-rows 412.0": the others, in the order of the operator's list. */
static void list_others(const struct choice *c, char *text, size_t room)
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < c->n && n < room; i++)
        if (&c->kernel[i] != c->chosen)
            n += (size_t)snprintf(text + n, room - n, "%s%s %.1f", n ? ", " : "",
                                  c->kernel[i].kernel, (double)c->kernel[i].ns / 1e3);
}

/* Of the runs that timed the others, where there are others. */
static uint64_t ns_of(const struct choice *c, struct pith_engine *engine, uint32_t step)
{
    struct pith_layer l = {.ns = 0};
    if (c->chosen)
        return c->chosen->ns;
    pith_plan_layer(pith_engine_plan(engine), step, &l);
    return pith_engine_layer_ns(engine, step) ? pith_engine_layer_ns(engine, step) : l.ns;
}

void cli_explain_print(const struct cli_explained *explained, struct pith_engine *engine, FILE *to)
{
    static const char *const heads[] = {"step", "layer", "kernel", "us", "why", "others, us"};
    const struct pith_plan *plan = pith_engine_plan(engine);
    struct cli_table t;
    char others[400];
    cli_table_start(&t, 6);
    for (uint32_t c = 0; c < 6; c++) {
        cli_table_add(&t, "%s", heads[c]);
        if (c != 3)
            cli_table_left(&t, c);
    }
    for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++) {
        const struct choice c = choice_of(&explained->found, i);
        struct pith_layer l;
        pith_plan_layer(plan, i, &l);
        list_others(&c, others, sizeof others);
        cli_table_add(&t, "%" PRIu32, i);
        cli_table_add(&t, "%.*s", (int)l.name_bytes, l.name);
        cli_table_add(&t, "%s", l.kernel);
        cli_table_add(&t, "%.1f", (double)ns_of(&c, engine, i) / 1e3);
        cli_table_add(&t, "%s", why(&c));
        cli_table_add(&t, "%s", others);
    }
    cli_table_print(&t, to);
}

void cli_explain_json(const struct cli_explained *explained, struct pith_engine *engine)
{
    const struct pith_plan *plan = pith_engine_plan(engine);
    cli_json_open("explain", '[');
    for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++) {
        const struct choice c = choice_of(&explained->found, i);
        struct pith_layer l;
        pith_plan_layer(plan, i, &l);
        cli_json_open(NULL, '{');
        cli_json_uint("step", i);
        cli_json_bytes("name", l.name, l.name_bytes);
        cli_json_string("kernel", l.kernel);
        cli_json_uint("ns", ns_of(&c, engine, i));
        cli_json_string("why", why(&c));
        cli_json_open("others", '[');
        for (uint32_t k = 0; k < c.n; k++) {
            if (&c.kernel[k] == c.chosen)
                continue;
            cli_json_open(NULL, '{');
            cli_json_string("kernel", c.kernel[k].kernel);
            cli_json_uint("choice", c.kernel[k].choice);
            cli_json_uint("ns", c.kernel[k].ns);
            cli_json_close('}');
        }
        cli_json_close(']');
        cli_json_close('}');
    }
    cli_json_close(']');
}
