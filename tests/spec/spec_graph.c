/* SPDX-License-Identifier: MIT */
/* spec_graph.c - the graph (F4). */
#include "spec_graph.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "spec_heads.h"
#include "spec_operators.h"
#include "spec_print.h"
#include "spec_tables.h"

static struct {
    uint64_t n_inputs, n_tensors, n_nodes, n_values; /* n_values grows with the nodes */
    uint64_t n_read;     /* tensors that something has referred to: the first n_read */
    uint64_t last_first; /* number of the first output of the last node */
    uint64_t *ref;       /* inputs of the node or outputs of the graph being read */
} graph;

enum { NO_VALUE = MAX_VALUES };

static uint64_t next_tensor(uint64_t at)
{
    must(graph.n_read < graph.n_tensors, at, "the next tensor is referred to, and there is none");
    return graph.n_inputs + graph.n_read++;
}

static uint64_t reference(struct span *s, bool optional)
{
    uint64_t at = s->at, k = varint(s);
    if (k == 0) {
        must(optional, at, "an input that is not optional must not be left out");
        return NO_VALUE;
    }
    if (k == 1) {
        return next_tensor(at);
    }
    must(k - 1 <= graph.n_values, at, "a reference to a value that does not exist");
    uint64_t v = graph.n_values - (k - 1);
    must(v < graph.n_inputs + graph.n_read || v >= graph.n_inputs + graph.n_tensors, at,
         "the first reference to a tensor must be 1");
    return v;
}

static void print_values(const char *what, const uint64_t *v, uint64_t n)
{
    printf(" %s", what);
    for (uint64_t i = 0; i < n; i++) {
        if (v[i] == NO_VALUE) {
            printf(" -");
        } else {
            printf(" %" PRIu64, v[i]);
        }
    }
}

static void read_input(struct span *s, uint64_t number, bool batch_open)
{
    uint64_t at = s->at;
    uint8_t head = u8(s);
    uint32_t rank = head & 15, type = 1, dim[MAX_RANK] = {1};
    bool typed = (head & 16) != 0, square = (head & 32) != 0;
    must(rank <= MAX_RANK && head < 64, at, "rank is 0..8, bits 6 and 7 are zero");
    must(!batch_open || rank >= 1, at, "an input with an open batch has a dimension 0");
    if (typed) {
        type = read_type(s);
    }
    uint32_t first = batch_open ? 1 : 0;
    must(!square || rank - first >= 2, at, "square needs two dimensions");
    for (uint32_t i = first; i < rank; i++) {
        dim[i] = square && i == rank - 1 ? dim[i - 1] : read_dim(s);
    }
    must(square || rank - first < 2 || dim[rank - 1] != dim[rank - 2], at,
         "square must be set where the last two dimensions are equal");
    printf("input %" PRIu64, number);
    print_shape(type, rank, dim);
    printf("\n");
}

/* The wiring that bit 7 unset stands for; false: there is none. */
static bool is_default_wiring(const struct op *op, uint64_t n_in, uint64_t n_out,
                              uint64_t read_before)
{
    bool same = op->default_in != 0 && n_in == op->default_in && n_out == op->min_out &&
                graph.ref[0] == graph.last_first;
    for (uint64_t i = 1; same && i < n_in; i++) {
        same = graph.ref[i] == graph.n_inputs + read_before + i - 1;
    }
    return same;
}

static void read_wiring(struct span *s, const struct op *op, bool wired, uint64_t *n_in,
                        uint64_t *n_out)
{
    uint64_t at = s->at, read_before = graph.n_read;
    *n_out = op->min_out;
    if (!wired) {
        must(op->default_in != 0, at, "this operator is always wired");
        *n_in = op->default_in;
        graph.ref[0] = graph.last_first;
        for (uint64_t i = 1; i < *n_in; i++) {
            graph.ref[i] = next_tensor(at);
        }
        return;
    }
    *n_in = varint_in(s, op->min_in, op->max_in, "number of inputs of a node");
    if (op->max_out != op->min_out) {
        *n_out = varint_in(s, op->min_out, op->max_out, "number of outputs of a node");
    }
    for (uint64_t i = 0; i < *n_in; i++) {
        graph.ref[i] = reference(s, op->default_in != 0 && i >= op->min_in);
    }
    must(!is_default_wiring(op, *n_in, *n_out, read_before), at, "default wiring is not written");
}

/* Bodies (F4): each side of a branch and each loop has a number; 0 is the graph itself. */
enum { LOOP = 58, LOOP_END, BRANCH, BRANCH_ELSE, BRANCH_END, MAX_OPEN = 16 };

struct body {
    uint64_t op, number; /* LOOP, BRANCH or BRANCH_ELSE */
    uint64_t first_out;  /* of Loop; what Branch gives */
    uint64_t n_states, first_side;
    int64_t loop[3];
};

static struct {
    uint32_t of[MAX_VALUES + 1];   /* value -> body */
    uint32_t around[MAX_EACH + 1]; /* body -> body */
    uint64_t n, n_open;
    struct body open[MAX_OPEN];
} bodies;

static uint64_t this_body(void)
{
    return bodies.n_open > 0 ? bodies.open[bodies.n_open - 1].number : 0;
}

static void must_see(const uint64_t *v, uint64_t n, uint64_t body, uint64_t at)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t b = body;
        while (v[i] != NO_VALUE && b != bodies.of[v[i]]) {
            must(b != 0, at, "a value of a body is read outside of it");
            b = bodies.around[b];
        }
    }
}

static struct body *open_body(uint64_t op, uint64_t at)
{
    must(bodies.n_open < MAX_OPEN, at, "bodies nest 16 deep");
    bodies.around[++bodies.n] = (uint32_t)this_body();
    struct body *b = &bodies.open[bodies.n_open++];
    *b = (struct body){.op = op, .number = bodies.n};
    return b;
}

static struct body close_body(uint64_t op, uint64_t at)
{
    must(bodies.n_open > 0 && bodies.open[bodies.n_open - 1].op == op, at,
         "a body ends that did not begin");
    return bodies.open[--bodies.n_open];
}

static void end_loop(uint64_t at, uint64_t n_in)
{
    struct body b = close_body(LOOP, at);
    uint64_t cond = (uint64_t)b.loop[1];
    must_see(graph.ref, n_in, b.number, at);
    must(memcmp(b.loop, int_value, sizeof b.loop) == 0 && (uint64_t)int_value[3] == b.n_states &&
             n_in >= cond + b.n_states,
         at, "Loop and its LoopEnd agree");
    for (uint64_t i = 0; i < b.n_states; i++) {
        must(graph.ref[cond + i] == b.first_out + 1 + i, at,
             "LoopEnd names the states of its Loop");
    }
}

static void begin_else(uint64_t at)
{
    struct body b = close_body(BRANCH, at);
    must(graph.ref[0] == b.first_out, at, "BranchElse reads what its Branch gives");
    struct body *other = open_body(BRANCH_ELSE, at);
    other->first_out = b.first_out;
    other->first_side = b.number;
}

static void end_branch(uint64_t at, uint64_t n_in, uint64_t n_out)
{
    struct body b = close_body(BRANCH_ELSE, at);
    must(graph.ref[0] == b.first_out && n_in == 1 + 2 * n_out, at,
         "BranchEnd reads what its Branch gives, then k values twice");
    must_see(graph.ref + 1, n_out, b.first_side, at);
    must_see(graph.ref + 1 + n_out, n_out, b.number, at);
}

/* The node's inputs are in graph.ref, its outputs get numbers from graph.n_values on. */
static void keep_bodies(uint64_t op, uint64_t at, uint64_t n_in, uint64_t n_out)
{
    if (op == LOOP_END) {
        end_loop(at, n_in);
    } else if (op == BRANCH_END) {
        end_branch(at, n_in, n_out);
    } else {
        must_see(graph.ref, n_in, this_body(), at);
    }
    uint64_t outputs_in = this_body();
    if (op == LOOP || op == BRANCH) {
        struct body *b = open_body(op, at);
        b->first_out = graph.n_values;
        b->n_states = n_out - 1;
        memcpy(b->loop, int_value, sizeof b->loop);
        outputs_in = op == LOOP ? b->number : outputs_in;
    } else if (op == BRANCH_ELSE) {
        outputs_in = bodies.around[outputs_in];
        begin_else(at);
    }
    for (uint64_t i = 0; i < n_out && graph.n_values + i < MAX_VALUES; i++) {
        bodies.of[graph.n_values + i] = (uint32_t)outputs_in;
    }
}

/* What NonMaxSuppression selects is for the caller alone. */
enum { NON_MAX_SUPPRESSION = 69 };
static bool is_selection[MAX_VALUES];

static void keep_selections(uint64_t op, uint64_t at, uint64_t n_in)
{
    for (uint64_t i = 0; i < n_in; i++) {
        if (graph.ref[i] != NO_VALUE && is_selection[graph.ref[i]]) {
            refuse("unsupported", at, "a node reads what NonMaxSuppression selects");
        }
    }
    if (graph.n_values < MAX_VALUES) {
        is_selection[graph.n_values] = op == NON_MAX_SUPPRESSION;
    }
}

static void read_node(struct span *s, uint64_t number)
{
    uint64_t at = s->at, n_in, n_out;
    uint8_t head = u8(s);
    uint64_t number_of_op = head & 63;
    if (number_of_op == 63) {
        number_of_op += varint_in(s, 0, 65472, "operators end at 65,535");
    }
    if (number_of_op >= n_ops || ops[number_of_op].name == NULL) {
        refuse("unsupported", at, "unknown operator");
    }
    const struct op *op = &ops[number_of_op];
    printf(" %s", op->name);
    read_attributes(s, op, (head & 64) != 0);
    printf("\n");
    read_wiring(s, op, (head & 128) != 0, &n_in, &n_out);
    printf("node %" PRIu64 " op %" PRIu64, number, number_of_op);
    print_values("in", graph.ref, n_in);
    keep_bodies(number_of_op, at, n_in, n_out);
    keep_selections(number_of_op, at, n_in);
    graph.last_first = graph.n_values;
    for (uint64_t i = 0; i < n_out; i++) {
        graph.ref[i] = graph.n_values++;
    }
    print_values("out", graph.ref, n_out);
    printf("\n");
    must(graph.n_values <= MAX_VALUES, at, "at most 262,144 values");
}

static void read_outputs(struct span *s, bool lists_outputs)
{
    uint64_t at = s->at, n = 1;
    must(lists_outputs || graph.n_nodes > 0, at, "outputs must be written when there are no nodes");
    graph.ref[0] = graph.last_first;
    if (lists_outputs) {
        n = varint_in(s, 1, MAX_VALUES, "number of outputs");
        for (uint64_t i = 0; i < n; i++) {
            graph.ref[i] = reference(s, false);
        }
        must(graph.n_nodes == 0 || n != 1 || graph.ref[0] != graph.last_first, at,
             "the last node's first output alone is not written");
    }
    must(bodies.n_open == 0, at, "a body does not end");
    must_see(graph.ref, n, 0, at);
    for (uint64_t i = 0; i < n; i++) {
        printf("output %" PRIu64 "\n", graph.ref[i]);
    }
}

struct counts read_graph(struct span s, struct span data)
{
    uint64_t head = varint_in(&s, 0, MAX_EACH * 4 - 1, "number of inputs is 1..65,536");
    bool batch_open = (head & 1) != 0, lists_outputs = (head & 2) != 0;
    graph.ref = zeroed(MAX_VALUES, sizeof *graph.ref);
    graph.n_inputs = head / 4 + 1;
    printf("batch %s\n", batch_open ? "open" : "fixed");
    for (uint64_t i = 0; i < graph.n_inputs; i++) {
        read_input(&s, i, batch_open);
    }
    graph.n_tensors = varint_in(&s, 0, MAX_EACH, "at most 65,536 tensors");
    struct tensor *tensor = zeroed(graph.n_tensors, sizeof *tensor);
    uint32_t last_centroids[2] = {0, 0}; /* of rank 0 and 1, of others */
    for (uint64_t i = 0; i < graph.n_tensors; i++) {
        read_tensor(&s, &tensor[i], i, graph.n_tensors, &data, last_centroids);
    }
    must(left(&data) == 0, data.at, "DATA ends with the last stream");
    must(left(&huff_chunk) == 0, huff_chunk.at, "all tables must be used");
    graph.n_values = graph.n_inputs + graph.n_tensors;
    uint64_t n_nodes =
        lists_outputs ? varint_in(&s, 0, MAX_EACH, "at most 65,536 nodes") : MAX_EACH;
    while (graph.n_nodes < n_nodes && (lists_outputs || left(&s) > 0)) {
        read_node(&s, graph.n_nodes++);
    }
    read_outputs(&s, lists_outputs);
    must(left(&s) == 0, s.at, "nothing behind the graph");
    must(graph.n_read == graph.n_tensors, s.at, "every tensor is used");
    for (uint64_t i = 0; i < graph.n_tensors; i++) {
        print_tensor(graph.n_inputs + i, &tensor[i]);
    }
    free(tensor);
    free(graph.ref);
    return (struct counts){graph.n_values, graph.n_nodes};
}
