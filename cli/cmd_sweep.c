/* SPDX-License-Identifier: MIT */
/* pith sweep: every combination of some values of a recipe, in as many processes as there are, and
 * the front of what came out.
 *
 * Processes share nothing but a file to which each result is appended by one write, so shards may
 * run anywhere and be stopped and started again: what the file holds already is not run twice. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/common/engine_options.h"
#include "cli/common/jobs.h"
#include "cli/common/json_out.h"
#include "cli/common/run_log.h"
#include "pith_host.h"
#include "pith_sweep.h"
#include "sweep_keep.h"
#include "cli/common/table.h"
#include "training.h"

struct sweep_options {
    struct cli_common common;
    struct cli_training_options from;
    const char *log;
    const char *shard, *append, *keep;
    uint64_t jobs, recipe;
    bool pareto;
};

#define AT(member) offsetof(struct sweep_options, member)
static const struct cli_option options[] = {
    CLI_TRAINING_OPTIONS(struct sweep_options, from),
    {0, "preprocess", OPTION_TEXT, AT(from.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    {'j', "jobs", OPTION_UINT, AT(jobs), "N", "parallel processes (default 1); needs --append", 1,
     CLI_MAX_JOBS},
    {0, "shard", OPTION_TEXT, AT(shard), "I/N", "only combinations I, I+N, I+2N, ...", 0, 0},
    {0, "append", OPTION_TEXT, AT(append), "FILE.jsonl",
     "append results; combinations already there are skipped", 0, 0},
    {0, "keep", OPTION_TEXT, AT(keep), "FOLDER", "write the models of the Pareto front to FOLDER",
     0, 0},
    CLI_LOG_OPTION(struct sweep_options, log, CLI_LOG_HELP),
    {0, "recipe", OPTION_UINT, AT(recipe), "N", "print the recipe of combination N and exit", 0,
     1e6},
    {0, "pareto", OPTION_FLAG, AT(pareto), NULL,
     "print the Pareto front of result files (- for stdin)", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

#define NO_RECIPE UINT64_MAX

static void set_defaults(void *opts)
{
    ((struct sweep_options *)opts)->recipe = NO_RECIPE;
}

struct job {
    const struct sweep_options *o;
    struct pith_sweep *sweep;
    struct pith_model *m;
    struct pith_sweep_results results; /* known, or made by this process */
    uint64_t first, stride, failed;
    uint64_t made, start_ns; /* by this process, since then */
    bool torn;               /* the file does not end with a newline */
};

/* ---- the front ------------------------------------------------------------------------------- */

/* {"name", "crc32c"}, where the line named it. */
static void json_named_file(const char *key, const char *name, const char *crc32c)
{
    if (!*name)
        return;
    cli_json_open(key, '{');
    cli_json_string("name", name);
    cli_json_string("crc32c", crc32c);
    cli_json_close('}');
}

static void print_front_json(const struct pith_sweep_results *r, uint32_t n)
{
    cli_json_begin();
    cli_json_uint("results", r->n);
    cli_json_open("pareto_front", '[');
    for (uint32_t i = 0; i < n; i++) {
        const struct pith_sweep_point *p = &r->point[i];
        cli_json_open(NULL, '{');
        json_named_file("model", p->model, p->model_crc32c);
        json_named_file("data", p->data, p->data_crc32c);
        cli_json_uint("combination", p->combination);
        cli_json_uint("bytes", p->bytes);
        cli_json_number(p->regression ? "psnr" : "top1", p->quality);
        cli_json_raw("params", p->params);
        cli_json_close('}');
    }
    cli_json_close(']');
    cli_json_end();
}

/* The first n points: of one model and data. */
static void print_front_table(const struct pith_sweep_point *point, uint32_t n, FILE *out)
{
    struct cli_table t;
    char number[32];
    cli_table_start(&t, 4);
    cli_table_left(&t, 3);
    cli_table_add(&t, "bytes");
    cli_table_add(&t, n && point[0].regression ? "psnr" : "top-1");
    cli_table_add(&t, "number");
    cli_table_add(&t, "what was set");
    for (uint32_t i = 0; i < n; i++) {
        const struct pith_sweep_point *p = &point[i];
        cli_table_add(&t, "%s", pith_count_text(p->bytes, number));
        if (isnan(p->quality))
            cli_table_add(&t, "-");
        else if (p->regression)
            cli_table_add(&t, "%.2f dB", p->quality);
        else
            cli_table_add(&t, "%.2f%%", 100 * p->quality);
        cli_table_add(&t, "%" PRIu64, p->combination);
        cli_table_add(&t, "%s", p->params);
    }
    cli_table_print(&t, out);
}

/* "net.pith on val.idx, 1,000 samples" above the Pareto front of each model and data. */
static void print_inputs(const struct pith_sweep_point *p, FILE *out)
{
    char number[32];
    fputs(*p->model ? p->model : "model not named", out);
    if (*p->data)
        fprintf(out, " on %s, %s samples", p->data, pith_count_text(p->samples, number));
    fputc('\n', out);
}

static void print_front_tables(const struct pith_sweep_results *r, uint32_t n, FILE *out)
{
    uint32_t from = 0, to;
    do {
        for (to = from; to < n && pith_sweep_comparable(&r->point[from], &r->point[to]);)
            to++;
        if (to - from < n)
            print_inputs(&r->point[from], out);
        print_front_table(r->point + from, to - from, out);
        from = to;
        if (from < n)
            fputc('\n', out);
    } while (from < n);
}

static void print_front(const struct cli_common *c, struct pith_sweep_results *r, FILE *out)
{
    uint32_t n = pith_sweep_front(r);
    if (c->json)
        print_front_json(r, n);
    else
        print_front_tables(r, n, out);
    if (r->n_foreign)
        cli_warn("%" PRIu64 " of %" PRIu64 " lines are no results of a sweep", r->n_foreign,
                 r->n_lines);
}

static enum cli_exit add_results(const char *path, struct pith_sweep_results *r, bool *torn)
{
    struct pith_buffer file;
    struct pith_error err = {0};
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    *torn = file.bytes > 0 && file.data[file.bytes - 1] != '\n';
    if (pith_sweep_results_add(r, (const char *)file.data, file.bytes, &err))
        rc = cli_fail(&err);
    pith_buffer_free(&file);
    return rc;
}

static enum cli_exit print_fronts(const struct cli_common *c, char **paths, uint32_t n)
{
    struct pith_sweep_results results = {0};
    enum cli_exit rc = EXIT_DONE;
    bool torn;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = add_results(paths[i], &results, &torn);
    if (!rc && results.n == 0) {
        cli_error("no results in %s%s", paths[0], n > 1 ? " and the others" : "");
        rc = EXIT_NO;
    }
    if (!rc)
        print_front(c, &results, stdout);
    pith_sweep_results_free(&results);
    return rc;
}

/* ---- one combination ------------------------------------------------------------------------- */

static enum cli_exit append_line(struct job *j, const char *line)
{
    const bool torn = j->torn;
    j->torn = false;
    return cli_append_line(j->o->append, line, torn);
}

static void say_result(const struct job *j, uint64_t i, const struct pith_sweep_results *one)
{
    char number[32], quality[32] = "";
    char *params = pith_sweep_params(j->sweep, i);
    const struct pith_sweep_point *p = one->n ? &one->point[0] : NULL;
    if (p && !isnan(p->quality))
        snprintf(quality, sizeof quality, p->regression ? "  %.2f dB" : "  %.2f%%",
                 p->regression ? p->quality : 100 * p->quality);
    if (p)
        cli_summary(&j->o->common, "number %" PRIu64 "  %s  %s bytes%s  %.1f s", i,
                    params ? params : "", pith_count_text(p->bytes, number), quality, p->seconds);
    free(params);
}

/* Why, as the line has it: "error":"...","seconds":... */
static void warn_failed(uint64_t i, const char *line)
{
    static const char key[] = "\"error\":\"", behind[] = "\",\"seconds\":";
    const char *text = strstr(line, key), *end = NULL;
    if (text)
        end = strstr(text += strlen(key), behind);
    cli_warn("combination %" PRIu64 " cannot be run: %.*s", i, end ? (int)(end - text) : 200,
             end ? text : line);
}

static void log_result(struct job *j, uint64_t i, const struct pith_sweep_point *p)
{
    struct cli_event e = CLI_EVENT("file");
    const double all =
        (double)((pith_sweep_count(j->sweep) - j->first + j->stride - 1) / j->stride);
    const double done = (double)((i - j->first) / j->stride + 1);
    const double spent = (double)(pith_clock_ns(NULL) - j->start_ns) / 1e9;
    j->made++;
    e.file = p->model[0] ? p->model : NULL;
    e.number = (double)i;
    e.bytes = (double)p->bytes;
    e.accuracy = p->regression ? NAN : p->quality;
    e.seconds = p->seconds;
    e.done = j->o->jobs > 1 ? NAN : done; /* others do the rest */
    e.total = j->o->jobs > 1 ? NAN : all;
    e.eta = spent / (double)j->made * (all - done);
    cli_log(&e);
}

static enum cli_exit keep_result(struct job *j, uint64_t i, const char *line,
                                 const struct pith_buffer *file)
{
    struct pith_sweep_results one = {0};
    struct pith_error err = {0};
    enum cli_exit rc = EXIT_DONE;
    if (pith_sweep_results_add(&one, line, strlen(line), &err) ||
        pith_sweep_results_add(&j->results, line, strlen(line), &err))
        rc = cli_fail(&err);
    else if (j->o->append)
        rc = append_line(j, line);
    else
        puts(line);
    if (!rc && one.n == 0) {
        j->failed++;
        warn_failed(i, line);
    }
    if (!rc && j->o->keep && one.n > 0)
        rc = cli_sweep_keep(j->o->keep, &j->results, &one, file);
    if (!rc)
        say_result(j, i, &one);
    if (!rc && one.n > 0)
        log_result(j, i, &one.point[0]);
    pith_sweep_results_free(&one);
    return rc;
}

/* ---- many ------------------------------------------------------------------------------------ */

static enum cli_exit run_combination(struct job *j, uint64_t i,
                                     const struct pith_compress_opts *opts)
{
    struct pith_error err = {0};
    struct pith_sweep_output result;
    if (pith_sweep_run(j->sweep, i, j->m, opts, &result, &err))
        return cli_fail(&err);
    enum cli_exit rc = keep_result(j, i, result.line, &result.file);
    pith_sweep_output_free(&result);
    return rc;
}

static enum cli_exit run_combinations(struct job *j)
{
    struct pith_compress_opts opts = {.size_bytes = sizeof opts,
                                      .max_drop = -1,
                                      .seed = j->o->common.seed,
                                      .stop = cli_stop_training};
    struct pith_data *val = NULL;
    enum cli_exit rc = cli_engine_opts(&j->o->common, &opts.engine);
    if (!rc && j->o->from.data)
        rc = cli_open_training(&j->o->from, &j->o->common, j->m, &opts.train, &val);
    j->start_ns = pith_clock_ns(NULL);
    opts.val = val;
    opts.data = val ? val : opts.train;
    if (j->o->jobs > 1)
        opts.engine.threads = cli_threads_of_jobs(&j->o->common, j->o->jobs);
    for (uint64_t i = j->first; i < pith_sweep_count(j->sweep) && !rc; i += j->stride) {
        if (!pith_sweep_done(j->sweep, &j->results, i))
            rc = run_combination(j, i, &opts);
    }
    pith_data_free(opts.train);
    pith_data_free(val);
    return rc ? rc : j->failed ? EXIT_NO : EXIT_DONE;
}

/* Each process takes every jobs-th combination of the shard. */
static enum cli_exit run_share(void *user, uint64_t i)
{
    struct job *j = user;
    j->first += i * j->stride;
    j->stride *= j->o->jobs;
    return run_combinations(j);
}

static enum cli_exit print_recipe(const struct job *j)
{
    struct pith_recipe *recipe = NULL;
    struct pith_error err = {0};
    char *text;
    if (j->o->recipe >= pith_sweep_count(j->sweep)) {
        cli_error("--recipe %" PRIu64 ": there are %" PRIu64 " combinations, from 0 on",
                  j->o->recipe, pith_sweep_count(j->sweep));
        return EXIT_USAGE;
    }
    if (pith_sweep_recipe(j->sweep, j->o->recipe, &recipe, &err))
        return cli_fail(&err);
    enum cli_exit rc = pith_recipe_print(recipe, &text, &err) ? cli_fail(&err) : EXIT_DONE;
    pith_recipe_free(recipe);
    if (rc)
        return rc;
    puts(text);
    free(text);
    return EXIT_DONE;
}

static enum cli_exit list_combinations(const struct job *j)
{
    for (uint64_t i = j->first; i < pith_sweep_count(j->sweep); i += j->stride) {
        char *params = pith_sweep_params(j->sweep, i);
        if (!params)
            return cli_no_memory();
        printf("%" PRIu64 "  %s%s\n", i, params,
               pith_sweep_done(j->sweep, &j->results, i) ? "  done" : "");
        free(params);
    }
    return EXIT_DONE;
}

/* Closes the data again: processes that share an open file would share the place in it. */
static enum cli_exit bind(struct job *j, const char *model)
{
    const struct cli_training_options *from = &j->o->from;
    struct pith_error err = {0};
    struct pith_data *train = NULL, *val = NULL;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    enum cli_exit rc = from->data ? cli_open_training(from, NULL, j->m, &train, &val) : EXIT_DONE;
    struct pith_sweep_inputs on = {.size_bytes = sizeof on,
                                   .model = j->m,
                                   .model_name = strcmp(model, "-") ? model : "standard input",
                                   .data = val ? val : train,
                                   .data_name = from->val ? from->val : from->data,
                                   .range = from->val    ? NULL
                                            : from->hold ? from->hold
                                                         : from->range,
                                   .train = val ? train : NULL,
                                   .host = *host ? host : NULL};
    if (!rc && pith_sweep_bind(j->sweep, &on, &err))
        rc = cli_fail(&err);
    pith_data_free(train);
    pith_data_free(val);
    return rc;
}

/* What the file holds counts as done, its own lines as others'. */
static enum cli_exit read_results(struct job *j)
{
    struct stat st;
    if (!j->o->append || stat(j->o->append, &st) != 0)
        return EXIT_DONE;
    pith_sweep_results_free(&j->results);
    return add_results(j->o->append, &j->results, &j->torn);
}

/* The last line, should a signal end the sweep. */
static void set_kept_line(const struct sweep_options *o)
{
    if (o->append)
        cli_set_kept("%s has the results so far; the same command continues", o->append);
    else
        cli_set_kept("--append FILE makes it resumable");
}

static enum cli_exit run_model(struct job *j, const char *model, bool named)
{
    const struct sweep_options *o = j->o;
    enum cli_exit rc = cli_load_model(model, NULL, &j->m);
    if (!rc)
        rc = bind(j, model);
    if (!rc && o->common.dry_run) {
        if (named)
            printf("%s\n", model);
        rc = list_combinations(j);
    } else if (!rc) {
        const struct cli_jobs jobs = {o->jobs, o->jobs, run_share, NULL, NULL, j};
        rc = o->jobs > 1 ? cli_run_jobs(&jobs) : run_combinations(j);
    }
    pith_model_free(j->m);
    j->m = NULL;
    if (o->jobs > 1 && rc <= EXIT_NO) {
        enum cli_exit again = read_results(j);
        rc = again ? again : rc;
    }
    return rc;
}

/* Combinations that cannot be run (EXIT_NO) do not keep the others, and other models, from it. */
static enum cli_exit run_shard(struct job *j, char **models, uint32_t n)
{
    const struct sweep_options *o = j->o;
    enum cli_exit rc = o->keep && !o->common.dry_run ? cli_sweep_keep_open(o->keep) : EXIT_DONE;
    if (!rc)
        rc = read_results(j);
    set_kept_line(o);
    for (uint32_t i = 0; i < n && rc <= EXIT_NO; i++) {
        enum cli_exit one = run_model(j, models[i], n > 1);
        rc = one > rc ? one : rc;
    }
    if (rc > EXIT_NO || o->common.dry_run)
        return rc;
    if (o->keep)
        cli_sweep_keep_front(o->keep, &j->results);
    if (j->results.n && (o->append || !o->common.quiet))
        print_front(&o->common, &j->results, o->append ? stdout : stderr);
    return rc;
}

static enum cli_exit check_options(const struct sweep_options *o, uint32_t n_operands)
{
    const char *wrong = NULL;
    if (o->recipe == NO_RECIPE ? n_operands < 2 : n_operands != 1)
        wrong = o->recipe == NO_RECIPE ? "give a spec and at least one model" : "give only a spec";
    else if (o->jobs > 1 && !o->append)
        wrong = "-j needs --append FILE";
    else if (o->common.json && !o->append)
        wrong = "lines of results go to standard output: --json needs --append FILE";
    else if ((o->from.val || o->from.hold) && !o->from.data)
        wrong = "--val and --hold need -d DATA";
    if (!wrong)
        return o->from.data ? cli_check_training(&o->from) : EXIT_DONE;
    cli_error("%s", wrong);
    return EXIT_USAGE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct sweep_options *o = opts;
    struct job j = {.o = o};
    struct pith_buffer spec = {0};
    struct pith_error err = {0};
    if (o->pareto)
        return print_fronts(&o->common, operands, n_operands);
    enum cli_exit rc = check_options(o, n_operands);
    if (!rc)
        rc = cli_read_shard(o->shard, &j.first, &j.stride);
    if (!rc)
        rc = cli_read_file(operands[0], &spec);
    if (!rc && pith_sweep_parse((const char *)spec.data, spec.bytes, operands[0], &j.sweep, &err))
        rc = cli_fail(&err);
    const bool runs = o->recipe == NO_RECIPE;
    if (!rc && runs)
        rc = cli_log_start(o->log, "sweep", operands[0]);
    if (!rc)
        rc = runs ? run_shard(&j, operands + 1, n_operands - 1) : print_recipe(&j);
    rc = cli_log_end(rc);
    pith_sweep_results_free(&j.results);
    pith_sweep_free(j.sweep);
    pith_model_free(j.m);
    pith_buffer_free(&spec);
    return rc;
}

const struct cli_command cmd_sweep = {
    "sweep",
    "make",
    "many recipes and their Pareto front",
    "pith sweep SPEC MODEL... -d DATA [--val DATA] [--append FILE] | --pareto FILE...",
    "SPEC is a recipe with one more member, \"sweep\": paths into the recipe, each with a list of "
    "values.\n"
    "Every combination runs on each MODEL and is measured on --val, --hold or else -d; recipes "
    "that\n"
    "train use -d. Each result is one line of JSON, appended by a single write: many processes "
    "may\n"
    "share the file, and a stopped sweep continues where it was. Without --append the lines go to\n"
    "standard output. At the end the Pareto front of bytes and accuracy is printed; --keep FOLDER\n"
    "writes its models as NAME-SPEC-NUMBER.pith. A line names the model and the data with "
    "checksums,\n"
    "the version of pith and the host. Several models or data sets in one file have a front each.\n"
    "\n"
    "  { \"pith\": 1,\n"
    "    \"sweep\": { \"stages.0.sparsity\": [0.8, 0.9], \"stages.1.bits\": [3, 4, 5] },\n"
    "    \"stages\": [{ \"do\": \"prune\" }, { \"do\": \"cluster\" }, { \"do\": \"encode\" }] }\n"
    "\n"
    "  pith sweep grid.json net.pith -d val.idx --append results.jsonl -j 4\n"
    "  pith sweep grid.json net.pith -d val.idx --shard $SLURM_ARRAY_TASK_ID/16 --append "
    "out.jsonl\n"
    "  parallel pith sweep grid.json net.pith -d val.idx --shard {}/4 --append out.jsonl ::: 0 1 2 "
    "3\n"
    "  pith sweep grid.json a.onnx b.onnx -d val/ --append out.jsonl --keep front -j 2\n"
    "  pith sweep --pareto out.jsonl\n"
    "  pith sweep grid.json --recipe 5 > best.json",
    options,
    sizeof(struct sweep_options),
    1,
    1024,
    run,
    set_defaults};
