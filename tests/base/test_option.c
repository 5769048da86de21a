/* SPDX-License-Identifier: MIT */
/* Options by their rows: defaults, from text, to text. */
#include "pith_option.h"

#include <stdio.h>
#include <string.h>

#include "test_run.h"

enum mood { GLAD = 3, SAD = 5 };

struct opts {
    bool flag, choice;
    uint32_t count;
    uint64_t seed;
    float real;
    double number, share, percent;
    double size, time;
    enum mood mood;
    const char *text;
};

static const struct pith_word moods[] = {{"glad", GLAD}, {"sad", SAD}, {NULL, 0}},
                              ends[] = {{"best", 1}, {"last", 0}, {NULL, 0}};

#define ROW(name, KIND) .key = #name, .kind = PITH_OPTION_##KIND, .at = offsetof(struct opts, name)
static const struct pith_option rows[] = {
    {ROW(flag, FLAG)},
    {ROW(choice, CHOICE), .words = ends, .normal = 1},
    {ROW(count, UINT), .min = 2, .max = 9},
    {ROW(seed, SEED), .min = 1, .max = 9e18},
    {ROW(real, FLOAT), .min = 0.5, .max = 2, .normal = 0.1},
    {ROW(number, NUMBER), .min = -4, .max = 4, .normal = 0.5},
    {ROW(share, SHARE), .max = 0.9},
    {ROW(percent, PERCENT), .max = 1, .normal = -1},
    {ROW(size, BYTES), .max = 1e9},
    {ROW(time, TIME), .max = 1e6},
    {ROW(mood, WORD), .words = moods, .normal = SAD},
    {ROW(text, TEXT)},
};
static const struct pith_option_set set = {rows, sizeof rows / sizeof *rows};

/* Of another struct, in a table of two. */
static const struct pith_option turns[] = {
    {.key = "turn", .kind = PITH_OPTION_SWITCH, .words = moods, .normal = SAD},
    {.key = "count", .kind = PITH_OPTION_UINT, .max = 1}};
static const struct pith_option_set more = {turns, 2};

/* The options lie behind something else, as in a stage. */
struct stage {
    int before;
    struct opts opts;
};
static const struct pith_option_table table = {"test",
                                               {{&set, offsetof(struct stage, opts)}, {NULL, 0}}},
                                      both = {"both", {{&set, 8}, {&more, 1000}}};

static enum pith_status read(struct stage *s, const char *key, const char *text,
                             struct pith_error *err)
{
    size_t at = 0;
    const struct pith_option *o = pith_option_find(&table, key, strlen(key), &at);
    assert_non_null(o);
    return pith_option_read(o, text, (char *)s + at, err);
}

TEST(test_defaults)
{
    struct opts o;
    memset(&o, 0xff, sizeof o);
    pith_option_defaults(&set, &o);
    assert_true(!o.flag && o.choice && !o.count && !o.seed && o.real == 0.1f);
    assert_true(o.number == 0.5 && o.share == 0 && o.percent == -1 && o.mood == SAD && !o.text);
    for (uint32_t i = 0; i < set.n; i++)
        assert_false(pith_option_given(&rows[i], (char *)&o + rows[i].at));
}

#define SIXTY "000000000000000000000000000000000000000000000000000000000000"
#define FORTY "0000000000000000000000000000000000000000"

TEST(test_values)
{
    static const struct {
        const char *key, *text, *line; /* of the value that is read; NULL: refused */
        const char *says;
    } cases[] = {
        {"flag", "", "flag yes", NULL},
        {"flag", "false", "flag no", NULL},
        {"flag", "maybe", NULL, "'maybe': give true or false"},
        {"choice", "last", "choice no", NULL},
        {"choice", "first", NULL, "'first': give best or last"},
        {"count", "9", "count 9", NULL},
        {"count", "0", "count 0", NULL}, /* the default is outside of the range */
        {"count", "1", NULL, "1: out of range 2..9"},
        {"count", "2", "count 2", NULL},
        {"count", "10", NULL, "10: out of range 2..9"},
        {"count", SIXTY SIXTY "x", NULL, "'" SIXTY FORTY "': not a whole number"},
        {"count", SIXTY SIXTY "1", NULL, SIXTY FORTY ": out of range 2..9"},
        {"count", "3.5", NULL, "'3.5': not a whole number"},
        {"seed", "18446744073709551616", NULL, "'18446744073709551616': not a whole number"},
        {"seed", "77", "seed 77", NULL},
        {"seed", "9000000000000000000", "seed 9000000000000000000", NULL},
        {"flag", "true", "flag yes", NULL},
        {"choice", "best", "choice yes", NULL},
        {"real", "0.5", "real 0.5", NULL},
        {"real", "0.1", "real 0.100000001", NULL}, /* the default */
        {"real", "0.4", NULL, "0.4: out of range 0.5..2"},
        {"real", "2", "real 2", NULL},
        {"real", "2.01", NULL, "2.01: out of range 0.5..2"},
        {"real", "x", NULL, "'x': not a number"},
        {"number", "-.25e1", "number -2.5", NULL},
        {"share", "90%", "share 0.90000000000000002", NULL},
        {"share", ".5", "share 0.5", NULL},
        {"share", "91%", NULL, "91%: out of range 0..0.9"},
        {"percent", "50%", "percent 0.5", NULL},
        {"percent", "0.5", NULL, "0.5 is ambiguous: write 0.5% or 50%"},
        {"percent", "%", NULL, "'%': not a percentage such as 0.5%"},
        {"percent", "100%", "percent 1", NULL},
        {"percent", "101%", NULL, "101%: out of range 0..1"},
        {"percent", "-1%", NULL, "'-1%': not a percentage such as 0.5%"},
        {"share", "x", NULL, "'x': not a share such as 0.9 or 90%"},
        {"share", "0", "share 0", NULL},
        {"share", SIXTY "90%", "share 0.90000000000000002", NULL},
        {"share", SIXTY "0090%", "share 0.90000000000000002", NULL},
        {"share", SIXTY "000.5x", NULL, "'" SIXTY "000.5x': not a share such as 0.9 or 90%"},
        {"size", "1.5K", "size 1500", NULL},
        {"size", "64KiB", "size 65536", NULL},
        {"size", "2M", "size 2000000", NULL},
        {"size", "2T", NULL, "'2T': not a number of bytes such as 500K or 64KiB"},
        {"size", "2G", NULL, "2G: out of range 0..1e+09"},
        {"size", "-1", NULL, "'-1': not a number of bytes such as 500K or 64KiB"},
        {"time", "1.5h", "time 5400", NULL},
        {"time", "30m", "time 1800", NULL},
        {"time", "9s", "time 9", NULL},
        {"time", "9", "time 9", NULL},
        {"time", "K", NULL, "'K': not a time such as 2ms, 90s, 30m or 1.5h"},
        {"mood", "glad", "mood glad", NULL},
        {"mood", "so", NULL, "'so': give glad or sad"},
        {"mood", SIXTY SIXTY, NULL, "'" SIXTY "': give glad or sad"},
        {"mood", "sad", "mood sad", NULL},
        {"text", "a=b", "text a=b", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s = {0}, before;
        struct pith_error err = {0};
        char line[PITH_OPTION_LINE_BYTES] = "";
        size_t at = 0;
        pith_option_defaults(&set, &s.opts);
        before = s;
        enum pith_status st = read(&s, cases[i].key, cases[i].text, &err);
        const struct pith_option *o =
            pith_option_find(&table, cases[i].key, strlen(cases[i].key), &at);
        if (!st)
            pith_option_line(o, (char *)&s + at, line);
        if (cases[i].line)
            assert_string_equal(line, cases[i].line);
        else
            assert_int_equal(st, PITH_ERR_ARGUMENT);
        if (strcmp(err.text, cases[i].says ? cases[i].says : "") != 0)
            fail_msg("%s=%s: '%s'", cases[i].key, cases[i].text, err.text);
        if (st)
            assert_memory_equal(&s, &before, sizeof s);
        /* another value than the default is given, and a copy of it is the same */
        if (pith_option_given(o, (char *)&s + at) != (memcmp(&s, &before, sizeof s) != 0))
            fail_msg("%s=%s: given", cases[i].key, cases[i].text);
        pith_option_copy(o, (char *)&s + at, (char *)&before + at);
        assert_memory_equal(&s, &before, sizeof s);
    }
}

/* More words than a message holds: it is cut. */
TEST(test_many_words)
{
    static const struct pith_word words[] = {{"twenty characters 01", 1},
                                             {"twenty characters 02", 2},
                                             {"twenty characters 03", 3},
                                             {"twenty characters 04", 4},
                                             {"twenty characters 05", 5},
                                             {"twenty characters 06", 6},
                                             {"twenty characters 07", 7},
                                             {"twenty characters 08", 8},
                                             {"twenty characters 09", 9},
                                             {"twenty characters 10", 10},
                                             {NULL, 0}};
    for (size_t first = 0; first < 10; first++) {
        const struct pith_option o = {.key = "w", .kind = PITH_OPTION_WORD, .words = words + first};
        struct pith_error err = {0};
        int value = 77;
        assert_int_equal(pith_option_read(&o, "none", &value, &err), PITH_ERR_ARGUMENT);
        assert_int_equal(value, 77);
        assert_non_null(strstr(err.text, "'none': give twenty characters"));
        assert_int_equal(strstr(err.text, " or twenty characters 10") != NULL,
                         first >= 3 && first < 9);
    }
}

TEST(test_rows)
{
    size_t at = 0;
    assert_ptr_equal(pith_option_row(&table, 2, &at), &rows[2]);
    assert_int_equal(at, offsetof(struct stage, opts.count));
    assert_null(pith_option_row(&table, set.n, &at));
    assert_null(pith_option_find(&table, "coun", 4, NULL));
    assert_null(pith_option_find(&table, "counts", 6, NULL));
    assert_ptr_equal(pith_option_find(&table, "counts", 5, NULL), &rows[2]);
    /* behind the rows of one struct those of the next */
    assert_ptr_equal(pith_option_row(&both, set.n - 1, &at), &rows[set.n - 1]);
    assert_ptr_equal(pith_option_row(&both, set.n, &at), &turns[0]);
    assert_int_equal(at, 1000);
    assert_ptr_equal(pith_option_row(&both, set.n + 1, NULL), &turns[1]);
    assert_null(pith_option_row(&both, set.n + 2, &at));
    assert_ptr_equal(pith_option_find(&both, "turn", 4, &at), &turns[0]);
    assert_ptr_equal(pith_option_find(&both, "count", 5, &at), &rows[2]); /* the first of a key */
    assert_int_equal(at, 8 + offsetof(struct opts, count));
}

TEST(test_words)
{
    const bool yes = true, no = false;
    const int glad = GLAD, neither = 4;
    char line[PITH_OPTION_LINE_BYTES];
    assert_string_equal(pith_option_word(&rows[1], &yes), "best");
    assert_string_equal(pith_option_word(&rows[1], &no), "last");
    assert_string_equal(pith_option_word(&turns[0], &glad), "glad");
    assert_null(pith_option_word(&turns[0], &neither));
    assert_null(pith_option_word(&rows[2], &neither)); /* of numbers: none */
    pith_option_line(&turns[0], &glad, line);
    assert_string_equal(line, "turn glad");
    const char *const none = NULL;
    pith_option_line(&rows[set.n - 1], &none, line);
    assert_string_equal(line, "text none");
}

RUN_TESTS
