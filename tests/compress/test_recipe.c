/* SPDX-License-Identifier: MIT */
/* test_recipe.c - recipes: what is read, what is refused and why, and that printing loses nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "test_seed.h"
#include "pith_compress.h"
#include "compress/recipe/preset.h"
#include "pith_stage_options.h"
#include "measure/small_net.h"

static struct pith_recipe *parse(const char *text)
{
    struct pith_recipe *r = NULL;
    struct pith_error err = {0};
    if (pith_recipe_parse(text, strlen(text), "r.json", &r, &err))
        print_error("%s\n%s\n", text, err.text);
    assert_non_null(r);
    return r;
}

static char *print(const struct pith_recipe *r)
{
    char *text = NULL;
    struct pith_error err = {0};
    assert_int_equal(pith_recipe_print(r, &text, &err), PITH_OK);
    return text;
}

TEST(every_key_is_read)
{
    struct pith_recipe *r = parse(
        "{\"pith\":1,\"goal\":{\"max_drop\":\"0.5%\",\"min_agreement\":0.9,\"min_snr\":20,"
        "\"max_size\":\"500K\",\"max_ram\":65536,\"max_latency\":\"2ms\",\"time\":\"30m\",\"run\":"
        "\"int8\"},\"stages\":["
        "{\"do\":\"prune\",\"sparsity\":0.9,\"pattern\":\"2:4\",\"scope\":\"global\",\"layers\":{"
        "\"fc*\":0.95}},"
        "{\"do\":\"prune\",\"sigma\":1.5},{\"do\":\"prune\",\"zeros\":true},"
        "{\"do\":\"cluster\",\"bits\":5,\"per\":\"group:64\",\"values\":\"f16\","
        "\"layers\":{\"conv?\":8,\"last\":0}},"
        "{\"do\":\"cluster\",\"bits\":3,\"per\":\"channel\"},"
        "{\"do\":\"encode\",\"coder\":\"none\",\"for\":\"size\",\"keep_history\":true}]}");
    assert_true(r->goal.max_drop == 0.005 && r->goal.min_agreement == 0.9 && r->goal.min_snr == 20);
    assert_true(r->goal.max_size == 500000 && r->goal.max_ram == 65536 && r->goal.time == 1800);
    assert_true(r->goal.max_latency == 2e-3);
    assert_int_equal(r->goal.run, PITH_GOAL_RUN_INT8);
    assert_int_equal(r->n_stages, 6);
    const struct pith_stage *s = r->stages;
    assert_true(s[0].kind == PITH_STAGE_PRUNE && s[0].prune.sparsity == 0.9);
    assert_true(s[0].prune.by == PITH_PRUNE_BY_SPARSITY && s[0].prune.scope == PITH_PRUNE_GLOBAL);
    assert_true(s[0].prune.pattern.kind == PITH_PATTERN_N_OF_M);
    assert_int_equal(s[0].prune.n_layers, 1);
    assert_string_equal(s[0].prune.layers[0].pattern, "fc*");
    assert_true(s[0].prune.layers[0].value == 0.95);
    assert_true(s[1].prune.by == PITH_PRUNE_BY_SIGMA && s[1].prune.sigma == 1.5);
    assert_true(s[2].prune.by == PITH_PRUNE_BY_ZERO);
    assert_true(s[3].kind == PITH_STAGE_CLUSTER && s[3].cluster.n_centroids == 32);
    assert_true(s[3].cluster.values == PITH_CLUSTER_F16);
    assert_true(s[3].cluster.per == PITH_CLUSTER_PER_GROUP && s[3].cluster.group_elems == 64);
    assert_int_equal(s[3].cluster.n_layers, 2);
    assert_int_equal(s[3].cluster.layers[0].n_centroids, 256);
    assert_int_equal(s[3].cluster.layers[1].n_centroids, 0);
    assert_true(s[4].cluster.n_centroids == 8 && s[4].cluster.per == PITH_CLUSTER_PER_CHANNEL);
    assert_true(s[5].encode.plain && s[5].encode.goal == PITH_FOR_SIZE && s[5].encode.keep_history);
    pith_recipe_free(r);
}

/* And said again as it was; requested on the command line, it wins over the recipe's. */
TEST(goals_have_patterns_and_levels)
{
    struct pith_recipe *r = parse("{\"pith\":1,\"goal\":{\"max_drop\":\"1%\",\"pattern\":\"4x2\","
                                  "\"levels\":15}}");
    struct pith_stage requested;
    assert_true(pith_goal_shapes(&r->goal));
    assert_int_equal(r->goal.pattern.kind, PITH_PATTERN_BLOCK);
    assert_true(r->goal.pattern.a == 4 && r->goal.pattern.b == 2);
    assert_int_equal(r->goal.levels, 15);
    char *text = print(r);
    assert_non_null(strstr(text, "\"pattern\": \"4x2\""));
    assert_non_null(strstr(text, "\"levels\": 15"));
    free(text);
    pith_stage_init(&requested, PITH_STAGE_COMPRESS);
    assert_false(pith_goal_shapes(&requested.goal));
    assert_int_equal(pith_stage_set(&requested, "pattern", "balanced:12/128", NULL, NULL), PITH_OK);
    pith_recipe_set_goal(r, &requested);
    assert_int_equal(r->goal.pattern.kind, PITH_PATTERN_BALANCED);
    assert_true(r->goal.pattern.a == 12 && r->goal.pattern.b == 128);
    assert_int_equal(r->goal.levels, 15);
    pith_recipe_free(r);
}

TEST(every_key_of_training_is_read)
{
    struct pith_recipe *r = parse(
        "{\"pith\":1,\"stages\":[{\"do\":\"train\",\"epochs\":7,\"batch\":64,\"lr\":0.003,"
        "\"optimizer\":\"nesterov\",\"schedule\":\"steps\",\"warm_up\":0.1,\"step_factor\":0.2,"
        "\"momentum\":0.8,\"weight_decay\":0.01,\"clip\":5,"
        "\"patience\":4,\"versions\":6,\"remove_dead_channels\":true,\"norms\":"
        "\"fold\","
        "\"loss\":\"distill\","
        "\"teacher_part\":0.5,\"sparsity\":0.9,\"score\":\"fisher\","
        "\"prune_until\":0.6,\"prune_every\":20,\"levels\":3,"
        "\"bias_levels\":31,\"first_step\":0.9,"
        "\"oscillation_damping\":0.25,"
        "\"augment\":\"shift=2\",\"teacher\":\"start\",\"until_drop\":\"0.3%\",\"keep\":\"last\","
        "\"seed\":9},"
        "{\"do\":\"prune\",\"sparsity\":0.9,\"steps\":6,\"seed\":3,"
        "\"train\":{\"epochs\":2,\"lr\":0.01,\"teacher\":\"net.pith\"}},"
        "{\"do\":\"train\",\"schedule\":\"one-cycle\",\"keep_weights\":900,"
        "\"score\":\"magnitude\",\"levels\":7},"
        "{\"do\":\"train\",\"quantize\":\"w4a4\",\"patience\":0}]}");
    const struct pith_stage *s = r->stages;
    const struct pith_train_opts *o = &s->train;
    assert_true(s->kind == PITH_STAGE_TRAIN && pith_stage_trains(s));
    assert_true(o->epochs == 7 && o->batch == 64 && o->rate == 0.003f);
    assert_true(o->optimizer == PITH_NESTEROV && o->schedule == PITH_STEPS);
    assert_true(o->warm_up == 0.1f && o->step_factor == 0.2f && o->momentum == 0.8f);
    assert_true(o->weight_decay == 0.01f);
    assert_true(o->clip_norm == 5 && o->patience == 4 && o->versions == 6);
    assert_true(o->remove_dead_channels && o->norms == PITH_NORMS_FOLD);
    assert_true(o->loss == PITH_DISTILL);
    assert_true(o->teacher_part == 0.5f && o->sparsity == 0.9 && o->score == PITH_SCORE_FISHER);
    assert_true(o->prune_until == 0.6f && o->prune_every == 20);
    assert_true(o->levels == 3 && o->bias_levels == 31);
    assert_true(o->first_step == 0.9f && o->oscillation_damping == 0.25f);
    assert_string_equal(o->augment, "shift=2");
    assert_string_equal(s->teacher, "start");
    assert_true(fabs(s->until_drop - 0.003) < 1e-12 && !o->keep_best && s->seed == 9);
    assert_true(s[1].kind == PITH_STAGE_PRUNE && pith_stage_trains(&s[1]));
    assert_true(s[1].steps == 6 && s[1].seed == 3);
    assert_true(s[1].train.epochs == 2 && s[1].train.rate == 0.01f);
    assert_string_equal(s[1].teacher, "net.pith");
    assert_true(s[2].train.schedule == PITH_ONE_CYCLE);
    assert_true(s[2].train.keep_weights == 900 && s[2].train.score == PITH_SCORE_MAGNITUDE);
    assert_string_equal(s[3].integers, "w4a4");
    char *text = print(r), *again;
    struct pith_recipe *back = parse(text);
    again = print(back);
    assert_string_equal(text, again);
    assert_non_null(strstr(text, "\"lr\": 0.003,"));
    assert_non_null(strstr(text, "\"until_drop\": \"0.3%\""));
    free(text);
    free(again);
    pith_recipe_free(back);
    pith_recipe_free(r);
}

TEST(defaults_are_those_of_train)
{
    struct pith_recipe *r = parse("{\"pith\":1,\"stages\":[{\"do\":\"train\"}]}");
    struct pith_train_opts normal;
    pith_train_opts_init(&normal, sizeof normal);
    normal.keep_best = true;
    assert_memory_equal(&r->stages[0].train, &normal, sizeof normal);
    assert_true(r->stages[0].until_drop < 0 && !r->stages[0].teacher);
    pith_recipe_free(r);
}

#define STAGE(text) "{\"pith\":1,\"stages\":[{" text "}]}"

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *text;
        enum pith_status status;
        const char *says;
    } cases[] = {
        {"", PITH_ERR_CORRUPT, "r.json: line 1"},
        {"{\"pith\":1,\n \"stages\" 3}", PITH_ERR_CORRUPT, "line 2"},
        {"{\"pith\":1,\"pith\":1,\"stages\":[]}", PITH_ERR_CORRUPT, "duplicate"},
        {"[1]", PITH_ERR_ARGUMENT, "'pith' must be 1"},
        {"{\"pith\":2,\"stages\":[]}", PITH_ERR_ARGUMENT, "'pith' must be 1"},
        {"{\"pith\":1,\"stages\":[]}", PITH_ERR_ARGUMENT, "1 to 32 stages"},
        {"{\"pith\":1,\"stage\":[]}", PITH_ERR_ARGUMENT, "'stage'"},
        {"{\"pith\":1,\"goal\":3,\"stages\":[]}", PITH_ERR_ARGUMENT, "'goal'"},
        {"{\"pith\":1,\"goal\":{\"max_drop\":0.5},\"stages\":[]}", PITH_ERR_ARGUMENT, "0.5%"},
        {"{\"pith\":1,\"goal\":{\"max_drop\":\"-1%\"},\"stages\":[]}", PITH_ERR_ARGUMENT,
         "max_drop"},
        {"{\"pith\":1,\"goal\":{\"max_joules\":\"1ms\"},\"stages\":[]}", PITH_ERR_UNSUPPORTED,
         "max_joules"},
        {"{\"pith\":1,\"goal\":{\"max_size\":\"1Q\"},\"stages\":[]}", PITH_ERR_ARGUMENT, "64KiB"},
        {"{\"pith\":1,\"goal\":{\"time\":\"soon\"},\"stages\":[]}", PITH_ERR_ARGUMENT, "30m"},
        {STAGE("\"sparsity\":0.5"), PITH_ERR_ARGUMENT, "stage 1: 'do'"},
        {STAGE("\"do\":\"tune\""), PITH_ERR_UNSUPPORTED, "no stage 'tune'"},
        {STAGE("\"do\":\"train\",\"epoch\":3"), PITH_ERR_ARGUMENT, "'train' has no key 'epoch'"},
        {STAGE("\"do\":\"train\",\"epochs\":0"), PITH_ERR_ARGUMENT, "'epochs' must be a number"},
        {STAGE("\"do\":\"train\",\"batch\":8.5"), PITH_ERR_ARGUMENT, "'batch' must be a whole"},
        {STAGE("\"do\":\"train\",\"lr\":\"fast\""), PITH_ERR_ARGUMENT, "'lr' must be a number"},
        {STAGE("\"do\":\"train\",\"optimizer\":\"lion\""), PITH_ERR_ARGUMENT, "one of adam adamw"},
        {STAGE("\"do\":\"train\",\"until_drop\":0.5"), PITH_ERR_ARGUMENT, "0.5%"},
        {STAGE("\"do\":\"train\",\"first_step\":0.5"), PITH_ERR_ARGUMENT,
         "stage 1: 'first_step' needs 'levels'"},
        {STAGE("\"do\":\"train\",\"score\":\"fisher\""), PITH_ERR_ARGUMENT,
         "'score' needs 'sparsity' or 'keep_weights'"},
        {STAGE("\"do\":\"train\",\"momentum\":0.8"), PITH_ERR_ARGUMENT,
         "'momentum' needs 'optimizer' sgd or nesterov"},
        {STAGE("\"do\":\"train\",\"loss\":\"distill\""), PITH_ERR_ARGUMENT,
         "'loss' distill needs 'teacher'"},
        {STAGE("\"do\":\"train\",\"quantize\":\"int8\",\"remove_dead_channels\":true"),
         PITH_ERR_ARGUMENT, "'quantize' cannot go with 'remove_dead_channels'"},
        {STAGE("\"do\":\"train\",\"quantize\":\"w9\""), PITH_ERR_ARGUMENT, "'quantize' 'w9': give"},
        {STAGE("\"do\":\"train\",\"checkpoint\":\"x\""), PITH_ERR_ARGUMENT,
         "'train' has no key 'checkpoint'"},
        {STAGE("\"do\":\"prune\",\"steps\":2,\"train\":{\"score\":\"fisher\"}"), PITH_ERR_ARGUMENT,
         "'score' needs"},
        {STAGE("\"do\":\"train\",\"augment\":2"), PITH_ERR_ARGUMENT, "'augment' must be a text"},
        {STAGE("\"do\":\"train\",\"teacher\":2"), PITH_ERR_ARGUMENT, "'teacher'"},
        {STAGE("\"do\":\"train\",\"keep\":\"all\""), PITH_ERR_ARGUMENT, "one of best last"},
        {STAGE("\"do\":\"train\",\"rate"
               "_weight\":1"),
         PITH_ERR_ARGUMENT,
         "'rate"
         "_weight' was removed (see docs/tried.md)"},
        {STAGE("\"do\":\"quantize\",\"fine\":\"auto\""), PITH_ERR_ARGUMENT,
         "'fine' was removed (see docs/tried.md)"},
        {STAGE("\"do\":\"quantize\",\"int16_activations\":[\"a\"]"), PITH_ERR_ARGUMENT,
         "'int16_activations' was removed (see docs/tried.md)"},
        {STAGE("\"do\":\"train\",\"feature_distillation\":[{\"student\":\"a\"}]"),
         PITH_ERR_ARGUMENT, "'feature_distillation' was removed (see docs/tried.md)"},
        {STAGE("\"do\":\"train\",\"sparsity\":0.5,\"score\":\"gates\""), PITH_ERR_ARGUMENT,
         "'score'"},
        {STAGE("\"do\":\"train\",\"layers\":{}"), PITH_ERR_ARGUMENT, "'train' has no key 'layers'"},
        {STAGE("\"do\":\"train\",\"start\":1"), PITH_ERR_ARGUMENT, "only 0 stages stand before"},
        {STAGE("\"do\":\"prune\",\"steps\":3"), PITH_ERR_ARGUMENT, "'steps' needs 'train'"},
        {STAGE("\"do\":\"prune\",\"seed\":3"), PITH_ERR_ARGUMENT, "'seed' needs 'steps'"},
        {STAGE("\"do\":\"prune\",\"steps\":2,\"train\":{\"rate\":1}"), PITH_ERR_ARGUMENT, "'rate'"},
        {STAGE("\"do\":\"prune\",\"steps\":2,\"train\":3"), PITH_ERR_ARGUMENT, "'train' must be"},
        {STAGE("\"do\":\"prune\",\"sparsty\":0.5"), PITH_ERR_ARGUMENT,
         "'prune' has no key 'sparsty'"},
        {STAGE("\"do\":\"prune\",\"sparsity\":1.5"), PITH_ERR_ARGUMENT,
         "'sparsity' must be a number in 0..1"},
        {STAGE("\"do\":\"prune\",\"sparsity\":\"90%\""), PITH_ERR_ARGUMENT, "'sparsity'"},
        {STAGE("\"do\":\"prune\",\"scope\":\"all\""), PITH_ERR_ARGUMENT, "one of layer global"},
        {STAGE("\"do\":\"prune\",\"pattern\":\"3:2\""), PITH_ERR_ARGUMENT, "3:2"},
        {STAGE("\"do\":\"prune\",\"layers\":{\"fc\":\"x\"}"), PITH_ERR_ARGUMENT, "'fc'"},
        {STAGE("\"do\":\"cluster\",\"bits\":9"), PITH_ERR_ARGUMENT, "'bits'"},
        {STAGE("\"do\":\"cluster\",\"bits\":2.5"), PITH_ERR_ARGUMENT, "whole"},
        {STAGE("\"do\":\"cluster\",\"per\":\"group:0\""), PITH_ERR_ARGUMENT, "group:N"},
        {STAGE("\"do\":\"cluster\",\"seed\":0"), PITH_ERR_ARGUMENT, "'seed'"},
        {STAGE("\"do\":\"encode\",\"layers\":{}"), PITH_ERR_ARGUMENT,
         "'encode' has no key 'layers'"},
        {"{\"pith\":1,\"stages\":[{\"do\":\"encode\"},{\"do\":\"prune\"}]}", PITH_ERR_ARGUMENT,
         "'encode' must be the last"},
        {"[[[[[[[[[[[[[[[[[[[[[[", PITH_ERR_CORRUPT, "nested"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_recipe *r = NULL;
        struct pith_error err = {0};
        enum pith_status st =
            pith_recipe_parse(cases[i].text, strlen(cases[i].text), "r.json", &r, &err);
        if (st != cases[i].status || !strstr(err.text, cases[i].says))
            print_error("%s\nstatus %d, '%s', expected '%s'\n", cases[i].text, st, err.text,
                        cases[i].says);
        assert_int_equal(st, cases[i].status);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_null(r);
    }
}

TEST(a_classic_recipe_is_its_text)
{
    struct pith_recipe *made, *read;
    struct pith_error err = {0};
    char *a, *b;
    assert_int_equal(pith_recipe_classic(0.25, 6, PITH_FOR_SIZE, &made, &err), PITH_OK);
    read = parse("{\"pith\":1,\"stages\":[{\"do\":\"prune\",\"sparsity\":0.25},"
                 "{\"do\":\"cluster\",\"bits\":6},{\"do\":\"encode\",\"for\":\"size\"}]}");
    a = print(made);
    b = print(read);
    assert_string_equal(a, b);
    free(a);
    free(b);
    pith_recipe_free(made);
    pith_recipe_free(read);
    assert_int_equal(pith_recipe_classic(0, 0, PITH_FOR_SPEED, &made, &err), PITH_OK);
    assert_int_equal(made->n_stages, 1);
    assert_int_equal(made->stages[0].kind, PITH_STAGE_ENCODE);
    pith_recipe_free(made);
}

static void random_prune(struct sample_random *r, struct pith_stage *s)
{
    static const char *const patterns[] = {"any", "2:4",    "1x4", "balanced:12/128",
                                           "row", "channel"};
    struct pith_error err;
    pith_stage_init(s, PITH_STAGE_PRUNE);
    s->prune.by = sample_below(r, 3);
    s->prune.sparsity = (double)sample_below(r, 1000000) / 999983;
    if (s->prune.by == PITH_PRUNE_BY_SIGMA) /* one of the two stands in the text */
        s->prune.sparsity = 0;
    s->prune.sigma = s->prune.by == PITH_PRUNE_BY_SIGMA ? (double)sample_below(r, 1000) / 7 / 3 : 0;
    s->prune.scope = sample_below(r, 2);
    assert_int_equal(pith_pattern_parse(patterns[sample_below(r, 6)], &s->prune.pattern, &err),
                     PITH_OK);
    s->prune_layers[0] =
        (struct pith_prune_amount){"conv\"\\*", (double)sample_below(r, 100) / 101};
    s->prune.layers = s->prune_layers;
    s->prune.n_layers = sample_below(r, 2);
}

static void random_cluster(struct sample_random *r, struct pith_stage *s)
{
    pith_stage_init(s, PITH_STAGE_CLUSTER);
    s->cluster.n_centroids = 1u << (1 + sample_below(r, 8));
    s->cluster.per = sample_below(r, 3);
    s->cluster.group_elems =
        s->cluster.per == PITH_CLUSTER_PER_GROUP ? 1 + sample_below(r, 1000) : 0;
    s->cluster.values = sample_below(r, 2);
    s->cluster_layers[0] = (struct pith_cluster_size){"re:^fc", 1u << (1 + sample_below(r, 8))};
    s->cluster.layers = s->cluster_layers;
    s->cluster.n_layers = sample_below(r, 2);
}

static float random_share(struct sample_random *r)
{
    return (float)sample_below(r, 1000000) / 1000003.0f;
}

static void random_training(struct sample_random *r, struct pith_stage *s)
{
    pith_stage_init(s, PITH_STAGE_TRAIN);
    s->train.epochs = 1 + sample_below(r, 100);
    s->train.batch = 8 * (1 + sample_below(r, 64));
    s->train.rate = random_share(r) + 1e-6f;
    s->train.optimizer = sample_below(r, 4);
    s->train.schedule = sample_below(r, 4);
    s->teacher = sample_below(r, 2) ? "start" : NULL;
    s->train.loss = s->teacher ? 2 * sample_below(r, 2) : sample_below(r, 2);
    s->train.score = sample_below(r, 3);
    s->train.sparsity = (double)random_share(r) / 1.01 + 1e-3;
    s->train.first_step = random_share(r) + 0.1f;
    s->train.oscillation_damping = random_share(r);
    s->train.levels = 1 + sample_below(r, 127);
    s->train.keep_best = sample_below(r, 2);
    s->train.augment = sample_below(r, 2) ? "shift=2,\"flip" : NULL;
    s->until_drop = sample_below(r, 2) ? sample_below(r, 1000) / 1e4 : -1;
    s->seed = sample_below(r, 3);
}

TEST(printing_and_parsing_lose_nothing)
{
    const uint64_t seed = test_seed(20261124);
    struct sample_random r = sample_random_of(seed);
    struct pith_stage *stages = calloc(3, sizeof *stages);
    for (int round = 0; round < 300; round++) {
        struct pith_recipe made = {.goal.max_drop =
                                       sample_below(&r, 2) ? sample_below(&r, 101) / 100.0 : -1,
                                   .n_stages = 3,
                                   .stages = stages};
        random_prune(&r, &stages[0]);
        random_cluster(&r, &stages[1]);
        random_training(&r, &stages[2]);
        char *first = print(&made), *second;
        struct pith_recipe *back = parse(first);
        second = print(back);
        if (strcmp(first, second) != 0)
            print_error("seed %llu round %d\n", (unsigned long long)seed, round);
        assert_string_equal(first, second);
        assert_true(back->stages[0].prune.by == made.stages[0].prune.by);
        assert_true(back->stages[0].prune.sigma == made.stages[0].prune.sigma);
        assert_true(back->stages[0].prune.by != PITH_PRUNE_BY_SPARSITY ||
                    back->stages[0].prune.sparsity == made.stages[0].prune.sparsity);
        assert_int_equal(back->stages[1].cluster.n_centroids, made.stages[1].cluster.n_centroids);
        const struct pith_train_opts *was = &stages[2].train, *is = &back->stages[2].train;
        assert_true(is->rate == was->rate);
        assert_true(is->sparsity == was->sparsity);
        assert_true(is->levels == was->levels && is->keep_best == was->keep_best);
        free(first);
        free(second);
        pith_recipe_free(back);
    }
    free(stages);
}

TEST(the_history_is_the_recipe)
{
    const float w[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    struct pith_model *m = small_net(4, 2, w, false);
    struct pith_error err = {0};
    char *from_model, *printed;
    assert_int_equal(pith_recipe_of_model(m, &from_model, &err), PITH_ERR_ARGUMENT);
    struct pith_recipe *r = parse("{\"pith\":1,\"stages\":[{\"do\":\"prune\",\"sparsity\":0.5},"
                                  "{\"do\":\"cluster\",\"bits\":2},{"
                                  "\"do\":\"encode\",\"coder\":\"huffman\"}]}");
    for (uint32_t i = 0; i < r->n_stages; i++)
        assert_int_equal(pith_stage_run(m, &r->stages[i], 1, NULL, &err), PITH_OK);
    assert_int_equal(pith_recipe_of_model(m, &from_model, &err), PITH_OK);
    printed = print(r);
    assert_string_equal(from_model, printed);
    free(from_model);
    free(printed);
    pith_recipe_free(r);
    pith_model_free(m);
}

/* Widths follow from "to" whatever the order of the keys. */
TEST(keys_of_quantize_are_read)
{
    struct pith_recipe *r = parse(
        "{\"pith\":1,\"stages\":[{\"do\":\"quantize\",\"per\":\"channel\",\"to\":\"fixed:16\"},"
        "{\"do\":\"quantize\",\"weights\":5,\"to\":\"fixed:8\",\"same_bits\":true,\"smooth\":true},"
        "{\"do\":\"quantize\",\"activations\":16,\"equalize\":true,\"floats\":\"bf16\"},"
        "{\"do\":\"quantize\",\"per\":\"tensor\",\"floats\":\"f32\",\"keep\":[\"a\",\"b*\"]}]}");
    const struct pith_stage *s = r->stages;
    assert_true(s[0].quantize.fixed_bits == 16 && s[0].quantize.per_channel);
    assert_true(pith_weight_bits(&s[0].quantize) == 16 &&
                pith_activation_bits(&s[0].quantize) == 16);
    assert_true(s[1].quantize.fixed_bits == 8 && !s[1].quantize.per_channel);
    assert_true(pith_weight_bits(&s[1].quantize) == 5 && pith_activation_bits(&s[1].quantize) == 8);
    assert_true(s[1].quantize.same_bits && !s[2].quantize.same_bits);
    assert_true(s[1].smooth == PITH_ALWAYS && s[2].smooth == PITH_AUTO);
    assert_true(!s[1].equalize && s[2].equalize);
    assert_true(s[2].quantize.fixed_bits == 0 && pith_weight_bits(&s[2].quantize) == 8);
    assert_int_equal(pith_activation_bits(&s[2].quantize), 16);
    assert_true(s[1].floats == 0 && s[2].floats == PITH_BF16 && s[3].floats == PITH_F32);
    assert_true(s[3].quantize.per_tensor && !s[3].quantize.per_channel);
    assert_true(s[3].quantize.n_keep == 2);
    char *text = print(r), *again;
    struct pith_recipe *back = parse(text);
    again = print(back);
    assert_string_equal(text, again);
    assert_non_null(strstr(text, "\"to\": \"fixed:16\""));
    assert_true(back->stages[1].quantize.same_bits && !back->stages[2].quantize.same_bits);
    assert_true(back->stages[1].smooth == PITH_ALWAYS && back->stages[2].smooth == PITH_AUTO);
    assert_true(back->stages[2].equalize);
    assert_string_equal(back->stages[3].keep[1], "b*");
    assert_true(back->stages[2].floats == PITH_BF16 && back->stages[3].floats == PITH_F32);
    free(text);
    free(again);
    pith_recipe_free(back);
    pith_recipe_free(r);
}

RUN_TESTS
