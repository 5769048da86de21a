/* SPDX-License-Identifier: MIT */
/* test_alloc_failure.c - every allocation of every call of the library fails, once alone and once
 * with all that follow (SQLite's loop). The linker sends malloc and its kin through those of
 * failing_heap.h (TEST_LDFLAGS_alloc_failure), jansson by its hook. What is owed each time: the
 * status PITH_ERR_MEMORY with a text, outputs as they were, the model as before where the header
 * says so, and no leak, which the AddressSanitizer variant checks. */
#include <stdint.h>
#include <string.h>
#include <jansson.h>
#include <zlib.h>
#include "compress/failing_heap.h"
#include "data/data_folder.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "compress/failing_read.h"
#include "sample_models.h"
#include "pith_calibrate.h"
#include "pith_compress.h"
#include "compress/recipe/preset.h"
#include "pith_host.h"
#include "pith_onnx.h"

/* What the scenes work on; made once, never changed by them. */
static struct {
    struct pith_model *plain;      /* the network below */
    struct pith_model *compressed; /* pruned, clustered, Huffman codes */
    struct pith_buffer onnx, packed, compact;
    char *recipe, *recipe_of_model;
} made;

/* A model of its own, as `made` has it. */
static struct pith_model *copy_of(const struct pith_buffer *file)
{
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_read(file->data, file->bytes, "copy", NULL, &m, NULL), PITH_OK);
    return m;
}

/* Frees m; after a failure it must be as the file says. */
static void done_with(struct pith_model *m, const struct pith_buffer *file, enum pith_status st)
{
    if (st) {
        struct pith_model *before = copy_of(file);
        const char *what = sample_difference(m, before);
        if (what)
            fail_msg("the model changed although the call failed: %s", what);
        pith_model_free(before);
    }
    pith_model_free(m);
}

/* ---- model/ ---------------------------------------------------------------------------------- */

static enum pith_status check_onnx(struct pith_error *err)
{
    enum pith_status st;
    struct pith_onnx_report *report = NULL;
    FAILING(pith_onnx_check(made.onnx.data, made.onnx.bytes, "net", NULL, &report, err));
    assert_int_equal(report == NULL, st != PITH_OK);
    pith_onnx_report_free(report);
    return st;
}

static enum pith_status pack_with(bool compact, struct pith_error *err)
{
    enum pith_status st;
    struct pith_pack_opts opts = {.size_bytes = sizeof opts, .compact = compact};
    struct pith_buffer file = {NULL, 0};
    FAILING(pith_model_pack(made.compressed, &opts, &file, err));
    assert_int_equal(file.data == NULL, st != PITH_OK);
    pith_buffer_free(&file);
    return st;
}

static enum pith_status write_onnx(struct pith_error *err)
{
    enum pith_status st;
    struct pith_buffer file = {NULL, 0};
    FAILING(pith_model_write_onnx(made.compressed, &file, err));
    assert_int_equal(file.data == NULL, st != PITH_OK);
    pith_buffer_free(&file);
    return st;
}

static enum pith_status infer_shapes(struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of(&made.packed);
    FAILING(pith_model_infer_shapes(m, err));
    done_with(m, &made.packed, st);
    return st;
}

static enum pith_status fold(struct pith_error *err)
{
    enum pith_status st;
    uint32_t n = 77;
    struct pith_buffer file;
    assert_int_equal(pith_model_pack(made.plain, NULL, &file, NULL), PITH_OK);
    struct pith_model *m = copy_of(&file);
    FAILING(pith_model_fold_batch_norm(m, &n, err));
    assert_int_equal(n, st ? 77 : 1);
    pith_model_free(m);
    pith_buffer_free(&file);
    return st;
}

/* ---- data sets ------------------------------------------------------------------------------- */

static void put_gz(const char *name, const void *bytes, size_t n)
{
    gzFile f = gzopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

/* Three samples of 1x6x6 bytes with labels. (Every kind of data set:
 * tests/data/test_data_faults.c.) */
static void make_files(void)
{
    static const uint8_t head[16] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 6};
    static const char labels[] = "0\n1\n2\n";
    uint8_t file[16 + 3 * 36];
    memcpy(file, head, sizeof head);
    for (size_t i = sizeof head; i < sizeof file; i++)
        file[i] = (uint8_t)(i * 37);
    assert_int_equal(make_folder(NULL), 0);
    put_gz("images.idx.gz", file, sizeof file);
    put("labels.txt", labels, sizeof labels - 1);
}

/* ---- prune/, quantize/, calibrate/ ----------------------------------------------------------- */

static enum pith_status prune_with(enum pith_prune_scope scope, enum pith_pattern_kind kind,
                                   struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of(&made.packed);
    const struct pith_prune_opts opts = {
        .size_bytes = sizeof opts, .scope = scope, .pattern.kind = kind, .sparsity = 0.4};
    FAILING(pith_prune(m, &opts, NULL, NULL, err));
    done_with(m, &made.packed, st);
    return st;
}

static enum pith_status cluster_with(enum pith_cluster_init init, enum pith_cluster_per per,
                                     struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of(&made.packed);
    const struct pith_cluster_opts opts = {
        .size_bytes = sizeof opts, .n_centroids = 4, .init = init, .per = per};
    FAILING(pith_cluster(m, &opts, NULL, NULL, err));
    done_with(m, &made.packed, st);
    return st;
}

static struct pith_data *open_data(void)
{
    struct pith_data *data = NULL;
    const struct pith_data_opts opts = {.size_bytes = sizeof opts,
                                        .path = at("images.idx.gz"),
                                        .labels = at("labels.txt"),
                                        .preprocess = "scale=1/256",
                                        .rank = 4,
                                        .dim = {1, 1, 6, 6}};
    assert_int_equal(pith_data_open(&opts, &data, NULL), PITH_OK);
    return data;
}

static enum pith_status calibrate(struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of(&made.packed);
    const struct pith_calibrate_opts opts = {.size_bytes = sizeof opts, .data = open_data()};
    FAILING(pith_calibrate(m, &opts, NULL, err));
    done_with(m, &made.packed, st);
    pith_data_free(opts.data);
    return st;
}

/* ---- runtime/host, measure/ ------------------------------------------------------------------ */

static enum pith_status session_of_file(struct pith_error *err)
{
    enum pith_status st;
    struct pith_session *s = NULL;
    FAILING(pith_open(at("net.pith"), NULL, &s, err));
    assert_int_equal(s == NULL, st != PITH_OK);
    pith_close(s);
    return st;
}

static enum pith_status evaluate(struct pith_error *err)
{
    enum pith_status st;
    struct pith_engine *e = NULL;
    struct pith_accuracy a;
    const struct pith_engine_opts opts = {.size_bytes = sizeof opts, .threads = 2, .profile = true};
    struct pith_data *data = open_data();
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    FAILING(pith_engine_open(made.compressed, &opts, &e, err));
    assert_int_equal(e == NULL, st != PITH_OK);
    if (!st)
        FAILING(pith_evaluate(e, &feed, NULL, &a, err));
    pith_engine_close(e);
    pith_data_free(data);
    return st;
}

static enum pith_status timing(struct pith_error *err)
{
    enum pith_status st;
    struct pith_engine *e = NULL;
    struct pith_timing t;
    const struct pith_engine_opts opts = {.size_bytes = sizeof opts, .profile = true};
    assert_int_equal(pith_engine_open(made.compressed, &opts, &e, NULL), PITH_OK);
    FAILING(pith_time(e, 0, &t, err));
    pith_engine_close(e);
    return st;
}

static enum pith_status compare(struct pith_error *err)
{
    enum pith_status st;
    struct pith_comparison c = {0};
    struct pith_buffer npy = {0};
    struct pith_dump a = {.name = made.plain->nodes[0].name}, b = a;
    const struct pith_compare_opts opts = {.size_bytes = sizeof opts,
                                           .n_random = 2,
                                           .seed = 1,
                                           .layers = true,
                                           .n_dumps = 1,
                                           .dump_a = &a,
                                           .dump_b = &b};
    FAILING(pith_compare(made.plain, made.compressed, &opts, &c, err));
    assert_int_equal(c.layers == NULL, st != PITH_OK);
    if (!st) {
        pith_comparison_free(&c);
        FAILING(pith_dump_npy(&a, &npy, err)); /* fails too when there was no memory to gather */
    }
    pith_buffer_free(&npy);
    pith_dump_free(&a);
    pith_dump_free(&b);
    return st;
}

static bool take_every(void *user, uint64_t sample)
{
    (void)sample;
    return user == NULL;
}

static enum pith_status stream(struct pith_error *err)
{
    enum pith_status st;
    struct pith_engine *e = NULL;
    struct pith_data *data = open_data();
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    assert_int_equal(pith_engine_open(made.compressed, NULL, &e, NULL), PITH_OK);
    FAILING(pith_feed_check(e, &feed, err));
    if (!st)
        FAILING(pith_feed_run(e, &feed, take_every, NULL, err));
    pith_engine_close(e);
    pith_data_free(data);
    return st;
}

static enum pith_status weight_check(struct pith_error *err)
{
    enum pith_status st;
    struct pith_weight_finding *list = NULL;
    uint32_t n = 77;
    FAILING(pith_weight_check(made.compressed, &list, &n, err));
    assert_int_equal(n == 77, st != PITH_OK);
    free(list);
    return st;
}

/* ---- compress/ ------------------------------------------------------------------------------- */

static const char recipe_text[] =
    "{\"pith\": 1, \"goal\": {\"max_drop\": \"100%\"}, \"stages\": ["
    "{\"do\": \"prune\", \"sparsity\": 0.5, \"layers\": {\"f*\": 0.25}},"
    "{\"do\": \"cluster\", \"bits\": 3, \"layers\": {\"conv\": 4}},"
    "{\"do\": \"encode\"}]}";

static void whole_text(enum pith_status st, const char *text, const char *expected)
{
    assert_int_equal(text == NULL, st != PITH_OK);
    if (text)
        assert_string_equal(text, expected);
}

static enum pith_status recipe_parse(struct pith_error *err)
{
    enum pith_status st;
    struct pith_recipe *r = NULL;
    FAILING(pith_recipe_parse(recipe_text, sizeof recipe_text - 1, "text", &r, err));
    assert_int_equal(r == NULL, st != PITH_OK);
    if (r) {
        char *text = NULL;
        assert_int_equal(pith_recipe_print(r, &text, NULL), PITH_OK);
        whole_text(st, text, made.recipe);
        free(text);
    }
    pith_recipe_free(r);
    return st;
}

static enum pith_status recipe_classic(struct pith_error *err)
{
    enum pith_status st;
    struct pith_recipe *r = NULL;
    FAILING(pith_recipe_classic(0.5, 4, PITH_FOR_SIZE, &r, err));
    assert_int_equal(r == NULL, st != PITH_OK);
    pith_recipe_free(r);
    return st;
}

/* Requested options, a preset, and the same in a recipe. */
static enum pith_status recipe_make(struct pith_error *err)
{
    enum pith_status st;
    struct pith_recipe *r = NULL;
    struct pith_requested_options requested = {0};
    FAILING(pith_request_option(&requested, PITH_STAGE_CLUSTER, "layers", "conv*=3", err));
    assert_int_equal(requested.n, st == PITH_OK);
    if (st)
        return st;
    FAILING(pith_recipe_make("deep-compression", &requested, &r, err));
    assert_int_equal(r == NULL, st != PITH_OK);
    pith_recipe_free(r);
    return st;
}

static enum pith_status recipe_preset(struct pith_error *err)
{
    static const char text[] = "{\"pith\": 1, \"preset\": \"small\", \"stages\": ["
                               "{\"do\": \"train\", \"augment\": \"shift=1\"}]}";
    enum pith_status st;
    struct pith_recipe *r = NULL;
    FAILING(pith_recipe_parse(text, sizeof text - 1, "text", &r, err));
    assert_int_equal(r == NULL, st != PITH_OK);
    if (r) {
        assert_string_equal(r->stages[0].train.augment, "shift=1");
        assert_int_equal(r->stages[0].train.levels, 3);
        assert_int_equal(r->n_stages, 2);
    }
    pith_recipe_free(r);
    return st;
}

static enum pith_status recipe_print(struct pith_error *err)
{
    enum pith_status st;
    struct pith_recipe *r = NULL;
    char *text = NULL;
    assert_int_equal(pith_recipe_parse(recipe_text, sizeof recipe_text - 1, "text", &r, NULL), 0);
    FAILING(pith_recipe_print(r, &text, err));
    whole_text(st, text, made.recipe);
    free(text);
    pith_recipe_free(r);
    return st;
}

static enum pith_status recipe_of_model(struct pith_error *err)
{
    enum pith_status st;
    char *text = NULL;
    FAILING(pith_recipe_of_model(made.compressed, &text, err));
    whole_text(st, text, made.recipe_of_model);
    free(text);
    return st;
}

static enum pith_status stage_of(enum pith_stage_kind kind, struct pith_error *err)
{
    enum pith_status st;
    struct pith_stage stage;
    struct pith_stage_report report = {0};
    struct pith_buffer file;
    assert_int_equal(pith_model_pack(made.plain, NULL, &file, NULL), PITH_OK);
    struct pith_model *m = copy_of(&file);
    pith_stage_init(&stage, kind);
    stage.prune.sparsity = 0.5;
    FAILING(pith_stage_run(m, &stage, 1, &report, err));
    if (!st)
        pith_stage_report_free(&report);
    pith_model_free(m);
    pith_buffer_free(&file);
    return st;
}

static enum pith_status whole_recipe(struct pith_error *err)
{
    enum pith_status st;
    struct pith_recipe *r = NULL;
    struct pith_compress_result result = {.file = {NULL, 0}};
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_read(made.onnx.data, made.onnx.bytes, "net", NULL, &m, NULL), 0);
    assert_int_equal(pith_recipe_parse(recipe_text, sizeof recipe_text - 1, "text", &r, NULL), 0);
    const struct pith_compress_opts opts = {
        .size_bytes = sizeof opts, .data = open_data(), .max_drop = -1};
    FAILING(pith_compress(m, r, &opts, &result, err));
    assert_int_equal(result.file.data == NULL, st != PITH_OK);
    if (!st)
        pith_compress_result_free(&result);
    pith_data_free(opts.data);
    pith_recipe_free(r);
    pith_model_free(m);
    return st;
}

/* ---- the network ----------------------------------------------------------------------------- */

/* conv 4x1x3x3, batch norm, relu, max pool, flatten, 3, softmax */
static struct pith_model *small_network(void)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "image", 4, (const uint32_t[]){1, 1, 6, 6}), bn[5];
    m->batch_open = true;
    bn[0] = add_layer(m, &r, PITH_OP_CONV, "conv", x, 4, (const uint32_t[]){4, 1, 3, 3});
    for (uint32_t i = 1; i < 5; i++) {
        static const char *const name[] = {"", "bn.scale", "bn.bias", "bn.mean", "bn.var"};
        bn[i] = add_constant(m, &r, name[i], 1, (const uint32_t[]){4});
    }
    float *variance = m->values[bn[4]].constant->data;
    for (uint32_t i = 0; i < 4; i++)
        variance[i] = 0.5f + fabsf(variance[i]);
    x = add_node(m, PITH_OP_BATCH_NORM, "bn", "bn.out", 5, bn)->out[0];
    x = add_node(m, PITH_OP_RELU, "relu", "relu.out", 1, &x)->out[0];
    x = add_pool(m, "pool", x);
    x = add_node(m, PITH_OP_FLATTEN, "flatten", "flat", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "fc", x, 2, (const uint32_t[]){3, 16});
    struct pith_node *softmax = add_node(m, PITH_OP_SOFTMAX, "softmax", "prob", 1, &x);
    softmax->attr[ATTR_SOFTMAX_AXIS] = 1;
    m->outputs[m->n_outputs++] = softmax->out[0];
    assert_int_equal(pith_model_set_meta(m, "preprocess", "scale=1/256"), PITH_OK);
    assert_int_equal(pith_model_set_meta(m, "labels", "a\nb\nc\n"), PITH_OK);
    return sample_shaped(m);
}

static void run_stage(struct pith_model *m, enum pith_stage_kind kind)
{
    struct pith_stage stage;
    pith_stage_init(&stage, kind);
    stage.prune.sparsity = 0.3;
    assert_int_equal(pith_stage_run(m, &stage, 1, NULL, NULL), PITH_OK);
}

FIXTURE(set_up)
{
    json_set_alloc_funcs(malloc, free);
    const struct pith_pack_opts compact = {.size_bytes = sizeof compact, .compact = true};
    made.plain = small_network();
    made.compressed = small_network();
    run_stage(made.compressed, PITH_STAGE_PRUNE);
    run_stage(made.compressed, PITH_STAGE_CLUSTER);
    run_stage(made.compressed, PITH_STAGE_ENCODE);
    assert_int_equal(pith_model_write_onnx(made.plain, &made.onnx, NULL), PITH_OK);
    assert_int_equal(pith_model_pack(made.compressed, NULL, &made.packed, NULL), PITH_OK);
    assert_int_equal(pith_model_pack(made.compressed, &compact, &made.compact, NULL), PITH_OK);
    struct pith_recipe *r = NULL;
    assert_int_equal(pith_recipe_parse(recipe_text, sizeof recipe_text - 1, "text", &r, NULL), 0);
    assert_int_equal(pith_recipe_print(r, &made.recipe, NULL), PITH_OK);
    pith_recipe_free(r);
    assert_int_equal(pith_recipe_of_model(made.compressed, &made.recipe_of_model, NULL), PITH_OK);
    make_files();
    put("net.pith", made.packed.data, made.packed.bytes);
    return 0;
}

static int tear_down(void **state)
{
    pith_model_free(made.plain);
    pith_model_free(made.compressed);
    pith_buffer_free(&made.onnx);
    pith_buffer_free(&made.packed);
    pith_buffer_free(&made.compact);
    free(made.recipe);
    free(made.recipe_of_model);
    return remove_folder(state);
}

/* Listing weights works without its table of visited ones, and reading JSON tries again. */
SCENE_OF(import_onnx, true,
         read_bytes(&made.onnx, err)) /* weights are listed without memory, too, but slower */
SCENE(check_onnx, false, 1)
SCENE_OF(unpack_full, false, read_bytes(&made.packed, err))
SCENE_OF(unpack_compact, false, read_bytes(&made.compact, err))
SCENE_OF(pack_full, false, pack_with(false, err))
SCENE_OF(pack_compact, false, pack_with(true, err))
SCENE(write_onnx, false, 1)
SCENE(infer_shapes, false, 1)
SCENE(fold, false, 1)
SCENE_OF(prune_layers, true, prune_with(PITH_PRUNE_LAYER, PITH_PATTERN_ANY, err))
SCENE_OF(prune_global, true, prune_with(PITH_PRUNE_GLOBAL, PITH_PATTERN_ANY, err))
SCENE_OF(prune_rows, true, prune_with(PITH_PRUNE_LAYER, PITH_PATTERN_ROW, err))
SCENE_OF(cluster_linear, true, cluster_with(PITH_CLUSTER_LINEAR, PITH_CLUSTER_PER_TENSOR, err))
SCENE_OF(cluster_channels, true, cluster_with(PITH_CLUSTER_LINEAR, PITH_CLUSTER_PER_CHANNEL, err))
SCENE_OF(cluster_exact, true, cluster_with(PITH_CLUSTER_EXACT, PITH_CLUSTER_PER_TENSOR, err))
SCENE(calibrate, false, 1)
SCENE_OF(session, false, open_bytes(&made.packed, err))
SCENE(session_of_file, true, 1) /* maps a small file that cannot be copied */
SCENE(evaluate, false, 1)
SCENE(timing, false, 1)
SCENE(compare, true, 1)
SCENE(stream, false, 1)
SCENE(weight_check, true, 1)
SCENE(recipe_parse, true, 1)
SCENE(recipe_classic, false, 1)
SCENE(recipe_make, false, 1)
SCENE(recipe_preset, true, 1)
SCENE(recipe_print, true, 1)
SCENE(recipe_of_model, true, 1)
SCENE_OF(stage_prune, true, stage_of(PITH_STAGE_PRUNE, err))
SCENE_OF(stage_cluster, true, stage_of(PITH_STAGE_CLUSTER, err))
SCENE_OF(stage_encode, true, stage_of(PITH_STAGE_ENCODE, err))
SCENE(whole_recipe, true, 1)

RUN_TESTS_WITH(set_up, tear_down)
