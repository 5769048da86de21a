/* SPDX-License-Identifier: MIT */
/* Parallel convolutions merged, beside the network as it was imported: how many nodes are left, and
 * the same outputs; sums that have to stay. */
#include "test_run.h"

#include "network_text.h"

#define X "x f32 [N,4,9,8] | "
#define CONV3 "Conv{pads=1,1,1,1} x ~4x4x3x3 ~4 -> a; "
#define WISE3 "Conv{pads=1,1,1,1 group=4} x ~4x1x3x3 -> a; "

static const struct merged {
    const char *text;
    uint32_t n_nodes; /* that are left */
} merged[] = {
    {X CONV3 "Conv x ~4x4x1x1 -> b; Add a b -> y | y", 1},
    {X "Conv x ~4x4x1x1 ~4 -> b; " CONV3 "Add b a -> y | y", 1},
    {X CONV3
     "Conv x ~4x4x1x1 -> b; Add a b -> c; Exp ~4 -> v; BatchNormalization x ~4 ~4 ~4 v -> d; "
     "Add c d -> e; Relu e -> y | y",
     2},
    /* what stands behind the sum folds, too, and what follows that merges with it */
    {X WISE3 "Add a x -> b; Exp ~4 -> v; BatchNormalization b ~4 ~4 ~4 v -> c; Conv{group=4} x "
             "~4x1x1x1 -> d; "
             "Add c d -> y | y",
     1},
    {X CONV3 "Add a ~4x1x1 -> b; Add b 2.5 -> c; Add ~1x4x1x1 c -> y | y", 1},
    /* windows, strides, pads and dilations that fit */
    {X "Conv{pads=2,1,2,1 strides=2,1} x ~4x4x5x3 -> a; Conv{pads=0,1,0,1 strides=2,1} x ~4x4x1x3 "
       "-> b; Add a b -> y | y",
     1},
    {X
     "Conv{pads=0,2,2,0} x ~4x4x3x3 -> a; Conv{pads=0,1,1,0} x ~4x4x2x2 ~4 -> b; Add a b -> y | y",
     1},
    {X "Conv{pads=2,2,2,2 dilations=2,2} x ~4x4x3x3 -> a; Conv{dilations=3,1} x ~4x4x1x1 -> b; "
       "Add a b -> y | y",
     1},
    {X
     "Conv{pads=1,1,1,1 group=2} x ~4x2x3x3 -> a; Conv{group=4} x ~4x1x1x1 -> b; Add a b -> y | y",
     1},
    {X "Conv{pads=1,1,1,1} x ~8x4x3x3 -> a; Conv{group=2} x ~8x2x1x1 ~8 -> b; Add b a -> y | y", 1},
    {"x f32 [2,4,9] | Conv{pads=2,2} x ~4x4x5 -> a; Conv{pads=1,1} x ~4x4x3 -> b; Add a b -> y | y",
     1},
    /* other readers, other inputs, other shapes */
    {X CONV3 "Conv x ~4x4x1x1 -> b; Add a b -> y; Relu b -> z | y z", 4},
    {X CONV3 "Conv x ~4x4x1x1 -> b; Add a b -> y | y b", 3},
    {X CONV3 "Relu x -> r; Conv r ~4x4x1x1 -> b; Add a b -> y | y", 4},
    {X CONV3 "Add a x -> y | y", 2},
    {X "Conv x ~4x4x1x1 -> a; Conv x ~4x4x9x8 -> b; Add a b -> y | y", 3},
    {X CONV3 "Add a ~8 -> y | y", 2},
    {X CONV3 "Add a ~4x9x8 -> y | y", 2},
    {X CONV3 "Add a a -> y | y", 2},
    /* neither window holds the other */
    {X "Conv{pads=1,0,1,0} x ~4x4x3x1 -> a; Conv{pads=0,1,0,1} x ~4x4x1x3 -> b; Add a b -> y | y",
     3},
    {X WISE3 "Conv x ~4x4x1x1 -> b; Add a b -> y | y", 3},
    {X "Conv{pads=0,0,2,2} x ~4x4x3x3 -> a; Conv{pads=1,1,0,0} x ~4x4x2x2 -> b; Add a b -> y | y",
     3},
    {X "Conv{pads=2,2,2,2} x ~4x4x5x5 -> a; Conv{pads=2,2,2,2 dilations=2,2} x ~4x4x3x3 -> b; "
       "Add a b -> y | y",
     3},
    {X "Conv{pads=2,2,2,2 dilations=2,2} x ~4x4x3x3 -> a; Conv{pads=1,1,1,1 dilations=2,2} x "
       "~4x4x2x2 -> b; Add a b -> y | y",
     3},
    {"x f32 [1,4,2,2] | Conv{pads=1,1,1,1 strides=2,2} x ~4x4x3x3 -> a; Conv{strides=3,3} x "
     "~4x4x1x1 -> b; Add a b -> y | y",
     3},
    /* one weight for two layers */
    {X CONV3 "Conv{pads=1,1,1,1} x ~4x4x3x3 -> b; Add a b -> y | y", 3},
};

static void fold(struct pith_model *m, uint32_t n_nodes, const char *text)
{
    struct pith_error err = {0};
    assert_int_equal(pith_model_merge_convs(m, &err), PITH_OK);
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    if (m->n_nodes != n_nodes)
        fail_msg("%s: %u nodes, expected %u", text, m->n_nodes, n_nodes);
}

TEST(test_values)
{
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) {
        const char *text = merged[i].text;
        struct pith_model *m = read_network(network_file(text, NULL, false), text);
        fold(m, merged[i].n_nodes, text);
        struct running before =
            run_network(read_network(network_file(text, NULL, false), text), NULL, text);
        struct running after = run_network(m, NULL, text);
        outputs_agree(&after, 0, &before, 0, 1e-5f, text);
        stop_running(&before);
        stop_running(&after);
    }
}

/* The bits that a stage gave a weight, or that a file has for it, stay. */
TEST(test_weights_with_a_form)
{
    static const char text[] = X CONV3 "Conv x ~4x4x1x1 -> b; Add a b -> y | y";
    static uint8_t mask[16] = {1};
    static struct pith_codebook codebook;
    static struct pith_integers integers;
    for (int form = 0; form < 5; form++) {
        struct pith_model *m = read_network(network_file(text, NULL, false), text);
        struct pith_const *w = m->values[m->nodes[1].in[1]].constant, was = *w;
        w->mask = form == 1 ? mask : NULL;
        w->codebook = form == 2 ? &codebook : NULL;
        w->integers = form == 3 ? &integers : NULL;
        w->stored = form == 4 ? PITH_F16 : (enum pith_type)0;
        fold(m, form ? 3 : 1, text);
        if (form)
            *w = was;
        pith_model_free(m);
    }
}

/* Weights whose sum is not finite. */
TEST(test_overflow)
{
    static const char text[] = X CONV3 "Conv x ~4x4x1x1 -> b; Add a b -> y | y";
    struct pith_model *m = read_network(network_file(text, NULL, false), text);
    ((float *)m->values[m->nodes[0].in[1]].constant->data)[4] = 3e38f;
    ((float *)m->values[m->nodes[1].in[1]].constant->data)[0] = 3e38f;
    fold(m, 3, text);
    pith_model_free(m);
}

RUN_TESTS
