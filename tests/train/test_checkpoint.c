/* SPDX-License-Identifier: MIT */
/* A run that is broken off, by a wish to stop or by the death of the process, ends in the same
 * bytes when it goes on, whatever it trains under. What is no checkpoint of the run is refused, and
 * the model then stays as it was. */
#include <stdint.h>
#include "test_run.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "validate/container.h"
#include "train/state/checkpoint.h"
#include "train/state/model_state.h"
#include "train/small_network.h"

enum { PER_EPOCH = SAMPLES / 32, STEPS = 6 * PER_EPOCH };

/* What a run trains under. */
struct way {
    bool batch_norm, mask, codebook, keep_best, integers;
    enum pith_optimizer optimizer;
    float rate, clip_norm;
    double sparsity;
    enum pith_score score;
    const char *augment;
    uint32_t levels, patience;
    bool row_grids;
};

static const struct way ways[] = {
    {.optimizer = PITH_ADAM},
    {.optimizer = PITH_NESTEROV, .clip_norm = 1, .mask = true},
    {.optimizer = PITH_ADAMW, .codebook = true, .clip_norm = 5},
    /* so fast that later epochs are worse than some earlier one */
    {.optimizer = PITH_ADAM, .rate = 3, .batch_norm = true, .keep_best = true, .patience = 3},
    {.optimizer = PITH_SGD, .batch_norm = true, .mask = true, .codebook = true, .keep_best = true},
    {.optimizer = PITH_ADAM, .sparsity = 0.5, .batch_norm = true},
    {.optimizer = PITH_ADAM, .levels = 7, .sparsity = 0.4, .keep_best = true},
    {.optimizer = PITH_ADAM, .levels = 5},
    {.optimizer = PITH_ADAM, .sparsity = 0.5, .score = PITH_SCORE_FISHER},
    {.optimizer = PITH_ADAM, .levels = 7, .sparsity = 0.4, .row_grids = true},
    {.optimizer = PITH_ADAM, .levels = 7, .row_grids = true},
    {.optimizer = PITH_ADAM, .augment = "noise=0.1,mixup=0.5,clean=0.2", .keep_best = true},
    {.optimizer = PITH_ADAM, .integers = true, .mask = true, .keep_best = true},
};
enum { WAYS = sizeof ways / sizeof *ways };

static char folder[64]; /* of the checkpoint */

static void new_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/pith-checkpoint-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(rmdir(folder), 0); /* the run makes it */
}

static const char *file_path(void)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    return path;
}

static void remove_folder(void)
{
    unlink(file_path());
    assert_int_equal(rmdir(folder), 0); /* nothing else was left in it */
}

static struct pith_model *network(const struct way *w)
{
    struct pith_model *m = network_of(3, w->batch_norm);
    if (w->codebook)
        attach_codebook(m);
    else if (w->row_grids)
        attach_row_grids(m);
    else if (w->mask)
        attach_mask(m);
    return m;
}

static struct pith_train_opts options(const struct way *w)
{
    struct pith_train_opts o = small_options();
    o.optimizer = w->optimizer;
    o.rate = w->rate > 0 ? w->rate : w->optimizer >= PITH_SGD ? 0.1f : 0.02f;
    o.schedule = w->rate > 0 ? PITH_CONSTANT : PITH_COSINE;
    o.clip_norm = w->clip_norm;
    o.keep_best = w->keep_best;
    o.patience = w->patience;
    o.sparsity = w->sparsity;
    o.levels = w->levels;
    o.score = w->score;
    o.augment = w->augment;
    o.prune_every = 5;
    return o;
}

/* What a run left. */
struct outcome {
    enum pith_status status;
    struct pith_train_result r;
    struct pith_buffer model;
    struct pith_error err;
};

static struct outcome run(const struct way *w, const struct pith_train_opts *o)
{
    struct outcome made = {0};
    struct pith_model *m = network(w);
    struct pith_data *data = clouds(0), *val = clouds(0);
    struct pith_train_opts with = *o; /* which may be of another size: then as it is */
    with.integers = w->integers ? attach_integers(m) : NULL;
    made.status = pith_train(m, data, val, w->integers ? &with : o, &made.r, &made.err);
    assert_int_equal(pith_model_state_save(m, &made.model), PITH_OK);
    pith_data_free(data);
    pith_data_free(val);
    pith_model_free(m);
    return made;
}

static void same_outcome(const struct outcome *a, const struct outcome *b, size_t way, int at)
{
    if (a->status || b->status)
        fail_msg("way %zu, broken off at %d: '%s' '%s'", way, at, a->err.text, b->err.text);
    if (a->model.bytes != b->model.bytes || memcmp(a->model.data, b->model.data, a->model.bytes))
        fail_msg("way %zu, broken off at %d: the models differ", way, at);
    assert_int_equal(a->r.epochs, b->r.epochs);
    assert_int_equal(a->r.best_epoch, b->r.best_epoch);
    assert_true(a->r.loss == b->r.loss && a->r.val_loss == b->r.val_loss);
    assert_true(a->r.accuracy == b->r.accuracy);
    assert_int_equal(a->r.n_trained, b->r.n_trained);
    assert_int_equal(a->r.kept, b->r.kept);
}

/* ---- breaking off ---------------------------------------------------------------------------- */

struct hook {
    int steps, at, epochs;
    bool dies;
};

static bool at_step(void *user)
{
    struct hook *h = user;
    if (++h->steps != h->at)
        return false;
    if (h->dies)
        raise(SIGKILL);
    return true;
}

static void count_epochs(void *user, const struct pith_train_progress *p)
{
    struct hook *h = user;
    assert_int_equal(p->epoch, ++h->epochs);
}

TEST(test_stop_and_go_on)
{
    static const int places[] = {1, PER_EPOCH, 3 * PER_EPOCH + 2, STEPS};
    for (size_t i = 0; i < WAYS; i++) {
        struct pith_train_opts o = options(&ways[i]);
        struct outcome whole = run(&ways[i], &o), part;
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            int at = places[k];
            struct hook h = {.at = at};
            new_folder();
            o.checkpoint = folder;
            o.resume = true; /* nothing is there at first */
            o.stop = at_step;
            o.progress = count_epochs;
            o.user = &h;
            for (int more = 0; more < 3; more++) {
                o.threads = 1 + (uint32_t)more % 2;
                part = run(&ways[i], &o);
                assert_int_equal(part.status, PITH_OK);
                pith_buffer_free(&part.model);
                h = (struct hook){.at = 7};
            }
            o.stop = NULL;
            part = run(&ways[i], &o);
            assert_int_equal(h.epochs, part.r.epochs); /* all are counted */
            same_outcome(&whole, &part, i, at);
            pith_buffer_free(&part.model);
            h.epochs = 0;
            part = run(&ways[i], &o); /* what is over is over */
            assert_int_equal(h.epochs, part.r.epochs);
            same_outcome(&whole, &part, i, at);
            pith_buffer_free(&part.model);
            remove_folder();
        }
        pith_buffer_free(&whole.model);
    }
}

TEST(test_death)
{
    for (size_t i = 0; i < WAYS; i++) {
        struct pith_train_opts o = options(&ways[i]);
        struct outcome whole = run(&ways[i], &o), part;
        o.checkpoint_every = i % 2 ? 3 : 0;
        new_folder();
        o.checkpoint = folder;
        o.resume = true;
        for (int at = 5; at < STEPS; at += 37) {
            struct hook h = {.at = at, .dies = true};
            int status;
            pid_t child = fork();
            o.stop = at_step;
            o.user = &h;
            if (child == 0) {
                run(&ways[i], &o);
                _exit(0);
            }
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFSIGNALED(status) || at > PER_EPOCH);
        }
        o.stop = NULL;
        part = run(&ways[i], &o);
        same_outcome(&whole, &part, i, -1);
        pith_buffer_free(&part.model);
        pith_buffer_free(&whole.model);
        remove_folder();
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static struct pith_train_opts broken_off(const struct way *w)
{
    static struct hook h;
    struct pith_train_opts o = options(w);
    h = (struct hook){.at = 20};
    new_folder();
    o.checkpoint = folder;
    o.stop = at_step;
    o.user = &h;
    struct outcome part = run(w, &o);
    assert_int_equal(part.status, PITH_OK);
    pith_buffer_free(&part.model);
    o.stop = NULL;
    o.resume = true;
    return o;
}

static void refuse(const struct way *w, const struct pith_train_opts *o, enum pith_status status,
                   const char *words)
{
    struct outcome made = run(w, o);
    struct pith_model *m = network(w);
    struct pith_buffer before = {0};
    assert_int_equal(pith_model_state_save(m, &before), PITH_OK);
    if (made.status != status || !strstr(made.err.text, words))
        fail_msg("status %d, '%s' does not say '%s'", made.status, made.err.text, words);
    assert_int_equal(before.bytes, made.model.bytes);
    assert_memory_equal(before.data, made.model.data, before.bytes);
    pith_buffer_free(&before);
    pith_buffer_free(&made.model);
    pith_model_free(m);
}

TEST(test_other_runs)
{
    struct pith_train_opts o = broken_off(&ways[3]), other = o;
    other.epochs = 7;
    refuse(&ways[3], &other, PITH_ERR_ARGUMENT, "there 'epochs 6', here 'epochs 7'");
    other = o;
    other.rate = 0.25f;
    refuse(&ways[3], &other, PITH_ERR_ARGUMENT, "here 'lr 0.25'");
    other = o;
    other.seed = 2;
    refuse(&ways[3], &other, PITH_ERR_ARGUMENT, "there 'seed 1', here 'seed 2'");
    refuse(&ways[0], &o, PITH_ERR_ARGUMENT, "graph of the model");
    struct way masked = ways[3];
    masked.mask = true;
    refuse(&masked, &o, PITH_ERR_ARGUMENT, "weights of the model");
    other = o;
    other.checkpoint = NULL;
    refuse(&ways[3], &other, PITH_ERR_ARGUMENT, "folder");
    other.checkpoint = "/proc/nowhere";
    refuse(&ways[3], &other, PITH_ERR_IO, "/proc/nowhere");
    remove_folder();
}

static void put_file(const uint8_t *data, size_t n)
{
    FILE *f = fopen(file_path(), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static void put_empty(const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fclose(f);
}

/* What a process that ended too soon left of a checkpoint goes; others' files stay. */
TEST(test_half_written)
{
    struct pith_error err = {0};
    struct checkpoint *c;
    char path[96];
    new_folder();
    assert_int_equal(mkdir(folder, 0700), 0);
    put_empty("checkpoint.pith-1a2b");
    put_empty("checkpoint.pit");
    assert_int_equal(pith_checkpoint_open(folder, "epochs 6\n", NULL, &c, &err), PITH_OK);
    pith_checkpoint_free(c);
    snprintf(path, sizeof path, "%s/checkpoint.pit", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* An error in the run's identity is found before anything is made. */
TEST(test_check)
{
    struct pith_error err = {0};
    struct checkpoint *c, *other;
    uint32_t number = 5;
    new_folder();
    assert_int_equal(pith_checkpoint_open(folder, "epochs 6\n", NULL, &c, &err), PITH_OK);
    assert_int_equal(pith_checkpoint_check(c, &err), PITH_OK); /* there is none */
    pith_checkpoint_add_u32(c, "number", 0, &number);
    assert_int_equal(pith_checkpoint_write(c, &err), PITH_OK);
    number = 7;
    assert_int_equal(pith_checkpoint_check(c, &err), PITH_OK);
    assert_int_equal(number, 7);
    assert_int_equal(pith_checkpoint_open(folder, "epochs 7\n", NULL, &other, &err), PITH_OK);
    assert_int_equal(pith_checkpoint_check(other, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "there 'epochs 6', here 'epochs 7'"));
    pith_checkpoint_free(other);
    assert_int_equal(pith_checkpoint_open(folder, "epochs 6\nbatch 8\n", NULL, &other, &err),
                     PITH_OK);
    assert_int_equal(pith_checkpoint_check(other, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "there '', here 'batch 8'"));
    put_file((const uint8_t *)"PITHRUN", 7);
    assert_int_equal(pith_checkpoint_check(c, &err), PITH_ERR_CORRUPT);
    pith_checkpoint_free(c);
    pith_checkpoint_free(other);
    remove_folder();
}

static struct pith_buffer file_bytes(void)
{
    struct pith_buffer b = {malloc(1 << 20), 0};
    FILE *f = fopen(file_path(), "rb");
    assert_non_null(f);
    b.bytes = fread(b.data, 1, 1 << 20, f);
    fclose(f);
    return b;
}

enum { IDENTITY = 9, LENGTH_AT = 16 + IDENTITY + 24 };

static void lengthen_block(struct pith_buffer *file)
{
    assert_int_equal(load_le64(file->data + LENGTH_AT), 8);
    store_le64(file->data + LENGTH_AT, UINT64_C(1) << 40);
}

static void lengthen_identity(struct pith_buffer *file)
{
    store_le32(file->data + 12, 1u << 30);
}

static void exchange_magic(struct pith_buffer *file)
{
    file->data[6] = 'M';
}

static void age(struct pith_buffer *file)
{
    store_le32(file->data + 8, 0);
}

static void append(struct pith_buffer *file)
{
    file->bytes += 3;
}

static void cut(struct pith_buffer *file)
{
    file->bytes = 19; /* one less than a head and a checksum */
}

/* Errors that a right checksum does not show. */
TEST(test_made_files)
{
    static const struct {
        void (*change)(struct pith_buffer *file);
        enum pith_status status;
        const char *text;
    } cases[] = {
        {lengthen_block, PITH_ERR_CORRUPT, "does not hold what this run is made of"},
        {append, PITH_ERR_CORRUPT, "does not hold what this run is made of"},
        {lengthen_identity, PITH_ERR_CORRUPT, "damaged or cut short"},
        {exchange_magic, PITH_ERR_CORRUPT, "is no checkpoint"},
        {cut, PITH_ERR_CORRUPT, "is no checkpoint"},
        {age, PITH_ERR_VERSION, "version 0, not 2"},
    };
    struct pith_error err = {0};
    struct checkpoint *c;
    uint8_t model[8] = {1};
    struct pith_buffer buffer = {model, sizeof model};
    uint32_t number = 5;
    bool found;
    new_folder();
    assert_int_equal(pith_checkpoint_open(folder, "epochs 6\n", NULL, &c, &err), PITH_OK);
    pith_checkpoint_add_buffer(c, "model", &buffer);
    pith_checkpoint_add_u32(c, "number", 0, &number);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pith_checkpoint_write(c, &err), PITH_OK);
        struct pith_buffer file = file_bytes();
        cases[i].change(&file);
        store_le32(file.data + file.bytes - 4, pith_crc32c(0, file.data, file.bytes - 4));
        put_file(file.data, file.bytes);
        assert_int_equal(pith_checkpoint_read(c, &found, &err), cases[i].status);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_ptr_equal(buffer.data, model);
        pith_buffer_free(&file);
    }
    pith_checkpoint_free(c);
    remove_folder();
}

/* ---- values that a right checksum does not show ------------------------------------------------
 */

static void put_mended(struct pith_buffer *file, size_t bytes)
{
    store_le32(file->data + bytes - 4, pith_crc32c(0, file->data, bytes - 4));
    put_file(file->data, bytes);
}

/* Where the elements of block `name` begin, the first of the name; 0: there is none. */
static size_t find_block(const struct pith_buffer *file, const char *name)
{
    size_t at = 16 + load_le32(file->data + 12);
    while (at + 4 < file->bytes) {
        if (strcmp((const char *)file->data + at, name) == 0)
            return at + 32;
        at += 32 + (size_t)load_le64(file->data + at + 24);
    }
    return 0;
}

#define F32_NAN 0x7fc00000u
#define F32_INF 0x7f800000u
#define F32_MINUS 0xbf800000u
#define F64_NAN UINT64_C(0x7ff8000000000000)
#define F64_INF UINT64_C(0x7ff0000000000000)
#define F64_MINUS UINT64_C(0xbff0000000000000)
#define F64_TWO UINT64_C(0x4000000000000000)

/* At a byte of the first block of that name. */
static const struct bad_value {
    const char *name;
    size_t at;
    int width;
    uint64_t value;
} bad_values[] = {
    {"epoch", 0, 4, 0},
    {"epoch", 0, 4, 8},
    {"epoch", 0, 4, UINT32_MAX},
    {"batches", 0, 8, UINT64_MAX},
    {"batches", 0, 8, PER_EPOCH + 1},
    {"over", 0, 1, 2},
    {"over", 0, 1, 255},
    {"step", 0, 8, 0},
    {"step", 0, 8, UINT64_MAX},
    {"sum", 0, 8, F64_NAN},
    {"sum", 0, 8, F64_INF},
    {"right", 0, 8, SAMPLES + 1},
    {"right", 0, 8, UINT64_MAX},
    {"best loss", 0, 8, F64_NAN},
    {"patient from", 0, 4, 6},
    {"patient from", 0, 4, UINT32_MAX},
    {"epochs", 0, 4, 0},
    {"epochs", 0, 4, UINT32_MAX},
    {"best epoch", 0, 4, 6},
    {"best epoch", 0, 4, UINT32_MAX},
    {"loss", 0, 8, F64_NAN},
    {"accuracy", 0, 8, F64_TWO},
    {"val accuracy", 0, 8, F64_MINUS},
    {"kept", 0, 8, UINT64_MAX},
    {"bytes", 0, 8, F64_INF},
    {"bytes", 0, 8, F64_MINUS},
    {"past loss", 0, 8, F64_NAN},
    {"past accuracy", 0, 8, F64_TWO},
    {"past val acc", 0, 8, F64_MINUS},
    {"past rate", 0, 8, F64_MINUS},
    {"past rate", 0, 8, F64_NAN},
    {"past seconds", 0, 8, F64_INF},
    {"past kept", 0, 8, UINT64_MAX},
    {"past bytes", 0, 8, F64_MINUS},
    {"statistic", 0, 4, F32_NAN},
    {"tensor", 4, 4, F32_NAN},
    {"value", 4, 4, F32_NAN},
    {"first", 4, 4, F32_NAN},
    {"second", 4, 4, F32_NAN},
    {"second", 0, 4, F32_MINUS},
    {"grid step", 0, 4, 0},
    {"grid step", 0, 4, F32_INF},
    {"grid step", 0, 4, F32_MINUS},
    {"exact step", 0, 4, 0},
    {"exact step", 0, 4, F32_NAN},
    {"factor", 0, 4, 0},
    {"factor", 4, 4, F32_MINUS},
    {"magnitude", 4, 4, F32_NAN},
    {"dead below", 0, 4, F32_NAN},
    {"alive", 0, 1, 2},
    {"alive", 5, 1, 255},
    {"importance", 0, 4, F32_MINUS},
    {"bits", 0, 4, 0},
    {"bits", 4, 4, F32_NAN},
    {"model", 0, 8, UINT64_MAX},         /* its first constant: which it is */
    {"model", 8, 8, 2},                  /* is masked */
    {"model", 16, 8, UINT64_MAX},        /* groups of its codebook */
    {"model", 16, 8, UINT64_C(1) << 40}, /* for which there is no room */
    {"model", 40, 4, F32_NAN},           /* an element */
    {"best", 0, 8, UINT64_MAX},
    {"best", 8, 8, 2},
    {"best", 40, 4, F32_NAN},
};
enum { BAD_VALUES = sizeof bad_values / sizeof *bad_values };

static void put_value(uint8_t *p, const struct bad_value *v)
{
    for (int i = 0; i < v->width; i++)
        p[i] = (uint8_t)(v->value >> 8 * i);
}

/* Each in a run that has such a block. No number of the file is used before all of them hold. */
TEST(test_bad_values)
{
    static const size_t of[] = {3, 4, 7, 9, 10};
    bool tried[BAD_VALUES] = {false};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct way *w = &ways[of[i]];
        struct pith_train_opts o = broken_off(w);
        struct pith_buffer good = file_bytes();
        for (size_t k = 0; k < BAD_VALUES; k++) {
            const struct bad_value *v = &bad_values[k];
            const size_t at = find_block(&good, v->name);
            if (tried[k] || at == 0 || load_le64(good.data + at - 8) == 0)
                continue;
            struct pith_buffer file = file_bytes();
            memcpy(file.data, good.data, good.bytes);
            put_value(file.data + at + v->at, v);
            put_mended(&file, good.bytes);
            refuse(w, &o, PITH_ERR_CORRUPT, folder);
            tried[k] = true;
            put_file(good.data, good.bytes);
            pith_buffer_free(&file);
        }
        pith_buffer_free(&good);
        remove_folder();
    }
    for (size_t k = 0; k < BAD_VALUES; k++)
        if (!tried[k])
            fail_msg("no run has a block '%s'", bad_values[k].name);
}

/* Files that end within any block, and models that are shorter than their network's. */
TEST(test_truncated)
{
    struct pith_train_opts o = broken_off(&ways[4]);
    struct pith_buffer good = file_bytes(), file = file_bytes();
    const size_t model = find_block(&good, "model"), best = find_block(&good, "best");
    for (size_t n = 20; n < good.bytes; n += 1 + good.bytes / 60) {
        memcpy(file.data, good.data, good.bytes);
        put_mended(&file, n);
        refuse(&ways[4], &o, PITH_ERR_CORRUPT, folder);
    }
    const size_t bytes = best - 32 - model;
    for (size_t n = 0; n < bytes; n += 1 + bytes / 30) {
        const size_t rest = good.bytes - (model + bytes);
        memcpy(file.data, good.data, good.bytes);
        store_le64(file.data + model - 8, n);
        memcpy(file.data + model + n, good.data + model + bytes, rest);
        put_mended(&file, model + n + rest);
        refuse(&ways[4], &o, PITH_ERR_CORRUPT, "its model does not fit this network");
    }
    pith_buffer_free(&good);
    pith_buffer_free(&file);
    remove_folder();
}

/* The bytes of a model: masks are 0 or 1, indices are of the codebook, and what training does not
 * move is as it was. */
TEST(test_bad_models)
{
    static const struct way masked = {.mask = true}, shared = {.codebook = true};
    const struct way *of[] = {&masked, &shared};
    for (int i = 0; i < 2; i++) {
        struct pith_model *m = network(of[i]);
        struct pith_buffer b = {0};
        bool *moves = calloc(m->n_values, sizeof *moves);
        assert_non_null(moves);
        assert_int_equal(pith_model_state_save(m, &b), PITH_OK);
        assert_int_equal(pith_model_state_load(&b, moves, m), PITH_OK);
        uint32_t v = 0;
        size_t at = 40; /* the elements of the first that has a mask or a codebook */
        for (; v < m->n_values; v++) {
            const struct pith_const *c = m->values[v].constant;
            if (c && m->values[v].type == PITH_F32 && (c->mask || c->codebook))
                break;
            at += c && m->values[v].type == PITH_F32 ? 40 + (size_t)c->count * 4 : 0;
        }
        assert_true(v < m->n_values);
        const struct pith_const *c = m->values[v].constant;
        b.data[at] ^= 1;
        assert_int_equal(pith_model_state_load(&b, moves, m), PITH_ERR_CORRUPT);
        memset(moves, true, m->n_values);
        assert_int_equal(pith_model_state_load(&b, moves, m), PITH_OK);
        at += (size_t)c->count * 4;
        at += c->codebook ? (size_t)(c->codebook->n_groups * c->codebook->n_centroids) * 4 : 0;
        b.data[at] = c->codebook ? (uint8_t)c->codebook->n_centroids : 2;
        assert_int_equal(pith_model_state_load(&b, moves, m), PITH_ERR_CORRUPT);
        free(moves);
        pith_buffer_free(&b);
        pith_model_free(m);
    }
}

TEST(test_damage)
{
    struct pith_train_opts o = broken_off(&ways[4]);
    struct pith_buffer good = file_bytes();
    for (size_t i = 0; i < good.bytes; i += 1 + good.bytes / 40) {
        good.data[i] ^= 0x10;
        put_file(good.data, good.bytes);
        good.data[i] ^= 0x10;
        refuse(&ways[4], &o, i >= 8 && i < 12 ? PITH_ERR_VERSION : PITH_ERR_CORRUPT, folder);
        put_file(good.data, i);
        refuse(&ways[4], &o, i ? PITH_ERR_CORRUPT : PITH_ERR_IO, folder);
    }
    put_file((const uint8_t *)"PITHRUN\0\1\0\0\0 and what comes later", 32);
    refuse(&ways[4], &o, PITH_ERR_VERSION, "version 1, not 2");
    put_file(good.data, good.bytes);
    struct outcome part = run(&ways[4], &o);
    assert_int_equal(part.status, PITH_OK);
    pith_buffer_free(&part.model);
    pith_buffer_free(&good);
    remove_folder();
}

/* As on a full disk: the run ends, and the last checkpoint that could be written stays. */
TEST(test_no_space)
{
    struct pith_train_opts o = broken_off(&ways[0]);
    struct pith_buffer good = file_bytes();
    struct rlimit limit, small;
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = good.bytes / 2;
    struct pith_data *data = clouds(0), *val = clouds(0);
    struct pith_model *m = network(&ways[0]);
    struct pith_error err = {0};
    struct pith_train_result r;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum pith_status status = pith_train(m, data, val, &o, &r, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, was);
    assert_int_equal(status, PITH_ERR_IO);
    assert_non_null(strstr(err.text, file_path()));
    struct pith_buffer now = file_bytes();
    assert_int_equal(now.bytes, good.bytes);
    assert_memory_equal(now.data, good.data, good.bytes);
    pith_buffer_free(&now);
    pith_buffer_free(&good);
    pith_data_free(data);
    pith_data_free(val);
    pith_model_free(m);
    remove_folder();
}

/* A loss that is not finite ends the run; its last checkpoint stays. */
TEST(test_not_finite)
{
    struct pith_train_opts o = options(&ways[0]);
    struct stat st;
    o.optimizer = PITH_SGD;
    o.momentum = 0;
    o.schedule = PITH_CONSTANT;
    o.rate = 1e13f;
    o.checkpoint_every = 1;
    new_folder();
    o.checkpoint = folder;
    refuse(&ways[0], &o, PITH_ERR_GOAL, "the last checkpoint is of step ");
    assert_int_equal(stat(file_path(), &st), 0);
    /* a new run does not keep the old one's */
    struct hook h = {.at = 1};
    o.rate = 0.1f;
    o.checkpoint_every = 0;
    o.epochs = 1;
    struct outcome part = run(&ways[0], &o);
    assert_int_equal(part.status, PITH_OK);
    pith_buffer_free(&part.model);
    o.stop = at_step;
    o.user = &h;
    o.resume = true;
    part = run(&ways[0], &o);
    assert_int_equal(part.status, PITH_OK);
    assert_int_equal(h.steps, 0);
    pith_buffer_free(&part.model);
    remove_folder();
}

/* ---- options of other versions --------------------------------------------------------------- */

TEST(test_size_bytes)
{
    struct {
        struct pith_train_opts o;
        uint8_t more[16];
    } given, old;
    struct outcome whole, part;
    uint32_t short_bytes = offsetof(struct pith_train_opts, sparsity);
    given.o = options(&ways[0]);
    whole = run(&ways[0], &given.o);
    memset(&old, 0x5a, sizeof old);
    pith_train_opts_init(&old.o, short_bytes);
    assert_int_equal(((uint8_t *)&old)[short_bytes], 0x5a);
    assert_int_equal(old.o.size_bytes, short_bytes);
    assert_true(old.o.teacher_part == given.o.teacher_part);
    memcpy(&old.o, &given.o, short_bytes);
    old.o.size_bytes = short_bytes;
    part = run(&ways[0], &old.o); /* what it does not know of is not read */
    same_outcome(&whole, &part, 0, 0);
    pith_buffer_free(&part.model);
    pith_train_opts_init(&given.o, sizeof given);
    for (size_t i = 0; i < sizeof given.more; i++)
        assert_int_equal(given.more[i], 0);
    given.o = options(&ways[0]);
    given.o.size_bytes = sizeof given;
    part = run(&ways[0], &given.o);
    same_outcome(&whole, &part, 0, 0);
    pith_buffer_free(&part.model);
    given.more[3] = 1;
    refuse(&ways[0], &given.o, PITH_ERR_ARGUMENT, "options of another version");
    given.o.size_bytes = 0;
    refuse(&ways[0], &given.o, PITH_ERR_ARGUMENT, "options of another version");
    pith_buffer_free(&whole.model);
}

RUN_TESTS
