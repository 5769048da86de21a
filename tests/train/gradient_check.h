/* SPDX-License-Identifier: MIT */
/* gradient_check.h - one operator's gradient against central differences.
 *
 * Operands are written as texts: a letter, then the dims, then a range:
 *     v2x3x4     a value: input plus a parameter of zeros, so that the parameter's gradient is the
 *                value's, summed over slices; of rank 3 and more it may come channels last
 *     c2x3       a constant that moves as it stands (weights)
 *     f2x3@1:2   a constant that does not
 *     i4@0:3     the same of int64, b2x3 of bool
 *     -          left out; = the operand before once more
 * Numbers of a value are a shuffled grid over its range (no two are equal, so that maxima are
 * clear), moved away from `kinks`.
 *
 * Each is tried by a library's primitives and by ordered ones, whose bits are those of the
 * reference on every instruction set.
 *
 * The loss is a random linear form of all outputs, added up in double; each element of each
 * parameter (at most PROBES, evenly chosen) is moved by +-STEP. A difference may be off by the f32
 * roundings of the outputs, some 1e-7 * sqrt(outputs) / STEP, and by STEP^2 times a third
 * derivative. */
#ifndef GRADIENT_CHECK_H
#define GRADIENT_CHECK_H

#include "test_run.h"
#include "sample_models.h"
#include "base/cpu_allowed.h"
#include "pith_train.h"
#include "train/tape/fake_quant_graph.h"
#include "train/tape/tape.h"
#include "train/tape/tape_state.h"

enum { MAX_OPERANDS = 8, MAX_SETTINGS = 24, PROBES = 40 };
#define STEP 4e-3

struct op_case {
    const char *name;
    uint32_t op, n_out; /* n_out 0: 1 */
    const char *in[MAX_OPERANDS];
    int32_t attr[MAX_SETTINGS][2]; /* slot, value; ends at slot 0 with value 0 behind the first */
    uint32_t n_attr;
    float kinks[4]; /* 0 is one, always */
    float bound;    /* of the relative error; 0: 4e-3 */
    uint32_t only_row_major;
};

enum check_mode { MODE_CHANNELS_LAST = 1, MODE_ALSO_OUTPUT = 2, MODE_ORDERED = 4, MODES = 8 };

struct check {
    const struct op_case *c;
    unsigned mode;
    struct sample_random random;
    struct pith_model *m;
    struct tape *t;
    float low[16], high[16]; /* of the model's inputs */
    bool is_bool;
};

static inline float away_from_kinks(const struct op_case *c, float v)
{
    const float apart = 0.02f;
    if (fabsf(v) < apart)
        v = v < 0 ? -apart : apart;
    for (int i = 0; i < 4; i++)
        if (c->kinks[i] != 0 && fabsf(v - c->kinks[i]) < apart)
            v = v < c->kinks[i] ? c->kinks[i] - apart : c->kinks[i] + apart;
    return v;
}

/* The grid over a range, shuffled. */
static inline void shuffled_grid(struct check *k, float *x, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++)
        x[i] = low + (high - low) * ((float)i + 0.5f) / (float)n;
    for (size_t i = n; i > 1; i--) {
        size_t j = sample_below(&k->random, (uint32_t)i);
        float swap = x[j];
        x[j] = x[i - 1];
        x[i - 1] = swap;
    }
    for (size_t i = 0; i < n; i++)
        x[i] = away_from_kinks(k->c, x[i]);
}

static inline uint32_t fixed_numbers(struct check *k, enum pith_type type, uint32_t rank,
                                     const uint32_t *dim, float low, float high)
{
    uint32_t v = add_constant(k->m, &k->random, "fixed", rank, dim);
    struct pith_const *data = k->m->values[v].constant;
    k->m->values[v].type = type;
    if (type == PITH_F32) {
        for (uint64_t i = 0; i < data->count; i++)
            ((float *)data->data)[i] =
                low + (high - low) * (float)sample_below(&k->random, 1000) / 1000.0f;
        return v;
    }
    data->data = pith_model_alloc(k->m, data->count + 1, sizeof(int64_t));
    for (uint64_t i = 0; i < data->count; i++)
        if (type == PITH_I64)
            ((int64_t *)data->data)[i] =
                (int64_t)low + sample_below(&k->random, (uint32_t)(high - low) + 1);
        else if (type == PITH_I32)
            ((int32_t *)data->data)[i] =
                (int32_t)low + (int32_t)sample_below(&k->random, (uint32_t)(high - low) + 1);
        else
            ((uint8_t *)data->data)[i] = (uint8_t)sample_below(&k->random, 2);
    return v;
}

/* x + 0, and on request through a pool of one pixel, which leaves it channels last. */
static inline uint32_t moving_value(struct check *k, uint32_t rank, const uint32_t *dim, float low,
                                    float high)
{
    char name[16];
    snprintf(name, sizeof name, "x%u", k->m->n_inputs);
    k->low[k->m->n_inputs] = low;
    k->high[k->m->n_inputs] = high;
    uint32_t x = add_value(k->m, name, PITH_F32, rank, dim);
    k->m->inputs[k->m->n_inputs++] = x;
    uint32_t zero = add_constant(k->m, &k->random, "moving", rank, dim);
    memset(k->m->values[zero].constant->data, 0,
           k->m->values[zero].constant->count * sizeof(float));
    x = add_node(k->m, PITH_OP_ADD, "move", "moved", 2, (const uint32_t[]){x, zero})->out[0];
    if (rank >= 3 && rank <= 5 && k->mode & MODE_CHANNELS_LAST) {
        struct pith_node *pool = add_node(k->m, PITH_OP_AVERAGE_POOL, "turn", "turned", 1, &x);
        pool->attr[ATTR_POOL_KERNEL] = (int32_t)rank - 2;
        for (uint32_t i = 2; i < rank; i++)
            pool->attr[ATTR_POOL_KERNEL + i - 1] = 1;
        x = pool->out[0];
    }
    if (k->mode & MODE_ALSO_OUTPUT)
        k->m->outputs[k->m->n_outputs++] = x;
    return x;
}

static inline uint32_t operand(struct check *k, const char *text, uint32_t before)
{
    uint32_t dim[PITH_MAX_RANK] = {0}, rank = 0;
    float low = -1, high = 1;
    if (*text == '-')
        return PITH_VALUE_NONE;
    if (*text == '=')
        return before;
    const char *p = text + 1, *range = strchr(text, '@');
    for (int used; sscanf(p, "%u%n", &dim[rank], &used) == 1; rank++) {
        p += used;
        p += *p == 'x';
        if (range && p >= range) {
            rank++;
            break;
        }
    }
    if (range)
        sscanf(range, "@%f:%f", &low, &high);
    if (*text == 'v')
        return moving_value(k, rank, dim, low, high);
    if (*text == 'c') {
        uint32_t v = fixed_numbers(k, PITH_F32, rank, dim, low, high);
        return v;
    }
    enum pith_type type = *text == 'i'   ? PITH_I64
                          : *text == 'j' ? PITH_I32
                          : *text == 'b' ? PITH_BOOL
                                         : PITH_F32;
    return fixed_numbers(k, type, rank, dim, low, high);
}

static inline void build_case(struct check *k)
{
    const struct op_case *c = k->c;
    uint32_t in[MAX_OPERANDS], n_in = 0;
    k->m = sample_new();
    for (; n_in < MAX_OPERANDS && c->in[n_in]; n_in++)
        in[n_in] = operand(k, c->in[n_in], n_in ? in[n_in - 1] : 0);
    struct pith_node *node = add_node(k->m, c->op, "tested", "out0", n_in, in);
    for (uint32_t i = 0; i < c->n_attr; i++)
        node->attr[c->attr[i][0]] = c->attr[i][1];
    uint32_t n_out = c->n_out ? c->n_out : 1, first = node->out[0];
    node->out = pith_model_alloc(k->m, n_out, sizeof *node->out);
    node->n_out = n_out;
    node->out[0] = first;
    for (uint32_t i = 1; i < n_out; i++)
        node->out[i] = add_value(k->m, "more", PITH_F32, 0, NULL);
    for (uint32_t i = 0; i < n_out; i++)
        k->m->outputs[k->m->n_outputs++] = node->out[i];
    struct pith_error err = {0};
    if (pith_model_infer_shapes(k->m, &err))
        fail_msg("%s: %s", c->name, err.text);
}

static inline void fill_inputs(struct check *k)
{
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (uint32_t i = 0; i < k->m->n_inputs; i++) {
            struct tape_tensor *x = pith_tape_input(k->t, s, i);
            shuffled_grid(k, x->data, shape_elems(&x->shape), k->low[i], k->high[i]);
        }
}

/* The coefficient of element i of output o in slice s. */
static inline double coefficient(uint32_t s, uint32_t o, size_t i)
{
    return sin(1.0 + 0.7 * (double)i + 1.3 * s + 2.1 * o);
}

static inline double loss_of(struct tape *t, uint32_t n_outputs)
{
    double sum = 0;
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (uint32_t o = 0; o < n_outputs; o++) {
            const struct tape_tensor *y = pith_tape_output(t, s, o);
            const float *data = y->data;
            for (size_t i = 0; i < shape_elems(&y->shape); i++)
                sum += data[i] * coefficient(s, o, i);
        }
    return sum;
}

static inline void set_loss_gradient(struct tape *t, uint32_t n_outputs)
{
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        for (uint32_t o = 0; o < n_outputs; o++) {
            struct tape_tensor *y = pith_tape_output(t, s, o);
            for (size_t i = 0; i < shape_elems(&y->shape) && y->grad; i++)
                y->grad[i] += (float)coefficient(s, o, i);
        }
}

static inline double difference_at(struct tape *t, uint32_t n_outputs, float *w)
{
    const float was = *w;
    double loss[2], at[2];
    for (int side = 0; side < 2; side++) {
        *w = was + (float)(side ? STEP : -STEP);
        at[side] = *w;
        pith_tape_forward(t);
        loss[side] = loss_of(t, n_outputs);
    }
    *w = was;
    return (loss[1] - loss[0]) / (at[1] - at[0]);
}

/* All parameters of a tape whose backward has run. */
static inline void compare_gradients(struct tape *t, uint32_t n_outputs, const char *name,
                                     unsigned mode, double bound)
{
    uint32_t n;
    struct tape_parameter *p = pith_tape_parameters(t, &n);
    assert_true(n > 0);
    for (uint32_t i = 0; i < n; i++) {
        double largest = 0;
        for (uint64_t j = 0; j < p[i].count; j++)
            largest = fmax(largest, fabs((double)p[i].grad[j]));
        uint64_t step = p[i].count > PROBES ? p[i].count / PROBES : 1;
        for (uint64_t j = 0; j < p[i].count; j += step) {
            double is = p[i].grad[j], expected = difference_at(t, n_outputs, &p[i].data[j]);
            if (!(fabs(is - expected) <= bound * fmax(fabs(expected), 0.25 * largest) + 4e-4))
                fail_msg("%s, mode %u: parameter %u, element %llu: gradient %g, difference %g",
                         name, mode, i, (unsigned long long)j, is, expected);
        }
    }
}

/* Twice: the second time finds what the first left behind. */
static inline void forward_and_backward(struct check *k)
{
    for (int time = 0; time < 2; time++) {
        pith_tape_forward(k->t);
        set_loss_gradient(k->t, k->m->n_outputs);
        pith_tape_backward(k->t);
    }
}

/* A tape behind its first backward. */
static inline struct check open_case(const struct op_case *c, unsigned mode)
{
    struct check k = {.c = c, .mode = mode, .random = sample_random_of(17)};
    struct pith_error err = {0};
    const struct tape_opts opts = {.batch = PITH_TRAIN_SLICES,
                                   .threads = 1,
                                   .training = true,
                                   .ordered = (mode & MODE_ORDERED) != 0};
    build_case(&k);
    if (pith_tape_new(k.m, &opts, &k.t, &err))
        fail_msg("%s: %s", c->name, err.text);
    fill_inputs(&k);
    forward_and_backward(&k);
    return k;
}

/* *loss: of the first mode; neither layout nor the order of sums may change it. */
static inline void check_case_mode(const struct op_case *c, unsigned mode, double *loss)
{
    struct check k = open_case(c, mode);
    double is = loss_of(k.t, k.m->n_outputs);
    if (mode == 0)
        *loss = is;
    if (!(mode & MODE_ALSO_OUTPUT) && !(fabs(is - *loss) <= 1e-5 * (1 + fabs(*loss))))
        fail_msg("%s: mode %u gives %g, the first %g", c->name, mode, is, *loss);
    compare_gradients(k.t, k.m->n_outputs, c->name, mode, c->bound > 0 ? (double)c->bound : 4e-3);
    pith_tape_free(k.t);
    pith_model_free(k.m);
}

/* Of what ordered tapes compute, on every instruction set of this CPU the bits of the reference. */
static inline void check_case_bits(const struct op_case *c, unsigned mode)
{
    pith_cpu_allow(PITH_CPU_REF);
    struct check k = open_case(c, mode);
    for (uint32_t mask = PITH_CPU_AVX2; mask; mask = mask == PITH_CPU_AVX2 ? ~PITH_CPU_REF : 0) {
        uint32_t n;
        pith_cpu_allow(mask);
        struct check other = open_case(c, mode);
        const struct tape_parameter *is = pith_tape_parameters(other.t, &n),
                                    *was = pith_tape_parameters(k.t, &n);
        for (uint32_t i = 0; i < n; i++)
            if (memcmp(is[i].grad, was[i].grad, was[i].count * sizeof(float)) != 0)
                fail_msg("%s, mode %u, CPU %#x: bits of parameter %u", c->name, mode, mask, i);
        if (memcmp(&(double){loss_of(k.t, k.m->n_outputs)},
                   &(double){loss_of(other.t, k.m->n_outputs)}, sizeof(double)) != 0)
            fail_msg("%s, mode %u, CPU %#x: bits of the loss", c->name, mode, mask);
        pith_tape_free(other.t);
        pith_model_free(other.m);
    }
    pith_cpu_allow(0);
    pith_tape_free(k.t);
    pith_model_free(k.m);
}

static inline void check_cases(const struct op_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double loss = 0;
        for (unsigned mode = 0; mode < MODES; mode++)
            check_case_mode(&c[i], mode, &loss);
        check_case_bits(&c[i], MODE_ORDERED);
        check_case_bits(&c[i], MODE_ORDERED | MODE_CHANNELS_LAST);
    }
}

#endif
