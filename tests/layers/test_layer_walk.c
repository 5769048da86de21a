/* SPDX-License-Identifier: MIT */
/* A walk over two layers and three samples by hand: values as they are kept, changed, held and
 * mapped, in memory and in files; a weight that changes on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "gemm_model.h"
#include "layers/layer_walk.h"

enum { X, W1, Y1, R1, W2, Y2, SAMPLES = 3 };

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

static struct pith_data *data_of(const float x[SAMPLES * 2])
{
    struct pith_data *data;
    float *copy = malloc(SAMPLES * 2 * sizeof *copy);
    memcpy(copy, x, SAMPLES * 2 * sizeof *copy);
    check(pith_data_of_numbers(2, (uint32_t[]){1, 2}, SAMPLES, copy, NULL, 0, &data, &err));
    return data;
}

static struct pith_model *two_layers(void)
{
    struct pith_model *m = gemm_model((const uint32_t[]){2, 2, 1}, 2);
    memcpy(m->values[W1].constant->data, ((float[]){1, -1, 2, 0}), 4 * sizeof(float));
    memcpy(m->values[W2].constant->data, ((float[]){1, 1}), 2 * sizeof(float));
    m->nodes[0].attr[ATTR_GEMM_TRANS_B] = m->nodes[2].attr[ATTR_GEMM_TRANS_B] = 1;
    return m;
}

static enum pith_status at_most_four(void *user, uint32_t value, uint64_t sample, void *data,
                                     struct pith_error *error)
{
    float *x = data;
    (void)user, (void)sample, (void)error;
    for (int k = 0; k < 2 && value == R1; k++)
        x[k] = x[k] < 4 ? x[k] : 4;
    return PITH_OK;
}

static void expect(struct layer_walk *w, uint32_t value, const float *wanted, size_t n)
{
    const void *data = NULL;
    check(pith_layer_walk_map(w, value, &data, &err));
    assert_memory_equal(data, wanted, n * sizeof *wanted);
}

static void values_of_two_layers(void **state)
{
    (void)state;
    for (int in_files = 0; in_files < 2; in_files++) {
        struct pith_model *m = two_layers();
        struct pith_data *data = data_of((float[]){1, 2, 3, 1, 0, -1});
        struct recorded_feed *feed;
        struct layer_walk *w;
        float one[2];
        check(pith_recorded_feed_open(m, NULL, data, 0, &feed, &err));
        const struct layer_walk_opts o = {
            .feed = feed, .memory_bytes = in_files ? 0 : 1 << 20, .change = at_most_four};
        check(pith_layer_walk_open(m, &o, &w, &err));
        assert_int_equal(pith_layer_walk_samples(w), SAMPLES);
        pith_layer_walk_hold(w, Y2, 4);
        check(pith_layer_walk_to(w, 2, &err)); /* (0 2) (2 6) (1 0), but for the 6 */
        expect(w, R1, (const float[]){0, 2, 2, 4, 1, 0}, 6);
        expect(w, X, (const float[]){1, 2, 3, 1, 0, -1}, 6);
        check(pith_layer_walk_read(w, R1, 1, one, &err));
        assert_true(one[0] == 2 && one[1] == 4);
        ((float *)m->values[W2].constant->data)[0] = 2;
        check(pith_layer_walk_to(w, 4, &err));
        expect(w, Y2, (const float[]){2, 8, 2}, 3);
        pith_layer_walk_close(w);
        pith_recorded_feed_close(feed);
        pith_data_free(data);
        pith_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_of_two_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
