/* SPDX-License-Identifier: MIT */
/* Hints: value and gradient against differences, whichever way the two values lie in memory; what
 * is refused, by name. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "test_train.h"
#include "sample_models.h"

enum { BATCH = 16, EACH = 2 * 4 * 4 };

/* Image to 'h' [N,2,4,4], by a convolution (which is channels last) or by an addition (which is as
 * the image, row-major); then classes. `depth`: channels of h. */
static struct pith_model *network(uint64_t seed, bool by_conv, uint32_t depth)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t x = add_value(m, "x", PITH_F32, 4, (const uint32_t[]){1, depth, 4, 4});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    uint32_t w = by_conv ? add_constant(m, &r, "w", 4, (const uint32_t[]){depth, depth, 3, 3})
                         : add_constant(m, &r, "w", 4, (const uint32_t[]){1, depth, 4, 4});
    struct pith_node *node = add_node(m, by_conv ? PITH_OP_CONV : PITH_OP_ADD, "layer", "h", 2,
                                      (const uint32_t[]){x, w});
    for (int i = 0; i <= 4 && by_conv; i++)
        node->attr[ATTR_CONV_PADS + i] = i ? 1 : 4;
    uint32_t h = node->out[0];
    h = add_node(m, PITH_OP_FLATTEN, "flat", "f", 1, &h)->out[0];
    m->outputs[m->n_outputs++] =
        add_layer(m, &r, PITH_OP_GEMM, "classes", h, 2, (const uint32_t[]){3, depth * 16});
    if (pith_model_infer_shapes(m, &err))
        fail_msg("%s", err.text);
    return m;
}

static struct tape *tape_of(const struct pith_model *m, const struct feature_loss *h)
{
    struct tape *t = NULL;
    struct pith_error err = {0};
    struct tape_opts o = {.batch = BATCH, .threads = 1, .training = true};
    if (h)
        o.feature = pith_features_values(h, &o.n_features);
    if (pith_tape_new(m, &o, &t, &err))
        fail_msg("%s", err.text);
    struct sample_random r = sample_random_of(5);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *x = pith_tape_input(t, s, 0);
        for (size_t k = 0; k < shape_elems(&x->shape); k++)
            ((float *)x->data)[k] = sample_gauss(&r);
    }
    return t;
}

static double loss_of(const struct feature_loss *h, struct tape *student, struct tape *teacher)
{
    double sum = 0;
    pith_tape_forward(student);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        sum += pith_feature_loss(h, student, teacher, s, BATCH / PITH_TRAIN_SLICES);
    return sum;
}

/* Element (n, c, p) of [N, 2, 16] in its layout. */
static double element(const struct tape_tensor *x, size_t n, size_t c, size_t p)
{
    size_t at = x->layout == TAPE_CHANNELS_LAST ? p * 2 + c : c * 16 + p;
    return (double)((const float *)x->data)[n * EACH + at];
}

/* 3 * the mean over a sample's elements, added over samples. */
static double expected_loss(struct tape *student, struct tape *teacher, uint32_t v, uint32_t tv)
{
    double sum = 0;
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (size_t i = 0; i < BATCH / PITH_TRAIN_SLICES * EACH; i++) {
            size_t n = i / EACH, c = i / 16 % 2, p = i % 16;
            double off = element(pith_tape_value(student, s, v), n, c, p) -
                         element(pith_tape_value(teacher, s, tv), n, c, p);
            sum += off * off;
        }
    return 3 * sum / EACH;
}

static uint32_t number_of(const struct pith_model *m, const char *name)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (strcmp(m->values[v].name, name) == 0)
            return v;
    fail_msg("no value %s", name);
    return 0;
}

/* The loss is a square of what w moves linearly: differences are exact but for rounding. */
static void check(bool conv_student, bool conv_teacher)
{
    const float step = 0.05f;
    struct pith_model *m = network(3, conv_student, 2), *t = network(4, conv_teacher, 2);
    struct pith_train_feature feature = {"h", "layer", 3.0f};
    struct pith_train_opts o = {.teacher = t, .features = &feature, .n_features = 1};
    struct feature_loss *h;
    struct pith_error err = {0};
    uint32_t n;
    assert_int_equal(pith_features_new(m, &o, NULL, &h, &err), PITH_OK);
    struct tape *student = tape_of(m, h), *teacher = tape_of(t, NULL);
    assert_int_equal(pith_features_check(h, student, teacher, &err), PITH_OK);
    uint32_t v = number_of(m, "h"), tv = number_of(t, "h");
    assert_int_equal(pith_tape_value(student, 0, v)->layout, conv_student);
    assert_int_equal(pith_tape_value(teacher, 0, tv)->layout, conv_teacher);
    pith_tape_forward(teacher);
    double loss = loss_of(h, student, teacher), right = expected_loss(student, teacher, v, tv);
    assert_true(fabs(loss - right) < 1e-9 * right);
    pith_tape_backward(student);
    struct tape_parameter *p = pith_tape_parameters(student, &n);
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < p[i].count; k += 3) {
            float at = p[i].data[k], grad = p[i].grad[k];
            p[i].data[k] = at + step;
            double up = loss_of(h, student, teacher);
            p[i].data[k] = at - step;
            double slope = (up - loss_of(h, student, teacher)) / (2 * (double)step);
            p[i].data[k] = at;
            if (!(fabs(slope - (double)grad) <= 1e-3 + 1e-3 * fabs(slope)))
                fail_msg("'%s'[%u]: %g, by differences %g", m->values[p[i].value].name, (unsigned)k,
                         (double)grad, slope);
        }
    pith_tape_free(student);
    pith_tape_free(teacher);
    pith_features_free(h);
    pith_model_free(m);
    pith_model_free(t);
}

static void both_layouts(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check(i & 1, i & 2);
}

static void refuse(const struct pith_train_feature *feature, struct pith_model *teacher,
                   const char *text)
{
    struct pith_model *m = network(3, true, 2);
    struct pith_train_opts o = {.teacher = teacher, .features = feature, .n_features = 1};
    struct feature_loss *h = NULL;
    struct pith_error err = {0};
    enum pith_status status = pith_features_new(m, &o, NULL, &h, &err);
    if (!status) {
        struct tape *student = tape_of(m, h), *other = tape_of(teacher, NULL);
        status = pith_features_check(h, student, other, &err);
        pith_tape_free(student);
        pith_tape_free(other);
    }
    assert_int_equal(status, PITH_ERR_ARGUMENT);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    pith_features_free(h);
    pith_model_free(m);
    pith_model_free(teacher);
}

static void refusals(void **state)
{
    (void)state;
    static const struct pith_train_feature none = {"nowhere", "h", 1},
                                           none_there = {"h", "classes", 1}, lost = {"h", "w", 1},
                                           light = {"h", "h", 0}, fine = {"h", "h", 1},
                                           still = {"x", "h", 1};
    refuse(&none, network(1, true, 2), "the network has no value or node 'nowhere'");
    refuse(&lost, network(1, true, 2), "the teacher has no value or node 'w'");
    refuse(&light, network(1, true, 2), "a weight above 0");
    refuse(&none_there, network(1, true, 2), "'h' has not the shape of the teacher's");
    refuse(&fine, network(1, true, 3), "'h' has not the shape of the teacher's");
    refuse(&still, network(1, true, 2), "'x' does not depend on anything that is trained");
    refuse(&fine, NULL, "feature distillation needs a teacher");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_layouts), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
