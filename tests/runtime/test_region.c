/* SPDX-License-Identifier: MIT */
/* Bodies of loops and branches: which nodes stand in which, and that a file whose brackets do not
 * match, or that reads across them, is refused. */
#include "loop_double.h"
#include "validate/format.h"

static uint32_t relu(uint32_t v)
{
    return gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, v);
}

/* Node of a value. */
static uint32_t node_of(uint32_t value)
{
    return pith_graph_producer(&gd.g, value);
}

static void refused(void)
{
    assert_int_equal(pith_graph_regions(&gd.g), PITH_ERR_CORRUPT);
}

/* in -> [before, Loop [inner, BranchIf [then] [other] end] LoopEnd, after] */
static struct sample {
    struct gd_loop loop;
    uint32_t x, go, before, state, inner, branch, first, other, joined, final, collected, after;
} s;

static void make_sample(void)
{
    gd_clear();
    s.x = gd_input(1, 4);
    s.go = gd_input(0);
    gd_input_type(PITH_BOOL);
    s.before = relu(s.x);
    s.loop = (struct gd_loop){.trips = 3, .n_states = 1};
    s.state = gd_loop_begin(&s.loop, 1, s.before) + 1;
    s.inner = relu(s.state);
    s.branch = gd_branch(s.go);
    s.first = relu(s.inner);
    gd_else(s.branch);
    s.other = relu(s.before);
    s.joined = gd_branch_end(s.branch, s.first, s.other);
    s.final = gd_loop_end(&s.loop, 2, s.joined, s.inner);
    s.collected = s.final + 1;
    s.after = relu(s.final);
    gd_output(s.after);
    gd_graph();
}

TEST(test_regions)
{
    make_sample();
    uint32_t loop = node_of(s.state), end = node_of(s.final), branch = node_of(s.branch);
    uint32_t other = node_of(s.other) - 1, branch_end = node_of(s.joined);
    assert_int_equal(node_of(s.x), PITH_NO_NODE);
    assert_int_equal(node_of(s.collected), end);
    assert_int_equal(gd.node[loop].partner, end);
    assert_int_equal(gd.node[end].partner, loop);
    assert_int_equal(gd.node[branch].partner, other);
    assert_int_equal(gd.node[other].partner, branch_end);
    assert_int_equal(gd.node[node_of(s.before)].region, PITH_NO_NODE);
    assert_int_equal(gd.node[loop].region, PITH_NO_NODE);
    assert_int_equal(gd.node[end].region, PITH_NO_NODE);
    assert_int_equal(gd.node[node_of(s.after)].region, PITH_NO_NODE);
    assert_int_equal(gd.node[node_of(s.inner)].region, loop);
    assert_int_equal(gd.node[branch].region, loop);
    assert_int_equal(gd.node[other].region, loop);
    assert_int_equal(gd.node[branch_end].region, loop);
    assert_int_equal(gd.node[node_of(s.first)].region, branch);
    assert_int_equal(gd.node[node_of(s.other)].region, other);
}

/* Input i of the node that gives `of` becomes v: refused, and taken again when put back. */
static void rewired_is_refused(uint32_t of, uint32_t i, uint32_t v)
{
    uint32_t *in = &gd.in[node_of(of)][i], was = *in;
    *in = v;
    refused();
    *in = was;
    assert_int_equal(pith_graph_regions(&gd.g), PITH_OK);
}

TEST(test_reading_across)
{
    make_sample();
    rewired_is_refused(s.after, 0, s.inner); /* out of a loop */
    rewired_is_refused(s.after, 0, s.state); /* what the loop gives its body */
    rewired_is_refused(s.after, 0, s.state - 1);
    rewired_is_refused(s.after, 0, s.first);
    rewired_is_refused(s.final, 1, s.first); /* out of a branch */
    rewired_is_refused(s.final, 2, s.other);
    rewired_is_refused(s.other, 0, s.first);  /* from one branch into the other */
    rewired_is_refused(s.joined, 1, s.other); /* branches the wrong way round */
    rewired_is_refused(s.joined, 2, s.first);
    gd.output[0] = s.inner;
    refused();
    gd.output[0] = s.joined;
    refused();
    gd.output[0] = s.collected;
    assert_int_equal(pith_graph_regions(&gd.g), PITH_OK);
}

TEST(test_partners)
{
    make_sample();
    uint32_t loop = node_of(s.state), end = node_of(s.final), other = node_of(s.other) - 1;
    rewired_is_refused(s.final, 0, s.before); /* not the state */
    rewired_is_refused(s.final, 0, s.state - 1);
    rewired_is_refused(gd.node[other].first_out, 0, s.go); /* not what Branch gave */
    rewired_is_refused(s.joined, 0, s.go);
    for (uint32_t slot = ATTR_LOOP_TRIPS; slot <= ATTR_LOOP_STATES; slot++) {
        gd.attr[end][slot]++;
        refused();
        gd.attr[end][slot]--;
        if (slot == ATTR_LOOP_STATES)
            continue;
        gd.attr[loop][slot]++;
        refused();
        gd.attr[loop][slot]--;
    }
    assert_int_equal(pith_graph_regions(&gd.g), PITH_OK);
}

/* Each way to leave out, double or exchange a bracket. */
TEST(test_brackets)
{
    static const enum pith_op op[] = {PITH_OP_LOOP, PITH_OP_LOOP_END, PITH_OP_BRANCH,
                                      PITH_OP_BRANCH_ELSE, PITH_OP_BRANCH_END};
    make_sample();
    const struct op_info *relu_info = pith_op_get(PITH_OP_RELU);
    for (uint32_t n = 0; n < gd.g.n_nodes; n++) {
        const struct op_info *was = gd.node[n].info;
        for (uint32_t k = 0; k < 5; k++)
            if (was->op != op[k]) {
                gd.node[n].info = pith_op_get(op[k]);
                refused();
            }
        if (was->flags & OP_CONTROL) {
            gd.node[n].info = relu_info;
            refused();
        }
        gd.node[n].info = was;
    }
    for (uint32_t n = node_of(s.state) + 1; n <= node_of(s.final); n++) {
        gd.g.n_nodes = n; /* the file ends inside the loop */
        gd.g.n_outputs = 0;
        refused();
    }
}

TEST(test_depth)
{
    for (uint32_t depth = 1; depth <= PITH_MAX_DEPTH + 1; depth++) {
        struct gd_loop l[PITH_MAX_DEPTH + 1];
        gd_clear();
        uint32_t v = gd_input(1, 4);
        for (uint32_t i = 0; i < depth; i++) {
            l[i] = (struct gd_loop){.trips = 2, .n_states = 1};
            v = gd_loop_begin(&l[i], 1, v) + 1;
        }
        for (uint32_t i = depth; i-- > 0;)
            v = gd_loop_end(&l[i], 1, v);
        gd_output(v);
        if (depth <= PITH_MAX_DEPTH) {
            gd_graph();
            continue;
        }
        gd.g.nodes = gd.node;
        gd.g.outputs = gd.output;
        for (uint32_t n = 0; n < gd.g.n_nodes; n++) {
            gd.node[n].in = gd.in[n];
            gd.node[n].attr = gd.attr[n];
        }
        refused();
    }
}

/* ---- through the reader --------------------------------------------------------------------- */

/* [2] -> Loop 3 -> Relu -> LoopEnd, written out. */
static const uint8_t graph[] = {
    0x00, 0x01, 0x02, 0x00,                         /* an input [2], no tensors */
    0xfa, 0x01, 0x06, 0x01, 0x02, 0x02,             /* Loop: trips 3; 1 input, 2 outputs */
    0x88, 0x01, 0x02,                               /* Relu of the state */
    0xfb, 0x09, 0x06, 0x02, 0x02, 0x01, 0x03, 0x02, /* LoopEnd: trips 3, 1 state */
};
enum { LOOP_TRIPS = 6, RELU_IN = 12, END_TRIPS = 15, END_STATES = 16, END_STATE = 19 };

static enum pith_status read_graph(const uint8_t *bytes, size_t n)
{
    uint8_t file[5 + sizeof graph + 4] = {0xb9, 0x53, 0x01, (uint8_t)n, 0x7f};
    struct graph g;
    struct tview *shapes;
    uint64_t need;
    memcpy(file + 5, bytes, n);
    enum pith_status st = pith_graph_need(file, 5 + n + 4, PITH_FLAG_NO_CHECKSUM, &need, NULL);
    if (st)
        return st;
    void *mem = aligned_alloc(64, (size_t)(need + 64) & ~(size_t)63);
    st = pith_graph_read((struct graph_bytes){file, 5 + n + 4, PITH_FLAG_NO_CHECKSUM}, NULL,
                         (struct graph_room){mem, need}, &g, &shapes, NULL);
    if (!st) {
        assert_int_equal(g.nodes[1].region, 0);
        assert_int_equal(shapes[4].shape.dim[0], 2);
    }
    free(mem);
    return st;
}

TEST(test_reader)
{
    static const struct {
        uint8_t at, value;
    } damage[] = {{LOOP_TRIPS, 0x08}, {LOOP_TRIPS, 0x01}, /* another number of trips; below 1 */
                  {END_TRIPS, 0x08},  {END_STATES, 0x04}, /* two states */
                  {RELU_IN, 0x03},    {END_STATE, 0x05}}; /* Relu of the iteration; not the state */
    uint8_t bytes[sizeof graph];
    assert_int_equal(read_graph(graph, sizeof graph), PITH_OK);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        memcpy(bytes, graph, sizeof graph);
        bytes[damage[i].at] = damage[i].value;
        enum pith_status st = read_graph(bytes, sizeof graph);
        assert_true(st == PITH_ERR_CORRUPT || (i == 4 && st == PITH_ERR_UNSUPPORTED));
    }
    memcpy(bytes, graph, sizeof graph);
    bytes[4] = 2; /* nodes: the loop never ends */
    assert_int_equal(read_graph(bytes, 14), PITH_ERR_CORRUPT);
}

/* Inputs that are no longer counted are not there, though memory still holds them. */
TEST(test_input_counts)
{
    make_sample();
    struct graph_node *ends[] = {&gd.node[node_of(s.final)], &gd.node[node_of(s.joined)]};
    const uint32_t needed[] = {2, 3}; /* a state twice; the condition and a value of each side */
    for (int i = 0; i < 2; i++) {
        const uint32_t was = ends[i]->n_in;
        for (uint32_t n = 0; n < needed[i]; n++) {
            ends[i]->n_in = n;
            if (i == 0 && n == 1)
                continue; /* end_loop() requires the state alone */
            refused();
        }
        ends[i]->n_in = was;
        assert_int_equal(pith_graph_regions(&gd.g), PITH_OK);
    }
    /* the condition of a loop comes before its states */
    gd_clear();
    uint32_t x = gd_input(1, 4), go = gd_input(0);
    gd_input_type(PITH_BOOL);
    struct gd_loop loop = {.trips = 3, .has_cond = 1, .n_states = 2};
    uint32_t state_0 = gd_loop_begin(&loop, 3, go, x, x) + 1;
    uint32_t end = gd_loop_end(&loop, 3, go, relu(state_0), relu(state_0 + 1));
    gd_output(end);
    gd_graph();
    struct graph_node *node = &gd.node[node_of(end)];
    for (uint32_t n = 0; n < 3; n++) {
        node->n_in = n;
        refused();
    }
}

/* What BranchEnd gives must be as many as each side gives it, whatever these are. */
TEST(test_branch_counts)
{
    gd_clear();
    uint32_t go = gd_input(0);
    gd_input_type(PITH_BOOL);
    uint32_t x = gd_input(1, 3);
    uint32_t branch = gd_branch(go);
    gd_else(branch);
    uint32_t end = gd_branch_end(branch, x, x);
    gd_graph(); /* whose brackets match */
    struct graph_node *node = &gd.node[node_of(end)];
    node->n_out = 2;
    assert_int_equal(pith_graph_regions(&gd.g), PITH_ERR_CORRUPT);
}

RUN_TESTS
