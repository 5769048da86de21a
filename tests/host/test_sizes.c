/* SPDX-License-Identifier: MIT */
/* Open sizes: formulas, values from shapes, changes of a plan. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
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
    /* quotients among factors */
    {"(S/2)*P", "(S/2)*P", 15},
    {"8*((S + 7)/8) - S", "8*((S + 7)/8) - S", 1},
    {"((3*S - 1)/4)*((P + 1)/2)", "((3*S - 1)/4)*((P + 1)/2)", 15},
    {"(2*((S + 4)/4) - (S/2) + 1)/2", "(2*((S + 4)/4) - (S/2) + 1)/2", 1},
    {"((-S + 3)/2)", "((-1*S + 3)/2)", -2},
    {"(S/4)*(S/4)", "(S/4)*(S/4)", 1},
    {"(S + P/2)*2", NULL, 0},
    {"((S + P)/2)*2", NULL, 0},
    {"((S/2)/2)*2", NULL, 0},
    {"(S/0)*2", NULL, 0},
    {"(S/2*2", NULL, 0},
    {"(3/2)*S", NULL, 0},
    {"(S/2)*(S/3)*(S/4)*(S/5)", NULL, 0},
    {"(S/2) + (S/3) + (S/4) + (S/5) + (S/6)", NULL, 0},
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

TEST(test_formulas)
{
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

TEST(test_overflow)
{
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

/* A copy behind whose n bytes nothing may be read. */
static bool parse_alone(const char *from, struct size_names *names, bool adds,
                        struct size_expression *e)
{
    const size_t n = strlen(from);
    char *alone = malloc(n + (n == 0));
    memcpy(alone, from, n);
    const bool taken = pith_size_parse(alone, n, names, adds, e);
    free(alone);
    return taken;
}

TEST(test_names)
{
    static const char *const none[] = {"",   "9",  ".a", "@a", "[a", "`a",
                                       "{a", "a-", "a ", "a@", "a/"},
                             *const good[] = {"_", "a", "z", "A", "Z", "a.9", "A_z0"};
    struct size_names names = {0};
    char text[SIZE_NAME_BYTES + 1];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(pith_size_add_name(&names, none[i], strlen(none[i])), UINT32_MAX);
    for (uint32_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(pith_size_add_name(&names, good[i], strlen(good[i])), i);
    memset(text, 'x', sizeof text);
    assert_int_equal(pith_size_add_name(&names, text, SIZE_NAME_BYTES), UINT32_MAX);
    assert_int_equal(pith_size_add_name(&names, text, SIZE_NAME_BYTES - 1),
                     sizeof good / sizeof *good);
    assert_int_equal(strlen(names.name[names.n - 1]), SIZE_NAME_BYTES - 1);
    while (names.n < SIZE_NAMES) {
        text[0] = (char)('A' + names.n);
        const uint32_t next = names.n;
        assert_int_equal(pith_size_add_name(&names, text, 9), next);
    }
    assert_int_equal(pith_size_add_name(&names, "more", 4), UINT32_MAX);
    assert_int_equal(pith_size_name(&names, "more", 4), UINT32_MAX);
    assert_int_equal(pith_size_add_name(&names, "z", 1), 2); /* is there */
    assert_int_equal(pith_size_name(&names, "a.", 2), UINT32_MAX);
}

TEST(test_ends_of_formulas)
{
    static const struct {
        const char *text;
        uint32_t s;
        bool parses, has_value;
        int32_t value;
    } cases[] = {
        {"2147483647", 0, true, true, INT32_MAX},
        {"2147483648", 0, false, false, 0},
        {"-2147483647", 0, true, true, -INT32_MAX},
        {"46340*46341", 0, true, true, 2147441940},
        {"46341*46341", 0, false, false, 0},
        {"-46341*46341", 0, false, false, 0},
        {"S", INT32_MAX, true, true, INT32_MAX},
        {"S + 1", INT32_MAX, true, false, 0},
        {"-S", INT32_MAX, true, true, -INT32_MAX},
        {"-S - 1", INT32_MAX, true, false, 0},
        {"(S + 1)/2", INT32_MAX, true, true, 1 << 30},
        {"S/2147483647", INT32_MAX, true, true, 1},
        {"-S/2", 3, true, true, -2}, /* rounded down */
        {"-S/2", 4, true, true, -2},
        {"S*S + S*S", 3000000000u, true, false, 0},
        {"S*S - S*S", 3000000000u, true, true, 0},
        {"S*S*S", 3000000000u, true, false, 0},
        {"S*S*S*2", 2, true, true, 16},
        {"S+S+S+S+S+S+S+S", 2, true, true, 16},
        {"S+S+S+S+S+S+S+S+S", 2, false, false, 0},
        {"S+", 0, false, false, 0},
        {"S*", 0, false, false, 0},
        {"S/", 0, false, false, 0},
        {"(S)", 5, true, true, 5},
        {"(S)/2 ", 5, true, true, 2},
        {"(S)/2/2", 5, false, false, 0},
        {"(S/2)", 5, true, true, 2},
        {"/2", 5, false, false, 0},
    };
    struct size_names names = {0};
    assert_int_equal(pith_size_add_name(&names, "S", 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct size_expression e;
        char printed[64], cut[64];
        int32_t v = 77;
        const char *text = cases[i].text;
        const bool parses = parse_alone(text, &names, false, &e);
        if (parses != cases[i].parses)
            fail_msg("'%s' is %s", text, parses ? "taken" : "refused");
        if (!parses)
            continue;
        if (pith_size_value(&e, &cases[i].s, &v) != cases[i].has_value ||
            (cases[i].has_value && v != cases[i].value))
            fail_msg("'%s' is %d", text, (int)v);
        pith_size_print(&e, &names, printed, sizeof printed);
        struct size_expression again;
        assert_true(parse_alone(printed, &names, false, &again));
        assert_true(again.n_terms == e.n_terms && again.divisor == e.divisor);
        for (size_t n = 1; n <= strlen(printed) + 1; n++) { /* cut to any length, and ended */
            memset(cut, '#', sizeof cut);
            pith_size_print(&e, &names, cut, n);
            assert_int_equal(strlen(cut), n - 1);
            assert_int_equal(strncmp(cut, printed, n - 1), 0);
            assert_int_equal(cut[n], '#');
        }
    }
    struct size_expression e;
    assert_false(parse_alone("T", &names, false, &e));
    assert_true(parse_alone("T", &names, true, &e));
    assert_true(names.n == 2 && e.term[0].factor[0] == 1);
}

TEST(test_solving)
{
    static const struct {
        const char *text;
        uint32_t wanted, name, value; /* name UINT32_MAX: no value does */
    } cases[] = {{"P", 5, 0, 5},
                 {"S", 0, 1, 0},
                 {"2*S + 3", 9, 1, 3},
                 {"2*S + 3", 8, UINT32_MAX, 0},
                 {"2*S + 3", 2, UINT32_MAX, 0},
                 {"2*S + 3", 3, 1, 0},
                 {"2*S - 3", 1, 1, 2},
                 {"P + P", 6, 0, 3},
                 {"P - P", 0, UINT32_MAX, 0},
                 {"3 - P", 1, UINT32_MAX, 0},
                 {"P*S", 6, UINT32_MAX, 0},
                 {"P + S", 6, UINT32_MAX, 0},
                 {"P/2", 3, UINT32_MAX, 0},
                 {"7", 7, UINT32_MAX, 0}};
    struct size_names names = {2, {"P", "S"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct size_expression e;
        uint32_t value = 0;
        assert_true(parse_alone(cases[i].text, &names, false, &e));
        if (pith_size_solve(&e, cases[i].wanted, &value) != cases[i].name ||
            value != cases[i].value)
            fail_msg("'%s' is %u where its name is %u", cases[i].text, cases[i].wanted, value);
    }
}

TEST(test_lines)
{
    static const struct {
        const char *text;
        enum size_line_kind kind;
        uint32_t a, b;
        const char *formula; /* NULL: there is none */
    } good[] = {{"size S 1 2147483647", SIZE_LINE_SIZE, 1, INT32_MAX, NULL},
                {"size S 5 5", SIZE_LINE_SIZE, 5, 5, NULL},
                {"most 2147483647 P", SIZE_LINE_MOST, INT32_MAX, 0, "P"},
                {"dim 268435455 7 P + 1", SIZE_LINE_DIM, 268435455, 7, "P + 1"},
                {"attr 268435455 2147483647 2*P", SIZE_LINE_ATTR, 268435455, INT32_MAX, "2*P"}};
    static const char *const bad[] = {"size S 1 2147483648",
                                      "size S 6 5",
                                      "size P 1 5",
                                      "size S 1",
                                      "most 2147483648 P",
                                      "most 1 ",
                                      "dim 268435456 7 P",
                                      "dim 0 8 P",
                                      "attr 268435456 0 P",
                                      "attr 0 2147483648 P",
                                      "dim 1 P",
                                      "attr 1 1 S",
                                      ""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct size_names names = {1, {"P"}};
        struct size_line l;
        const size_t n = strlen(good[i].text);
        char *alone = malloc(n);
        memcpy(alone, good[i].text, n);
        if (!pith_size_line(alone, n, &names, &l) || l.kind != good[i].kind || l.a != good[i].a ||
            l.b != good[i].b)
            fail_msg("'%s' is not read", good[i].text);
        if (good[i].formula)
            assert_true(l.formula + strlen(good[i].formula) == alone + n &&
                        memcmp(l.formula, good[i].formula, strlen(good[i].formula)) == 0);
        else
            assert_true(l.name == 1 && names.n == 2);
        free(alone);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct size_names names = {1, {"P"}};
        struct size_line l;
        if (pith_size_line(bad[i], strlen(bad[i]), &names, &l))
            fail_msg("'%s' is taken", bad[i]);
    }
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
    uint32_t value, max, n = pith_sizes_count(s);
    assert_int_equal(pith_sizes_get(s, n, &name, &value, &max), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_sizes_get(s, i, &name, &value, &max), PITH_OK);
    return value;
}

TEST(test_fit)
{
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

TEST(test_apply)
{
    struct pith_sizes *s = read_sizes(text);
    struct pith_error err;
    struct pith_opts o = {.size_bytes = sizeof o};
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

TEST(test_broken)
{
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

RUN_TESTS
