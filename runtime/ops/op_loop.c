/* SPDX-License-Identifier: MIT */
/* op_loop.c - Loop and LoopEnd: the first and the last node of a body that runs once an iteration.
 *
 *     count, go on, initial states --> Loop --> iteration, states --> body --> next states --+
 *                                                  ^                                         |
 *                                                  +------------- LoopEnd <------------------+
 *                                                                 |
 *                                            final states, what was collected
 *
 * The storage of the states is that of Loop's outputs; LoopEnd writes the next ones there. Which
 * node comes next is the executor's affair (run.c); here is what moves.
 *
 * ONNX Loop-13 with its number of trips as an attribute, which bounds what is stacked; a count
 * or a condition that is computed (`open`) may end it earlier, but then nothing can be stacked,
 * because shapes are known before a network runs. Scan becomes this at import. */
#include "ops/loop.h"
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

/* Conditions and counts are of rank 0; import makes them so. */
static bool is_scalar(const struct tview *t, enum pith_type type)
{
    return t && t->type == type && t->shape.rank == 0;
}

static bool same_kind(const struct tview *a, const struct tview *b)
{
    return a->type == b->type && pith_shape_equal(&a->shape, &b->shape);
}

static size_t bytes_of(const struct tview *t)
{
    return shape_elems(&t->shape) * pith_type_bytes(t->type);
}

/* alias.c may have put both in one place. */
static void copy(const struct tview *to, const struct tview *from)
{
    if (to->data != from->data)
        memcpy(to->data, from->data, bytes_of(from));
}

/* ---- Loop ----------------------------------------------------------------------------------- */

/* Optional inputs come first, in the order count, condition. */
static uint32_t first_state(const struct op_args *args)
{
    return (uint32_t)(args->attr[ATTR_LOOP_HAS_COUNT] + args->attr[ATTR_LOOP_HAS_COND]);
}

static enum pith_status shape_loop(const struct op_args *args)
{
    static const struct shape scalar = {.rank = 0};
    uint32_t first = first_state(args);
    enum pith_status st = pith_in_present(args, args->n_in);
    /* One output for the number of the iteration, one for each state. */
    if (st || args->n_in < first || args->n_out != 1 + args->n_in - first)
        return PITH_ERR_CORRUPT;
    if ((args->attr[ATTR_LOOP_HAS_COUNT] && !is_scalar(args->in[0], PITH_I64)) ||
        (args->attr[ATTR_LOOP_HAS_COND] && !is_scalar(args->in[first - 1], PITH_BOOL)))
        return PITH_ERR_CORRUPT;
    st = pith_out_set(args->out[0], PITH_I64, &scalar);
    for (uint32_t i = first; i < args->n_in && !st; i++)
        st = pith_out_set(args->out[1 + i - first], args->in[i]->type, &args->in[i]->shape);
    return st;
}

/* States are copied, not aliased to what they begin with: the body overwrites them. */
static void run_loop(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    uint32_t first = first_state(args);
    /* The first iteration has the number 0. */
    memset(args->out[0]->data, 0, sizeof(int64_t));
    for (uint32_t i = first; i < args->n_in; i++)
        copy(args->out[1 + i - first], args->in[i]);
}

static int64_t iteration(const struct op_args *loop)
{
    return *(const int64_t *)loop->out[0]->data;
}

/* Attribute and input bound the iterations together, whichever is smaller. */
static bool in_count(const struct op_args *loop)
{
    int64_t done = iteration(loop);
    return done < loop->attr[ATTR_LOOP_TRIPS] &&
           (!loop->attr[ATTR_LOOP_HAS_COUNT] || done < *(const int64_t *)loop->in[0]->data);
}

/* Called by the executor after run_loop(), so that a loop of no iterations skips its body. */
bool pith_loop_enters(const struct op_args *loop)
{
    return in_count(loop) && (!loop->attr[ATTR_LOOP_HAS_COND] ||
                              *(const uint8_t *)loop->in[first_state(loop) - 1]->data);
}

/* ---- LoopEnd -------------------------------------------------------------------------------- */

/* Inputs: go on?, states[n], next[n], collected[]; outputs: final[n], stacked[]. */
struct loop_end {
    uint32_t n, states, next, collected, n_collected;
};

/* Written so that nothing wraps for any n_in and any number of states a file may say. */
static bool loop_end_of(const struct op_args *args, struct loop_end *e)
{
    e->n = (uint32_t)args->attr[ATTR_LOOP_STATES];
    e->states = args->attr[ATTR_LOOP_HAS_COND] != 0;
    if (args->n_in < e->states || e->n > (args->n_in - e->states) / 2)
        return false;
    e->next = e->states + e->n;
    e->collected = e->next + e->n;
    e->n_collected = args->n_in - e->collected;
    return true;
}

/* Every iteration's value has one slice along a new first axis. */
static enum pith_status shape_stacked(const struct op_args *args, const struct tview *x,
                                      struct tview *out)
{
    struct shape s = {.rank = x->shape.rank + 1};
    if (s.rank > PITH_MAX_RANK)
        return PITH_ERR_UNSUPPORTED;
    s.dim[0] = (uint32_t)args->attr[ATTR_LOOP_TRIPS];
    for (uint32_t i = 1; i < s.rank; i++)
        s.dim[i] = x->shape.dim[i - 1];
    return pith_out_set(out, x->type, &s);
}

static enum pith_status shape_loop_end(const struct op_args *args)
{
    struct loop_end e;
    enum pith_status st = pith_in_present(args, args->n_in);
    if (st || !loop_end_of(args, &e) || args->n_out != e.n + e.n_collected)
        return PITH_ERR_CORRUPT;
    /* A loop that may end early would leave slices unwritten. */
    bool open = args->attr[ATTR_LOOP_HAS_COND] || args->attr[ATTR_LOOP_HAS_COUNT];
    if ((open && e.n_collected) || (e.states && !is_scalar(args->in[0], PITH_BOOL)))
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < e.n && !st; i++) {
        const struct tview *state = args->in[e.states + i];
        /* A state keeps its type and shape from one iteration to the next: its place is planned
         * once. */
        if (!same_kind(state, args->in[e.next + i]))
            return PITH_ERR_CORRUPT;
        st = pith_out_set(args->out[i], state->type, &state->shape);
    }
    for (uint32_t i = 0; i < e.n_collected && !st; i++)
        st = shape_stacked(args, args->in[e.collected + i], args->out[e.n + i]);
    return st;
}

/* The loop is over: what the states are now is what they are in the end. */
static void run_loop_end(const struct op_args *args, const struct op_env *env)
{
    struct loop_end e;
    (void)env;
    if (!loop_end_of(args, &e))
        return;
    for (uint32_t i = 0; i < e.n; i++)
        copy(args->out[i], args->in[e.states + i]);
}

/* A next value that lies in the storage of some state goes through the scratch, so that all are
 * read before one is written. Two states that swap would otherwise lose one of them. Which do is
 * known when the plan is made. */
static void move_states(const struct op_args *args, const struct loop_end *e, uint8_t *scratch)
{
    const bool *through_scratch = args->prep;
    uint8_t *to = scratch;
    for (uint32_t i = 0; i < e->n; i++)
        if (through_scratch[i]) {
            memcpy(to, args->in[e->next + i]->data, bytes_of(args->in[e->next + i]));
            to += bytes_of(args->in[e->next + i]);
        }
    for (uint32_t i = 0; i < e->n; i++)
        if (through_scratch[i]) {
            memcpy(args->in[e->states + i]->data, scratch, bytes_of(args->in[e->states + i]));
            scratch += bytes_of(args->in[e->states + i]);
        } else {
            copy(args->in[e->states + i], args->in[e->next + i]);
        }
}

/* The order matters: what is collected may lie where a state will be written. */
bool pith_loop_step(const struct op_args *loop, const struct op_args *end, void *scratch)
{
    struct loop_end e;
    if (!loop_end_of(end, &e))
        return false;
    bool go_on = !e.states || *(const uint8_t *)end->in[0]->data;
    for (uint32_t i = 0; i < e.n_collected; i++) {
        const struct tview *x = end->in[e.collected + i];
        uint8_t *stacked = end->out[e.n + i]->data;
        memcpy(stacked + (size_t)iteration(loop) * bytes_of(x), x->data, bytes_of(x));
    }
    move_states(end, &e, scratch);
    *(int64_t *)loop->out[0]->data += 1;
    return go_on && in_count(loop);
}

/* ---- tables --------------------------------------------------------------------------------- */

static enum pith_status need_loop(const struct op_args *args, const struct op_env *env,
                                  struct op_need *need)
{
    (void)args;
    (void)env;
    need->kernel = "loop";
    return PITH_OK;
}

static const struct attr_field loop_fields[] = {
    {ATTR_INT, ATTR_LOOP_TRIPS, 0, 1, INT32_MAX},
    {ATTR_INT, ATTR_LOOP_HAS_COND, 0, 0, 1},
    {ATTR_INT, ATTR_LOOP_HAS_COUNT, 0, 0, 1},
    {ATTR_INT, ATTR_LOOP_STATES, 0, 0, INT32_MAX},
};

const struct op_info pith_op_loop = {
    .op = PITH_OP_LOOP,
    .n_in_min = 0,
    .n_in_max = OP_ANY,
    .n_out_min = 1,
    .n_out_max = OP_ANY,
    .n_fields = 3,
    .n_slots = 3,
    .flags = OP_CONTROL,
    .fields = loop_fields,
    .traits = {.flags = TRAIT_OPENS_BODY},
    .shape = shape_loop,
    .need = need_loop,
    .run = run_loop,
};

const struct op_info pith_op_loop_end = {
    .op = PITH_OP_LOOP_END,
    .n_in_min = 1,
    .n_in_max = OP_ANY,
    .n_out_min = 1,
    .n_out_max = OP_ANY,
    .n_fields = 4,
    .n_slots = 4,
    .flags = OP_CONTROL,
    .fields = loop_fields,
    .traits = {.flags = TRAIT_CLOSES_BODY},
    .shape = shape_loop_end,
    .need = need_loop,
    .run = run_loop_end,
};
