/* SPDX-License-Identifier: MIT */
/* Open sizes: formulas, values from shapes, changes of a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "host/size_expression.h"
#include "host/sizes.h"

static const struct {
    const char *text, *printed; /* NULL: refused */
    int32_t value;              /* with P = 5, S = 7 */
} formulas[] = {
    {"S", "S", 7},
    {" P + S ", "P + S", 12},
    {"4*S", "4*S", 28},
    {"2*3*S*P - 10", "6*S*P - 10", 200},
    {"-S + 3", "-S + 3", -4},
    {"(S + 1)/2", "(S + 1)/2", 4},
    {"(P - S)/4", "(P - S)/4", -1}, /* rounded down */
    {"S/2", "S/2", 3},
    {"12", "12", 12},
    {"S + 1/2", NULL, 0},
    {"S/0", NULL, 0},
    {"(S", NULL, 0},
    {"S)", NULL, 0},
    {"S S", NULL, 0},
    {"", NULL, 0},
    {"Q", NULL, 0},
    {"S*S*S*S", NULL, 0},
    {"99999999999*S", NULL, 0},
    {"70000*70000", NULL, 0},
};

static void test_formulas(void **state)
{
    (void)state;
    struct size_names names = {0};
    const uint32_t value[] = {5, 7};
    assert_int_equal(pith_size_add_name(&names, "P", 1), 0);
    assert_int_equal(pith_size_add_name(&names, "S", 1), 1);
    assert_int_equal(pith_size_add_name(&names, "P", 1), 0);
    assert_int_equal(pith_size_add_name(&names, "7up", 3), UINT32_MAX);
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        struct size_expression e;
        char text[64];
        int32_t v;
        bool taken = pith_size_parse(formulas[i].text, strlen(formulas[i].text), &names, false, &e);
        if (taken != (formulas[i].printed != NULL))
            fail_msg("'%s' is %s", formulas[i].text, taken ? "taken" : "refused");
        if (!taken)
            continue;
        pith_size_print(&e, &names, text, sizeof text);
        assert_string_equal(text, formulas[i].printed);
        assert_true(pith_size_value(&e, value, &v));
        assert_int_equal(v, formulas[i].value);
        pith_size_print(&e, &names, text, 3); /* cut, and ended */
        assert_true(strlen(text) <= 2);
    }
}

static void test_overflow(void **state)
{
    (void)state;
    struct size_names names = {0};
    struct size_expression e;
    const uint32_t value[] = {INT32_MAX};
    int32_t v;
    assert_true(pith_size_parse("S", 1, &names, true, &e));
    assert_true(pith_size_value(&e, value, &v) && v == INT32_MAX);
    assert_true(pith_size_parse("2*S", 3, &names, false, &e));
    assert_false(pith_size_value(&e, value, &v));
    assert_true(pith_size_parse("2000000000*S*S", 14, &names, false, &e));
    assert_false(pith_size_value(&e, value, &v));
}

static const char text[] = "size P 4 100\nsize S 7 50\ndim 0 1 S\ndim 1 1 P + S\ndim 2 2 P\n"
                           "most 120 P + S\nattr 3 2 8*S\nattr 5 0 (P + S)/2";

static struct pith_sizes *read_sizes(const char *from)
{
    struct pith_sizes *s = NULL;
    assert_int_equal(pith_sizes_read(from, strlen(from), &s, NULL), PITH_OK);
    return s;
}

static uint32_t value_of(const struct pith_sizes *s, uint32_t i)
{
    const char *name;
    uint32_t value, max;
    assert_int_equal(pith_sizes_get(s, i, &name, &value, &max), PITH_OK);
    return value;
}

static void test_fit(void **state)
{
    (void)state;
    struct pith_sizes *s = read_sizes(text);
    struct pith_error err;
    const char *formula;
    struct pith_tensor t[3] = {{.name = "ids", .name_bytes = 3, .rank = 2, .dim = {1, 9}},
                               {.name = "mask", .name_bytes = 4, .rank = 2, .dim = {1, 30}},
                               {.name = "past", .name_bytes = 4, .rank = UINT32_MAX}};
    assert_int_equal(pith_sizes_count(s), 2);
    assert_int_equal(pith_sizes_fit(s, t, 3, &err), PITH_OK); /* P from P + S */
    assert_int_equal(value_of(s, 0), 21);
    assert_int_equal(value_of(s, 1), 9);
    t[2] = (struct pith_tensor){.name = "past", .name_bytes = 4, .rank = 3, .dim = {1, 2, 20}};
    assert_int_equal(pith_sizes_fit(s, t, 3, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "has to be P"));
    assert_int_equal(value_of(s, 0), 21);
    t[0].dim[1] = 51;
    assert_int_equal(pith_sizes_fit(s, t, 1, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "size S is 51, 0 to 50 are possible");
    assert_int_equal(value_of(s, 1), 9);
    assert_int_equal(pith_sizes_formula(s, 1, 1, &formula), PITH_OK);
    assert_string_equal(formula, "P + S");
    assert_int_equal(pith_sizes_formula(s, 1, 0, &formula), PITH_ERR_ARGUMENT);
    t[2].dim[2] = 90;
    t[1].dim[1] = 90 + 31;
    t[0].dim[1] = 31;
    assert_int_equal(pith_sizes_fit(s, t, 3, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "P + S would be more than 120, which is all that a table has");
    t[1].dim[1] = 90 + (t[0].dim[1] = 30);
    assert_int_equal(pith_sizes_fit(s, t, 3, &err), PITH_OK);
    pith_sizes_free(s);
    s = read_sizes("size S 9 50\nmost 0 4 - S\ndim 0 1 S\n");
    t[0].dim[1] = 3;
    assert_int_equal(pith_sizes_fit(s, t, 1, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "4 - S would be more than 0: a size is too small");
    t[0].dim[1] = 4;
    assert_int_equal(pith_sizes_fit(s, t, 1, &err), PITH_OK);
    pith_sizes_free(s);
}

static void test_apply(void **state)
{
    (void)state;
    struct pith_sizes *s = read_sizes(text);
    struct pith_error err;
    struct pith_opts o;
    pith_opts_init(&o, sizeof o);
    assert_int_equal(pith_sizes_set(s, "S", 11, &err), PITH_OK);
    assert_int_equal(pith_sizes_set(s, "S", 51, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_sizes_set(s, "T", 1, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "no open size is called 'T'");
    assert_int_equal(pith_sizes_set_max(s, "S", 60, &err), PITH_OK);
    assert_int_equal(pith_sizes_set_max(s, "S", 10, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_sizes_apply(s, &o, &err), PITH_OK);
    assert_int_equal(o.n_changes, 5);
    assert_int_equal(o.changes[1].node, PITH_CHANGE_INPUT);
    assert_int_equal(o.changes[1].slot, 1 * PITH_MAX_RANK + 1);
    assert_int_equal(o.changes[1].value, 15);
    assert_int_equal(o.changes[3].node, 3);
    assert_int_equal(o.changes[3].slot, 2);
    assert_int_equal(o.changes[3].value, 88);
    assert_int_equal(o.changes[4].value, 7);
    assert_int_equal(pith_sizes_apply(NULL, &o, &err), PITH_OK);
    assert_int_equal(o.n_changes, 0);
    assert_null(o.changes);
    pith_sizes_free(s);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "size S 1",
        "size S 6 5",
        "size S 1 5 ",
        "size 5 1 5",
        "size S 1 5\nsize S 1 5",
        "dim 0 1 S",
        "size S 1 5\ndim 0 8 S",
        "size S 1 5\ndim 0 1",
        "size S 1 5\nattr 1 1 T",
        "size S 1 5\nmost 3",
        "size S 1 5\nmost 3 T",
        "something",
        "size S 1 5\n\nattr 0 0 S",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct pith_sizes *s = NULL;
        struct pith_error err;
        if (pith_sizes_read(broken[i], strlen(broken[i]), &s, &err) != PITH_ERR_CORRUPT)
            fail_msg("'%s' is taken", broken[i]);
        assert_null(s);
        assert_non_null(strstr(err.text, "open sizes are broken"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas), cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_fit),      cmocka_unit_test(test_apply),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
