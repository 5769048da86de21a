/* SPDX-License-Identifier: MIT */
#include "data_check.h"
#include "stage_command.h"
#include "pith_onnx.h"
#include <math.h>
#include <string.h>
#include "cli/common/json_out.h"
#include "pith_preprocess.h"

static void json_pruned(const struct pith_prune_layer *l)
{
    cli_json_string("name", l->layer);
    cli_json_uint("weights", l->count);
    cli_json_uint("kept", l->kept);
    if (l->left)
        cli_json_string("left", l->left == PITH_PRUNE_LEFT_DEPTHWISE ? "depthwise" : "pattern");
}

static void json_clustered(const struct pith_cluster_layer *l)
{
    cli_json_string("name", l->layer);
    cli_json_uint("weights", l->n_weights);
    cli_json_uint("centroids", l->n_centroids);
    cli_json_number("snr_db", l->snr_db);
}

static void json_quantized(const struct pith_quantize_layer *l)
{
    cli_json_string("name", l->layer);
    cli_json_uint("weights", l->n_weights);
    cli_json_bool("integer", !l->why);
    if (l->why)
        cli_json_string("why", l->why);
    else
        cli_json_number("snr_db", l->snr_db);
    if (l->sum_bits) {
        cli_json_uint("bits", l->weight_bits);
        cli_json_uint("sum_bits", l->sum_bits);
        cli_json_number("most_sum", l->most_sum);
    }
    if (l->table)
        cli_json_bool("table", true);
    if (l->table && !l->why)
        cli_json_uint("bits", l->weight_bits);
}

/* Share of predictions that quantize is expected to change on other samples. */
static double expected_changes(const struct pith_stage_report *r)
{
    return r->loss.predictions == 0          ? 0
           : isnan(r->loss.expected_changes) ? (double)r->loss.changed / (double)r->loss.predictions
                                             : r->loss.expected_changes;
}

bool cli_lost_much(const struct pith_stage_report *r)
{
    return r->loss.measured &&
           (!(r->loss.output_db >= PITH_LOST_DB) || expected_changes(r) > PITH_LOST_ANSWERS);
}

static void print_json(const struct pith_stage_report *r, uint64_t bytes)
{
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_uint("weights", r->weights);
    cli_json_uint("kept", r->kept);
    if (r->floats.type) {
        cli_json_uint("narrow_floats", r->floats.n_narrow);
        cli_json_uint("tensors_beyond", r->floats.n_beyond);
        cli_json_uint("codebook_floats", r->floats.n_indexed);
    }
    if (r->n_kept_float && r->integer_bytes) {
        cli_json_uint("kept_float", r->n_kept_float);
        cli_json_number("kept_float_bytes", (double)r->kept_bytes);
    }
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < r->n_layers; i++) {
        cli_json_open(NULL, '{');
        if (r->prune)
            json_pruned(&r->prune[i]);
        else if (r->quantize)
            json_quantized(&r->quantize[i]);
        else
            json_clustered(&r->cluster[i]);
        cli_json_close('}');
    }
    cli_json_close(']');
    if (r->synthetic)
        cli_json_uint("synthetic", r->synthetic);
    if (r->loss.measured) {
        cli_json_uint("held_out", r->loss.held_out);
        cli_json_bool("ranges_given", r->loss.ranges_given);
        cli_json_number("snr_db", r->loss.reported_db);
        cli_json_number("snr_error_db", r->loss.reported_error_db);
        cli_json_uint("predictions", r->loss.predictions);
        cli_json_uint("changed", r->loss.changed);
        cli_json_number("expected_changes", r->loss.expected_changes);
        if (cli_lost_much(r))
            cli_json_bool("lost_much", true);
    }
    cli_json_end();
}

struct display {
    const struct cli_common *common;
    struct cli_progress bar;
};

static void show_epoch(void *user, const struct pith_train_progress *p)
{
    cli_print_epoch(((struct display *)user)->common, p);
}

/* A bar for each part of a stage; a part of known length begins anew when it comes again. */
static void show_part(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct cli_progress *bar = &((struct display *)user)->bar;
    bool again = total > 0 && done < bar->done;
    if (strcmp(bar->what, what) != 0 || total != bar->total || again) {
        cli_progress_end(bar);
        cli_progress_start(bar, ((struct display *)user)->common, what, total);
    }
    cli_progress_step(bar, done);
}

/* Where a command's samples come from. */
struct sources {
    const struct cli_training_options *training;
    const struct cli_feed_options *calibration;
    struct cli_feed feed; /* owns what the second opens */
};

static bool takes_data(const struct sources *from)
{
    return from->calibration && from->calibration->data.n > 0;
}

/* Of one input of floats and no states, the data set itself is what stages know best. */
static enum cli_exit open_calibration(struct sources *from, const struct cli_common *c,
                                      struct pith_model *m, struct pith_stage_context *context)
{
    struct pith_feed *feed = &from->feed.feed;
    enum cli_exit rc = cli_open_feed(from->calibration, m, NULL, 0, &from->feed);
    bool simple = m->n_inputs == 1 && m->values[m->inputs[0]].type == PITH_F32 && !feed->n_states;
    if (!rc)
        rc = cli_check_outputs(c, NULL, m, feed);
    if (rc)
        return rc;
    if (simple) {
        context->train = from->feed.input[0].data;
        from->feed.input[0].data = NULL; /* the context owns it */
    } else {
        context->feed = feed;
    }
    return EXIT_DONE;
}

static enum cli_exit open_data(struct sources *from, const struct cli_common *c,
                               struct pith_model *m, bool trains,
                               struct pith_stage_context *context)
{
    if (trains)
        return cli_open_training(from->training, c, m, &context->train, &context->val);
    return takes_data(from) ? open_calibration(from, c, m, context) : EXIT_DONE;
}

/* The lines of epochs show that time passes; other stages have a bar. */
static enum cli_exit run_shown(const struct cli_common *c, const struct pith_stage *stage,
                               struct sources *from, struct pith_model *m,
                               struct pith_stage_report *report)
{
    struct display display = {.common = c};
    struct pith_stage_context context = {.size_bytes = sizeof context,
                                         .seed = c->seed,
                                         .progress = show_epoch,
                                         .stop = cli_stop_training,
                                         .user = &display,
                                         .part = show_part};
    struct pith_error err = {0};
    bool trains = pith_stage_trains(stage);
    bool made_up = stage->kind == PITH_STAGE_QUANTIZE && stage->synthetic;
    bool reads = trains || made_up || takes_data(from);
    bool shares = reads || stage->kind == PITH_STAGE_CLUSTER;
    enum cli_exit rc = shares ? cli_threads(c, &context.threads) : EXIT_DONE;
    if (!rc && reads)
        rc = cli_cpu_mask(&context.cpu_mask);
    if (!rc)
        rc = open_data(from, c, m, trains, &context);
    if (!rc && !trains)
        cli_progress_start(&display.bar, c,
                           stage->kind == PITH_STAGE_PRUNE     ? "prune"
                           : stage->kind == PITH_STAGE_CLUSTER ? "cluster"
                                                               : "quantize",
                           0);
    if (!rc && pith_stage_run_with(m, stage, &context, report, &err)) {
        cli_progress_end(&display.bar);
        rc = cli_fail(&err);
    }
    cli_progress_end(&display.bar);
    pith_data_free(context.train);
    pith_data_free(context.val);
    cli_close_feed(&from->feed);
    return rc;
}

enum cli_exit
cli_run_stage(const struct cli_common *c, const char *path, const struct pith_stage *stage,
              const struct cli_training_options *from, const struct cli_feed_options *feed,
              void (*print)(const struct cli_common *c, const struct pith_stage_report *report))
{
    struct sources sources = {.training = from, .calibration = feed};
    struct pith_model *m = NULL;
    struct pith_stage_report report = {0};
    uint64_t bytes = 0;
    char preprocess[PITH_PREPROCESS_TEXT_BYTES];
    struct pith_import_opts import = {.size_bytes = sizeof import, .warn = cli_import_warn};
    enum cli_exit rc = cli_check_model_output(c, path);
    if (!rc && feed && feed->preprocess)
        rc = cli_read_preprocess(feed->preprocess, preprocess);
    import.preprocess = feed && feed->preprocess ? preprocess : NULL;
    if (!rc && from && pith_stage_trains(stage))
        rc = cli_check_training(from);
    if (!rc)
        rc = cli_load_model(path, &import, &m);
    if (!rc)
        rc = run_shown(c, stage, &sources, m, &report);
    if (!rc)
        rc = cli_write_model(c, m, &bytes);
    if (!rc && c->json)
        print_json(&report, bytes);
    if (!rc && !c->quiet)
        print(c, &report);
    pith_stage_report_free(&report);
    pith_model_free(m);
    return rc;
}
