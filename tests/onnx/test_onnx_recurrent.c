/* SPDX-License-Identifier: MIT */
/* Import of RNN, GRU and LSTM: what becomes of a layer, its weights and their names, and every
 * refusal with its text. What layers compute is tested against onnxruntime (tests/conformance). */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "core/op_number.h"
#include "pith_model.h"
#include "pith_load.h"
#include "proto_builder.h"

/* x [T,N,I] = [3,2,4] through one layer of H = 5. */
struct layer {
    const char *op, *links;
    int gates, directions, w_rows, w_cols, r_rows, x_rank, b_cols;
    const char *text_name, *text; /* an attribute */
    const char *int_name;
    int value;
    const char *activations[4];
    int n_activations;
};

static const struct layer good = {.op = "LSTM",
                                  .links = "x W R B -> y h c",
                                  .gates = 4,
                                  .directions = 1,
                                  .w_rows = 20,
                                  .w_cols = 4,
                                  .r_rows = 20,
                                  .x_rank = 3,
                                  .b_cols = 40};

static void put_activations(struct proto *node, const struct layer *l)
{
    struct proto a = {0};
    proto_text(&a, 1, "activations");
    for (int i = 0; i < l->n_activations; i++)
        proto_text(&a, 9, l->activations[i]);
    proto_int(&a, 20, 8);
    proto_message(node, 5, a);
}

static enum pith_status import(const struct layer *l, struct pith_model **m, struct pith_error *err)
{
    struct proto graph = {0}, file = {0}, opset = {0};
    struct proto node = build_node(l->op, "layer", l->links);
    if (l->text_name)
        build_attr_text(&node, l->text_name, l->text);
    if (l->int_name)
        build_attr_int(&node, l->int_name, l->value);
    if (l->n_activations)
        put_activations(&node, l);
    proto_message(&graph, GRAPH_NODE, node);
    proto_text(&graph, 2, "test");
    build_input(&graph, "x", (size_t)l->x_rank, 3, 2, 4);
    build_output(&graph, "y");
    build_output(&graph, "h");
    build_floats(&graph, "W", -0.5f, 0.001f, 3, l->directions, l->w_rows, l->w_cols);
    build_floats(&graph, "R", 0.5f, -0.001f, 3, l->directions, l->r_rows, 5);
    build_floats(&graph, "B", 0.1f, 0.002f, 2, l->directions, l->b_cols);
    proto_int(&file, 1, 8);
    proto_message(&file, 7, graph);
    proto_int(&opset, 2, 14);
    proto_message(&file, 8, opset);
    enum pith_status status = pith_model_read(file.data, file.n, "net.onnx", NULL, m, err);
    free(file.data);
    return status;
}

static uint32_t count(const struct pith_model *m, uint32_t op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        n += m->nodes[i].op == op;
    return n;
}

static struct pith_model *imported(const struct layer *l)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    SUCCEEDS(import(l, &m, &err));
    return m;
}

/* Both biases in one, no Add; W and R by their names. */
TEST(test_layer)
{
    struct pith_model *m = imported(&good);
    struct pith_weight_ref refs[8];
    assert_int_equal(count(m, PITH_OP_RECURRENT), 1);
    assert_int_equal(count(m, PITH_OP_MATMUL), 1);
    assert_int_equal(count(m, PITH_OP_ADD), 0);
    assert_int_equal(m->n_nodes, 4); /* two Unsqueeze */
    assert_int_equal(pith_model_weights(m, refs), 2);
    assert_string_equal(refs[0].tensor, "W");
    assert_string_equal(refs[1].tensor, "R");
    assert_string_equal(refs[1].layer, "layer");
    assert_int_equal(refs[1].rows, 20);
    const struct pith_node *node = &m->nodes[1];
    assert_int_equal(node->op, PITH_OP_RECURRENT);
    assert_int_equal(node->n_out, 2);
    const struct pith_value *bias = &m->values[node->in[2]];
    assert_int_equal(bias->constant->count, 20);
    const float *b = bias->constant->data, want = (0.1f + 0.002f * 3) + (0.1f + 0.002f * 23);
    assert_true(b[3] == want);
    pith_model_free(m);
}

TEST(two_directions)
{
    struct layer l = good;
    struct pith_weight_ref refs[8];
    l.op = "GRU", l.links = "x W R B -> y h", l.w_rows = l.r_rows = 15, l.b_cols = 30;
    l.directions = 2, l.text_name = "direction", l.text = "bidirectional";
    l.int_name = "linear_before_reset", l.value = 1;
    struct pith_model *m = imported(&l);
    assert_int_equal(count(m, PITH_OP_RECURRENT), 2);
    assert_int_equal(count(m, PITH_OP_ADD), 2); /* the input's bias stays apart */
    assert_int_equal(pith_model_weights(m, refs), 4);
    assert_string_equal(refs[0].tensor, "W.forward");
    assert_string_equal(refs[3].tensor, "R.backward");
    const struct pith_value *y = &m->values[m->outputs[0]], *h = &m->values[m->outputs[1]];
    assert_int_equal(y->rank, 4);
    assert_true(y->dim[0] == 3 && y->dim[1] == 2 && y->dim[2] == 2 && y->dim[3] == 5);
    assert_int_equal(h->rank, 3);
    assert_true(h->dim[0] == 2 && h->dim[1] == 2 && h->dim[2] == 5);
    pith_model_free(m);
}

static void refused(const struct layer *l, enum pith_status status, const char *text)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    enum pith_status got = import(l, &m, &err);
    if (got != status || !strstr(err.text, text) || !strstr(err.text, "'layer' (LSTM)"))
        fail_msg("expected %d '%s', got %d '%s'", (int)status, text, (int)got, err.text);
}

TEST(test_refusals)
{
    struct layer l;
#define REFUSED(status, text, ...)                                                                 \
    do {                                                                                           \
        l = good;                                                                                  \
        __VA_ARGS__;                                                                               \
        refused(&l, status, text);                                                                 \
    } while (0)
    REFUSED(PITH_ERR_UNSUPPORTED, "direction 'sideways' is not supported",
            l.text_name = "direction", l.text = "sideways");
    REFUSED(PITH_ERR_CORRUPT, "input W has 1 for 2 directions", l.text_name = "direction",
            l.text = "bidirectional");
    REFUSED(PITH_ERR_CORRUPT, "layout 2 is not 0 or 1", l.int_name = "layout", l.value = 2);
    REFUSED(PITH_ERR_CORRUPT, "do not fit 4 gates of 6", l.int_name = "hidden_size", l.value = 6);
    REFUSED(PITH_ERR_CORRUPT, "W 1x20x4 and R 1x15x5 do not fit", l.r_rows = 15);
    REFUSED(PITH_ERR_CORRUPT, "on inputs of 4", l.w_cols = 3);
    REFUSED(PITH_ERR_CORRUPT, "input X does not have 3 dims", l.x_rank = 2);
    REFUSED(PITH_ERR_CORRUPT, "input 2 is missing", l.links = "x W -> y h c");
    REFUSED(PITH_ERR_CORRUPT, "it has 2 activations, not 3", l.n_activations = 2,
            l.activations[0] = l.activations[1] = "Tanh");
    REFUSED(PITH_ERR_UNSUPPORTED, "activation 'Swish' is not known", l.n_activations = 3,
            l.activations[0] = l.activations[1] = "Tanh", l.activations[2] = "Swish");
    REFUSED(PITH_ERR_CORRUPT, "it has 4 outputs", l.links = "x W R B -> y h c d");
    REFUSED(PITH_ERR_CORRUPT, "input B does not have 2 dims", l.links = "x W R W -> y h c");
#undef REFUSED
}

RUN_TESTS
