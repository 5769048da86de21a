/* SPDX-License-Identifier: MIT */
#include "feature_distillation.h"
#include "pith_host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct feature_loss {
    const struct pith_train_feature *feature;
    uint32_t n, n_values;
    uint32_t *value, *teacher; /* [n_values]: the students, then the scores; [n] */
};

/* ---- names ----------------------------------------------------------------------------------- */

static enum pith_status find_pair(struct feature_loss *h, uint32_t i, const struct pith_model *m,
                                  const struct pith_model *teacher, struct pith_error *err)
{
    const struct pith_train_feature *feature = &h->feature[i];
    if (!feature->student || !*feature->student || !feature->teacher || !*feature->teacher ||
        !(feature->weight > 0) || !isfinite(feature->weight))
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "feature %u needs two names and a weight above 0", i + 1);
    h->value[i] = pith_model_value_named(m, feature->student);
    h->teacher[i] = pith_model_value_named(teacher, feature->teacher);
    bool lost = h->value[i] == PITH_VALUE_NONE;
    if (lost || h->teacher[i] == PITH_VALUE_NONE)
        return pith_error_set(
            err, PITH_ERR_ARGUMENT, "feature %u: the %s has no value or node '%.100s'", i + 1,
            lost ? "network" : "teacher", lost ? feature->student : feature->teacher);
    return PITH_OK;
}

enum pith_status pith_features_new(const struct pith_model *m, const struct pith_train_opts *opts,
                                   const uint32_t *scores, struct feature_loss **h,
                                   struct pith_error *err)
{
    if (opts->n_features && !opts->teacher)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "feature distillation needs a teacher");
    struct feature_loss *made = calloc(1, sizeof *made);
    if (made) {
        made->feature = opts->features;
        made->n = opts->n_features;
        made->n_values = opts->n_features + (scores != NULL);
        made->value = calloc((size_t)made->n + 1, sizeof *made->value);
        made->teacher = calloc((size_t)made->n + 1, sizeof *made->teacher);
    }
    enum pith_status status = PITH_OK;
    if (!made || !made->value || !made->teacher)
        status = pith_tape_no_memory(err);
    for (uint32_t i = 0; !status && i < made->n; i++)
        status = find_pair(made, i, m, opts->teacher, err);
    if (status) {
        pith_features_free(made);
        return status;
    }
    if (scores)
        made->value[made->n] = *scores;
    *h = made;
    return PITH_OK;
}

void pith_features_free(struct feature_loss *h)
{
    if (!h)
        return;
    free(h->value);
    free(h->teacher);
    free(h);
}

const uint32_t *pith_features_values(const struct feature_loss *h, uint32_t *n)
{
    *n = h->n_values;
    return h->value;
}

enum pith_status pith_features_check(const struct feature_loss *h, struct tape *student,
                                     struct tape *teacher, struct pith_error *err)
{
    for (uint32_t i = 0; i < h->n; i++) {
        const struct tape_tensor *x = pith_tape_value(student, 0, h->value[i]);
        const struct tape_tensor *y = pith_tape_value(teacher, 0, h->teacher[i]);
        const char *wrong = NULL;
        if (!x || !y || x->type != PITH_F32 || y->type != PITH_F32)
            wrong = "is not of f32 in both networks";
        else if (!pith_shape_equal(&x->shape, &y->shape))
            wrong = "has not the shape of the teacher's";
        else if (!x->grad)
            wrong = "does not depend on anything that is trained";
        if (wrong)
            return pith_error_set(err, PITH_ERR_ARGUMENT, "feature %u: '%.100s' %s", i + 1,
                                  h->feature[i].student, wrong);
    }
    return PITH_OK;
}

/* ---- the loss -------------------------------------------------------------------------------- */

/* How to walk a tensor as [N][rows][cols] in its own layout, and where that element of the other
 * layout lies: [N][cols][rows]. */
struct walk {
    size_t n, rows, cols;
    bool turned; /* the other tensor has the other layout */
};

static struct walk walk_of(const struct tape_tensor *x, const struct tape_tensor *y)
{
    const struct shape *s = &x->shape;
    bool agree = s->rank < 3 || x->layout == y->layout;
    if (agree)
        return (struct walk){1, 1, shape_elems(s), false};
    size_t channels = s->dim[1], places = shape_product(s, 2, s->rank);
    bool last = x->layout == TAPE_CHANNELS_LAST;
    return (struct walk){s->dim[0], last ? places : channels, last ? channels : places, true};
}

static double one_pair(const struct tape_tensor *x, const struct tape_tensor *y, double weight,
                       uint32_t samples)
{
    struct walk w = walk_of(x, y);
    const float *a = x->data, *b = y->data;
    double scale = weight * samples / (double)shape_elems(&x->shape), sum = 0;
    float *d = x->grad;
    for (size_t i = 0; i < w.n; i++, b += w.rows * w.cols)
        for (size_t row = 0; row < w.rows; row++)
            for (size_t col = 0; col < w.cols; col++, a++, d++) {
                double off = (double)*a - (double)b[w.turned ? col * w.rows + row : col];
                sum += off * off;
                *d += (float)(2 * scale * off);
            }
    return scale * sum;
}

double pith_feature_loss(const struct feature_loss *h, struct tape *student, struct tape *teacher,
                         uint32_t slice, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < h->n; i++)
        sum += one_pair(pith_tape_value(student, slice, h->value[i]),
                        pith_tape_value(teacher, slice, h->teacher[i]),
                        (double)h->feature[i].weight, n);
    return sum;
}
