/* SPDX-License-Identifier: MIT */
/* Random graphs full of loops and branches: whatever is fused, shared and placed, a plan gives the
 * bits that a plain interpreter gives, which keeps every value in memory of its own. All numbers
 * are small integers, so that no order of adding matters. */
#define GRAPH_DOUBLE_READER
#include "loop_double.h"
#include <stdio.h>
#include "plan/plan.h"
#include "test_seed.h"

#define MAX_POOL 48u
#define ROUNDS 1500u

static uint64_t seed, first_seed;
static float some_data[64];

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- graphs --------------------------------------------------------------------------------- */

/* Values [2,4], all of which a node made now may read. */
struct pool {
    uint32_t value[MAX_POOL], n;
    uint32_t depth;
};

/* What there is from the beginning. */
static struct {
    uint32_t count, condition, square, row, small;
} given;

static uint32_t pick(const struct pool *p)
{
    uint32_t back = random_below(3) ? random_below(4) : random_below(p->n);
    return p->value[p->n - 1 - (back < p->n ? back : p->n - 1)];
}

static void push(struct pool *p, uint32_t value)
{
    if (p->n == MAX_POOL) /* forget the second oldest ones */
        memmove(p->value + 4, p->value + 5, (--p->n - 4) * sizeof *p->value);
    p->value[p->n++] = value;
}

static void set_clip(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_CLIP_MIN] = (int32_t)f32_bits(-9.0f);
    attr[ATTR_CLIP_MAX] = (int32_t)f32_bits(7.0f);
}

static void set_axis_0(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_AXIS] = 0;
}

static void set_dims(int32_t *attr, void *arg)
{
    const int32_t *dims = arg;
    memcpy(attr, dims, (1 + (size_t)dims[0]) * sizeof *attr);
}

/* Rows from..from + 2. */
static void set_rows(int32_t *attr, void *arg)
{
    int32_t from = *(const int32_t *)arg;
    attr[ATTR_SLICE_AXES] = attr[ATTR_SLICE_STARTS] = attr[ATTR_SLICE_ENDS] = 1;
    attr[ATTR_SLICE_STARTS + 1] = from;
    attr[ATTR_SLICE_ENDS + 1] = from + 2;
}

static void set_kind(int32_t *attr, void *arg)
{
    attr[ATTR_KIND] = *(const int32_t *)arg;
}

static void set_sum(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_KIND] = REDUCE_SUM;
    attr[ATTR_REDUCE_KIND_KEEP] = 0;
}

static uint32_t unary(enum pith_op op, uint32_t v)
{
    return gd_node(op, NULL, NULL, 1, 1, v);
}

static uint32_t binary(enum pith_op op, uint32_t a, uint32_t b)
{
    return gd_node(op, NULL, NULL, 1, 2, a, b);
}

static uint32_t neg(uint32_t v)
{
    int32_t kind = UNARY_NEG;
    return gd_node(PITH_OP_UNARY, set_kind, &kind, 1, 1, v);
}

static uint32_t clip(uint32_t v)
{
    return gd_node(PITH_OP_CLIP, set_clip, NULL, 1, 1, v);
}

static uint32_t reshape(uint32_t v, uint32_t rank, int32_t a, int32_t b)
{
    int32_t dims[3] = {(int32_t)rank, a, b};
    return gd_node(PITH_OP_RESHAPE, set_dims, dims, 1, 1, v);
}

/* bool []: the sum of v is below a small number. */
static uint32_t condition_of(uint32_t v)
{
    int32_t kind = random_below(2) ? COMPARE_LESS : COMPARE_GREATER;
    uint32_t sum = gd_node(PITH_OP_REDUCE, set_sum, NULL, 1, 1, v);
    return gd_node(PITH_OP_COMPARE, set_kind, &kind, 1, 2, sum, given.small);
}

/* Two rows of the two values one above the other. */
static uint32_t concat_rows(uint32_t a, uint32_t b)
{
    int32_t from = (int32_t)random_below(3);
    uint32_t all = gd_node(PITH_OP_CONCAT, set_axis_0, NULL, 1, 2, a, b);
    return gd_node(PITH_OP_SLICE, set_rows, &from, 1, 1, all);
}

/* A view of a view, sometimes with something done in between. */
static uint32_t reshaped(uint32_t v)
{
    v = reshape(v, 2, 4, 2);
    return reshape(random_below(2) ? neg(v) : v, 2, 2, 4);
}

static uint32_t plain_node(const struct pool *p)
{
    uint32_t v = pick(p);
    switch (random_below(10)) {
    case 0:
        return unary(PITH_OP_RELU, v);
    case 1:
        return neg(v);
    case 2:
        return unary(PITH_OP_IDENTITY, v);
    case 3:
        return reshaped(v);
    case 4:
        return concat_rows(v, pick(p));
    case 5: /* a product that may take what follows */
        v = binary(PITH_OP_MATMUL, v, given.square);
        v = random_below(2) ? binary(PITH_OP_ADD, v, given.row) : v;
        v = random_below(2) ? binary(PITH_OP_ADD, pick(p), v) : v;
        return clip(v);
    case 6:
        return clip(binary(PITH_OP_MUL, v, pick(p)));
    case 7:
        return clip(binary(PITH_OP_SUB, v, pick(p)));
    default:
        return clip(binary(PITH_OP_ADD, v, pick(p)));
    }
}

static void add_nodes(struct pool *p, uint32_t n);

static void add_loop(struct pool *p)
{
    struct gd_loop l = {.trips = 1 + (int32_t)random_below(4),
                        .has_cond = random_below(4) == 0,
                        .has_count = random_below(4) == 0,
                        .n_states = random_below(4)};
    uint32_t n_collected = l.has_cond || l.has_count ? 0 : random_below(3);
    if (l.n_states == 0 && n_collected == 0)
        l.n_states = 1;
    uint32_t in[8], n = 0;
    if (l.has_count)
        in[n++] = given.count;
    if (l.has_cond)
        in[n++] = random_below(2) ? given.condition : condition_of(pick(p));
    for (uint32_t i = 0; i < l.n_states; i++)
        in[n++] = pick(p);
    struct pool body = *p;
    body.depth++;
    uint32_t t = gd_loop_begin_of(&l, n, in);
    for (uint32_t i = 0; i < l.n_states; i++)
        push(&body, t + 1 + i);
    add_nodes(&body, 1 + random_below(5));
    n = 0;
    if (l.has_cond)
        in[n++] = random_below(8) ? condition_of(pick(&body)) : given.condition;
    for (uint32_t i = 0; i < l.n_states; i++)
        in[n++] = random_below(4) ? pick(&body) : t + 1 + random_below(l.n_states);
    for (uint32_t i = 0; i < n_collected; i++)
        in[n++] = pick(&body);
    uint32_t out = gd_loop_end_of(&l, n, in);
    for (uint32_t i = 0; i < l.n_states; i++)
        push(p, out + i);
    for (uint32_t i = 0; i < n_collected; i++) {
        int32_t from = 2 * (int32_t)random_below((uint32_t)l.trips);
        uint32_t rows = reshape(out + l.n_states + i, 2, 2 * l.trips, 4);
        push(p, gd_node(PITH_OP_SLICE, set_rows, &from, 1, 1, rows));
    }
}

static void add_branch(struct pool *p)
{
    uint32_t branch = gd_branch(random_below(3) ? condition_of(pick(p)) : given.condition);
    uint32_t k = 1 + random_below(2), in[5] = {branch};
    for (uint32_t side = 0; side < 2; side++) {
        struct pool body = *p;
        body.depth++;
        if (side)
            gd_else(branch);
        add_nodes(&body, random_below(4));
        for (uint32_t i = 0; i < k; i++)
            in[1 + side * k + i] = pick(&body);
    }
    uint32_t out = gd_node_of(PITH_OP_BRANCH_END, NULL, NULL, k, 1 + 2 * k, in);
    for (uint32_t i = 0; i < k; i++)
        push(p, out + i);
}

/* Recursion ends at depth 3. */
static void add_nodes(struct pool *p, uint32_t n)
{
    for (uint32_t i = 0; i < n && gd.g.n_nodes < 150; i++) {
        uint32_t what = p->depth < 3 ? random_below(6) : 2;
        if (what == 0)
            add_loop(p);
        else if (what == 1)
            add_branch(p);
        else
            push(p, plain_node(p));
    }
}

static void random_graph(void)
{
    struct pool p = {.n = 0};
    gd_clear();
    given.count = gd_input(0);
    gd_input_type(PITH_I64);
    given.condition = gd_input(0);
    gd_input_type(PITH_BOOL);
    push(&p, gd_input(2, 2, 4));
    push(&p, gd_input(2, 2, 4));
    push(&p, gd_weight(some_data, 2, 2, 4));
    given.square = gd_weight(some_data + 8, 2, 4, 4);
    given.row = gd_weight(some_data + 24, 1, 4);
    given.small = gd_weight(some_data + 28, 0);
    add_nodes(&p, 2 + random_below(8));
    gd_output(neg(pick(&p)));
    for (uint32_t i = random_below(3); i > 0; i--)
        gd_output(pick(&p));
}

/* ---- the interpreter ------------------------------------------------------------------------ */

static size_t bytes_of(uint32_t v)
{
    return shape_elems(&gd.value[v].shape) * pith_type_bytes(gd.value[v].type);
}

static void run_node(const struct graph_node *node)
{
    const struct tview *in[GD_MAX_IN];
    struct tview *out[GD_MAX_IN];
    struct pith_kernels kernels;
    struct op_env env = {.kernels = &kernels};
    struct op_need need = {0};
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = &gd.value[node->in[i]];
    for (uint32_t i = 0; i < node->n_out; i++)
        out[i] = &gd.value[node->first_out + i];
    struct op_args args = node_args(node, in, out);
    uint64_t lowered[(OP_LOWERED_MAX + 7) / 8] = {0};
    args.lowered = lowered;
    pith_kernels_fill(&kernels, PITH_CPU_REF);
    if (node->info->need)
        assert_int_equal(node->info->need(&args, &env, &need), PITH_OK);
    args.prep =
        need.prep_bytes ? aligned_alloc(64, ((size_t)need.prep_bytes + 63) / 64 * 64) : NULL;
    uint64_t scratch = need.scratch_bytes + need.prep_scratch_bytes;
    env.scratch = aligned_alloc(64, ((size_t)scratch + 127) / 64 * 64);
    assert_non_null(env.scratch);
    if (args.prep && node->info->prepare)
        assert_int_equal(node->info->prepare(&args, &env), PITH_OK);
    node->info->run(&args, &env);
    free(args.prep);
    free(env.scratch);
}

static void move(uint32_t to, uint32_t from)
{
    memmove(gd.value[to].data, gd.value[from].data, bytes_of(from));
}

static bool is_true(uint32_t v)
{
    return *(const uint8_t *)gd.value[v].data != 0;
}

static uint32_t closing(uint32_t n, enum pith_op op, enum pith_op opens, enum pith_op closes)
{
    for (uint32_t depth = 0;; n++) {
        enum pith_op here = gd.node[n].info->op;
        if (here == op && depth == 0)
            return n;
        depth += here == opens;
        depth -= here == closes;
    }
}

static void interpret(uint32_t from, uint32_t to);

/* Returns the LoopEnd. */
static uint32_t interpret_loop(uint32_t n)
{
    const struct graph_node *loop = &gd.node[n];
    uint32_t e = closing(n + 1, PITH_OP_LOOP_END, PITH_OP_LOOP, PITH_OP_LOOP_END);
    const struct graph_node *end = &gd.node[e];
    uint32_t states = loop->n_out - 1, cond = (uint32_t)loop->attr[ATTR_LOOP_HAS_COND];
    uint32_t count = (uint32_t)loop->attr[ATTR_LOOP_HAS_COUNT];
    int64_t trips = loop->attr[ATTR_LOOP_TRIPS];
    if (count && *(const int64_t *)gd.value[loop->in[0]].data < trips)
        trips = *(const int64_t *)gd.value[loop->in[0]].data;
    for (uint32_t i = 0; i < states; i++)
        move(loop->first_out + 1 + i, loop->in[count + cond + i]);
    bool go_on = !cond || is_true(loop->in[count]);
    for (int64_t t = 0; t < trips && go_on; t++) {
        *(int64_t *)gd.value[loop->first_out].data = t;
        interpret(n + 1, e);
        for (uint32_t i = states; i < end->n_out; i++) {
            uint32_t x = end->in[cond + states + i];
            memcpy((uint8_t *)gd.value[end->first_out + i].data + (size_t)t * bytes_of(x),
                   gd.value[x].data, bytes_of(x));
        }
        for (uint32_t i = 0; i < states; i++) /* the final values hold them meanwhile */
            move(end->first_out + i, end->in[cond + states + i]);
        for (uint32_t i = 0; i < states; i++)
            move(loop->first_out + 1 + i, end->first_out + i);
        go_on = !cond || is_true(end->in[0]);
    }
    for (uint32_t i = 0; i < states; i++)
        move(end->first_out + i, loop->first_out + 1 + i);
    return e;
}

static uint32_t interpret_branch(uint32_t n)
{
    bool taken = is_true(gd.node[n].in[0]);
    uint32_t other = closing(n + 1, PITH_OP_BRANCH_ELSE, PITH_OP_BRANCH, PITH_OP_BRANCH_END);
    uint32_t e = closing(n + 1, PITH_OP_BRANCH_END, PITH_OP_BRANCH, PITH_OP_BRANCH_END);
    const struct graph_node *end = &gd.node[e];
    interpret(taken ? n + 1 : other + 1, taken ? other : e);
    for (uint32_t i = 0; i < end->n_out; i++)
        move(end->first_out + i, end->in[1 + i + (taken ? 0 : end->n_out)]);
    return e;
}

static void interpret(uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n < to; n++) {
        if (gd.node[n].info->op == PITH_OP_LOOP)
            n = interpret_loop(n);
        else if (gd.node[n].info->op == PITH_OP_BRANCH)
            n = interpret_branch(n);
        else
            run_node(&gd.node[n]);
    }
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void fill_input(uint32_t i, void *data)
{
    uint64_t keep = seed;
    if (gd.input[i].type == PITH_I64)
        *(int64_t *)data = (int64_t)random_below(6) - 1;
    else if (gd.input[i].type == PITH_BOOL)
        *(uint8_t *)data = (uint8_t)random_below(2);
    else
        for (uint32_t k = 0; k < 8; k++)
            ((float *)data)[k] = (float)random_below(9) - 4.0f;
    seed = keep * 31 + i;
}

static void fill_inputs(struct pith_plan *plan, uint64_t input_seed)
{
    uint64_t keep = seed;
    seed = input_seed;
    for (uint32_t i = 0; i < gd.g.n_inputs; i++)
        fill_input(i, plan ? pith_plan_input_data(plan, i) : gd.value[i].data);
    seed = keep;
}

static void interpret_all(uint64_t input_seed)
{
    for (uint32_t v = 0; v < gd.g.n_values; v++) {
        gd.value[v].data = malloc(bytes_of(v));
        assert_non_null(gd.value[v].data);
        memset(gd.value[v].data, 0x5a, bytes_of(v));
    }
    for (uint32_t i = 0; i < gd.g.n_weights; i++)
        memcpy(gd.value[gd.g.n_inputs + i].data, gd.weight[i].index_stream.bytes,
               gd.weight[i].index_stream.n_bytes);
    fill_inputs(NULL, input_seed);
    interpret(0, gd.g.n_nodes);
}

static void forget_all(void)
{
    for (uint32_t v = 0; v < gd.g.n_values; v++) {
        free(gd.value[v].data);
        gd.value[v].data = NULL;
    }
}

static void check_plan(uint32_t flags, uint32_t cpu_mask, uint64_t *arena_bytes)
{
    struct pith_plan *plan;
    struct pith_need need;
    struct pith_opts opts = {.size_bytes = sizeof opts, .flags = flags, .cpu_mask = cpu_mask};
    void *mem = gd_plan(&opts, &plan, &need);
    for (uint64_t input_seed = 2; input_seed-- > 0;) { /* what is left of one run must not show */
        fill_inputs(plan, input_seed);
        assert_int_equal(pith_plan_run(plan), PITH_OK);
    }
    for (uint32_t i = 0; i < gd.g.n_outputs; i++)
        if (memcmp(pith_plan_output_data(plan, i), gd.value[gd.output[i]].data,
                   bytes_of(gd.output[i])) != 0)
            fail_msg("seed %llu, flags %u: output %u differs", (unsigned long long)first_seed,
                     flags, i);
    *arena_bytes = need.arena_bytes;
    free(mem);
}

TEST(test_random_graphs)
{
    uint64_t start = test_seed(20261124) << 20, shared = 0, apart = 0, bytes;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        first_seed = seed = start + round;
        for (uint32_t i = 0; i < 64; i++)
            some_data[i] = (float)random_below(5) - 2.0f;
        random_graph();
        gd_graph();
        interpret_all(0);
        check_plan(PITH_FLAG_NO_FUSION, PITH_CPU_REF, &bytes);
        apart += bytes;
        check_plan(0, PITH_CPU_REF, &bytes);
        shared += bytes;
        check_plan(0, 0, &bytes);
        forget_all();
    }
    assert_true(shared < apart);
}

RUN_TESTS
