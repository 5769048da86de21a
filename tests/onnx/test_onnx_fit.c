/* SPDX-License-Identifier: MIT */
/* test_onnx_fit.c - formulas found again from their values at some sizes, and numbers that follow
 * none. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "onnx/onnx_fit.h"

/* A, B and C: at a base, each alone at two others, and five times all at others. */
static const struct size_names names = {3, {"A", "B", "C"}};
static const uint32_t base[3] = {11, 17, 23};
static const uint32_t joint[ONNX_FIT_JOINT] = {2, 7, 29, 53, 86};

static void fill(struct onnx_fit *f, uint32_t n)
{
    *f = (struct onnx_fit){.n_sizes = n, .n_passes = 1 + 2 * n + ONNX_FIT_JOINT};
    for (uint32_t k = 0; k < f->n_passes; k++)
        for (uint32_t i = 0; i < n; i++) {
            f->size[k][i] = base[i];
            if (k == 1 + 2 * i || k == 2 + 2 * i)
                f->size[k][i] += k == 1 + 2 * i ? 1 : 4;
            if (k > 2 * n)
                f->size[k][i] += joint[k - 2 * n - 1] + i * (k - 2 * n);
        }
}

/* `of`: its values; printed: what is found. Where only some sizes differ, n is smaller. */
static const struct {
    uint32_t n;
    const char *of, *printed;
} formulas[] = {
    {1, "A", "A"},
    {1, "7", "7"},
    {1, "A - 3", "A - 3"},
    {1, "-2*A + 100", "-2*A + 100"},
    {1, "12*A + 5", "12*A + 5"},
    {2, "A + B", "A + B"},
    {2, "2*A - 3*B + 1", "2*A - 3*B + 1"},
    {3, "A + B + C - 1", "A + B + C - 1"},
    {3, "5*C", "5*C"},
    /* broken, rounded down, up, or as nearest */
    {1, "A/2", "A/2"},
    {1, "(A + 1)/2", "(A + 1)/2"},
    {1, "(A - 10)/5", "(A - 10)/5"},
    {1, "(A + 2)/4", "(A + 2)/4"},
    {1, "(A + 7)/8", "(A + 7)/8"},
    {1, "3*A/4", "3*A/4"},
    {2, "(B + 1)/2", "(B + 1)/2"},
    /* products of two, with what stands beside them */
    {2, "A*B", "A*B"},
    {2, "A*B + 3", "A*B + 3"},
    {2, "4*A*B - 2*A + B - 6", "4*A*B - 2*A + B - 6"},
    {3, "A*C + B", "A*C + B"},
    {3, "-B*C", "-B*C"},
    /* squares */
    {1, "A*A", "A*A"},
    {1, "2*A*A - 3*A + 1", "2*A*A - 3*A + 1"},
    {1, "-A*A", "-A*A"},
    {2, "B*B + B", "B*B + B"},
    /* up to the next multiple, what is missing to it, also of what was rounded before, and half */
    {1, "8*((A + 7)/8)", "8*((A + 7)/8)"},
    {1, "8*((A + 7)/8) - A", "8*((A + 7)/8) - A"},
    {1, "(8*((A + 7)/8) - A)/2", "(8*((A + 7)/8) - A)/2"},
    {1, "A - 6*(A/6)", "-6*(A/6) + A"},
    {1, "4*((A + 12)/16) - (A/4)", "(8*((A + 12)/16) - (A/2) + 1)/2"}, /* which is the same */
    {1, "3*(A/7) + 2", "3*(A/7) + 2"},
    /* windows of a picture, and all of a batch */
    {2, "(A/4)*(B/4)", "(A/4)*(B/4)"},
    {2, "((A + 7)/8)*((B + 7)/8)", "((A + 7)/8)*((B + 7)/8)"},
    {2, "2*(A/2)*B + 1", "2*(A/2)*B + 1"},
    {3, "A*(B/2)*(C/4)", "(B/2)*(C/4)*A"},
    {3, "A*B*C", "B*C*A"},
    /* none of these */
    {1, "A*A*A", NULL},
    {2, "A*A + B", NULL},
    {3, "A*B + B*C", NULL},
    {2, "(A + B)/3", NULL},
};

TEST(test_formulas)
{
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        struct onnx_fit f;
        struct size_expression e;
        struct size_names known = names;
        char text[256];
        fill(&f, formulas[i].n);
        assert_true(pith_size_parse(formulas[i].of, strlen(formulas[i].of), &known, false, &e));
        for (uint32_t k = 0; k < f.n_passes; k++)
            assert_true(pith_size_value(&e, f.size[k], &f.number[k]));
        const bool found = pith_onnx_fit(&f, &e);
        if (found)
            pith_size_print(&e, &names, text, sizeof text);
        if (found != (formulas[i].printed != NULL) ||
            (found && strcmp(text, formulas[i].printed) != 0))
            fail_msg("%s: found %s", formulas[i].of, found ? text : "nothing");
    }
}

/* One number of any pass but the last, which a broken product explains: nothing is found. */
TEST(each_pass_counts)
{
    static const char *const of[] = {"A + B", "A*B", "2*A - 3*B + 1"};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct onnx_fit f;
        struct size_expression e, again;
        struct size_names known = names;
        fill(&f, 2);
        assert_true(pith_size_parse(of[i], strlen(of[i]), &known, false, &e));
        for (uint32_t k = 0; k < f.n_passes; k++)
            assert_true(pith_size_value(&e, f.size[k], &f.number[k]));
        for (uint32_t k = 0; k < f.n_passes - 1; k++) {
            f.number[k]++;
            if (pith_onnx_fit(&f, &again))
                fail_msg("%s: found with another number in pass %u", of[i], k);
            f.number[k]--;
        }
    }
}

/* A product whose factors do not both differ in the last pass: nothing divides by 0. */
TEST(same_in_last_pass)
{
    struct onnx_fit f;
    struct size_expression e;
    char text[64];
    fill(&f, 2);
    f.size[f.n_passes - 1][0] = f.size[0][0];
    for (uint32_t k = 0; k < f.n_passes; k++)
        f.number[k] = (int32_t)(f.size[k][0] * f.size[k][1]);
    assert_true(pith_onnx_fit(&f, &e));
    pith_size_print(&e, &names, text, sizeof text);
    assert_string_equal(text, "A*B");
}

/* Divided by 300, which few sizes show: several rests fit, until further numbers rule them out. */
TEST(test_undecided)
{
    struct onnx_fit f;
    struct size_expression e;
    char text[64];
    fill(&f, 1);
    for (uint32_t k = 0; k < f.n_passes; k++)
        f.size[k][0] *= 9973;
    const uint32_t first = f.n_passes;
    for (uint32_t k = 0; k < first; k++)
        f.number[k] = (int32_t)((f.size[k][0] + 123) / 300);
    assert_true(pith_onnx_fit(&f, &e));
    while (f.undecided) {
        assert_int_equal(f.next_size, 0);
        assert_true(f.n_passes < first + ONNX_FIT_MORE);
        f.size[f.n_passes][0] = f.next_value;
        f.number[f.n_passes++] = (int32_t)((f.next_value + 123) / 300);
        assert_true(pith_onnx_fit(&f, &e));
    }
    assert_true(f.n_passes > first);
    pith_size_print(&e, &names, text, sizeof text);
    assert_string_equal(text, "(A + 123)/300");
}

/* B is always A: the formula names A alone. */
TEST(test_skipped)
{
    struct onnx_fit f;
    struct size_expression e;
    char text[64];
    fill(&f, 2);
    f.skipped[1] = true;
    for (uint32_t k = 0; k < f.n_passes; k++) {
        f.size[k][1] = f.size[k][0];
        f.number[k] = (int32_t)(f.size[k][0] + 2 * f.size[k][1]);
    }
    assert_true(pith_onnx_fit(&f, &e));
    pith_size_print(&e, &names, text, sizeof text);
    assert_string_equal(text, "3*A");
    for (uint32_t k = 0; k < f.n_passes; k++)
        f.number[k] = (int32_t)(f.size[k][0] * f.size[k][1] / 7);
    assert_false(pith_onnx_fit(&f, &e));
}

RUN_TESTS
