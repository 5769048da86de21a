/* SPDX-License-Identifier: MIT */
/* test_number_convert.c - a value arrives as it was in every type that can hold it, and is refused
 * by every other. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include <math.h>
#include <string.h>
#include "data/data_source.h"
#include "data/npy_header.h"
#include "data/number_convert.h"
#include "pith_data.h"

static const enum pith_type types[] = {PITH_F32, PITH_F16, PITH_F64, PITH_I8,  PITH_U8,
                                       PITH_I16, PITH_U16, PITH_I32, PITH_I64, PITH_BOOL};
enum { N_TYPES = sizeof types / sizeof *types };

/* Which of types[] take v. */
static void expect_taken(struct number v, const char *wanted)
{
    for (int i = 0; i < N_TYPES; i++) {
        uint8_t to[8] = {0};
        bool taken = pith_number_store(v, types[i], to);
        if (taken != (wanted[i] == 'x'))
            fail_msg("value %g, %lld: type %d %s", v.d, (long long)v.i, (int)types[i],
                     taken ? "took it" : "refused it");
        struct number back = pith_number_load(types[i], to);
        double was = v.whole ? (double)v.i : v.d, is = back.whole ? (double)back.i : back.d;
        if (taken && types[i] != PITH_F32 && types[i] != PITH_F16)
            assert_true(was == is);
    }
}

static struct number whole(int64_t i)
{
    return (struct number){true, i, 0};
}

static struct number real(double d)
{
    return (struct number){false, 0, d};
}

TEST(each_type_takes_what_it_can_hold)
{
    /*                             f32 f16 f64 i8 u8 i16 u16 i32 i64 bool */
    expect_taken(whole(0), "xxxxxxxxxx");
    expect_taken(whole(1), "xxxxxxxxxx");
    expect_taken(whole(-1), "xxxx.x.xx.");
    expect_taken(whole(127), "xxxxxxxxx.");
    expect_taken(whole(128), "xxx.xxxxx.");
    expect_taken(whole(-128), "xxxx.x.xx.");
    expect_taken(whole(256), "xxx..xxxx.");
    expect_taken(whole(2049), "x.x..xxxx."); /* 12 bits: one more than f16 has */
    expect_taken(whole(40000), "xxx...xxx.");
    expect_taken(whole(65535), "x.x...xxx.");
    expect_taken(whole(16777217), "..x....xx.");
    expect_taken(whole(INT32_MAX), "..x....xx.");
    expect_taken(whole((int64_t)1 << 31), "x.x.....x.");
    expect_taken(whole(((int64_t)1 << 53) + 1), "........x.");
    expect_taken(whole(INT64_MAX), "........x.");
    expect_taken(whole(INT64_MIN), "x.x.....x.");
    expect_taken(real(2.0), "xxxxxxxxx.");
    expect_taken(real(0.1), "xxx.......");
    expect_taken(real(-0.0), "xxxxxxxxxx");
    expect_taken(real(1e30), "x.x.......");
    expect_taken(real(1e300), "..x.......");
    expect_taken(real(0x1p63), "x.x.......");
    expect_taken(real(-0x1p63), "x.x.....x.");
    expect_taken(real(INFINITY), "xxx.......");
}

TEST(reals_are_rounded_to_the_nearest)
{
    float f = 0;
    assert_true(pith_number_store(real(0.1), PITH_F32, &f));
    assert_true(f == 0.1f);
    assert_true(pith_number_store(real((double)NAN), PITH_F32, &f));
    assert_true(isnan(f));
    assert_false(pith_number_store(real((double)NAN), PITH_I32, &f));
    assert_false(pith_number_store(real(1), PITH_BF16, &f));
}

TEST(arrays_report_which_element_does_not_fit)
{
    float x[] = {3, -1, 2.5f};
    int64_t ids[3];
    struct pith_error err = {0};
    struct pith_array a = {.type = PITH_F32, .rank = 1, .dim = {2}, .count = 2, .data = x};
    assert_int_equal(pith_array_convert(&a, PITH_I64, ids, "x.npy", &err), PITH_OK);
    assert_true(ids[0] == 3 && ids[1] == -1);
    a.count = a.dim[0] = 3;
    assert_int_equal(pith_array_convert(&a, PITH_I64, ids, "x.npy", &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "x.npy: element 2 is 2.5 (f32), which i64 cannot hold");
    a.count = 0;
    a.data = NULL;
    assert_int_equal(pith_array_convert(&a, PITH_F32, ids, "x.npy", &err), PITH_OK);
}

static struct pith_data *data_of(enum pith_type type, const void *x, uint32_t rows, uint32_t cols)
{
    struct pith_buffer npy = {0};
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write(type, 2, (uint32_t[]){rows, cols}, x, &npy, &err), PITH_OK);
    struct pith_data_opts o = {
        .size_bytes = sizeof o, .path = "d.npy", .content = npy.data, .content_bytes = npy.bytes};
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_OK);
    pith_buffer_free(&npy);
    return d;
}

TEST(samples_are_read_as_the_input_s_type)
{
    const int64_t ids[] = {1, ((int64_t)1 << 53) + 1, -7, 70000};
    struct pith_data *d = data_of(PITH_I64, ids, 2, 2);
    struct pith_error err = {0};
    int64_t wide[2], label = 0;
    uint16_t narrow[2];
    assert_int_equal(pith_data_read_as(d, 0, PITH_I64, wide, &label, &err), PITH_OK);
    assert_memory_equal(wide, ids, sizeof wide); /* not by way of f32 */
    assert_true(label == PITH_NO_LABEL);
    assert_int_equal(pith_data_read_as(d, 1, PITH_U16, narrow, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text,
                        "d.npy: value 0 of sample 1 is -7, which the input's type cannot hold");
    assert_int_equal(pith_data_read_as(d, 2, PITH_I64, wide, NULL, &err), PITH_ERR_ARGUMENT);
    pith_data_free(d);
    const double reals[] = {2, 0.25};
    float f[2];
    d = data_of(PITH_F64, reals, 1, 2);
    assert_int_equal(pith_data_read_as(d, 0, PITH_F32, f, NULL, &err), PITH_OK);
    assert_true(f[0] == 2 && f[1] == 0.25f);
    assert_int_equal(pith_data_read_as(d, 0, PITH_I64, wide, NULL, &err), PITH_ERR_ARGUMENT);
    pith_data_free(d);
}

TEST(a_sample_may_be_several_steps)
{
    const float x[12] = {0};
    struct pith_buffer npy = {0};
    struct pith_data *d = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write(PITH_F32, 2, (uint32_t[]){2, 6}, x, &npy, &err), PITH_OK);
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "d.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .rank = 2,
                               .dim = {1, 3},
                               .steps = true};
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_OK);
    assert_int_equal(pith_data_steps(d), 2);
    assert_int_equal(pith_data_elems(d), 6);
    pith_data_free(d);
    o.dim[1] = 4;
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_ARGUMENT);
    o.dim[1] = 3;
    o.steps = false;
    assert_int_equal(pith_data_open(&o, &d, &err), PITH_ERR_ARGUMENT);
    pith_buffer_free(&npy);
}

/* Names in their own spelling come first, then by synset or without upper case, then synonyms. */
TEST(classes_by_name)
{
    static const char names[] =
        "cock\nn01440764 tench, Tinca tinca\nn01443537 goldfish\nn0144x537 odd\n"
        "COCK\nGold_Fish\nn01443537x\n";
    static const struct {
        const char *text;
        uint32_t found;
        int64_t number;
    } of[] = {{"cock", 1, 0},
              {" cock ", 1, 0},
              {"Cock", 2, 0},
              {"n01440764", 1, 1},
              {"Tench", 1, 1},
              {"tinca tinca", 1, 1},
              {"tench, tinca tinca", 1, 1},
              {"gold fish", 1, 5},
              {"n01443537", 1, 2},
              {"odd", 0, 0},
              {"n0144x537", 0, 0},
              {"coc", 0, 0},
              {"", 0, 0},
              {"n0144076", 0, 0}},
      numbers[] = {{"12", 1, 12},
                   {" 7 ", 1, 7},
                   {"2147483647", 1, INT32_MAX},
                   {"2147483648", 0, 0},
                   {"-1", 0, 0},
                   {"1a", 0, 0},
                   {"", 0, 0}};
    int64_t number;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (pith_class_find(names, of[i].text, strlen(of[i].text), &number) != of[i].found ||
            (of[i].found == 1 && number != of[i].number))
            fail_msg("'%s': %d", of[i].text, (int)number);
    assert_int_equal(pith_class_find(NULL, "cock", 4, &number), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (pith_class_number(numbers[i].text, strlen(numbers[i].text), &number) !=
                numbers[i].found ||
            (numbers[i].found && number != numbers[i].number))
            fail_msg("'%s': %d", numbers[i].text, (int)number);
}

RUN_TESTS
