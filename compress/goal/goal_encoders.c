/* SPDX-License-Identifier: MIT */
/* goal_encoders.c - error-feedback rounding to grids, codebooks, and integers that compute. */
#include "goal_encoders.h"

#include <math.h>

#include "choose_coder.h"
#include "pith_compress.h"
#include "pith_error_fill.h"

#define LEVELS 127u     /* of a grid: what is not used costs nothing */
#define LOSS_SHARE 0.7f /* of what feedback makes least */
#define SMALL_TENSORS                                                                              \
    0.5f                  /* steps by (weights / those of the largest)^this, before Fisher's say   \
                           */
#define SAMPLES_A_CLASS 8 /* that calibrate: with fewer, rows of the last layer are not known */

/* Where there are several inputs or outputs, names tell them apart: a full header. */
static enum pith_status pack(struct pith_model *m, const struct goal_encoders *e,
                             struct pith_buffer *file, struct pith_error *err)
{
    bool compact = !e->opts->for_speed && m->n_inputs == 1 && m->n_outputs == 1;
    const struct pith_pack_opts o = {
        .size_bytes = sizeof o, .compact = compact, .keep_names = !compact};
    enum pith_status st = pith_choose_coder(m, e->opts->for_speed ? PITH_FOR_SPEED : PITH_FOR_SIZE,
                                            PITH_ADAPTIVE_SAVES, &o, err);
    return st ? st : pith_model_pack(m, &o, file, err);
}

/* The only data set there is; NULL: several inputs, or states, which cannot be gone through layer
 * by layer. */
static struct pith_data *only_data(const struct goal_encoders *e)
{
    const struct pith_feed *f = e->opts->feed;
    return f->n_inputs == 1 && f->n_states == 0 ? f->input[0].data : NULL;
}

/* ---- grids ----------------------------------------------------------------------------------- */

static bool stop(void *user)
{
    const struct goal_encoders *e = user;
    return e->opts->stop && e->opts->stop(e->opts->user);
}

static void rounded(void *user, uint32_t done, uint32_t total)
{
    const struct goal_encoders *e = user;
    if (e->rounded)
        e->rounded(e->watcher, done, total);
}

static enum pith_status round_to_grid(const struct goal_encoders *e, double quality,
                                      enum pith_step_init by, struct pith_buffer *file,
                                      struct pith_error *err)
{
    struct pith_train_opts o;
    struct pith_model *copy = NULL;
    const uint64_t n = pith_goal_judge_count(e->judge, PITH_GOAL_CALIBRATE);
    if (!only_data(e))
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "several inputs, or states");
    enum pith_status st = pith_goal_judge_pick(e->judge, PITH_GOAL_CALIBRATE, err);
    if (!st)
        st = pith_model_copy(e->m, &copy, err);
    if (st)
        return st;
    pith_train_opts_init(&o, sizeof o);
    o.levels = o.bias_levels = LEVELS;
    o.gptq_samples = (uint32_t)n;
    o.gptq_fisher_share = LOSS_SHARE;
    o.step_init = by;
    o.cover = true;
    o.step_power = SMALL_TENSORS;
    o.first_step = (float)quality;
    o.threads = e->opts->threads;
    o.seed = e->opts->seed;
    o.loss = pith_goal_judge_classes(e->judge) ? PITH_CROSS_ENTROPY : PITH_SQUARED_ERROR;
    o.rounded = rounded;
    o.stop = stop;
    o.user = (void *)(uintptr_t)e;
    st = pith_train_round(copy, only_data(e), &o, e->memory, err);
    if (!st)
        st = pack(copy, e, file, err);
    pith_model_free(copy);
    return st;
}

static enum pith_status encode_rows(void *user, double quality, struct pith_buffer *file,
                                    struct pith_error *err)
{
    return round_to_grid(user, quality, PITH_STEP_INIT_FISHER_ROW, file, err);
}

static enum pith_status encode_tensors(void *user, double quality, struct pith_buffer *file,
                                       struct pith_error *err)
{
    return round_to_grid(user, quality, PITH_STEP_INIT_FISHER_TENSOR, file, err);
}

/* ---- codebooks ------------------------------------------------------------------------------- */

/* Without data: 256 / quality centroids for each weight. */
static enum pith_status encode_codebooks(void *user, double quality, struct pith_buffer *file,
                                         struct pith_error *err)
{
    const struct goal_encoders *e = user;
    struct pith_cluster_opts o = {.size_bytes = sizeof o, .init = PITH_CLUSTER_EXACT};
    struct pith_model *copy = NULL;
    enum pith_status st = pith_model_copy(e->m, &copy, err);
    if (st)
        return st;
    o.n_centroids = (uint32_t)fmax(2, fmin(256, floor(256 / quality + 0.5)));
    st = pith_cluster(copy, &o, NULL, NULL, err);
    if (!st)
        st = pack(copy, e, file, err);
    pith_model_free(copy);
    return st;
}

/* ---- integers -------------------------------------------------------------------------------- */

static uint32_t bits_of(double quality)
{
    return (uint32_t)fmax(2, fmin(8, floor(8.5 - log2(quality))));
}

static enum pith_status encode_integers(void *user, double quality, struct pith_buffer *file,
                                        struct pith_error *err)
{
    const struct goal_encoders *e = user;
    struct pith_stage s;
    struct pith_model *copy = NULL;
    struct pith_data *data = only_data(e);
    const struct pith_stage_means means = {.size_bytes = sizeof means,
                                           .seed = e->opts->seed,
                                           .train = data,
                                           .feed = data ? NULL : e->opts->feed,
                                           .threads = e->opts->threads,
                                           .cpu_mask = e->opts->cpu_mask,
                                           .stop = e->opts->stop,
                                           .user = e->opts->user};
    enum pith_status st = pith_goal_judge_pick(e->judge, PITH_GOAL_CALIBRATE, err);
    if (!st)
        st = pith_model_copy(e->m, &copy, err);
    if (st)
        return st;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = bits_of(quality);
    s.samples = (uint32_t)pith_goal_judge_count(e->judge, PITH_GOAL_CALIBRATE);
    st = pith_stage_run_with(copy, &s, &means, NULL, err);
    if (!st)
        st = pack(copy, e, file, err);
    pith_model_free(copy);
    return st;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void add(struct goal_encoders *e, struct pith_goal_encoder encoder)
{
    encoder.user = e;
    e->list[e->n++] = encoder;
}

void pith_goal_encoders_fill(struct goal_encoders *e)
{
    const uint64_t n = pith_goal_judge_count(e->judge, PITH_GOAL_CALIBRATE);
    const uint32_t classes = pith_goal_judge_classes(e->judge);
    const struct pith_goal_encoder tensors = {.name = "grids",
                                              .finest = 0.02,
                                              .first = 0.7,
                                              .coarsest = 24,
                                              .most = 5,
                                              .encode = encode_tensors};
    const struct pith_goal_encoder rows = {.name = "grids by row",
                                           .finest = 0.02,
                                           .first = 0.7,
                                           .coarsest = 24,
                                           .like_best = true,
                                           .encode = encode_rows};
    e->n = 0;
    e->memory = pith_round_memory_new();
    if (e->goal->run != PITH_GOAL_RUN_INT8) {
        add(e, tensors);
        if (n >= (uint64_t)SAMPLES_A_CLASS * classes)
            add(e, rows);
        add(e, (struct pith_goal_encoder){.name = "codebooks",
                                          .finest = 1,
                                          .first = 8,
                                          .coarsest = 128,
                                          .instead = true,
                                          .encode = encode_codebooks});
    }
    if (e->goal->run != PITH_GOAL_RUN_FLOAT)
        add(e, (struct pith_goal_encoder){.name = "integers",
                                          .finest = 1,
                                          .first = e->goal->run == PITH_GOAL_RUN_INT8 ? 4 : 16,
                                          .coarsest = 64,
                                          .instead = e->goal->run == PITH_GOAL_RUN_ANY,
                                          .encode = encode_integers});
}

void pith_goal_encoders_free(struct goal_encoders *e)
{
    pith_round_memory_free(e->memory);
}
