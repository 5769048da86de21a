/* SPDX-License-Identifier: MIT */
/* pith train: fine-tune what is left of a network. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "architecture_option.h"
#include "pith_onnx.h"
#include "json_out.h"
#include "ranks_start.h"
#include "training.h"

struct train_options {
    struct cli_common common;
    struct cli_training_options from;
    const char *optimizer, *schedule, *loss, *score, *units, *norms, *step_by, *keep, *log, *init,
        *ranks;
    struct cli_list hints;
    struct pith_stage stage; /* what needs no thought goes straight there */
};

#define AT(member) offsetof(struct train_options, member)
static const struct cli_option options[] = {
    CLI_TRAINING_OPTIONS(struct train_options, from),
    {0, "init", OPTION_TEXT, AT(init), "ARCH", "train from scratch: see pith help init", 0, 0},
    {0, "epochs", OPTION_U32, AT(stage.train.epochs), "N", "default 10", 1, 100000},
    {0, "until-drop", OPTION_PERCENT, AT(stage.until_drop), "P%",
     "stop once within P of the start's or teacher's top-1", 0, 1},
    {0, "lr", OPTION_FLOAT, AT(stage.train.rate), "RATE", "learning rate; default 0.001", 1e-30,
     1e30},
    {0, "batch", OPTION_U32, AT(stage.train.batch), "N",
     "samples of a step, a multiple of 8; default 128", 8, 65536},
    {0, "augment", OPTION_TEXT, AT(stage.train.augment), "LIST",
     "shift=2,rotate=7,scale=.07,elastic=1,flip ..", 0, 0},
    {0, "sparsity", OPTION_FRACTION, AT(stage.train.sparsity), "SHARE",
     "remove this share of all weights, little by little", 0, 0.999999},
    {0, "levels", OPTION_U32, AT(stage.train.levels), "N",
     "weights become k * step, |k| <= N <= 127", 1, 127},
    {0, "rate-weight", OPTION_FLOAT, AT(stage.train.rate_weight), "L",
     "what a bit costs: decides which weights go and which are 0", 0, 1e6},
    {0, "teacher", OPTION_TEXT, AT(stage.teacher), "MODEL",
     "learn its classes too; start: the model itself", 0, 0},
    {0, "checkpoint", OPTION_TEXT, AT(stage.train.checkpoint), "DIR",
     "keep what --resume needs there", 0, 0},
    {0, "resume", OPTION_FLAG, AT(stage.train.resume), NULL,
     "go on from the checkpoint, if there is one", 0, 0},
    {0, "log", OPTION_TEXT, AT(log), "FILE.csv", "write a line for each epoch", 0, 0},

    {0, "", OPTION_HEADING, 0, NULL, "Steps", 0, 0},
    {0, "ranks", OPTION_TEXT, AT(ranks), "HOW",
     "mpi: share each batch among the processes of mpirun or srun", 0, 0},
    {0, "optimizer", OPTION_TEXT, AT(optimizer), "O", "adam (default), adamw, sgd, nesterov", 0, 0},
    {0, "schedule", OPTION_TEXT, AT(schedule), "S", "cosine (default), constant, steps, one-cycle",
     0, 0},
    {0, "warm-up", OPTION_FLOAT, AT(stage.train.warm_up), "SHARE",
     "of the run, in which the rate rises from 0", 0, 0.999},
    {0, "step-factor", OPTION_FLOAT, AT(stage.train.step_factor), "F",
     "--schedule steps: at each third; default 0.1", 1e-6, 1},
    {0, "momentum", OPTION_FLOAT, AT(stage.train.momentum), "M", "sgd, nesterov: default 0.9", 0,
     0.9999},
    {0, "beta1", OPTION_FLOAT, AT(stage.train.beta1), "B", "adam, adamw: of the mean; default 0.9",
     0, 0.999999},
    {0, "beta2", OPTION_FLOAT, AT(stage.train.beta2), "B", "of the mean square; default 0.999", 0,
     0.999999},
    {0, "weight-decay", OPTION_FLOAT, AT(stage.train.weight_decay), "D", "default 0", 0, 10},
    {0, "clip", OPTION_FLOAT, AT(stage.train.clip_norm), "NORM",
     "largest norm of a gradient; default none", 0, 1e9},
    {0, "average", OPTION_FLOAT, AT(stage.train.average), "DECAY",
     "keep the moving average of the weights, as 0.999", 0, 0.999999},
    {0, "keep", OPTION_TEXT, AT(keep), "WHICH", "best epoch on held-out samples (default), or last",
     0, 0},
    {0, "units", OPTION_TEXT, AT(units), "U", "that nobody reads in the end: stay (default), drop",
     0, 0},
    {0, "norms", OPTION_TEXT, AT(norms), "N",
     "batch normalizations in the end: stay (default), fold", 0, 0},
    {0, "versions", OPTION_U32, AT(stage.train.versions), "N",
     "of each sample --augment makes N and shows them in turn", 1, 100000},
    {0, "patience", OPTION_U32, AT(stage.train.patience), "N",
     "stop after N epochs without progress", 1, 100000},

    {0, "", OPTION_HEADING, 0, NULL, "Loss", 0, 0},
    {0, "loss", OPTION_TEXT, AT(loss), "L", "classes (default), squares, distill", 0, 0},
    {0, "smoothing", OPTION_FLOAT, AT(stage.train.smoothing), "S", "of the labels, 0..1; default 0",
     0, 1},
    {0, "temperature", OPTION_FLOAT, AT(stage.train.temperature), "T",
     "of the teacher's classes; default 2", 0.01, 1000},
    {0, "teacher-part", OPTION_FLOAT, AT(stage.train.teacher_part), "SHARE",
     "of the loss that is the teacher's; default 0.7", 0, 1},
    {0, "hint", OPTION_LIST, AT(hints), "S=T:W",
     "W * squared difference of S and the teacher's T joins it", 0, 0},

    {0, "", OPTION_HEADING, 0, NULL, "Shrinking", 0, 0},
    {0, "keep-weights", OPTION_U32, AT(stage.train.keep_weights), "N",
     "instead of --sparsity: remove all but N", 1, 4e9},
    {0, "score", OPTION_TEXT, AT(score), "S",
     "goes first by: rate (default), fisher, magnitude, gates, variational", 0, 0},
    {0, "noise-weight", OPTION_FLOAT, AT(stage.train.noise_weight), "W",
     "of what gates or variational dropout cost; default 1", 0, 1e6},
    {0, "prune-until", OPTION_FLOAT, AT(stage.train.prune_until), "SHARE",
     "of the run, after which the sparsity is reached; default 0.8", 0, 1},
    {0, "prune-power", OPTION_FLOAT, AT(stage.train.prune_power), "P", "of its curve; default 1.5",
     0.01, 100},
    {0, "prune-every", OPTION_U32, AT(stage.train.prune_every), "STEPS", "default 50", 1, 1000000},
    {0, "regrow", OPTION_FLOAT, AT(stage.train.regrow), "SHARE",
     "of the kept, as many of the removed may come back; default 0", 0, 1},
    {0, "bias-levels", OPTION_U32, AT(stage.train.bias_levels), "N",
     "the same as --levels of what is not a weight", 1, 127},
    {0, "softness", OPTION_FLOAT, AT(stage.train.softness), "T",
     "weights settle on a codebook while training, as 0.2; default: settled", 0, 1000},
    {0, "feedback", OPTION_U32, AT(stage.train.feedback), "SAMPLES",
     "begin on the grid layer by layer: roundings make up for each other", 1, 1e9},
    {0, "feedback-loss", OPTION_FLOAT, AT(stage.train.feedback_loss), "SHARE",
     "of what feedback makes least, that is weighted by the loss; default 0", 0, 1},
    {0, "first-step", OPTION_FLOAT, AT(stage.train.first_step), "S",
     "step at first, in mean |w| of a tensor; default 0.7", 1e-6, 1e6},
    {0, "step-power", OPTION_FLOAT, AT(stage.train.step_power), "P",
     "finer steps for small layers: times (weights / most)^P, as 0.5", 0, 1},
    {0, "step-by", OPTION_TEXT, AT(step_by), "B",
     "mean (default), or what rounding costs the loss: tensor, row", 0, 0},
    {0, "dampening", OPTION_FLOAT, AT(stage.train.dampening), "SHARE",
     "how far weights go to their levels in a last step; default 0.002", 0, 1},
    {0, "rate-ramp", OPTION_FLOAT, AT(stage.train.rate_ramp), "SHARE",
     "of the run, in which the rate weight rises from 0; default 0.2", 0, 1},

    {0, "", OPTION_HEADING, 0, NULL, "Integers", 0, 0},
    {0, "quantize", OPTION_TEXT, AT(stage.integers), "SPEC",
     "end as integers that train: int8, w4a8, w4a4, ternary, fixed:8", 0, 0},

    {0, "", OPTION_HEADING, 0, NULL, "Other", 0, 0},
    {0, "preprocess", OPTION_TEXT, AT(from.preprocess), "SPEC", "instead of what the model stores",
     0, 0},
    {0, "checkpoint-every", OPTION_U32, AT(stage.train.checkpoint_every), "STEPS",
     "default: at each epoch's end", 1, 4e9},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    struct train_options *o = opts;
    pith_stage_init(&o->stage, PITH_STAGE_TRAIN);
}

struct training {
    struct train_options *o;
    struct pith_stage *stage;           /* of o */
    char *hint_names[PITH_STAGE_HINTS]; /* owned; "student\0teacher" */
    const struct pith_ranks *ranks;     /* NULL: this process alone */
    struct pith_model *m;
    struct pith_data *train, *val;
    struct pith_buffer log; /* lines of --log */
    size_t log_room;
    bool no_memory;
};

/* ---- options --------------------------------------------------------------------------------- */

static enum cli_exit choose_methods(const struct train_options *o, struct pith_train_opts *t)
{
    static const char *const keeps[] = {"best", "last", NULL};
    const struct {
        const char *key, *word;
    } chosen[] = {{"optimizer", o->optimizer}, {"schedule", o->schedule}, {"loss", o->loss},
                  {"score", o->score},         {"units", o->units},       {"norms", o->norms},
                  {"step_by", o->step_by}};
    int keep = 0;
    bool known = cli_find_word(o->keep, keeps, &keep);
    if (!known)
        cli_error("--keep '%s': see pith help train", o->keep);
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen && known; i++)
        if (chosen[i].word && !pith_train_set_word(t, chosen[i].key, chosen[i].word)) {
            const char *option = strcmp(chosen[i].key, "step_by") ? chosen[i].key : "step-by";
            cli_error("--%s '%s': see pith help train", option, chosen[i].word);
            known = false;
        }
    t->keep_best = keep == 0;
    return known ? EXIT_DONE : EXIT_USAGE;
}

/* "S=T:W", or "S:W" where both are called the same. */
static enum cli_exit read_hint(struct training *t, const char *text)
{
    const char *colon = strrchr(text, ':'), *equals = strchr(text, '=');
    size_t names = colon ? (size_t)(colon - text) : 0;
    double weight;
    if (!names || !cli_parse_number(colon + 1, &weight) || !(weight > 0)) {
        cli_error("--hint '%s': not of the form STUDENT=TEACHER:WEIGHT", text);
        return EXIT_USAGE;
    }
    char *copy = strndup(text, names);
    if (!copy)
        return cli_no_memory();
    t->hint_names[t->stage->train.n_hints] = copy;
    struct pith_train_hint *h = &t->stage->hints[t->stage->train.n_hints++];
    *h = (struct pith_train_hint){copy, copy, (float)weight};
    if (equals && equals < colon) {
        copy[equals - text] = '\0';
        h->teacher = copy + (equals - text) + 1;
    }
    return EXIT_DONE;
}

static bool differs(float a, float b)
{
    return a < b || a > b;
}

/* An option that nothing would come of, for want of another; NULL: none. */
static const char *without_effect(const struct pith_train_opts *t)
{
    bool noisy = t->score == PITH_SCORE_GATES || t->score == PITH_SCORE_VARIATIONAL;
    bool momentum = t->optimizer == PITH_SGD || t->optimizer == PITH_NESTEROV;
    bool counted = t->sparsity > 0 || t->keep_weights;
    struct pith_train_opts normal;
    pith_train_opts_init(&normal, sizeof normal);
    if (t->regrow > 0 && !counted)
        return "--regrow needs --sparsity or --keep-weights";
    if (t->score != normal.score && !counted)
        return "--score needs --sparsity or --keep-weights";
    if (differs(t->prune_power, normal.prune_power) && !counted)
        return "--prune-power needs --sparsity or --keep-weights";
    if (differs(t->noise_weight, normal.noise_weight) && !noisy)
        return "--noise-weight needs --score gates or variational";
    if (differs(t->first_step, normal.first_step) && !t->levels)
        return "--first-step needs --levels";
    if (differs(t->dampening, normal.dampening) && !t->levels && !t->bias_levels)
        return "--dampening needs --levels";
    if (t->step_power > 0 && !t->levels)
        return "--step-power needs --levels";
    if (t->feedback && !t->levels)
        return "--feedback needs --levels";
    if (t->feedback_loss > 0 && !t->feedback)
        return "--feedback-loss needs --feedback";
    if (t->step_by && !t->levels)
        return "--step-by needs --levels";
    if (t->step_by == PITH_STEP_BY_ROW && t->norms == PITH_NORMS_FOLD)
        return "--step-by row is without --norms fold, which gives rows steps of their own";
    if (differs(t->rate_ramp, normal.rate_ramp) && !(t->rate_weight > 0) && !noisy)
        return "--rate-ramp needs --rate-weight";
    if (differs(t->step_factor, normal.step_factor) && t->schedule != PITH_STEPS)
        return "--step-factor needs --schedule steps";
    if (differs(t->momentum, normal.momentum) && !momentum)
        return "--momentum needs --optimizer sgd or nesterov";
    if ((differs(t->beta1, normal.beta1) || differs(t->beta2, normal.beta2)) && momentum)
        return "--beta1 and --beta2 need --optimizer adam or adamw";
    if (t->versions && !t->augment)
        return "--versions needs --augment";
    return NULL;
}

/* Says, as --quantize does, which values a weight may take, or changes the network's shape. */
static bool shrinks_too(const struct pith_train_opts *t)
{
    return t->levels || t->bias_levels || t->sparsity > 0 || t->keep_weights ||
           t->rate_weight > 0 || t->softness > 0 || t->units || t->norms;
}

/* What is wrong with the options taken together; NULL: nothing. */
static const char *misfit(const struct train_options *o)
{
    const struct pith_train_opts *t = &o->stage.train;
    struct pith_integer_spec spec;
    if (o->hints.n && !o->stage.teacher)
        return "--hint needs a --teacher";
    if (o->stage.integers && !pith_integer_spec_parse(o->stage.integers, &spec))
        return "--quantize takes int8, w4a8 (2 to 8 bits each), ternary or fixed:8, and ,all "
               "behind it";
    if (o->stage.integers && shrinks_too(t))
        return "--quantize is without --levels, --bias-levels, --sparsity, --keep-weights, "
               "--rate-weight, --softness, --units and --norms";
    if (o->hints.n > PITH_STAGE_HINTS)
        return "--hint: given too often";
    if (o->stage.until_drop >= 0 && !o->from.val && !o->from.hold)
        return "--until-drop needs samples to judge by: --val or --hold";
    if ((t->resume || t->checkpoint_every) && !t->checkpoint)
        return "where is the checkpoint? Give --checkpoint DIR";
    if ((differs(t->temperature, 2) || differs(t->teacher_part, 0.7f)) && !o->stage.teacher)
        return "--temperature and --teacher-part need a --teacher";
    return without_effect(t);
}

static enum cli_exit read_options(struct training *t)
{
    const char *wrong = NULL;
    enum cli_exit rc = cli_check_training(&t->o->from);
    if (!rc)
        rc = choose_methods(t->o, &t->stage->train);
    if (!rc)
        wrong = misfit(t->o);
    if (wrong) {
        cli_error("%s", wrong);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < t->o->hints.n && !rc; i++)
        rc = read_hint(t, t->o->hints.item[i]);
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
    cli_say_epoch(&t->o->common, p);
    if (!t->o->log)
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

static enum cli_exit finish(struct training *t, const struct pith_train_result *result)
{
    struct pith_error err = {0};
    uint64_t bytes = 0;
    enum cli_exit rc = t->no_memory ? cli_no_memory() : EXIT_DONE;
    if (t->ranks && t->ranks->rank > 0)
        return rc;
    if (!rc)
        rc = cli_write_model(&t->o->common, t->m, &bytes);
    if (!rc && t->o->log && pith_file_write(t->o->log, t->log.data, t->log.bytes, &err))
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

static enum cli_exit train(struct training *t)
{
    struct pith_stage_means means = {.size_bytes = sizeof means,
                                     .seed = t->o->common.seed,
                                     .train = t->train,
                                     .val = t->val,
                                     .progress = show,
                                     .stop = cli_stop_training,
                                     .user = t};
    struct pith_stage_report report = {0};
    struct pith_error err = {0};
    enum cli_exit rc = cli_threads(&t->o->common, &means.threads);
    if (rc)
        return rc;
    if (t->o->log)
        add_log(t, "epoch,step,loss,top1,val_loss,val_top1,lr,seconds,kept,bytes\n");
    if (pith_stage_run_with(t->m, t->stage, &means, &report, &err))
        return cli_fail(&err);
    if (t->stage->train.norms == PITH_NORMS_FOLD)
        cli_say_folded(&t->o->common, &report.train);
    rc = finish(t, &report.train);
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

static enum cli_exit check_softness(const struct train_options *o, const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_values && o->stage.train.softness > 0; i++)
        if (m->values[i].constant && m->values[i].constant->codebook)
            return EXIT_DONE;
    if (!(o->stage.train.softness > 0))
        return EXIT_DONE;
    cli_error("--softness is for a codebook, and the model has none: see pith help cluster");
    return EXIT_USAGE;
}

static enum cli_exit open_and_train(struct training *t, const char *path)
{
    enum cli_exit rc = cli_check_model_output(&t->o->common, t->o->init ? NULL : path);
    if (!rc && t->o->log)
        rc = cli_check_writable(t->o->log);
    if (!rc)
        rc = check_checkpoint(t->o);
    if (!rc)
        rc = open_model(t, path);
    if (!rc)
        rc = check_softness(t->o, t->m);
    if (!rc)
        rc = cli_open_training(&t->o->from, t->m, &t->train, &t->val);
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
    if (!rc)
        rc = read_options(&t);
    if (!rc && o->init && n_operands) {
        cli_error("give a model or --init, not both");
        rc = EXIT_USAGE;
    }
    if (!rc)
        rc = open_and_train(&t, n_operands ? operands[0] : "-");
    rc = cli_ranks_end(t.ranks, rc);
    for (uint32_t i = 0; i < o->stage.train.n_hints; i++)
        free(t.hint_names[i]);
    pith_buffer_free(&t.log);
    pith_data_free(t.train);
    pith_data_free(t.val);
    pith_model_free(t.m);
    return rc;
}

const struct cli_command cmd_train = {
    "train",
    "make",
    "fine-tune the weights that are left",
    "pith train MODEL|--init ARCH -d DATA [--hold 0::10] [-o FILE]",
    "Pruned weights stay zero; weights that share a centroid move together. With --val or --hold\n"
    "the best epoch is kept, judged by its loss on samples that it was not trained on. The same\n"
    "options, seed and data give the same bytes for any number of threads. --augment draws for "
    "each\n"
    "picture of each epoch how far it is moved (shift, pixels), turned (rotate, degrees), sized\n"
    "(scale), slanted (shear), bent (elastic, pixels), covered (cutout, side in pixels), mirrored\n"
    "(flip), cut (crop, pixels), recoloured (brightness, contrast, saturation); amounts are the "
    "most\n"
    "of each. noise and mixup are for any samples; clean: this share stays as it is. Where the "
    "data\n"
    "has no labels, --loss distill judges by the teacher: top-1 is the share of equal answers. A\n"
    "file with a batch of one is trained with more, and loops of known length through time. With\n"
    "--quantize weights and activations are rounded while they train, the first and last layer "
    "(but\n"
    "with ,all) to 8 bits; what is written, and judges each epoch, runs in integers. Killed\n"
    "at any moment and started again with --resume, a run ends in the same bytes; so it does "
    "under\n"
    "mpirun -n 2, 4 or 8 with --ranks mpi, where processes share each batch.\n\n"
    "  pith train pruned.pith -d train-images.idx3.gz --hold 0::10 --epochs 8 -o tuned.pith\n"
    "  pith train small.pith -d train.npz --teacher net.pith --loss distill -o taught.pith\n"
    "  pith train net.pith -d train.npz --quantize w4a4 --epochs 8 -o integers.pith",
    options,
    sizeof(struct train_options),
    0,
    1,
    run,
    set_defaults};
