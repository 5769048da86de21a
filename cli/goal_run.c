/* SPDX-License-Identifier: MIT */
#include "goal_run.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array_files.h"
#include "cli/common/engine_options.h"
#include "cli/common/error_location.h"
#include "cli/common/json_out.h"
#include "cli/common/run_log.h"
#include "cli/tables/layer_table.h"
#include "pith_base.h"
#include "pith_host.h"
#include "pith_train.h"

#define LARGEST 3                 /* layers that a miss names */
#define ROUNDED_UP 1.05           /* of a limit printed with two digits */
#define CODEBOOKS_OVER_SEARCH 4.0 /* bytes, at most: 12 of 15 networks of docs/results */

enum cli_exit cli_best_path(const char *output, char best[CLI_BEST_BYTES])
{
    const char *slash = strrchr(output, '/'), *dot = strrchr(slash ? slash : output, '.');
    bool suffix = dot && strcmp(dot, ".pith") == 0;
    int stem = suffix ? (int)(dot - output) : (int)strlen(output);
    if (snprintf(best, CLI_BEST_BYTES, "%.*s.best.pith", stem, output) < CLI_BEST_BYTES)
        return EXIT_DONE;
    cli_error("%s: name too long", output);
    return EXIT_USAGE;
}

/* ---- while it searches ----------------------------------------------------------------------- */

#define LOSS_BYTES 400 /* of a loss in words */

struct show {
    const struct cli_goal_run *run;
    const struct pith_model *m; /* the network */
    struct cli_progress bar;
    char best[CLI_BEST_BYTES]; /* "": none is written */
    char best_text[96];        /* of the bar */
    bool written;
    uint32_t files;
    enum cli_exit rc;
};

static void progress(void *user, const struct pith_goal_progress *p)
{
    struct show *s = user;
    char detail[CLI_DETAIL_BYTES] = "";
    int n = 0;
    if (p->file > 0)
        n = snprintf(detail, sizeof detail, "file %u: ", p->file);
    n += snprintf(detail + n, sizeof detail - (size_t)n, "%s", p->part);
    if (p->all > 0)
        n += snprintf(detail + n, sizeof detail - (size_t)n, " %llu of %llu",
                      (unsigned long long)p->done, (unsigned long long)p->all);
    if (!isnan(p->left_low))
        n += snprintf(detail + n, sizeof detail - (size_t)n, ", left %.0f:%02d to %.0f:%02d",
                      floor(p->left_low / 60), (int)fmod(p->left_low, 60), floor(p->left_high / 60),
                      (int)fmod(p->left_high, 60));
    snprintf(detail + n, sizeof detail - (size_t)n, "%s", s->best_text);
    cli_progress_detail(&s->bar, detail);
    cli_progress_part(&s->bar, p->part, p->all, p->left_high);
    cli_progress_step(&s->bar, p->done);
}

static bool stop(void *user)
{
    struct show *s = user;
    return s->rc != EXIT_DONE || cli_interrupted();
}

/* What there is at any moment outlives whatever ends the search. */
static void write_best(struct show *s, const struct pith_goal_point *p)
{
    struct pith_error err = {0};
    if (!s->best[0])
        return;
    if (pith_file_write(s->best, p->file.data, p->file.bytes, &err))
        s->rc = cli_fail(&err);
    else
        s->written = true;
}

/* The last line, should a signal end the search now. */
static void set_kept_line(const struct show *s)
{
    char kept[CLI_BEST_BYTES + 40] = "no file is kept", command[2048];
    if (s->written)
        snprintf(kept, sizeof kept, "%s is the best file so far", s->best);
    if (!s->run->checkpoint) {
        cli_set_kept("%s; --checkpoint FILE makes it resumable", kept);
    } else if (s->files == 0 && !s->run->resume) {
        cli_set_kept("%s", kept);
    } else {
        cli_command_again("compress", "--resume", command, sizeof command);
        cli_set_kept("%s; %s has the search; continue with: %s", kept, s->run->checkpoint, command);
    }
}

/* ---- the log of the search: a header, and a line for each file ------------------------------ */

enum { HEAD_COLUMNS = 35, NARROW_COLUMNS = 26 }; /* of a line before the loss */

/* Fits the terminal: with less about the loss, then without the quality. */
static bool is_narrow(void)
{
    return cli_columns() < 60;
}

static void begun(void *user, const struct pith_goal_samples *n)
{
    struct show *s = user;
    const double limit = s->run->goal->max_drop, one = n->test > 0 ? 100.0 / (double)n->test : 100;
    cli_progress_hide(&s->bar);
    if (n->labels && limit >= 0 && one > 100 * limit)
        cli_summary(s->run->common, "%llu test samples resolve %.2f points: the KL limit decides",
                    (unsigned long long)n->test, one);
    else if (n->labels)
        cli_summary(s->run->common, "%llu test samples: one is %.2f points",
                    (unsigned long long)n->test, one);
    if (is_narrow())
        cli_summary(s->run->common, "%-9s %8s %6s loss", "encoder", "size", "ratio");
    else
        cli_summary(s->run->common, "%-9s %7s %8s %6s  loss on %llu validation samples%s",
                    "encoder", "quality", "size", "ratio", (unsigned long long)n->select,
                    cli_columns() < CLI_COLUMNS ? "" : " (drop in points, KL in nats)");
}

/* Name of the output that limits, where there are several. */
static const char *limiting_output(const struct show *s, const struct pith_goal_loss *l)
{
    return s->m->n_outputs > 1 ? s->m->values[s->m->outputs[l->worst]].name : NULL;
}

static void loss_text(const struct show *s, const struct pith_goal_loss *l, enum pith_goal_text how,
                      char text[LOSS_BYTES])
{
    pith_goal_loss_text(s->run->goal, l, limiting_output(s, l), how, text, LOSS_BYTES);
}

/* With the latency where that is limited, as much as there is room for. */
static void point_text(const struct show *s, const struct pith_goal_point *p, size_t room,
                       char text[LOSS_BYTES])
{
    const bool misses = p->excess > 0 || !p->small;
    char latency[32] = "";
    if (s->run->goal->max_latency > 0)
        snprintf(latency, sizeof latency, ", %.4g ms", 1e3 * p->latency);
    for (int how = PITH_TEXT_FULL; how <= PITH_TEXT_SHORT; how++) {
        loss_text(s, &p->loss, (enum pith_goal_text)how, text);
        size_t n = strlen(text);
        snprintf(text + n, LOSS_BYTES - n, "%s%s", latency, misses ? " miss" : "");
        if (strlen(text) <= room)
            return;
    }
    text[room] = '\0';
}

/* path: of what was written at the end; NULL: one of the search. */
static void log_file(const struct show *s, const struct pith_goal_point *p,
                     const struct pith_goal_loss *loss, const char *path)
{
    struct cli_event e = CLI_EVENT("file");
    const bool labels = loss->metric == PITH_METRIC_TOP1;
    e.file = path;
    e.number = s->files;
    e.encoder = p->encoder;
    e.quality = p->quality;
    e.bytes = (double)p->bytes;
    e.loss = loss->classes ? loss->kl : NAN;
    e.accuracy = labels ? loss->after : NAN;
    e.drop = labels ? loss->drop : NAN;
    cli_log(&e);
}

static void made(void *user, const struct pith_goal_point *p, bool best)
{
    struct show *s = user;
    char bytes[32], ratio[32], loss[LOSS_BYTES];
    const int head = is_narrow() ? NARROW_COLUMNS : HEAD_COLUMNS, room = cli_columns() - head;
    cli_progress_hide(&s->bar);
    point_text(s, p, room > 0 ? (size_t)room : 0, loss);
    cli_format_bytes(p->bytes, bytes);
    snprintf(ratio, sizeof ratio, "%.1fx", (double)s->run->before_bytes / (double)p->bytes);
    if (is_narrow())
        cli_summary(s->run->common, "%-9s %8s %6s %s", p->encoder, bytes, ratio, loss);
    else
        cli_summary(s->run->common, "%-9s %7.3g %8s %6s  %s", p->encoder, p->quality, bytes, ratio,
                    loss);
    s->files++;
    log_file(s, p, &p->loss, NULL);
    if (best) {
        char deciding[LOSS_BYTES];
        loss_text(s, &p->loss, PITH_TEXT_SHORT, deciding);
        snprintf(s->best_text, sizeof s->best_text, ", best %s %.40s", bytes, deciding);
        write_best(s, p);
    }
    set_kept_line(s);
}

static void warn(void *user, const char *text)
{
    struct show *s = user;
    cli_progress_hide(&s->bar);
    cli_warn("%s", text);
}

/* ---- what came of it ------------------------------------------------------------------------- */

static const struct pith_goal_point *best_of(const struct pith_goal_result *r)
{
    return &r->found.point[r->found.best];
}

static double or_nothing(double x)
{
    return isfinite(x) ? x : NAN;
}

static void print_costly(const struct pith_goal_point *p)
{
    cli_json_open("costly", '[');
    for (uint32_t i = 0; i < PITH_GOAL_COSTLY && p->costly[i].layer[0]; i++) {
        cli_json_open(NULL, '{');
        cli_json_string("layer", p->costly[i].layer);
        cli_json_number("share", p->costly[i].share);
        cli_json_close('}');
    }
    cli_json_close(']');
}

/* What the search made, in its order, and the limits on the loss: of labels only where one of their
 * samples is a smaller step than the limit. */
static void print_files(const struct cli_goal_run *run, const struct pith_goal_found *found)
{
    const double most = run->goal->max_drop;
    const struct pith_goal_loss *l = &found->point[0].loss;
    cli_json_bool("labels_resolve", l->metric != PITH_METRIC_NONE && most >= 0 && l->samples > 0 &&
                                        1 / (double)l->samples <= most);
    cli_json_number("kl_limit", most >= 0 ? pith_goal_kl(most) : NAN);
    cli_json_number("snr_limit_db", most >= 0 ? pith_goal_snr(most) : NAN);
    cli_json_open("files", '[');
    for (uint32_t i = 0; i < found->n; i++) {
        const struct pith_goal_point *p = &found->point[i];
        cli_json_open(NULL, '{');
        cli_json_string("encoder", p->encoder);
        cli_json_number("quality", p->quality);
        cli_json_uint("bytes", p->bytes);
        cli_json_number("drop",
                        p->loss.metric != PITH_METRIC_NONE ? or_nothing(p->loss.drop) : NAN);
        cli_json_number("kl", p->loss.classes ? p->loss.kl : NAN);
        cli_json_number("snr_db", or_nothing(p->loss.snr_db));
        cli_json_bool("fits", pith_goal_fits(p));
        cli_json_bool("chosen", i == found->best);
        cli_json_close('}');
    }
    cli_json_close(']');
}

static void print_json(const struct cli_goal_run *run, const struct pith_goal_result *r,
                       const char *written, const struct layer_rows *layers)
{
    const struct pith_goal_loss *l = &r->loss;
    const struct pith_goal_point *p = best_of(r);
    bool labels = l->metric != PITH_METRIC_NONE;
    cli_json_begin();
    cli_json_string("input", run->input);
    if (written)
        cli_json_string("written", written);
    else
        cli_json_raw("written", "null");
    cli_json_uint("bytes", p->bytes);
    cli_json_number("ratio", (double)run->before_bytes / (double)p->bytes);
    if (labels)
        cli_json_string("metric", l->metric == PITH_METRIC_TOP1 ? "top1" : "psnr");
    else
        cli_json_raw("metric", "null");
    cli_json_number("before", labels ? or_nothing(l->before) : NAN);
    cli_json_number("after", labels ? or_nothing(l->after) : NAN);
    cli_json_number("drop", labels ? or_nothing(l->drop) : NAN);
    cli_json_number("limit", run->goal->max_drop >= 0 ? run->goal->max_drop : NAN);
    cli_json_number("kl", l->classes ? l->kl : NAN);
    cli_json_number("agreement", l->classes ? l->agreement : NAN);
    cli_json_number("snr_db", or_nothing(l->snr_db));
    cli_json_uint("samples", l->samples);
    cli_json_bool("samples_chose", r->shared || r->gated);
    cli_json_string("encoder", p->encoder);
    cli_json_number("quality", p->quality);
    cli_json_number("latency_ms", run->goal->max_latency > 0 ? 1e3 * p->latency : NAN);
    cli_json_uint("calls", r->found.n);
    cli_json_number("seconds", r->seconds);
    cli_json_bool("met", r->met);
    print_costly(p);
    print_files(run, &r->found);
    cli_json_layers(layers);
    cli_json_end();
}

static void print_summary(const struct show *s, const struct pith_goal_result *r,
                          const char *written)
{
    const struct cli_goal_run *run = s->run;
    char before[32], after[32], ratio[32], latency[32] = "", loss[LOSS_BYTES];
    const struct pith_goal_point *p = best_of(r);
    if (run->goal->max_latency > 0)
        snprintf(latency, sizeof latency, ", %.4g ms", 1e3 * p->latency);
    cli_summary(run->common, "%s  %s, was %s: %s%s, in %.0f s", written ? written : "(not written)",
                cli_format_bytes(p->bytes, after), cli_format_bytes(run->before_bytes, before),
                cli_ratio_text((double)run->before_bytes, (double)p->bytes, ratio), latency,
                r->seconds);
    for (int how = PITH_TEXT_UNITS;
         how == PITH_TEXT_UNITS || (how <= PITH_TEXT_TERSE && strlen(loss) > CLI_COLUMNS - 2);
         how++)
        loss_text(s, &r->loss, (enum pith_goal_text)how, loss);
    cli_summary(run->common, "%llu %s:", (unsigned long long)r->loss.samples,
                r->shared  ? "samples, also used for selection (too few samples)"
                : r->gated ? "test samples, also used for selection (they rejected a smaller file)"
                           : "held-out samples (used neither to calibrate nor to select)");
    cli_summary(run->common, "  %s", loss);
    if (r->loss.metric == PITH_METRIC_TOP1)
        cli_summary(run->common, "  top-1 %.2f %%, was %.2f %%", 100 * r->loss.after,
                    100 * r->loss.before);
}

/* "fc6 61%, fc7 22%": what costs most. */
static void list_largest(const struct layer_rows *rows, char *text, size_t room)
{
    uint64_t below = UINT64_MAX;
    text[0] = '\0';
    for (int k = 0; k < LARGEST && k < (int)rows->n && rows->bytes > 0; k++) {
        const struct layer_row *largest = NULL;
        for (uint32_t i = 0; i < rows->n; i++)
            if (rows->row[i].bytes < below && (!largest || rows->row[i].bytes > largest->bytes))
                largest = &rows->row[i];
        if (!largest)
            return;
        size_t n = strlen(text);
        snprintf(text + n, room - n, "%s%s %.0f%%", n ? ", " : "", largest->name,
                 100.0 * (double)largest->bytes / (double)rows->bytes);
        below = largest->bytes;
    }
}

/* "fc6 61%, fc7 22%": where most is lost. */
static void list_costly(const struct pith_goal_point *p, char *text, size_t room)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < PITH_GOAL_COSTLY && p->costly[i].layer[0]; i++) {
        size_t n = strlen(text);
        snprintf(text + n, room - n, "%s%s %.0f%%", n ? ", " : "", p->costly[i].layer,
                 100 * p->costly[i].share);
    }
}

/* ---- what looser limits would take ------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static void add_limit(char *text, size_t room,
                                                            const char *format, ...)
{
    size_t n = strlen(text);
    va_list args;
    if (n > 0 && n + 1 < room)
        text[n++] = ' ';
    va_start(args, format);
    vsnprintf(text + n, room - n, format, args);
    va_end(args);
}

/* The limits that p does not keep, as wide as it needs them. */
static void list_looser(const struct pith_goal *goal, const struct pith_goal_point *p, char *text,
                        size_t room)
{
    struct pith_goal drop;
    pith_goal_init(&drop);
    drop.max_drop = goal->max_drop;
    const double over = pith_goal_excess(&drop, &p->loss, 1);
    text[0] = '\0';
    if (goal->max_drop > 0 && over > 0 && isfinite(over))
        add_limit(text, room, "--max-drop %.2g%%", 100 * goal->max_drop * exp(over) * ROUNDED_UP);
    if (p->loss.classes && goal->min_agreement > p->loss.agreement)
        add_limit(text, room, "--min-agreement %.3f", floor(1000 * p->loss.agreement) / 1000);
    if (goal->min_snr > 0 && goal->min_snr > p->loss.snr_low_db)
        add_limit(text, room, "--min-snr %.0f", floor(p->loss.snr_low_db));
    if (goal->max_size > 0 && (double)p->bytes > goal->max_size)
        add_limit(text, room, "--max-size %llu", (unsigned long long)p->bytes);
    if (goal->max_ram > 0 && (double)p->ram > goal->max_ram && p->ram != UINT64_MAX)
        add_limit(text, room, "--max-ram %llu", (unsigned long long)p->ram);
    if (goal->max_latency > 0 && p->latency > goal->max_latency)
        add_limit(text, room, "--max-latency %.3gms", 1e3 * p->latency * ROUNDED_UP);
}

/* Of the files that are small enough, the one that loses least; where none is, the smallest. */
static const struct pith_goal_point *small_one(const struct pith_goal_result *r)
{
    const struct pith_goal_point *best = NULL;
    for (uint32_t i = 0; i < r->found.n; i++) {
        const struct pith_goal_point *p = &r->found.point[i];
        if (!best || p->small > best->small ||
            (p->small ? best->small && p->excess < best->excess
                      : !best->small && p->bytes < best->bytes))
            best = p;
    }
    return best;
}

static void print_looser(const struct cli_goal_run *run, const struct pith_goal_point *p)
{
    char limits[200], bytes[32];
    list_looser(run->goal, p, limits, sizeof limits);
    if (limits[0])
        cli_summary(run->common, "%s would give %s", limits, cli_format_bytes(p->bytes, bytes));
}

static void report_missed(const struct show *s, const struct pith_goal_result *r,
                          const char *written, const struct layer_rows *rows)
{
    const struct cli_goal_run *run = s->run;
    const struct pith_goal_point *p = best_of(r), *small = small_one(r);
    char loss[LOSS_BYTES], bytes[32], largest[300], costly[300];
    loss_text(s, &r->loss, PITH_TEXT_DECIDING, loss);
    list_largest(rows, largest, sizeof largest);
    list_costly(p, costly, sizeof costly);
    cli_error("goal not met: the best is %s with %s: %s%s", cli_format_bytes(p->bytes, bytes), loss,
              written ? "saved as " : "nothing is written", written ? written : "");
    if (costly[0])
        cli_summary(run->common, "most loss is in: %s", costly);
    if (largest[0])
        cli_summary(run->common, "largest layers: %s", largest);
    if (p->ram == UINT64_MAX)
        cli_summary(run->common, "no C code can be made of it: pith export names the layer");
    print_looser(run, p);
    if (small && small != p)
        print_looser(run, small);
}

/* Where the file goes: the requested name; beside it, where the goal is missed. NULL: nowhere. */
static enum cli_exit put_file(struct show *s, const struct pith_goal_result *r,
                              const char **written)
{
    const struct pith_goal_point *p = best_of(r);
    const struct cli_common *c = s->run->common;
    const bool plain = !c->output || strcmp(c->output, "-") == 0;
    enum cli_exit rc = EXIT_DONE;
    *written = NULL;
    if (c->dry_run || (!r->met && plain))
        return EXIT_DONE;
    if (r->met) {
        rc = cli_write_packed(c, s->m, &p->file);
        *written = plain ? "-" : c->output;
        if (!rc && s->written)
            unlink(s->best);
        return rc;
    }
    if (!s->best[0])
        return EXIT_DONE;
    write_best(s, p);
    *written = s->rc ? NULL : s->best;
    return s->rc;
}

/* Nothing is left to go on with where all of the search was done. */
static enum cli_exit finish_checkpoint(const struct cli_goal_run *run,
                                       const struct pith_goal_result *r)
{
    struct pith_error err = {0};
    if (!run->checkpoint || r->found.stopped)
        return EXIT_DONE;
    return pith_goal_compress_finish(run->checkpoint, &best_of(r)->file, &err) ? cli_fail(&err)
                                                                               : EXIT_DONE;
}

static void print_time_limit(const struct cli_goal_run *run, const struct pith_goal_result *r)
{
    if (r->timed_out)
        cli_summary(run->common, "--time ended the search after %u files%s", r->found.n,
                    run->checkpoint ? "; --resume with a longer --time continues" : "");
}

static enum cli_exit report_done(const struct cli_goal_run *run)
{
    const char *output = run->common->output;
    if (run->common->json) {
        cli_json_begin();
        cli_json_string("input", run->input);
        cli_json_string("written", output);
        cli_json_bool("met", true);
        cli_json_end();
    }
    cli_summary(run->common, "%s: done already: %s is the checkpoint of the search that made it",
                output, run->checkpoint);
    return EXIT_DONE;
}

static enum cli_exit put_out(struct show *s, const struct pith_goal_result *r)
{
    struct layer_rows rows;
    const char *written;
    if (r->done)
        return report_done(s->run);
    if (cli_interrupted()) /* what there is was written when it was made */
        return EXIT_INTERRUPTED;
    const struct pith_goal_point *p = best_of(r);
    enum cli_exit rc = cli_layer_rows(p->file.data, p->file.bytes, "the result", NULL, &rows);
    if (!rc)
        rc = cli_count_nonzeros(&rows, p->file.data, p->file.bytes, "the result");
    if (rc)
        return rc;
    rc = put_file(s, r, &written);
    if (!rc && s->run->common->json)
        print_json(s->run, r, written, &rows);
    if (!rc && !s->run->common->quiet)
        cli_print_layers(&rows, stderr);
    if (!rc)
        print_summary(s, r, written);
    if (!rc)
        print_time_limit(s->run, r);
    if (!rc && written)
        log_file(s, p, &r->loss, written);
    if (!rc && r->met && written)
        rc = finish_checkpoint(s->run, r);
    if (!rc && !r->met) {
        report_missed(s, r, written, &rows);
        rc = EXIT_NO;
    }
    cli_warn_nothing_kept(&rows);
    cli_layer_rows_free(&rows);
    return rc;
}

static enum cli_exit open_best(struct show *s)
{
    const struct cli_common *c = s->run->common;
    if (!c->output || strcmp(c->output, "-") == 0 || c->dry_run)
        return EXIT_DONE;
    enum cli_exit rc = cli_best_path(c->output, s->best);
    if (!rc && cli_same_file(s->run->input, s->best))
        s->best[0] = '\0';
    return rc || !s->best[0] ? rc : cli_check_writable(s->best);
}

/* ---- a dry run ------------------------------------------------------------------------------- */

static void print_estimate(const struct cli_goal_run *run, const struct pith_goal_result *r,
                           double low, uint64_t high, bool met)
{
    const struct pith_goal_loss *l = &r->loss;
    cli_json_begin();
    cli_json_string("input", run->input);
    cli_json_raw("written", "null");
    cli_json_bool("estimate", true);
    cli_json_number("low_bytes", floor(low));
    cli_json_uint("high_bytes", high);
    cli_json_number("kl", l->classes ? l->kl : NAN);
    cli_json_number("snr_db", or_nothing(l->snr_db));
    cli_json_uint("samples", l->samples);
    cli_json_bool("met", met);
    cli_json_number("seconds", r->seconds);
    cli_json_end();
}

/* What a search would come to: no larger than a file of codebooks within the goal, or the float
 * file where none is, and seldom less than a quarter of the former. */
static enum cli_exit estimate(const struct cli_goal_run *run, struct pith_model *m,
                              const struct pith_goal_compress_opts *opts)
{
    struct pith_goal_compress_opts o = *opts;
    struct pith_goal goal = *run->goal;
    struct pith_goal_result r;
    struct pith_error err = {0};
    char low_text[32], high_text[32], loss[LOSS_BYTES];
    o.estimate = true;
    o.checkpoint = NULL;
    o.begun = NULL;
    o.made = NULL;
    o.progress = NULL;
    goal.max_size = goal.max_ram = goal.max_latency = goal.time = 0;
    if (!pith_goal_limits_loss(&goal))
        goal.max_drop = PITH_GOAL_DEFAULT_DROP;
    if (pith_goal_compress(m, &goal, &o, &r, &err))
        return cli_fail(&err);
    const uint64_t codebooks = best_of(&r)->bytes, high = r.met ? codebooks : run->before_bytes;
    const double low = (double)codebooks / CODEBOOKS_OVER_SEARCH;
    const bool met = !(run->goal->max_size > 0 && low > run->goal->max_size);
    if (run->common->json)
        print_estimate(run, &r, low, high, met);
    pith_goal_loss_text(&goal, &r.loss, NULL, PITH_TEXT_TERSE, loss, sizeof loss);
    cli_summary(run->common, "estimate: %s to %s, in %.1f s",
                cli_format_bytes((uint64_t)low, low_text), cli_format_bytes(high, high_text),
                r.seconds);
    cli_summary(run->common, "  as codebooks: %s, %s on %llu samples%s",
                cli_format_bytes(codebooks, high_text), loss, (unsigned long long)r.loss.samples,
                r.met ? "" : ", above the limit");
    pith_goal_result_free(&r);
    if (!met)
        cli_error("the goal is not likely to be met: %s at least", low_text);
    return met ? EXIT_DONE : EXIT_NO;
}

/* Gradients, sweeps and measurements follow each other: what one took goes back to the system. */
static void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

enum cli_exit cli_goal_run(const struct cli_goal_run *run, struct pith_model *m)
{
    struct show s = {.run = run, .m = m};
    struct pith_engine_opts engine = {.size_bytes = sizeof engine};
    struct pith_error err = {0};
    struct pith_goal_result r;
    enum cli_exit rc = cli_engine_opts(run->common, &engine);
    if (!rc)
        rc = open_best(&s);
    if (rc)
        return rc;
    const struct pith_goal_compress_opts o = {.size_bytes = sizeof o,
                                              .feed = &run->feed->feed,
                                              .seed = run->common->seed,
                                              .threads = engine.threads,
                                              .cpu_mask = engine.cpu_mask,
                                              .for_speed = run->for_speed,
                                              .progress = progress,
                                              .checkpoint = run->checkpoint,
                                              .resume = run->resume,
                                              .output = run->common->output,
                                              .begun = begun,
                                              .made = made,
                                              .warn = warn,
                                              .stop = stop,
                                              .user = &s,
                                              .output_weight = run->output_weight};
    if (run->common->dry_run)
        return estimate(run, m, &o);
    return_large_blocks();
    set_kept_line(&s);
    cli_progress_start(&s.bar, run->common, "compress", 0);
    enum pith_status st = pith_goal_compress(m, run->goal, &o, &r, &err);
    cli_progress_end(&s.bar);
    if (s.rc)
        return s.rc;
    if (st && s.written && !cli_interrupted())
        cli_summary(run->common, "the best so far is %s", s.best);
    if (st)
        return cli_fail(&err);
    rc = put_out(&s, &r);
    pith_goal_result_free(&r);
    return rc;
}
