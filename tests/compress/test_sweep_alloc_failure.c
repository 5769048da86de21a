/* SPDX-License-Identifier: MIT */
/* test_sweep_alloc_failure.c - as test_alloc_failure.c, for what begins and what repeats: fresh
 * networks, recipes that train, sweeps. */
#include <stdint.h>
#include <string.h>
#include <jansson.h>
#include "compress/failing_heap.h"
#include "sample_models.h"
#include "pith_init.h"
#include "pith_sweep.h"

static struct pith_model *plain; /* never changed by the scenes */

static struct pith_model *copy_of_plain(void)
{
    struct pith_model *m = NULL;
    assert_int_equal(pith_architecture_new("digits", NULL, &m, NULL), PITH_OK);
    assert_int_equal(pith_model_draw_weights(m, 1, NULL), PITH_OK);
    return m;
}

static const char training_text[] =
    "{\"pith\": 1, \"stages\": [{\"do\": \"train\", \"until_drop\": \"0.5%\", \"teacher\": "
    "\"start\"},"
    "{\"do\": \"prune\", \"sparsity\": 0.5, \"steps\": 2, \"train\": {\"augment\": \"flip\"}}]}";

static enum pith_status training_parse(struct pith_error *err)
{
    enum pith_status st;
    struct pith_recipe *r = NULL;
    FAILING(pith_recipe_parse(training_text, sizeof training_text - 1, "text", &r, err));
    assert_int_equal(r == NULL, st != PITH_OK);
    pith_recipe_free(r);
    return st;
}

static enum pith_status training_print(struct pith_error *err)
{
    enum pith_status st;
    struct pith_recipe *r = NULL;
    char *text = NULL;
    assert_int_equal(pith_recipe_parse(training_text, sizeof training_text - 1, "text", &r, NULL),
                     0);
    FAILING(pith_recipe_print(r, &text, err));
    assert_int_equal(text == NULL, st != PITH_OK);
    if (text)
        assert_non_null(strstr(text, "\"until_drop\": \"0.5%\""));
    free(text);
    pith_recipe_free(r);
    return st;
}

static const char sweep_text[] =
    "{\"pith\": 1, \"sweep\": {\"stages.0.sparsity\": [0.25, 0.5], \"stages.1.bits\": [2]},"
    "\"stages\": [{\"do\": \"prune\"}, {\"do\": \"cluster\"}, {\"do\": \"encode\"}]}";

static enum pith_status sweep_parse(struct pith_error *err)
{
    enum pith_status st;
    struct pith_sweep *s = NULL;
    FAILING(pith_sweep_parse(sweep_text, sizeof sweep_text - 1, "text", &s, err));
    assert_int_equal(s == NULL, st != PITH_OK);
    pith_sweep_free(s);
    return st;
}

static enum pith_status sweep_run(struct pith_error *err)
{
    enum pith_status st;
    struct pith_sweep *s = NULL;
    const struct pith_compress_opts opts = {.size_bytes = sizeof opts, .max_drop = -1};
    struct pith_sweep_output output = {0};
    assert_int_equal(pith_sweep_parse(sweep_text, sizeof sweep_text - 1, "text", &s, NULL),
                     PITH_OK);
    FAILING(pith_sweep_run(s, 1, plain, &opts, &output, err));
    assert_int_equal(output.line == NULL, st != PITH_OK);
    if (output.line)
        assert_non_null(
            strstr(output.line, "\"params\":{\"stages.0.sparsity\":0.5,\"stages.1.bits\":2}"));
    pith_sweep_output_free(&output);
    pith_sweep_free(s);
    return st;
}

static enum pith_status sweep_bind(struct pith_error *err)
{
    enum pith_status st;
    struct pith_sweep *s = NULL;
    const uint32_t dim[] = {1, 2};
    struct pith_data *data = NULL;
    assert_int_equal(
        pith_data_of_numbers(
            &(struct pith_numbers){.rank = 2, .dim = dim, .n = 2, .x = calloc(4, sizeof(float))},
            &data, NULL),
        PITH_OK);
    const struct pith_sweep_inputs on = {.size_bytes = sizeof on, .model = plain, .data = data};
    assert_int_equal(pith_sweep_parse(sweep_text, sizeof sweep_text - 1, "text", &s, NULL),
                     PITH_OK);
    FAILING(pith_sweep_bind(s, &on, err));
    pith_sweep_free(s);
    pith_data_free(data);
    return st;
}

static enum pith_status sweep_results(struct pith_error *err)
{
    static const char lines[] =
        "{\"spec\":\"a\",\"combination\":0,\"params\":{\"x\":0.5},\"bytes\":3,\"top1\":0.5}\n"
        "{\"spec\":\"a\",\"combination\":1,\"params\":{},\"error\":\"no\"}\n";
    enum pith_status st;
    struct pith_sweep_results r = {0};
    FAILING(pith_sweep_results_add(&r, lines, sizeof lines - 1, err));
    if (!st)
        assert_int_equal(pith_sweep_front(&r), 1);
    pith_sweep_results_free(&r);
    return st;
}

static enum pith_status architecture(struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = NULL;
    FAILING(pith_architecture_new("digits", NULL, &m, err));
    assert_int_equal(m == NULL, st != PITH_OK);
    pith_model_free(m);
    return st;
}

static enum pith_status draw_weights(struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *m = copy_of_plain(), *before = copy_of_plain();
    FAILING(pith_model_draw_weights(m, 2, err));
    const char *what = st ? sample_difference(m, before) : NULL;
    if (what)
        fail_msg("the model changed although the call failed: %s", what);
    pith_model_free(m);
    pith_model_free(before);
    return st;
}

FIXTURE(set_up)
{
    json_set_alloc_funcs(malloc, free);
    plain = copy_of_plain();
    return 0;
}

FIXTURE(tear_down)
{
    pith_model_free(plain);
    return 0;
}

SCENE(training_parse, true, 1)
SCENE(training_print, true, 1)
SCENE(sweep_parse, true, 1)
SCENE(sweep_run, true, 1)
SCENE(sweep_bind, true, 1)
SCENE(sweep_results, true, 1)
SCENE(architecture, false, 1)
SCENE(draw_weights, true, 1)

RUN_TESTS_WITH(set_up, tear_down)
