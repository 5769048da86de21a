/* SPDX-License-Identifier: MIT */
/* Processes that share a batch - here threads, each with a model and data of its own - end with the
 * bytes that one alone has; what fails in one ends all of them, with its message. */
#include <stdint.h>
#include "test_run.h"
#include "train/state/model_state.h"
#include "train/small_network.h"
#include "train/thread_ranks.h"
#include "train/batch/augment.h"
#include "train/batch/validation.h"

/* ---- runs ------------------------------------------------------------------------------------ */

struct job {
    struct seat seat;
    struct pith_train_opts o;
    struct pith_model *m, *teacher;
    struct pith_data *data, *val;
    enum pith_status status;
    struct pith_train_result r;
    struct pith_error err;
    struct pith_buffer model;
    int steps, stop_at;
};

static bool at_step(void *user)
{
    struct job *j = user;
    return ++j->steps == j->stop_at;
}

static void *work(void *arg)
{
    struct job *j = arg;
    j->status = pith_train(j->m, j->data, j->val, &j->o, &j->r, &j->err);
    return NULL;
}

/* Way of the network and options of a run. */
struct way {
    bool batch_norm, codebook, mask, teacher, shares;
    float rate, alpha; /* alpha: of the products; 0: 1 */
    double sparsity;
    uint32_t levels, versions;
    enum pith_norms norms;
    enum pith_score score;
};

static const struct way ways[] = {
    {.rate = 0.02f},
    {.rate = 0.02f, .shares = true},
    {.rate = 0.02f, .batch_norm = true, .mask = true, .shares = true},
    {.rate = 0.02f, .codebook = true, .teacher = true},
    {.rate = 0.02f, .batch_norm = true, .sparsity = 0.5, .levels = 7, .shares = true},
    {.rate = 0.02f, .teacher = true, .versions = 2},
    {.rate = 0.02f, .sparsity = 0.5, .score = PITH_SCORE_FISHER},
    {.rate = 0.02f, .alpha = 0.7f, .shares = true},
    {.rate = 0.02f, .batch_norm = true, .levels = 7, .norms = PITH_NORMS_FOLD},
};
enum { WAYS = sizeof ways / sizeof *ways, FOLDS = WAYS - 1 };

static void set_alpha(struct pith_model *m, float alpha)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->nodes[i].op == PITH_OP_GEMM)
            memcpy(&m->nodes[i].attr[ATTR_GEMM_ALPHA], &alpha, sizeof alpha);
}

/* In main's thread: cmocka's assertions are not for others. */
static void open_job(struct job *j, const struct way *w, struct meeting *m, uint32_t rank)
{
    take_seat(&j->seat, m, rank, w->shares);
    j->o = small_options();
    j->o.rate = w->rate;
    j->o.epochs = 3;
    j->o.sparsity = w->sparsity;
    j->o.levels = w->levels;
    j->o.score = w->score;
    j->o.norms = w->norms;
    j->o.prune_every = 5;
    j->o.keep_best = true;
    j->o.ranks = m->count > 1 ? &j->seat.ranks : NULL;
    j->o.threads = 1 + rank % 2;
    j->o.user = j;
    j->m = network_of(3, w->batch_norm);
    if (w->alpha > 0)
        set_alpha(j->m, w->alpha);
    if (w->codebook)
        attach_codebook(j->m);
    if (w->mask)
        attach_mask(j->m);
    if (w->teacher) {
        j->teacher = network_of(4, false);
        j->o.teacher = j->teacher;
        j->o.versions = w->versions;
        j->o.augment = w->versions ? "noise=0.1" : NULL;
    }
    j->data = clouds(0);
    j->val = clouds(0);
}

static void run_jobs(struct job *j, uint32_t n)
{
    pthread_t thread[MOST];
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &j[i]), 0);
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(pith_model_state_save(j[i].m, &j[i].model), PITH_OK);
    }
}

static void close_jobs(struct job *j, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pith_model_free(j[i].m);
        pith_model_free(j[i].teacher);
        pith_data_free(j[i].data);
        pith_data_free(j[i].val);
        pith_buffer_free(&j[i].model);
    }
    close_meeting(j[0].seat.m);
}

static void open_jobs(struct job *j, const struct way *w, struct meeting *m, uint32_t n)
{
    open_meeting(m, n);
    memset(j, 0, n * sizeof *j);
    for (uint32_t i = 0; i < n; i++)
        open_job(&j[i], w, m, i);
}

static void same_as(const struct job *one, const struct job *j, uint32_t n, size_t way)
{
    for (uint32_t i = 0; i < n; i++) {
        if (j[i].status)
            fail_msg("way %zu, rank %u of %u: %s", way, i, n, j[i].err.text);
        if (one->model.bytes != j[i].model.bytes ||
            memcmp(one->model.data, j[i].model.data, one->model.bytes) != 0)
            fail_msg("way %zu, rank %u of %u: another model", way, i, n);
        assert_true(one->r.loss == j[i].r.loss && one->r.val_loss == j[i].r.val_loss);
        assert_int_equal(one->r.kept, j[i].r.kept);
        assert_int_equal(one->r.epochs, j[i].r.epochs);
    }
}

TEST(test_same_bytes)
{
    static struct job one[1], j[MOST];
    struct meeting alone, m;
    for (size_t i = 0; i < WAYS; i++) {
        open_jobs(one, &ways[i], &alone, 1);
        run_jobs(one, 1);
        assert_int_equal(one->status, PITH_OK);
        for (uint32_t n = 2; n <= MOST; n *= 2) {
            open_jobs(j, &ways[i], &m, n);
            run_jobs(j, n);
            same_as(one, j, n, i);
            close_jobs(j, n);
        }
        close_jobs(one, 1);
    }
}

/* Broken off with two, gone on with four, then alone. */
static void goes_on_with_others(size_t way)
{
    static struct job one[1], j[MOST];
    static const uint32_t count[] = {2, 4, 1};
    struct meeting m;
    char folder[] = "/tmp/pith-ranks-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    open_jobs(one, &ways[way], &m, 1);
    run_jobs(one, 1);
    for (size_t k = 0; k < 3; k++) {
        open_jobs(j, &ways[way], &m, count[k]);
        for (uint32_t i = 0; i < count[k]; i++) {
            j[i].o.checkpoint = folder;
            j[i].o.resume = true;
            j[i].o.stop = at_step;
        }
        j[count[k] - 1].stop_at = k < 2 ? 13 : 0; /* that one wants it is enough */
        run_jobs(j, count[k]);
        for (uint32_t i = 0; i < count[k]; i++)
            assert_int_equal(j[i].steps, k < 2 ? 13 : 3 * SAMPLES / 32 - 26);
        if (k < 2)
            close_jobs(j, count[k]);
    }
    same_as(one, j, 1, way);
    close_jobs(j, 1);
    close_jobs(one, 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(test_other_count_goes_on)
{
    goes_on_with_others(4);
    goes_on_with_others(FOLDS);
}

static void all_refuse(struct job *j, uint32_t n, enum pith_status status, const char *words)
{
    for (uint32_t i = 0; i < n; i++)
        if (j[i].status != status || !strstr(j[i].err.text, words))
            fail_msg("rank %u: status %d, '%s' does not say '%s'", i, j[i].status, j[i].err.text,
                     words);
}

TEST(test_one_fails)
{
    static struct job j[MOST];
    struct meeting m;
    open_jobs(j, &ways[0], &m, 2);
    pith_data_free(j[1].data);
    j[1].data = clouds(CLASSES);
    run_jobs(j, 2);
    all_refuse(j, 2, PITH_ERR_ARGUMENT, "process 1 has another model, other data");
    close_jobs(j, 2);

    open_jobs(j, &ways[0], &m, 4);
    for (uint32_t i = 0; i < 4; i++) {
        pith_data_free(j[i].data);
        j[i].data = clouds(CLASSES);
    }
    run_jobs(j, 4);
    all_refuse(j, 4, PITH_ERR_CORRUPT, "label 4, the network has classes 0..3");
    close_jobs(j, 4);

    open_jobs(j, &ways[0], &m, 2);
    j[1].o.rate = 0.5f;
    run_jobs(j, 2);
    all_refuse(j, 2, PITH_ERR_ARGUMENT, "process 1 has another model, other data");
    close_jobs(j, 2);

    open_jobs(j, &ways[0], &m, 2);
    for (uint32_t i = 0; i < 2; i++) {
        j[i].o.optimizer = PITH_SGD;
        j[i].o.rate = 1e30f;
    }
    run_jobs(j, 2);
    all_refuse(j, 2, PITH_ERR_GOAL, "not finite at step 2, first in node 'fc2'");
    close_jobs(j, 2);

    open_jobs(j, &ways[0], &m, 2);
    for (uint32_t i = 0; i < 2; i++)
        j[i].o.checkpoint = "/proc/nowhere";
    run_jobs(j, 2);
    all_refuse(j, 2, PITH_ERR_IO, "/proc/nowhere");
    close_jobs(j, 2);

    open_jobs(j, &ways[0], &m, 3);
    run_jobs(j, 3);
    all_refuse(j, 3, PITH_ERR_ARGUMENT, "shared by 1, 2, 4 or 8 processes");
    close_jobs(j, 3);
}

static void *validate_it(void *arg)
{
    struct job *j = arg;
    double loss, accuracy;
    const struct validate_opts o = {
        .data = j->val, .loss = j->o.loss, .threads = 1, .ranks = &j->seat.ranks};
    j->status = pith_validate(j->m, &o, &loss, &accuracy, &j->err);
    return NULL;
}

/* What one finds before the first sample reaches those that are at the samples. */
TEST(test_one_cannot_validate)
{
    static struct job j[MOST];
    struct meeting m;
    pthread_t thread[2];
    open_jobs(j, &ways[0], &m, 2);
    j[1].o.loss = PITH_SQUARED_ERROR;
    alarm(60); /* instead of waiting for ever */
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, validate_it, &j[i]), 0);
    for (uint32_t i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    alarm(0);
    all_refuse(j, 2, PITH_ERR_ARGUMENT, "the validation data has 0 targets a sample");
    close_jobs(j, 2);
}

RUN_TESTS
