/* SPDX-License-Identifier: MIT */
/* test_store_floats.c - what stays float in 2 bytes: rounding against all numbers of a type, what
 * is left alone, and files that keep it. */
#include "test_run.h"
#include "core/element_f32.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "base/narrow_float.h"
#include "network_run.h"
#include "pith_quantize.h"
#include "quantize/store_floats.h"

enum { IN = 6, OUT = 40, N_NARROW = IN * OUT + OUT };

static const enum pith_type types[] = {PITH_F16, PITH_BF16};

static float value_of(enum pith_type type, uint32_t bits)
{
    const uint8_t stored[2] = {(uint8_t)bits, (uint8_t)(bits >> 8)};
    float x;
    pith_elements_to_f32(type, stored, 1, &x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- rounding -------------------------------------------------------------------------------- */

static uint32_t infinity_of(enum pith_type type)
{
    return type == PITH_F16 ? 0x7c00u : 0x7f80u;
}

/* By search: the positive numbers of a type are in the order of their bits; behind the largest one
 * comes what would be next, at which rounding gives infinity. In doubles all is exact. */
static float reference(enum pith_type type, float x)
{
    uint32_t low = 0, high = infinity_of(type), end = high;
    double a = fabs((double)x), next = type == PITH_F16 ? 65536 : 0x1p128;
    while (high - low > 1) { /* low <= a, high is above */
        uint32_t mid = (low + high) / 2;
        if ((double)value_of(type, mid) <= a)
            low = mid;
        else
            high = mid;
    }
    double below = a - (double)value_of(type, low);
    double above = (high == end ? next : (double)value_of(type, high)) - a;
    uint32_t nearest = below < above || (below == above && low % 2 == 0) ? low : high;
    return copysignf(value_of(type, nearest), x);
}

static void expect_rounded(enum pith_type type, float x)
{
    float want = reference(type, x), got = pith_narrow_round(type, x);
    if (bits_of(want) != bits_of(got))
        fail_msg("%a as type %d: expected %a, got %a", (double)x, (int)type, (double)want,
                 (double)got);
}

/* Each number of a type, the tie above it, and the f32 on either side of that tie. */
TEST(ties_go_to_even)
{
    for (size_t t = 0; t < 2; t++)
        for (uint32_t bits = 0; bits < infinity_of(types[t]);
             bits += types[t] == PITH_F16 ? 1 : 7) {
            double a = (double)value_of(types[t], bits), b = (double)value_of(types[t], bits + 1);
            double tie = a + ((isinf(b) ? (types[t] == PITH_F16 ? 65536 : 0x1p128) : b) - a) / 2;
            const float at[] = {(float)a, (float)tie, nextafterf((float)tie, 0),
                                nextafterf((float)tie, HUGE_VALF)};
            for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
                expect_rounded(types[t], at[i]);
                expect_rounded(types[t], -at[i]);
            }
        }
}

TEST(any_number_goes_to_the_nearest)
{
    struct sample_random r = sample_random_of(31);
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)(next(&r) >> 32);
        float x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            for (size_t t = 0; t < 2; t++)
                expect_rounded(types[t], x);
        if (isnan(x))
            assert_true(isnan(pith_narrow_round(PITH_F16, x)) &&
                        isnan(pith_narrow_round(PITH_BF16, x)));
    }
}

/* What was read is written with the same 16 bits, infinities and every NaN included. */
TEST(all_bits_come_back)
{
    for (size_t t = 0; t < 2; t++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            float x = value_of(types[t], bits);
            assert_int_equal(pith_narrow_bits(types[t], x), bits);
            assert_true(pith_narrow_holds(types[t], &x, 1));
        }
    const float off = 1.0f + 0x1p-11f;
    assert_false(pith_narrow_holds(PITH_F16, &off, 1));
    assert_false(pith_narrow_holds(PITH_BF16, &off, 1));
}

/* ---- networks -------------------------------------------------------------------------------- */

/* gemm -> times a single number -> integers and back, one scale a column -> out */
static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(32);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, IN});
    x = add_layer(m, &r, PITH_OP_GEMM, "fc", x, 2, (const uint32_t[]){OUT, IN});
    uint32_t one = add_constant(m, &r, "one", 1, (const uint32_t[]){1});
    x = add_node(m, PITH_OP_MUL, "mul", "mul.out", 2, (const uint32_t[]){x, one})->out[0];
    uint32_t scale = add_constant(m, &r, "scale", 1, (const uint32_t[]){OUT});
    for (uint32_t i = 0; i < OUT; i++)
        ((float *)m->values[scale].constant->data)[i] = 0.1f + 0.001f * (float)i;
    struct pith_node *q =
        add_node(m, PITH_OP_QUANTIZE, "q", "q.out", 2, (const uint32_t[]){x, scale});
    q->attr[ATTR_QUANTIZE_TYPE] = PITH_I8;
    x = q->out[0];
    x = add_node(m, PITH_OP_DEQUANTIZE, "dq", "y", 2, (const uint32_t[]){x, scale})->out[0];
    return sample_done(m, x);
}

static struct pith_const *constant(const struct pith_model *m, uint32_t node, uint32_t input)
{
    return m->values[m->nodes[node].in[input]].constant;
}

static struct pith_buffer pack(const struct pith_model *m)
{
    struct pith_buffer file = {0};
    struct pith_error err = {0};
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err));
    return file;
}

static struct pith_model *read_back(const struct pith_buffer *file)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_read(file->data, file->bytes, "x", NULL, &m, &err));
    return m;
}

static void store(struct pith_model *m, enum pith_type type, struct pith_stored_floats *report)
{
    assert_int_equal(pith_store_floats(m, type, report, NULL), PITH_OK);
}

TEST(floats_are_rounded_and_others_stay)
{
    for (size_t t = 0; t < 2; t++) {
        struct pith_model *m = network(), *was = network();
        struct pith_stored_floats report;
        store(m, types[t], &report);
        assert_int_equal(report.n_numbers, N_NARROW);
        assert_int_equal(report.n_tensors, 2);
        assert_int_equal(report.n_beyond, 0);
        for (uint32_t i = 0; i < IN * OUT; i++)
            assert_true(((float *)constant(m, 0, 1)->data)[i] ==
                        reference(types[t], ((float *)constant(was, 0, 1)->data)[i]));
        assert_int_equal(constant(m, 0, 1)->stored, types[t]);
        assert_int_equal(constant(m, 0, 2)->stored, types[t]);
        assert_int_equal(constant(m, 1, 1)->stored, 0); /* a single number */
        assert_int_equal(constant(m, 2, 1)->stored, 0); /* the scale */
        assert_memory_equal(constant(m, 1, 1)->data, constant(was, 1, 1)->data, sizeof(float));
        assert_memory_equal(constant(m, 2, 1)->data, constant(was, 2, 1)->data,
                            OUT * sizeof(float));
        pith_model_free(m);
        pith_model_free(was);
    }
}

/* A scale that something else reads too is a scale. */
TEST(a_shared_scale_stays_one)
{
    struct pith_model *m = network();
    m->nodes[1].in[1] = m->nodes[2].in[1];
    store(m, PITH_F16, NULL);
    assert_int_equal(constant(m, 2, 1)->stored, 0);
    pith_model_free(m);
}

static void expect_beyond(enum pith_type type, float x, bool all, uint32_t n_beyond)
{
    struct pith_model *m = network();
    struct pith_stored_floats report;
    float *w = constant(m, 0, 1)->data, before[IN * OUT];
    for (uint32_t i = 0; i < (all ? IN * OUT : 1); i++)
        w[i] = x;
    memcpy(before, w, sizeof before);
    store(m, type, &report);
    if (report.n_beyond != n_beyond)
        fail_msg("%a as type %d: %u tensors beyond", (double)x, (int)type, report.n_beyond);
    assert_int_equal(report.n_numbers, N_NARROW - n_beyond * IN * OUT);
    if (n_beyond) {
        assert_memory_equal(before, w, sizeof before);
        assert_int_equal(constant(m, 0, 1)->stored, 0);
    }
    pith_model_free(m);
}

TEST(what_is_beyond_the_range_stays)
{
    expect_beyond(PITH_F16, 65504, false, 0);
    expect_beyond(PITH_F16, 65519.996f, false, 0); /* rounds to 65504 */
    expect_beyond(PITH_F16, -65520, false, 1);
    expect_beyond(PITH_F16, HUGE_VALF, false, 1);
    expect_beyond(PITH_F16, NAN, false, 1);
    expect_beyond(PITH_F16, 0x1p-20f, false, 0); /* one of many */
    expect_beyond(PITH_F16, 0x1p-15f, true, 1);
    expect_beyond(PITH_F16, 0x1p-14f, true, 0);
    expect_beyond(PITH_F16, 0, true, 0);
    expect_beyond(PITH_BF16, 1e30f, false, 0);
    expect_beyond(PITH_BF16, 1e-30f, true, 0);
    expect_beyond(PITH_BF16, 0x1.fep127f, false, 0); /* the largest */
    expect_beyond(PITH_BF16, 0x1.ffp127f, false, 1);
    expect_beyond(PITH_BF16, NAN, false, 1);
}

TEST(other_types_are_refused)
{
    struct pith_model *m = network();
    struct pith_error err = {0};
    assert_int_equal(pith_store_floats(m, PITH_F64, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "floats are stored as f16 or bf16");
    assert_int_equal(constant(m, 0, 1)->stored, 0);
    pith_model_free(m);
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint64_t file_bytes(const struct pith_model *m, bool compact)
{
    struct pith_buffer file = {0};
    const struct pith_pack_opts o = {.size_bytes = sizeof o, .compact = compact};
    assert_int_equal(pith_model_pack(m, &o, &file, NULL), PITH_OK);
    uint64_t bytes = file.bytes;
    pith_buffer_free(&file);
    return bytes;
}

static void set_code(struct pith_model *m, enum pith_code code)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].constant)
            m->values[v].constant->code = code;
}

/* Read and written again it is the same file, whatever the requested support and code. */
TEST(files_keep_two_bytes)
{
    static const enum pith_code codes[] = {PITH_CODE_PLAIN, PITH_CODE_HUFFMAN};
    for (uint32_t i = 0; i < 8; i++) {
        struct pith_model *m = network(), *back;
        float x[IN] = {1, -2, 0.5f, 3, 0, -1}, y[OUT], z[OUT];
        if (i & 4)
            sample_prune(m, m->nodes[0].in[1], 0.4);
        store(m, types[i & 1], NULL);
        set_code(m, codes[i >> 1 & 1]);
        struct pith_buffer one = pack(m), two;
        back = read_back(&one);
        const char *differs = sample_difference(m, back);
        if (differs)
            fail_msg("case %u: %s", i, differs);
        assert_int_equal(constant(back, 0, 1)->stored, types[i & 1]);
        assert_int_equal(constant(back, 2, 1)->stored, 0);
        two = pack(back);
        assert_int_equal(one.bytes, two.bytes);
        assert_memory_equal(one.data, two.data, one.bytes);
        run_network(m, NULL, x, IN, y);
        for (uint32_t v = 0; v < back->n_values; v++) /* as f32: the same numbers */
            if (back->values[v].constant)
                back->values[v].constant->stored = 0;
        run_network(back, NULL, x, IN, z);
        assert_memory_equal(y, z, sizeof y);
        pith_buffer_free(&one);
        pith_buffer_free(&two);
        pith_model_free(m);
        pith_model_free(back);
    }
}

/* In the compact header nothing is aligned: 2 bytes a number, less the 2 for a tensor's type.
 */
TEST(files_are_smaller_by_two_bytes_a_number)
{
    struct pith_model *m = network();
    uint64_t wide = file_bytes(m, true);
    store(m, PITH_F16, NULL);
    assert_int_equal(file_bytes(m, true), wide - 2 * N_NARROW + 2 * 2);
    pith_model_free(m);
}

/* Mantissa bits that are 0 cost nothing in an adaptive stream: it is taken where it is smaller
 * still. It does not store the type; what is read from it has 2 bytes again all the same. */
TEST(adaptive_streams_hold_the_same_numbers)
{
    for (size_t t = 0; t < 2; t++) {
        struct pith_model *m = network();
        store(m, types[t], NULL);
        uint64_t plain = file_bytes(m, true);
        set_code(m, PITH_CODE_ADAPTIVE);
        uint64_t adaptive = file_bytes(m, true);
        assert_true(adaptive < plain);
        struct pith_buffer file = pack(m);
        struct pith_model *back = read_back(&file);
        assert_null(sample_difference(m, back));
        assert_int_equal(file_bytes(back, true), adaptive);
        set_code(back, PITH_CODE_PLAIN);
        assert_int_equal(file_bytes(back, true), plain);
        pith_buffer_free(&file);
        pith_model_free(m);
        pith_model_free(back);
    }
}

/* A stage that comes later need not know. */
TEST(what_no_longer_fits_is_written_as_f32)
{
    struct pith_model *m = network();
    store(m, PITH_F16, NULL);
    ((float *)constant(m, 0, 1)->data)[3] = 0.1f;
    struct pith_buffer file = pack(m);
    struct pith_model *back = read_back(&file);
    assert_null(sample_difference(m, back));
    assert_int_equal(constant(back, 0, 1)->stored, 0);
    assert_int_equal(constant(back, 0, 2)->stored, PITH_F16);
    pith_buffer_free(&file);
    pith_model_free(m);
    pith_model_free(back);
}

/* ---- codebooks ------------------------------------------------------------------------------- */

enum { ROWS = 64, COLS = 48 };

/* One layer of ROWS x COLS: x times factor[o], where x is gaussian or, on_grid, -127..127 in each
 * row. */
static struct pith_model *one_layer(const float *factor, bool on_grid)
{
    struct sample_random r = sample_random_of(11);
    struct pith_model *m = sample_new();
    m->inputs[m->n_inputs++] = add_value(m, "x", PITH_F32, 2, (const uint32_t[]){1, COLS});
    uint32_t w = add_constant(m, &r, "w", 2, (const uint32_t[]){ROWS, COLS});
    float *x = m->values[w].constant->data;
    for (uint32_t i = 0; i < ROWS * COLS; i++) {
        float q = i % COLS == 0 ? 127 : (float)((int32_t)(next(&r) >> 40) % 128);
        x[i] = (on_grid ? q : sample_gauss(&r)) * factor[i / COLS];
    }
    sample_done(
        m, add_node(m, PITH_OP_GEMM, "fc", "", 2, (const uint32_t[]){m->inputs[0], w})->out[0]);
    store(m, PITH_F16, NULL);
    return m;
}

/* dB of the weights; all of them are centroids, and the file gives them back. */
static double store_in_codebook(struct pith_model *m)
{
    const uint32_t v = m->nodes[0].in[1];
    struct pith_const *c = m->values[v].constant;
    float was[ROWS * COLS];
    double signal = 0, noise = 0;
    memcpy(was, c->data, sizeof was);
    struct pith_buffer halves = pack(m);
    size_t two_bytes = halves.bytes;
    pith_buffer_free(&halves);
    assert_true(pith_may_store_codebook(c));
    assert_int_equal(pith_store_codebook(m, v, NULL), PITH_OK);
    assert_non_null(c->codebook);
    assert_false(pith_may_store_codebook(c));
    for (uint32_t i = 0; i < ROWS * COLS; i++) {
        const struct pith_codebook *cb = c->codebook;
        float x = ((const float *)c->data)[i];
        assert_true(x == cb->centroid[i / cb->group_elems * cb->n_centroids + cb->index[i]]);
        signal += (double)was[i] * (double)was[i];
        noise += ((double)x - (double)was[i]) * ((double)x - (double)was[i]);
    }
    struct pith_buffer file = pack(m);
    struct pith_model *back = read_back(&file);
    assert_memory_equal(constant(back, 0, 1)->data, c->data, sizeof was);
    assert_true(file.bytes < two_bytes - ROWS * COLS * 3 / 4 + 512);
    pith_buffer_free(&file);
    pith_model_free(back);
    return pith_snr_db(signal, noise);
}

TEST(rows_alike_share_a_codebook)
{
    float factor[ROWS];
    for (uint32_t o = 0; o < ROWS; o++)
        factor[o] = 1;
    struct pith_model *m = one_layer(factor, false);
    assert_true(store_in_codebook(m) > 45);
    assert_int_equal(constant(m, 0, 1)->codebook->n_groups, 1);
    assert_true(pith_narrow_holds(PITH_F16, constant(m, 0, 1)->data, ROWS * COLS));
    pith_model_free(m);
}

/* What f16 made of the largest number says the step to 11 bits. */
TEST(rows_on_grids_of_their_own_stay_there)
{
    float factor[ROWS];
    for (uint32_t o = 0; o < ROWS; o++)
        factor[o] = ldexpf(0.0107f + 0.0001f * (float)o, (int)(o % 7) - 3);
    struct pith_model *m = one_layer(factor, true);
    assert_true(store_in_codebook(m) > 65);
    assert_int_equal(constant(m, 0, 1)->codebook->n_groups, ROWS);
    pith_model_free(m);
}

TEST(not_everything_gets_a_codebook)
{
    float factor[ROWS];
    for (uint32_t o = 0; o < ROWS; o++)
        factor[o] = 1;
    struct pith_model *m = one_layer(factor, false);
    struct pith_const *c = m->values[m->nodes[0].in[1]].constant;
    c->count = PITH_STORE_CODEBOOK_LEAST - 1;
    assert_false(pith_may_store_codebook(c));
    c->count++;
    assert_true(pith_may_store_codebook(c));
    ((float *)c->data)[7] = 32800;
    assert_false(pith_may_store_codebook(c));
    ((float *)c->data)[7] = 32768;
    assert_true(pith_may_store_codebook(c));
    c->stored = 0;
    assert_false(pith_may_store_codebook(c));
    c->count = ROWS * COLS;
    pith_model_free(m);
}

RUN_TESTS
