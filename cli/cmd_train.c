/* SPDX-License-Identifier: MIT */
/* pith train: fine-tune what is left of a network. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data_options.h"
#include "json_out.h"
#include "pith_train.h"

struct train_options {
    struct cli_common common;
    const char *data, *labels, *range, *preprocess, *val, *hold;
    const char *optimizer, *schedule, *loss, *teacher, *log, *augment;
    uint64_t epochs, batch, patience;
    double rate, weight_decay, temperature;
};

#define AT(member) offsetof(struct train_options, member)
static const struct cli_option options[] = {
    {'d', "data", OPTION_TEXT, AT(data), "DATA", "training samples, as for eval", 0, 0},
    {0, "labels", OPTION_TEXT, AT(labels), "FILE", "their labels", 0, 0},
    {0, "range", OPTION_TEXT, AT(range), "A:B[:STEP]", "these samples; !A:B:STEP all others", 0, 0},
    {0, "preprocess", OPTION_TEXT, AT(preprocess), "SPEC", "instead of what the model stores", 0,
     0},
    {0, "val", OPTION_TEXT, AT(val), "DATA", "samples that judge the epochs", 0, 0},
    {0, "hold", OPTION_TEXT, AT(hold), "A:B[:STEP]", "judge by these of the training samples", 0,
     0},
    {0, "augment", OPTION_TEXT, AT(augment), "LIST", "shift=2,rotate=7,scale=.07,elastic=1,flip ..",
     0, 0},
    {0, "epochs", OPTION_UINT, AT(epochs), "N", "default 10", 1, 100000},
    {0, "batch", OPTION_UINT, AT(batch), "N", "samples of a step, a multiple of 8; default 128", 8,
     65536},
    {0, "lr", OPTION_NUMBER, AT(rate), "RATE", "learning rate; default 0.001", 1e-30, 1e30},
    {0, "optimizer", OPTION_TEXT, AT(optimizer), "O", "adam (default), adamw, sgd, nesterov", 0, 0},
    {0, "schedule", OPTION_TEXT, AT(schedule), "S", "cosine (default), constant, steps, one-cycle",
     0, 0},
    {0, "weight-decay", OPTION_NUMBER, AT(weight_decay), "D", "default 0", 0, 10},
    {0, "loss", OPTION_TEXT, AT(loss), "L", "classes (default), squares, distill", 0, 0},
    {0, "teacher", OPTION_TEXT, AT(teacher), "MODEL", "learn its classes too", 0, 0},
    {0, "temperature", OPTION_NUMBER, AT(temperature), "T", "of its classes; default 2", 0.01,
     1000},
    {0, "patience", OPTION_UINT, AT(patience), "N", "stop after N epochs without progress", 1,
     100000},
    {0, "log", OPTION_TEXT, AT(log), "FILE.csv", "write a line for each epoch", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct training {
    const struct train_options *o;
    struct pith_model *m, *teacher;
    struct pith_data *train, *val;
    struct pith_train_opts opts;
    struct pith_train_result result;
    struct pith_buffer log; /* lines of --log */
    size_t log_room;
    bool no_memory;
};

/* ---- options ------------------------------------------------------------------------------------
 */

static enum cli_exit choose(const char *option, const char *text, const char *const *words,
                            int *index)
{
    if (cli_find_word(text, words, index))
        return EXIT_DONE;
    cli_error("--%s '%s': see pith help train", option, text);
    return EXIT_USAGE;
}

static enum cli_exit choose_methods(const struct train_options *o, struct pith_train_opts *t)
{
    static const char *const optimizers[] = {"adam", "adamw", "sgd", "nesterov", NULL};
    static const char *const schedules[] = {"cosine", "constant", "steps", "one-cycle", NULL};
    static const char *const losses[] = {"classes", "squares", "distill", NULL};
    int optimizer, schedule, loss;
    enum cli_exit rc = choose("optimizer", o->optimizer, optimizers, &optimizer);
    if (!rc)
        rc = choose("schedule", o->schedule, schedules, &schedule);
    if (!rc)
        rc = choose("loss", o->loss, losses, &loss);
    if (rc)
        return rc;
    t->optimizer = (enum pith_optimizer)optimizer;
    t->schedule = (enum pith_schedule)schedule;
    t->loss = (enum pith_loss)loss;
    return EXIT_DONE;
}

static void set_float(float *to, double given)
{
    if (given > 0)
        *to = (float)given;
}

static enum cli_exit read_options(struct training *t)
{
    const struct train_options *o = t->o;
    pith_train_opts_init(&t->opts, sizeof t->opts);
    enum cli_exit rc = cli_threads(&o->common, &t->opts.threads);
    if (!rc)
        rc = choose_methods(o, &t->opts);
    if (rc)
        return rc;
    if (!o->data) {
        cli_error("no data: give -d DATA");
        return EXIT_USAGE;
    }
    if (o->val && o->hold) {
        cli_error("give one of --val and --hold");
        return EXIT_USAGE;
    }
    t->opts.epochs = o->epochs ? (uint32_t)o->epochs : t->opts.epochs;
    t->opts.batch = o->batch ? (uint32_t)o->batch : t->opts.batch;
    t->opts.patience = (uint32_t)o->patience;
    t->opts.seed = o->common.seed;
    t->opts.augment = o->augment;
    t->opts.keep_best = o->val || o->hold;
    set_float(&t->opts.rate, o->rate);
    set_float(&t->opts.weight_decay, o->weight_decay);
    set_float(&t->opts.temperature, o->temperature);
    return EXIT_DONE;
}

/* ---- data ---------------------------------------------------------------------------------------
 */

static enum cli_exit open_data(const struct training *t, const char *path, const char *labels,
                               const char *range, struct pith_data **data)
{
    struct pith_error err = {0};
    struct pith_data_opts d = {.size_bytes = sizeof d,
                               .path = path,
                               .labels = labels,
                               .range = range,
                               .preprocess = t->o->preprocess};
    cli_data_shape(t->m, 0, &d);
    return pith_data_open(&d, data, &err) ? cli_fail(&err) : EXIT_DONE;
}

/* --hold 0::10 keeps these for judging and trains on all others. */
static enum cli_exit open_all_data(struct training *t)
{
    const struct train_options *o = t->o;
    char others[128];
    if (o->hold && (o->range || *o->hold == '!' ||
                    snprintf(others, sizeof others, "!%s", o->hold) >= (int)sizeof others)) {
        cli_error("--hold '%s': give A:B[:STEP], and no --range beside it", o->hold);
        return EXIT_USAGE;
    }
    enum cli_exit rc = open_data(t, o->data, o->labels, o->hold ? others : o->range, &t->train);
    if (!rc && o->hold)
        rc = open_data(t, o->data, o->labels, o->hold, &t->val);
    if (!rc && o->val)
        rc = open_data(t, o->val, NULL, NULL, &t->val);
    return rc;
}

/* ---- progress -----------------------------------------------------------------------------------
 */

static void add_log(struct training *t, const char *line)
{
    size_t n = strlen(line);
    if (t->log.bytes + n > t->log_room) {
        size_t room = 2 * (t->log.bytes + n) + 256;
        uint8_t *grown = realloc(t->log.data, room);
        if (!grown) {
            t->no_memory = true;
            return;
        }
        t->log.data = grown;
        t->log_room = room;
    }
    memcpy(t->log.data + t->log.bytes, line, n);
    t->log.bytes += n;
}

static void show(void *user, const struct pith_train_progress *p)
{
    struct training *t = user;
    char line[256], val[64] = "", right[32] = "";
    if (!isnan(p->accuracy))
        snprintf(right, sizeof right, "  %.2f%%", 100 * p->accuracy);
    if (!isnan(p->val_loss))
        snprintf(val, sizeof val, "  held out: loss %.4f", p->val_loss);
    size_t at = strlen(val);
    if (!isnan(p->val_accuracy))
        snprintf(val + at, sizeof val - at, "  %.2f%%", 100 * p->val_accuracy);
    cli_say(&t->o->common, "epoch %u/%u  loss %.4f%s%s  rate %.2g  %.1f s", p->epoch, p->n_epochs,
            p->loss, right, val, p->rate, p->seconds);
    if (!t->o->log)
        return;
    snprintf(line, sizeof line, "%u,%" PRIu64 ",%.9g,%.9g,%.9g,%.9g,%.9g,%.3f\n", p->epoch, p->step,
             p->loss, p->accuracy, p->val_loss, p->val_accuracy, p->rate, p->seconds);
    add_log(t, line);
}

static bool interrupted(void *user)
{
    (void)user;
    return cli_interrupted();
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static enum cli_exit note_history(struct training *t)
{
    char json[256];
    const struct pith_train_opts *o = &t->opts;
    snprintf(json, sizeof json,
             "{\"epochs\":%u,\"batch\":%u,\"lr\":%.9g,\"seed\":%" PRIu64
             ",\"best_epoch\":%u,\"loss\":%.9g}",
             o->epochs, o->batch, (double)o->rate, o->seed, t->result.best_epoch, t->result.loss);
    return pith_model_add_history(t->m, "train", json) ? cli_no_memory() : EXIT_DONE;
}

static void print_json(const struct training *t, uint64_t bytes)
{
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_uint("parameters", t->result.n_parameters);
    cli_json_uint("trained", t->result.n_trained);
    cli_json_uint("epochs", t->result.epochs);
    cli_json_uint("best_epoch", t->result.best_epoch);
    cli_json_number("loss", t->result.loss);
    if (!isnan(t->result.val_loss))
        cli_json_number("val_loss", t->result.val_loss);
    if (!isnan(t->result.val_accuracy))
        cli_json_number("val_top1", t->result.val_accuracy);
    cli_json_end();
}

static enum cli_exit finish(struct training *t)
{
    struct pith_error err = {0};
    uint64_t bytes = 0;
    enum cli_exit rc = t->no_memory ? cli_no_memory() : note_history(t);
    if (!rc)
        rc = cli_write_model(&t->o->common, t->m, &bytes);
    if (!rc && t->o->log && pith_file_write(t->o->log, t->log.data, t->log.bytes, &err))
        rc = cli_fail(&err);
    if (!rc && t->o->common.json)
        print_json(t, bytes);
    return rc;
}

static enum cli_exit train(struct training *t, const char *path)
{
    struct pith_error err = {0};
    enum cli_exit rc = cli_check_output(&t->o->common, path);
    if (!rc)
        rc = cli_load_model(path, NULL, &t->m);
    if (!rc && t->o->teacher)
        rc = cli_load_model(t->o->teacher, NULL, &t->teacher);
    if (!rc)
        rc = open_all_data(t);
    if (rc)
        return rc;
    t->opts.teacher = t->teacher;
    t->opts.progress = show;
    t->opts.stop = interrupted;
    t->opts.user = t;
    if (t->o->log)
        add_log(t, "epoch,step,loss,top1,val_loss,val_top1,lr,seconds\n");
    if (pith_train(t->m, t->train, t->val, &t->opts, &t->result, &err))
        return cli_fail(&err);
    return finish(t);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct training t = {.o = opts};
    enum cli_exit rc = read_options(&t);
    if (!rc)
        rc = train(&t, n_operands ? operands[0] : "-");
    pith_buffer_free(&t.log);
    pith_data_free(t.train);
    pith_data_free(t.val);
    pith_model_free(t.teacher);
    pith_model_free(t.m);
    return rc;
}

const struct cli_command cmd_train = {
    "train",
    "make",
    "fine-tune the weights that are left",
    "pith train [MODEL] -d DATA [--hold 0::10] [-o FILE]",
    "Pruned weights stay zero; weights that share a centroid move together. With --val or --hold\n"
    "the best epoch is kept, judged by its loss on samples that it was not trained on. The same\n"
    "options, seed and data give the same bytes for any number of threads. --augment draws for "
    "each\n"
    "picture of each epoch how far it is moved (shift, pixels), turned (rotate, degrees), sized\n"
    "(scale), slanted (shear), bent (elastic, pixels), covered (cutout, side in pixels) or "
    "mirrored\n"
    "(flip); amounts are the most of each.\n\n"
    "  pith train pruned.pith -d train-images.idx3.gz --hold 0::10 --epochs 8 -o tuned.pith\n"
    "  pith train small.pith -d train.npz --teacher net.pith --loss distill -o taught.pith",
    options,
    sizeof(struct train_options),
    0,
    1,
    run};
