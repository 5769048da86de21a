/* SPDX-License-Identifier: MIT */
/* onnx_loop_count.c - how often a Loop runs whose condition counts, as those of TensorFlow do:
 *
 *     while i < n: ...; i = i + 1
 *
 * What the condition reads, back to numbers that are known at import, becomes a list of steps. They
 * are computed iteration by iteration until the condition no longer holds. */
#include "onnx/lower/onnx_loop_count.h"

#include <math.h>

#define MOST_STEPS 48u
#define MOST_ITERATIONS (1u << 20)
#define MOST_EXACT 16777216.0 /* 2^24: f32 holds all integers up to here */

enum step_kind {
    STEP_NUMBER,
    STEP_STATE,
    STEP_ITERATION,
    STEP_SAME,
    STEP_NOT,
    STEP_ADD,
    STEP_SUB,
    STEP_MUL,
    STEP_LESS,
    STEP_LESS_EQUAL,
    STEP_GREATER,
    STEP_GREATER_EQUAL,
    STEP_AND
};

struct count_step {
    uint32_t value; /* which it computes */
    enum step_kind kind;
    uint32_t a, b;   /* the steps that it reads; of a state: its number, and the step of its next */
    double is, next; /* the value in this iteration; of a state: in the next */
};

struct counter {
    struct onnx_lower *l;
    const struct onnx_region *region;
    struct count_step step[MOST_STEPS];
    uint32_t n;
    bool counts; /* so far; false: the condition reads something else */
    enum pith_status status;
};

static const struct {
    const char *op_type;
    enum step_kind kind;
} kinds[] = {{"Add", STEP_ADD},
             {"And", STEP_AND},
             {"Cast", STEP_SAME},
             {"Greater", STEP_GREATER},
             {"GreaterOrEqual", STEP_GREATER_EQUAL},
             {"Identity", STEP_SAME},
             {"Less", STEP_LESS},
             {"LessOrEqual", STEP_LESS_EQUAL},
             {"Mul", STEP_MUL},
             {"Not", STEP_NOT},
             {"Reshape", STEP_SAME},
             {"Squeeze", STEP_SAME},
             {"Sub", STEP_SUB},
             {"Unsqueeze", STEP_SAME}};

/* false: it is no single number that is known. */
static bool read_number(struct counter *c, uint32_t value, double *number)
{
    struct onnx_import *im = c->l->im;
    if (im->values[value].tensor && !im->values[value].known)
        c->status = pith_onnx_describe_tensor(im, value);
    const struct onnx_value *v = &im->values[value];
    if (c->status || !v->known || !v->constant || v->empty || shape_elems(&v->shape) != 1)
        return false;
    c->status = pith_onnx_load(im, value);
    if (c->status)
        return false;
    v = &im->values[value];
    if (v->varies)
        im->batch_open = false;
    int32_t narrow = 0;
    int64_t wide = 0;
    float real = 0;
    switch (v->type) {
    case PITH_I32:
        memcpy(&narrow, v->data, sizeof narrow);
        *number = narrow;
        return true;
    case PITH_I64:
        memcpy(&wide, v->data, sizeof wide);
        *number = (double)wide;
        return true;
    case PITH_BOOL:
        *number = *(const uint8_t *)v->data;
        return true;
    case PITH_F32:
        memcpy(&real, v->data, sizeof real);
        *number = (double)real;
        return true;
    default:
        return false;
    }
}

/* The number of a Constant, which is not lowered yet. */
static bool read_constant(struct counter *c, const Onnx__NodeProto *node, double *number)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *a = node->attribute[i];
        if (!a->name || strcmp(a->name, "value") != 0 || !a->t)
            continue;
        const uint32_t value = pith_onnx_add_value(c->l->im, "");
        if (value == ONNX_VALUE_NONE) {
            c->status = pith_onnx_no_memory(c->l->im);
            return false;
        }
        c->l->im->values[value].tensor = a->t;
        c->l->im->values[value].constant = true;
        return read_number(c, value, number);
    }
    return false;
}

static uint32_t add_step(struct counter *c, struct count_step step)
{
    if (c->n == MOST_STEPS) {
        c->counts = false;
        return 0;
    }
    c->step[c->n] = step;
    return c->n++;
}

static uint32_t step_of(struct counter *c, uint32_t value, uint32_t depth);

static uint32_t node_step(struct counter *c, uint32_t value, uint32_t depth)
{
    struct onnx_import *im = c->l->im;
    const int64_t producer = im->values[value].producer;
    struct count_step step = {.value = value};
    const struct onnx_flat *flat = producer == ONNX_NONE ? NULL : &im->flat[producer];
    if (!flat || flat->role != ONNX_PLAIN || flat->out != value || depth == MOST_STEPS) {
        c->counts = false;
        return 0;
    }
    if (strcmp(flat->node->op_type, "Constant") == 0) {
        c->counts = read_constant(c, flat->node, &step.is);
        return add_step(c, step);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(flat->node->op_type, kinds[i].op_type) != 0)
            continue;
        step.kind = kinds[i].kind;
        if (flat->n_in == 0 || (step.kind > STEP_NOT && flat->n_in != 2))
            break;
        step.a = step_of(c, flat->in[0], depth + 1);
        if (step.kind > STEP_NOT)
            step.b = step_of(c, flat->in[1], depth + 1);
        return add_step(c, step);
    }
    c->counts = false;
    return 0;
}

static uint32_t step_of(struct counter *c, uint32_t value, uint32_t depth)
{
    struct onnx_import *im = c->l->im;
    const uint32_t first = c->l->first_out, n = c->region->n_states;
    struct count_step step = {.value = value = pith_onnx_alias(im, value)};
    if (value == ONNX_VALUE_NONE)
        c->counts = false;
    if (!c->counts)
        return 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->step[i].value == value)
            return i;
    if (value == first) {
        step.kind = STEP_ITERATION;
        return add_step(c, step);
    }
    if (value > first && value <= first + n) {
        step.kind = STEP_STATE;
        step.a = value - first - 1;
        c->counts = read_number(c, c->l->in[2 + step.a], &step.is);
        return add_step(c, step);
    }
    if (read_number(c, value, &step.is))
        return add_step(c, step);
    return node_step(c, value, depth);
}

/* false: it is no integer that all types hold. */
static bool compute(struct counter *c, struct count_step *s, uint32_t iteration)
{
    const double a = c->step[s->a].is, b = c->step[s->b].is;
    switch (s->kind) {
    case STEP_NUMBER:
    case STEP_STATE:
        break;
    case STEP_ITERATION:
        s->is = iteration;
        break;
    case STEP_SAME:
        s->is = a;
        break;
    case STEP_NOT:
        s->is = a == 0;
        break;
    case STEP_ADD:
        s->is = a + b;
        break;
    case STEP_SUB:
        s->is = a - b;
        break;
    case STEP_MUL:
        s->is = a * b;
        break;
    case STEP_LESS:
        s->is = a < b;
        break;
    case STEP_LESS_EQUAL:
        s->is = a <= b;
        break;
    case STEP_GREATER:
        s->is = a > b;
        break;
    case STEP_GREATER_EQUAL:
        s->is = a >= b;
        break;
    case STEP_AND:
        s->is = a != 0 && b != 0;
        break;
    }
    return s->is == trunc(s->is) && fabs(s->is) <= MOST_EXACT;
}

/* At most *trips. */
static void run(struct counter *c, uint32_t condition, int64_t *trips)
{
    for (uint32_t n = 0; n < MOST_ITERATIONS && c->counts; n++) {
        if (n + 1 >= *trips)
            return;
        for (uint32_t i = 0; i < c->n && c->counts; i++)
            c->counts = compute(c, &c->step[i], n);
        if (!c->counts)
            return;
        if (c->step[condition].is == 0) {
            *trips = n + 1;
            return;
        }
        for (uint32_t i = 0; i < c->n; i++)
            c->step[i].next = c->step[c->step[i].b].is;
        for (uint32_t i = 0; i < c->n; i++)
            if (c->step[i].kind == STEP_STATE)
                c->step[i].is = c->step[i].next;
    }
    c->counts = false;
}

enum pith_status pith_onnx_count_trips(struct onnx_lower *l, uint32_t wanted, int64_t *trips,
                                       bool *counted)
{
    struct counter c = {.l = l, .region = &l->im->regions[l->flat->region], .counts = true};
    const uint32_t *end_in = c.region->end_in;
    const bool open = l->im->batch_open;
    /* the iteration as the body wants it is another value */
    const uint32_t before = l->im->values[wanted].alias;
    l->im->values[wanted].alias = l->first_out;
    const uint32_t condition = step_of(&c, end_in[0], 0);
    for (uint32_t i = 0; i < c.n && c.counts; i++)
        if (c.step[i].kind == STEP_STATE) {
            const uint32_t next = step_of(&c, end_in[1 + c.step[i].a], 0);
            c.step[i].b = next;
        }
    l->im->values[wanted].alias = before;
    if (c.counts && !c.status)
        run(&c, condition, trips);
    *counted = c.counts && !c.status;
    l->im->batch_open = *counted ? l->im->batch_open : open;
    return c.status;
}
