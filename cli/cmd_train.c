/* SPDX-License-Identifier: MIT */
/* pith train: fine-tune what is left of a network. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "architecture_option.h"
#include "cli/common/error_location.h"
#include "base/file_write.h"
#include "pith_onnx.h"
#include "pith_pack.h"
#include "cli/common/json_out.h"
#include "cli/common/run_log.h"
#include "ranks_start.h"
#include "cli/common/stage_options.h"
#include "training.h"

struct train_options {
    struct cli_common common;
    struct cli_training_options from;
    const char *log;
    const char *init, *ranks;
    struct pith_stage stage; /* its options go straight there */
};

#define AT(member) offsetof(struct train_options, member)
static const struct cli_option options[] = {
    CLI_TRAINING_OPTIONS(struct train_options, from),
    {0, "init", OPTION_TEXT, AT(init), "ARCH", "train from scratch (pith help init)", 0, 0},
    CLI_STAGE_BASIC(struct train_options, stage, PITH_STAGE_TRAIN),
    CLI_LOG_OPTION(struct train_options, log, CLI_LOG_HELP "; FILE.csv: write one line per epoch"),
    {0, "", OPTION_HEADING, 0, NULL, "More", 0, 0},
    CLI_STAGE_PLAIN(struct train_options, stage, PITH_STAGE_TRAIN),
    CLI_STAGE_SET(struct train_options, stage, PITH_STAGE_TRAIN,
                  "options of pith help train-advanced"),
    {0, "", OPTION_ADVANCED, 0, NULL, NULL, 0, 0},
    {0, "ranks", OPTION_TEXT, AT(ranks), "HOW",
     "mpi: split each batch over mpirun or srun processes", 0, 0},
    {0, "preprocess", OPTION_TEXT, AT(from.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    struct train_options *o = opts;
    pith_stage_init(&o->stage, PITH_STAGE_TRAIN);
}

struct training {
    struct train_options *o;
    struct pith_stage *stage;       /* of o */
    const struct pith_ranks *ranks; /* NULL: this process alone */
    struct pith_model *m;
    struct pith_data *train, *val;
    const char *csv;        /* --log with a table of epochs; NULL: none */
    struct pith_buffer log; /* its lines */
    size_t log_room;
    bool no_memory;
    bool may_be_done; /* --resume, and the output exists, without -f: only a run that is done may go
                         on */
    bool stepped;     /* a run that may be done made a step */
};

/* ---- options --------------------------------------------------------------------------------- */

static enum cli_exit read_options(struct training *t)
{
    const struct train_options *o = t->o;
    enum cli_exit rc = cli_check_training(&o->from);
    if (!rc)
        rc = cli_check_stage(t->stage);
    if (!rc && t->stage->until_drop >= 0 && !o->from.val && !o->from.hold) {
        cli_error("--until-drop needs a validation split: --val or --hold");
        return EXIT_USAGE;
    }
    return rc;
}

/* ---- progress -------------------------------------------------------------------------------- */

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
    char line[256];
    cli_print_epoch(&t->o->common, p);
    if (!t->csv)
        return;
    snprintf(line, sizeof line, "%u,%" PRIu64 ",%.9g,%.9g,%.9g,%.9g,%.9g,%.3f,%" PRIu64 ",%.0f\n",
             p->epoch, p->step, p->loss, p->accuracy, p->val_loss, p->val_accuracy, p->rate,
             p->seconds, p->kept, p->bytes);
    add_log(t, line);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_json(const struct pith_train_result *r, uint64_t bytes)
{
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_uint("parameters", r->n_parameters);
    cli_json_uint("trained", r->n_trained);
    cli_json_uint("kept", r->kept);
    cli_json_uint("epochs", r->epochs);
    cli_json_uint("best_epoch", r->best_epoch);
    cli_json_number("loss", r->loss);
    if (!isnan(r->val_loss))
        cli_json_number("val_loss", r->val_loss);
    if (!isnan(r->val_accuracy))
        cli_json_number("val_top1", r->val_accuracy);
    cli_json_end();
}

static bool should_stop(void *user)
{
    struct training *t = user;
    t->stepped = true;
    return t->may_be_done || cli_stop_training(NULL);
}

static enum cli_exit output_exists(const struct training *t)
{
    cli_error("%s exists: use -f to overwrite it", t->o->common.output);
    return EXIT_USAGE;
}

/* The checkpoint was that of the last step: nothing was trained. The output has to be what the run
 * ends in. */
static enum cli_exit report_done(const struct training *t)
{
    const struct cli_common *c = &t->o->common;
    struct pith_error err = {0};
    struct pith_buffer made = {NULL, 0}, there = {NULL, 0};
    enum pith_status st = pith_model_pack(t->m, NULL, &made, &err);
    if (!st)
        st = pith_file_load(c->output, UINT64_MAX, &there, &err);
    const bool same =
        !st && made.bytes == there.bytes && memcmp(made.data, there.data, made.bytes) == 0;
    pith_buffer_free(&made);
    pith_buffer_free(&there);
    if (st)
        return cli_fail(&err);
    if (!same)
        return output_exists(t);
    cli_summary(c, "%s: done already: %s/checkpoint is that of its last step", c->output,
                t->o->stage.train.checkpoint);
    return EXIT_DONE;
}

static void log_result(const struct training *t, const struct pith_train_result *r, uint64_t bytes)
{
    struct cli_event e = CLI_EVENT("file");
    e.file = t->o->common.output;
    e.bytes = (double)bytes;
    e.loss = isnan(r->val_loss) ? r->loss : r->val_loss;
    e.accuracy = r->val_accuracy;
    cli_log(&e);
}

static enum cli_exit finish(struct training *t, const struct pith_train_result *result)
{
    struct pith_error err = {0};
    uint64_t bytes = 0;
    enum cli_exit rc = t->no_memory ? cli_no_memory() : EXIT_DONE;
    if (t->ranks && t->ranks->rank > 0)
        return rc;
    if (!rc)
        rc = cli_write_model(&t->o->common, t->m, &bytes);
    if (!rc)
        log_result(t, result, bytes);
    if (!rc && t->csv && pith_file_write(t->csv, t->log.data, t->log.bytes, &err))
        rc = cli_fail(&err);
    if (!rc && t->o->common.json)
        print_json(result, bytes);
    return rc;
}

/* The model to go on from; --init: a new one, which keeps --preprocess. */
static enum cli_exit open_model(struct training *t, const char *path)
{
    struct cli_import in = {.preprocess = t->o->from.preprocess};
    struct cli_import_storage *storage = NULL;
    struct pith_import_opts import;
    if (!t->o->init)
        return cli_load_model(path, NULL, &t->m);
    enum cli_exit rc = cli_import_opts(&in, &import, &storage);
    if (!rc)
        rc = cli_new_network(t->o->init, &import, t->o->common.seed, &t->m);
    cli_import_free(storage);
    return rc;
}

/* The last line, should a signal end the run. */
static void set_kept_line(const struct training *t)
{
    char command[2048];
    if (!t->o->stage.train.checkpoint) {
        cli_set_kept("nothing is kept; --checkpoint DIR makes it resumable");
        return;
    }
    cli_command_again("train", "--resume", command, sizeof command);
    cli_set_kept("%s/checkpoint has the run; continue with: %s", t->o->stage.train.checkpoint,
                 command);
}

static enum cli_exit train(struct training *t)
{
    struct pith_stage_context context = {.size_bytes = sizeof context,
                                         .seed = t->o->common.seed,
                                         .train = t->train,
                                         .val = t->val,
                                         .progress = show,
                                         .stop = should_stop,
                                         .user = t};
    struct pith_stage_report report = {0};
    struct pith_error err = {0};
    enum cli_exit rc = cli_threads(&t->o->common, &context.threads);
    if (!rc)
        rc = cli_cpu_mask(&context.cpu_mask);
    if (rc)
        return rc;
    if (!t->ranks || t->ranks->rank == 0)
        set_kept_line(t);
    if (t->csv)
        add_log(t, "epoch,step,loss,top1,val_loss,val_top1,lr,seconds,kept,bytes\n");
    if (pith_stage_run_with(t->m, t->stage, &context, &report, &err)) {
        if (t->may_be_done && t->stepped && !cli_interrupted())
            return output_exists(t);
        return cli_fail(&err);
    }
    if (t->stage->train.norms == PITH_NORMS_FOLD)
        cli_print_folded(&t->o->common, &report.train);
    rc = t->may_be_done ? report_done(t) : finish(t, &report.train);
    pith_stage_report_free(&report);
    return rc;
}

/* A new run throws an old one's checkpoint away: not by mistake. */
static enum cli_exit check_checkpoint(const struct train_options *o)
{
    char path[4096];
    if (!o->stage.train.checkpoint || o->stage.train.resume || o->common.force)
        return EXIT_DONE;
    snprintf(path, sizeof path, "%s/checkpoint", o->stage.train.checkpoint);
    if (access(path, F_OK) != 0)
        return EXIT_DONE;
    cli_error("%s exists: go on with --resume, or start anew with -f", path);
    return EXIT_USAGE;
}

static enum cli_exit open_and_train(struct training *t, const char *path)
{
    struct cli_common *c = &t->o->common;
    const struct pith_train_opts *o = &t->o->stage.train;
    t->may_be_done = o->resume && o->checkpoint && !t->ranks && !c->force && c->output &&
                     access(c->output, F_OK) == 0;
    enum cli_exit rc =
        t->may_be_done ? EXIT_DONE : cli_check_model_output(c, t->o->init ? NULL : path);
    if (!rc && t->csv)
        rc = cli_check_writable(t->csv);
    if (!rc)
        rc = check_checkpoint(t->o);
    if (!rc)
        rc = open_model(t, path);
    if (!rc)
        rc = cli_open_training(&t->o->from, t->o->init ? NULL : &t->o->common, t->m, &t->train,
                               &t->val);
    return rc ? rc : train(t);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct train_options *o = opts;
    struct training t = {.o = o, .stage = &o->stage};
    enum cli_exit rc = cli_ranks_start(&o->common, o->ranks, &t.ranks);
    o->stage.train.ranks = t.ranks;
    if (o->stage.train.checkpoint || t.ranks)
        cli_end_in_order(); /* a checkpoint of the last step; other processes */
    if (o->log && cli_ends_in(o->log, ".csv")) {
        t.csv = o->log;
        o->log = NULL;
    }
    if (!rc)
        rc = read_options(&t);
    if (!rc && o->init && n_operands) {
        cli_error("give a model or --init, not both");
        rc = EXIT_USAGE;
    }
    if (!rc && !(t.ranks && t.ranks->rank > 0))
        rc = cli_log_start(o->log, "train", o->init ? o->init : n_operands ? operands[0] : "-");
    if (!rc)
        rc = open_and_train(&t, n_operands ? operands[0] : "-");
    rc = cli_log_end(cli_ranks_end(t.ranks, rc));
    pith_buffer_free(&t.log);
    pith_data_free(t.train);
    pith_data_free(t.val);
    pith_model_free(t.m);
    return rc;
}

const struct cli_command cmd_train = {
    "train",
    "make",
    "train or fine-tune, with pruning and quantization",
    "pith train MODEL|--init ARCH -d DATA [--hold 0::10] [-o FILE]",
    "Pruned weights stay zero; weights that share a centroid move together. With --val or --hold "
    "the\n"
    "best epoch is kept. The same options, seed and data give the same bytes for every number of\n"
    "threads, and after an interruption with --resume. More: pith help train-advanced, "
    "docs/train.md.\n"
    "\n"
    "  pith train pruned.pith -d train-images.idx3.gz --hold 0::10 --epochs 8 -o tuned.pith\n"
    "  pith train small.pith -d train.npz --teacher net.pith --loss distill -o taught.pith\n"
    "  pith train net.pith -d train.npz --quantize w4a4 --epochs 8 -o integers.pith"
    "\f--augment changes each picture at random in each epoch, at most by the given amounts: "
    "shift\n"
    "(pixels), rotate (degrees), scale, shear, elastic (pixels), cutout (side in pixels), flip, "
    "crop\n"
    "(pixels), brightness, contrast, saturation. noise and mixup work for any samples; clean is "
    "the\n"
    "share of samples that stay as they are. Epochs are compared by validation loss. Without "
    "labels,\n"
    "--loss distill validates against the teacher: top-1 is the share of equal predictions. A "
    "file\n"
    "with a fixed batch of one is trained with larger batches, and loops of known length are "
    "unrolled\n"
    "through time. --quantize rounds weights and activations during training, the first and last "
    "layer\n"
    "to 8 bits (\",all\": like the others); the validated and written network runs in integers. A "
    "run\n"
    "that is killed and continued with --resume ends in the same bytes, also under mpirun -n 2, 4 "
    "or 8\n"
    "with --ranks mpi, where processes share each batch.\n"
    "\n"
    "  pith train net.pith -d train.npz --levels 7 --set remove_dead_channels=true -o tiny.pith",
    options,
    sizeof(struct train_options),
    0,
    1,
    run,
    set_defaults};
