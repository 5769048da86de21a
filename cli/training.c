/* SPDX-License-Identifier: MIT */
#include "training.h"
#include "cli/common/run_log.h"
#include "data_check.h"
#include "feed_options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* cuts: pictures of several sizes. */
static enum cli_exit open_data(const struct cli_training_options *o, const struct pith_model *m,
                               bool cuts, struct pith_data_opts d, struct pith_data **data)
{
    struct pith_error err = {0};
    d.size_bytes = sizeof d;
    d.preprocess = o->preprocess;
    cli_data_shape(m, 0, &d);
    if (cuts)
        cli_open_dims(m, 0, d.open);
    if (pith_data_open(&d, data, &err))
        return cli_fail(&err);
    cli_count_skipped(pith_data_skipped(*data));
    const enum cli_exit rc = cuts ? cli_cut_pictures(m, 0, *data) : EXIT_DONE;
    if (rc)
        return rc;
    const struct pith_feed_input input = {.data = *data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    return m->n_inputs == 1 ? cli_check_data(m, &feed) : EXIT_DONE;
}

enum cli_exit cli_check_training(const struct cli_training_options *o)
{
    const char *wrong = !o->data                     ? "no data: give -d DATA"
                        : o->val && o->hold          ? "give one of --val and --hold"
                        : o->hold && *o->hold == '!' ? "--hold takes A:B[:STEP]"
                                                     : NULL;
    if (wrong)
        cli_error("%s", wrong);
    return wrong ? EXIT_USAGE : EXIT_DONE;
}

/* What is held is opened for itself: a pipe can be read once. */
static bool is_pipe(const char *path)
{
    struct stat st;
    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* --hold 0::10 keeps these for validation and trains on all others; --range limits both. */
enum cli_exit cli_open_training(const struct cli_training_options *o, const struct cli_common *c,
                                struct pith_model *m, struct pith_data **train,
                                struct pith_data **val)
{
    char others[128];
    bool cuts = false;
    const struct cli_feed_options all = {
        .data = {.n = 1, .item = {o->data}}, .range = o->range, .preprocess = o->preprocess};
    enum cli_exit rc = cli_check_training(o);
    if (!rc)
        rc = cli_fit_sizes(m, &all, &cuts);
    if (rc)
        return rc;
    if (o->hold && snprintf(others, sizeof others, "!%s", o->hold) >= (int)sizeof others) {
        cli_error("--hold '%s': too long", o->hold);
        return EXIT_USAGE;
    }
    if (o->hold && (is_pipe(o->data) || (o->labels && is_pipe(o->labels)))) {
        cli_error("--hold reads -d and --labels twice, which a pipe does not allow: give files");
        return EXIT_USAGE;
    }
    struct pith_data_opts d = {.path = o->data, .labels = o->labels, .within = o->range};
    d.range = o->hold ? others : NULL;
    rc = open_data(o, m, cuts, d, train);
    d.range = o->hold;
    if (!rc && o->hold)
        rc = open_data(o, m, cuts, d, val);
    if (!rc && o->val)
        rc = open_data(o, m, cuts, (struct pith_data_opts){.path = o->val}, val);
    if (rc || !c || m->n_inputs != 1)
        return rc;
    const struct pith_feed_input input = {.data = *train};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    return cli_check_outputs(c, NULL, m, &feed);
}

/* "  99.12%", or nothing. */
static void add_percent(char *text, size_t size, double share)
{
    size_t at = strlen(text);
    if (!isnan(share))
        snprintf(text + at, size - at, "  %.2f%%", 100 * share);
}

/* What shrinks: "  kept 12,345  ~3.2 KiB". */
static void add_size(char *text, size_t size, const struct pith_train_progress *p)
{
    char number[32];
    size_t at = strlen(text);
    if (p->kept)
        snprintf(text + at, size - at, "  kept %s", pith_count_text(p->kept, number));
    at = strlen(text);
    if (p->bytes > 0)
        snprintf(text + at, size - at, "  ~%s", cli_format_bytes((uint64_t)p->bytes, number));
}

static void log_epoch(const struct pith_train_progress *p, double left)
{
    struct cli_event e = CLI_EVENT("epoch");
    e.epoch = p->epoch;
    e.epochs = p->n_epochs;
    e.loss = p->loss;
    e.accuracy = p->accuracy;
    e.val_loss = p->val_loss;
    e.val_accuracy = p->val_accuracy;
    e.rate = p->rate;
    e.kept = (double)p->kept;
    e.bytes = p->bytes;
    e.seconds = p->seconds;
    e.eta = left;
    cli_log(&e);
}

void cli_print_epoch(const struct cli_common *c, const struct pith_train_progress *p)
{
    char val[96] = "", right[32] = "", small[64] = "";
    double left = p->seconds * (p->n_epochs - p->epoch);
    add_percent(right, sizeof right, p->accuracy);
    if (!isnan(p->val_loss))
        snprintf(val, sizeof val, "  held out: loss %.4f", p->val_loss);
    add_percent(val, sizeof val, p->val_accuracy);
    add_size(small, sizeof small, p);
    log_epoch(p, left);
    cli_summary(c, "epoch %u/%u  loss %.4f%s%s%s  rate %.2g  %.1f s  eta %d:%02d", p->epoch,
                p->n_epochs, p->loss, right, val, small, p->rate, p->seconds, (int)(left / 60),
                (int)left % 60);
}

void cli_print_folded(const struct cli_common *c, const struct pith_train_result *r)
{
    char val[96] = "";
    if (r->folded == 0) {
        cli_summary(c, "folded no normalization: none stands behind a Conv or Gemm alone");
        return;
    }
    if (!isnan(r->val_loss))
        snprintf(val, sizeof val, "  held out: loss %.4f", r->val_loss);
    add_percent(val, sizeof val, r->val_accuracy);
    cli_summary(c, "folded %u normalizations%s", r->folded, val);
}

bool cli_stop_training(void *user)
{
    (void)user;
    return cli_interrupted();
}
