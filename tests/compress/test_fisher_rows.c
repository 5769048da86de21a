/* SPDX-License-Identifier: MIT */
/* Sensitivities of the last layer, over many draws, against what probabilities say they are; of all
 * layers, the same bits however often they are computed, on every instruction set. */
#include "test_run.h"
#include "conv_chain.h"
#include "base/cpu_allowed.h"
#include "train/feedback/fisher_rows.h"
#include "pith_host.h"
#include "base/kept_values.h"
#include "pith_measure.h"

enum { CLASSES = 5, INPUTS = 6, DRAWS = 300 };

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

/* E (p_k - drawn_k)^2 = p_k (1 - p_k); of the row of a weight times the squares of its inputs; and
 * summed up over classes 1 - sum of p_k^2, which is what each sample has, whatever is drawn. */
struct wanted {
    double bias[CLASSES], row[CLASSES], place, of_sample[SAMPLES];
};

static void keep_inputs(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    (void)layer;
    if (out->bytes == INPUTS * sizeof(float))
        memcpy(user, out->data, out->bytes);
}

static struct wanted wanted_of(const struct pith_model *m, struct pith_data *data)
{
    struct wanted w = {{0}, {0}, 0, {0}};
    float x[INPUTS];
    struct pith_engine_opts o = {.size_bytes = sizeof o, .observe = keep_inputs, .user = x};
    struct pith_engine *e;
    check(pith_engine_open(m, &o, &e, &err));
    struct pith_plan *plan = pith_engine_plan(e);
    for (uint64_t s = 0; s < SAMPLES; s++) {
        double p[CLASSES], sum = 0, square = 0;
        check(pith_data_read(data, s, pith_plan_input_data(plan, 0), NULL, &err));
        check(pith_plan_run(plan));
        const float *y = pith_plan_output_data(plan, 0);
        for (int k = 0; k < CLASSES; k++)
            sum += p[k] = exp((double)y[k]);
        for (int k = 0; k < INPUTS; k++)
            square += (double)x[k] * (double)x[k];
        for (int k = 0; k < CLASSES; k++) {
            p[k] /= sum;
            w.bias[k] += p[k] * (1 - p[k]) / SAMPLES;
            w.row[k] += p[k] * (1 - p[k]) * square / SAMPLES;
            w.of_sample[s] += p[k] * (1 - p[k]);
        }
        w.place += w.of_sample[s] / SAMPLES;
    }
    pith_engine_close(e);
    return w;
}

static void expect_close(double found, double wanted, double share)
{
    if (!(fabs(found - wanted) < share * wanted))
        fail_msg("%g, wanted %g", found, wanted);
}

static void expect_places(const struct pith_sensitivity *s, uint32_t v, const struct wanted *w)
{
    expect_close(s->of[v].place_mean, w->place, 1e-3);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        float one;
        check(pith_kept_read(s->place, v, i * sizeof one, &one, sizeof one, &err));
        expect_close((double)one, w->of_sample[i], 1e-3);
    }
}

/* sharp: what scores are multiplied with. */
static void expect_last_layer(float sharp)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    const struct pith_node *fc = &m->nodes[m->n_nodes - 1];
    for (int i = 0; i < CLASSES * INPUTS; i++)
        ((float *)m->values[fc->in[1]].constant->data)[i] *= sharp;
    const struct wanted w = wanted_of(m, data);
    double bias[CLASSES] = {0}, row[CLASSES] = {0};
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        struct pith_fisher_opts o = {.size_bytes = sizeof o, .seed = seed};
        struct pith_sensitivity s;
        check(pith_fisher_rows(m, data, &o, &s, &err));
        assert_int_equal(s.n_samples, SAMPLES);
        assert_int_equal(s.of[fc->in[1]].n_places, 1);
        for (int k = 0; k < CLASSES; k++) {
            bias[k] += s.of[fc->in[2]].row[k] / DRAWS;
            row[k] += s.of[fc->in[1]].row[k] / DRAWS;
        }
        expect_places(&s, fc->in[1], &w);
        pith_fisher_rows_free(&s);
    }
    for (int k = 0; k < CLASSES; k++) {
        expect_close(bias[k], w.bias[k], 0.1);
        expect_close(row[k], w.row[k], 0.1);
    }
    pith_model_free(m);
    pith_data_free(data);
}

TEST(the_last_layer_is_as_probabilities_say)
{
    expect_last_layer(0.1f); /* no class is certain */
    expect_last_layer(0.5f);
}

/* A convolution of 1 x 1 has as bias gradient the sum over places, and no more than its places'
 * squares times their number say. */
TEST(places_bound_the_bias)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    struct pith_sensitivity s;
    check(pith_fisher_rows(m, data, NULL, &s, &err));
    const struct pith_node *point = &m->nodes[4];
    double bias = 0;
    for (int k = 0; k < 6; k++)
        bias += s.of[point->in[2]].row[k];
    assert_int_equal(s.of[point->in[1]].n_places, 36);
    /* behind a mean over places all of them have the same gradient */
    expect_close(bias, 36 * 36 * s.of[point->in[1]].place_mean, 0.1);
    assert_int_equal(s.of[m->nodes[0].in[1]].rows, 8);
    assert_true(s.of[m->nodes[0].in[1]].row[0] > 0);
    pith_fisher_rows_free(&s);
    pith_model_free(m);
    pith_data_free(data);
}

/* Squares of a row's draws are on the mean those of its gradient; all rows of a sample have the
 * same signs, so that where gradients add up to 0, as those of probabilities do, draws do. */
TEST(draws_stand_for_gradients)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    struct pith_sensitivity s;
    check(pith_fisher_rows(m, data, NULL, &s, &err));
    const uint32_t point = m->nodes[4].in[1], last = m->nodes[m->n_nodes - 1].in[1];
    const uint32_t of[] = {point, last};
    for (int i = 0; i < 2; i++) {
        const struct pith_row_sensitivity *row = &s.of[of[i]];
        const uint64_t rows = row->rows, draws = s.n_samples * row->n_draws;
        float x[8];
        double all = 0, wanted = 0;
        assert_true(rows <= 8 && row->n_draws == 13); /* 512 of 40 samples */
        for (uint64_t r = 0; r < rows; r++)
            wanted += row->row[r];
        for (uint64_t d = 0; d < draws; d++) {
            double sum = 0, most = 0;
            check(pith_kept_read(s.draw, of[i], d * rows * sizeof *x, x, rows * sizeof *x, &err));
            for (uint64_t r = 0; r < rows; r++) {
                sum += (double)x[r];
                most = fmax(most, fabs((double)x[r]));
                all += (double)x[r] * (double)x[r] / (double)draws;
            }
            assert_true(i == 0 || fabs(sum) <= 1e-4 * most + 1e-5);
        }
        if (!(fabs(all - wanted) < 0.4 * wanted)) /* a few samples have most of it */
            fail_msg("%g, wanted %g", all, wanted);
    }
    assert_int_equal(s.of[m->nodes[0].in[1]].n_draws, 0); /* groups */
    pith_fisher_rows_free(&s);
    pith_model_free(m);
    pith_data_free(data);
}

static void expect_kept(struct kept_values *a, struct kept_values *b, uint32_t v, uint64_t count)
{
    float x[2][8];
    for (uint64_t at = 0; at < count; at += 8) {
        const size_t bytes = (size_t)(count - at < 8 ? count - at : 8) * sizeof **x;
        check(pith_kept_read(a, v, at * sizeof **x, x[0], bytes, &err));
        check(pith_kept_read(b, v, at * sizeof **x, x[1], bytes, &err));
        assert_memory_equal(x[0], x[1], bytes);
    }
}

TEST(the_same_bits_on_every_instruction_set)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    static const uint32_t masks[] = {PITH_CPU_REF, PITH_CPU_AVX2, 0};
    struct pith_sensitivity first, s;
    for (int i = 0; i < 3; i++) {
        pith_cpu_allow(masks[i]);
        check(pith_fisher_rows(m, data, NULL, i ? &s : &first, &err));
        for (uint32_t v = 0; v < first.n && i; v++) {
            const struct pith_row_sensitivity *was = &first.of[v], *is = &s.of[v];
            assert_memory_equal(is->row, was->row, was->rows * sizeof *was->row);
            assert_memory_equal(&is->place_mean, &was->place_mean, sizeof was->place_mean);
            expect_kept(first.place, s.place, v, was->n_places * SAMPLES);
            expect_kept(first.draw, s.draw, v, was->n_draws * was->rows * SAMPLES);
        }
        if (i)
            pith_fisher_rows_free(&s);
    }
    pith_fisher_rows_free(&first);
    pith_model_free(m);
    pith_data_free(data);
}

static double power_of(const struct pith_model *m, struct pith_data *data)
{
    struct pith_engine *e;
    double sum = 0;
    check(pith_engine_open(m, NULL, &e, &err));
    struct pith_plan *plan = pith_engine_plan(e);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        check(pith_data_read(data, i, pith_plan_input_data(plan, 0), NULL, &err));
        check(pith_plan_run(plan));
        const float *y = pith_plan_output_data(plan, 0);
        for (int k = 0; k < CLASSES; k++)
            sum += (double)y[k] * (double)y[k] / SAMPLES;
    }
    pith_engine_close(e);
    return sum;
}

/* Half of F e^2 is then the squared error's share of the output's power: an output that is off by e
 * has e^2 more of it. */
TEST(squares_are_shares_of_the_power)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    const struct pith_feed_input in = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &in};
    struct pith_fisher_opts o = {.size_bytes = sizeof o, .squares = true, .feed = &feed};
    struct pith_sensitivity s;
    check(pith_fisher_rows(m, NULL, &o, &s, &err));
    const double wanted = 2 / power_of(m, data);
    for (int k = 0; k < CLASSES; k++)
        assert_true(fabs(s.of[m->nodes[m->n_nodes - 1].in[2]].row[k] / wanted - 1) < 1e-5);
    pith_fisher_rows_free(&s);
    pith_model_free(m);
    pith_data_free(data);
}

/* Behind an output that no weight leads to, and times a scale: the same shares of the power. */
TEST(outputs_count_by_their_scale)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    const uint32_t last = m->nodes[m->n_nodes - 1].in[2];
    const double only_second[2] = {0, 3};
    struct pith_fisher_opts o = {.size_bytes = sizeof o, .squares = true};
    struct pith_sensitivity one, second;
    check(pith_fisher_rows(m, data, &o, &one, &err));
    uint32_t outputs[2] = {m->inputs[0], m->outputs[0]};
    m->outputs = outputs;
    m->n_outputs = 2;
    o.output_scale = only_second;
    check(pith_fisher_rows(m, data, &o, &second, &err));
    for (int k = 0; k < CLASSES; k++)
        assert_true(fabs(second.of[last].row[k] / one.of[last].row[k] - 1) < 1e-5);
    pith_fisher_rows_free(&one);
    pith_fisher_rows_free(&second);
    pith_model_free(m);
    pith_data_free(data);
}

static bool stop_at_three(void *user, uint64_t done, uint64_t all)
{
    (void)user;
    assert_int_equal(all, SAMPLES);
    return done < 3;
}

TEST(stops_and_refuses)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    struct pith_fisher_opts o = {.size_bytes = sizeof o, .progress = stop_at_three};
    struct pith_sensitivity s;
    assert_int_equal(pith_fisher_rows(m, data, &o, &s, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "interrupted");
    m->values[m->inputs[0]].dim[2] = 5;
    assert_int_equal(pith_fisher_rows(m, data, NULL, &s, &err), PITH_ERR_ARGUMENT);
    m->n_inputs = 0;
    assert_int_equal(pith_fisher_rows(m, data, NULL, &s, &err), PITH_ERR_UNSUPPORTED);
    pith_model_free(m);
    pith_data_free(data);
}

/* Of an input that is the first output: no weight has a gradient, and none may be written. */
TEST(refuses_an_output_without_gradient)
{
    struct pith_model *m = chain_new(3);
    struct pith_data *data = chain_data(4);
    m->outputs[0] = m->inputs[0];
    for (int squares = 0; squares < 2; squares++) {
        const struct pith_fisher_opts o = {.size_bytes = sizeof o, .squares = squares};
        struct pith_sensitivity s;
        assert_int_equal(pith_fisher_rows(m, data, &o, &s, &err), PITH_ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "no float weight has a gradient from output"));
    }
    pith_model_free(m);
    pith_data_free(data);
}

RUN_TESTS
