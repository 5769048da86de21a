/* SPDX-License-Identifier: MIT */
/* test_integer_alloc_failure.c - as test_alloc_failure.c, for networks of integers: made by every
 * way there is to make them, trained with them, packed, written as ONNX, read back and run. What
 * takes long fails at one allocation in a prime number of them; PITH_STEP=1 tries every one. */
#include <stdint.h>
#include <string.h>
#include <jansson.h>
#include "compress/failing_heap.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "compress/failing_read.h"
#include "sample_models.h"
#include "pith_compress.h"
#include "pith_host.h"
#include "pith_onnx.h"
#include "pith_sense.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE, SAMPLES = 16, CHANNELS = 3, CLASSES = 4, WIDTH = 4 };

/* Made once, never changed by the scenes. */
static struct {
    struct pith_buffer pictures, stream; /* float networks */
    struct pith_model *integers;         /* of the first, weights of 3 bits */
    struct pith_buffer packed, onnx;     /* that one */
    struct pith_data *images, *rows;
} made;

static struct pith_model *copy_of(const struct pith_buffer *file)
{
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_read(file->data, file->bytes, "copy", NULL, &m, NULL), PITH_OK);
    return m;
}

/* ---- networks -------------------------------------------------------------------------------- */

static struct pith_buffer packed_of(struct pith_model *m)
{
    struct pith_buffer file;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_infer_shapes(m, &err) || pith_model_pack(m, NULL, &file, &err));
    return file;
}

/* conv, normalization, relu, two ways to a sum, mean, gemm. */
static struct pith_model *picture_network(void)
{
    struct sample_random r = sample_random_of(21);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, 1, SIDE, SIDE});
    m->batch_open = true;
    x = add_layer(m, &r, PITH_OP_CONV, "a", x, 4, (const uint32_t[]){CHANNELS, 1, 3, 3});
    uint32_t in[5] = {x};
    for (uint32_t i = 1; i < 5; i++) {
        in[i] = add_constant(m, &r, "", 1, (const uint32_t[]){CHANNELS});
        for (uint32_t c = 0; c < CHANNELS; c++)
            ((float *)m->values[in[i]].constant->data)[c] = 1;
    }
    x = add_node(m, PITH_OP_BATCH_NORM, "norm", "norm.out", 5, in)->out[0];
    x = add_node(m, PITH_OP_RELU, "relu", "relu.out", 1, &x)->out[0];
    uint32_t y =
        add_layer(m, &r, PITH_OP_CONV, "b", x, 4, (const uint32_t[]){CHANNELS, CHANNELS, 1, 1});
    x = add_node(m, PITH_OP_ADD, "sum", "sum.out", 2, (const uint32_t[]){x, y})->out[0];
    x = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "mean", "mean.out", 1, &x)->out[0];
    x = add_node(m, PITH_OP_FLATTEN, "flat", "flat.out", 1, &x)->out[0];
    m->outputs[m->n_outputs++] =
        add_layer(m, &r, PITH_OP_GEMM, "d", x, 2, (const uint32_t[]){CLASSES, CHANNELS});
    assert_int_equal(pith_model_set_meta(m, "preprocess", "scale=1/256"), PITH_OK);
    return m;
}

/* y = tanh(W x + U s): s is the y of the step before. */
static struct pith_model *stream_network(void)
{
    struct sample_random r = sample_random_of(5);
    struct pith_model *m = sample_new();
    uint32_t part[2];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t x = add_value(m, i ? "s" : "x", PITH_F32, 2, (const uint32_t[]){1, WIDTH});
        m->inputs[m->n_inputs++] = x;
        part[i] =
            add_layer(m, &r, PITH_OP_GEMM, i ? "U" : "W", x, 2, (const uint32_t[]){WIDTH, WIDTH});
    }
    uint32_t y = add_node(m, PITH_OP_ADD, "sum", "sum.out", 2, part)->out[0];
    m->outputs[m->n_outputs++] = add_node(m, PITH_OP_TANH, "tanh", "y", 1, &y)->out[0];
    return m;
}

static struct pith_data *samples_of(uint32_t rank, const uint32_t *dim)
{
    static float x[SAMPLES * PIXELS];
    struct sample_random r = sample_random_of(9);
    struct pith_buffer npy;
    struct pith_data *data = NULL;
    uint32_t dims[PITH_MAX_RANK] = {SAMPLES};
    struct pith_data_opts o = {.size_bytes = sizeof o, .path = "x.npy", .rank = rank};
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        x[i] = sample_gauss(&r);
    memcpy(o.dim, dim, rank * sizeof *dim);
    memcpy(dims + 1, dim + 1, (rank - 1) * sizeof *dim);
    assert_int_equal(pith_npy_write(PITH_F32, rank, dims, x, &npy, NULL), PITH_OK);
    o.content = npy.data;
    o.content_bytes = npy.bytes;
    assert_int_equal(pith_data_open(&o, &data, NULL), PITH_OK);
    pith_buffer_free(&npy);
    return data;
}

/* ---- quantizing ------------------------------------------------------------------------------ */

/* Without memory the model computes what it did, or is as after some of the steps; it is only
 * freed. */
static enum pith_status run_stage(const struct pith_buffer *file, const struct pith_stage *stage,
                                  const struct pith_feed *feed, struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of(file);
    struct pith_stage_report r = {0};
    const struct pith_stage_context context = {.size_bytes = sizeof context,
                                               .seed = 1,
                                               .train =
                                                   feed || stage->synthetic ? NULL : made.images,
                                               .feed = feed,
                                               .threads = 1};
    FAILING(pith_stage_run_with(m, stage, &context, &r, err));
    assert_int_equal(m->n_history, st ? 0 : 1);
    if (!st)
        pith_stage_report_free(&r);
    pith_model_free(m);
    return st;
}

static struct pith_stage quantize_stage(void)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_QUANTIZE);
    s.quantize.weight_bits = 3;
    s.samples = 3;
    return s;
}

static enum pith_status quantize(struct pith_error *err)
{
    const struct pith_stage s = quantize_stage();
    return run_stage(&made.pictures, &s, NULL, err);
}

static enum pith_status adaptive(struct pith_error *err)
{
    struct pith_stage s = quantize_stage();
    s.quantize.rounding = PITH_ROUND_ADAPTIVE;
    s.all_integers = true;
    return run_stage(&made.pictures, &s, NULL, err);
}

static enum pith_status fine(struct pith_error *err)
{
    struct pith_stage s = quantize_stage();
    s.all_integers = true;
    return run_stage(&made.pictures, &s, NULL, err);
}

static enum pith_status fixed_point(struct pith_error *err)
{
    struct pith_stage s = quantize_stage();
    s.quantize.fixed_bits = 8;
    s.quantize.weight_bits = 0;
    return run_stage(&made.pictures, &s, NULL, err);
}

static enum pith_status without_data(struct pith_error *err)
{
    struct pith_stage s = quantize_stage();
    s.synthetic = s.equalize = s.all_integers = true;
    s.smooth = PITH_ALWAYS;
    s.samples = 2;
    return run_stage(&made.pictures, &s, NULL, err);
}

static enum pith_status several_inputs(struct pith_error *err)
{
    const struct pith_stage s = quantize_stage();
    const struct pith_feed_input in[2] = {{.data = made.rows}, {0}};
    const struct pith_state back = {.output = 0, .input = 1};
    const struct pith_feed feed = {
        .size_bytes = sizeof feed, .n_inputs = 2, .input = in, .n_states = 1, .state = &back};
    return run_stage(&made.stream, &s, &feed, err);
}

static enum pith_status train(struct pith_error *err)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_TRAIN);
    s.train.epochs = 1;
    s.train.batch = 8;
    s.train.loss = PITH_DISTILL;
    s.teacher = "start";
    s.integers = "w4a4";
    return run_stage(&made.pictures, &s, NULL, err);
}

static enum pith_status sense(struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of(&made.pictures);
    const struct pith_calibrate_opts samples = {.size_bytes = sizeof samples, .data = made.images};
    const struct pith_sense_trial trial[2] = {{.kind = PITH_SENSE_BITS, .amount = 4},
                                              {.kind = PITH_SENSE_ACTIVATIONS, .amount = 4}};
    const struct pith_sense_opts o = {
        .size_bytes = sizeof o, .samples = &samples, .trials = trial, .n_trials = 2};
    struct pith_sense r = {0};
    FAILING(pith_sense(m, &o, &r, err));
    if (!st)
        pith_sense_free(&r);
    pith_model_free(m);
    return st;
}

/* ---- files and runs -------------------------------------------------------------------------- */

static enum pith_status pack_with(bool compact,
                                  enum pith_status (*write)(struct pith_buffer *,
                                                            const struct pith_pack_opts *,
                                                            struct pith_error *),
                                  struct pith_error *err)
{
    enum pith_status st;
    const struct pith_pack_opts opts = {.size_bytes = sizeof opts, .compact = compact};
    struct pith_buffer file = {NULL, 0};
    FAILING(write(&file, &opts, err));
    assert_int_equal(file.data == NULL, st != PITH_OK);
    pith_buffer_free(&file);
    return st;
}

static enum pith_status to_pith(struct pith_buffer *file, const struct pith_pack_opts *opts,
                                struct pith_error *err)
{
    return pith_model_pack(made.integers, opts, file, err);
}

static enum pith_status to_onnx(struct pith_buffer *file, const struct pith_pack_opts *opts,
                                struct pith_error *err)
{
    (void)opts;
    return pith_model_write_onnx(made.integers, file, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct pith_buffer make_float(struct pith_model *m)
{
    struct pith_buffer file = packed_of(m);
    pith_model_free(m);
    return file;
}

FIXTURE(set_up)
{
    const struct pith_stage s = quantize_stage();
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    json_set_alloc_funcs(malloc, free); /* to where the linker sends malloc */
    made.images = samples_of(4, (const uint32_t[]){1, 1, SIDE, SIDE});
    made.rows = samples_of(2, (const uint32_t[]){1, WIDTH});
    made.pictures = make_float(picture_network());
    made.stream = make_float(stream_network());
    made.integers = copy_of(&made.pictures);
    const struct pith_stage_context context = {
        .size_bytes = sizeof context, .train = made.images, .threads = 1};
    SUCCEEDS(pith_stage_run_with(made.integers, &s, &context, &r, &err) ||
             pith_model_pack(made.integers, NULL, &made.packed, &err) ||
             pith_model_write_onnx(made.integers, &made.onnx, &err));
    pith_stage_report_free(&r);
    return 0;
}

FIXTURE(tear_down)
{
    pith_data_free(made.images);
    pith_data_free(made.rows);
    pith_model_free(made.integers);
    pith_buffer_free(&made.pictures);
    pith_buffer_free(&made.stream);
    pith_buffer_free(&made.packed);
    pith_buffer_free(&made.onnx);
    return 0;
}

/* Listing weights works without its table of visited ones. */
SCENE(quantize, true, 13)
SCENE(adaptive, true, 17)
SCENE(fine, true, 17)
SCENE(fixed_point, true, 17)
SCENE(without_data, true, 17)
SCENE(several_inputs, true, 13)
SCENE(train, true, 29)
SCENE(sense, true, 17)
SCENE_OF(pack_full, false, pack_with(false, to_pith, err))
SCENE_OF(pack_compact, false, pack_with(true, to_pith, err))
SCENE_OF(write_onnx, false, pack_with(false, to_onnx, err))
SCENE_OF(unpack, false, read_bytes(&made.packed, err))
SCENE_OF(import_onnx, true, read_bytes(&made.onnx, err)) /* lists weights, too */
SCENE_OF(session, false, open_bytes(&made.packed, err))

RUN_TESTS_WITH(set_up, tear_down)
