/* SPDX-License-Identifier: MIT */
/* test_every_output.c - a plan fuses nodes, lays values over each other and lets some lie in parts
 * of larger ones. With every result an output, each is what a plan for it alone gives. */
#include <stdint.h>
#include "test_run.h"
#include "network_text.h"

static const char *const networks[] = {
    /* parts of larger values, some read again behind them */
    "x f32 [N,4] | Relu x -> a; Neg x -> b; Concat{axis=1} a b -> c; Sigmoid c -> d; Mul d 2.0 -> "
    "e",
    "x f32 [1,4] | Relu x -> a; Neg x -> b; Concat{axis=0} a b -> c; Sigmoid c -> d; Mul a 2.0 -> "
    "e",
    "x f32 [N,4,6] | Split{axis=1} x -> a b; Relu a -> c; Concat{axis=1} c b -> d; Reshape d "
    "[0,24] -> e;"
    "Tanh e -> f; Add e f -> g",
    "x f32 [N,3,5] | Relu x -> a; Tanh x -> b; Concat{axis=1} a b -> c; Neg x -> d; Concat{axis=1} "
    "c d -> e;"
    "Concat{axis=1} a c -> f; Add e f -> g; Concat{axis=1} g g -> h",
    "x f32 [2,3,5] | Relu x -> a; Concat{axis=0} a x -> b; Concat{axis=2} a a -> c; Slice b [1] "
    "[3] [0] -> d;"
    "Add d x -> e; Gather{axis=0} b [3,0] -> f",
    /* views, and what turns axes there and back */
    "x f32 [N,4,6] | Reshape x [0,24] -> a; Identity a -> b; Relu b -> c; Reshape c [0,6,4] -> d; "
    "Flatten d -> e;"
    "Add e a -> f; Unsqueeze f [1] -> g; Squeeze g [1] -> h",
    "x f32 [N,4,6] | Transpose{perm=0,2,1} x -> a; Relu a -> b; Transpose{perm=0,2,1} b -> c; Add "
    "c x -> d;"
    "Transpose{perm=0,2,1} d -> e; MatMul c e -> f",
    /* convolutions with what follows them */
    "x f32 [N,3,8,8] | Conv{pads=1,1,1,1} x ~8x3x3x3 -> a; Relu a -> b; Conv{pads=1,1,1,1} b "
    "~8x8x3x3 ~8 -> c;"
    "Add c b -> d; Relu d -> e; MaxPool{kernel_shape=2,2 strides=2,2} e -> f; GlobalAveragePool f "
    "-> g;"
    "Flatten g -> h; Gemm{transB=1} h ~5x8 ~5 -> i; Softmax i -> j",
    "x f32 [N,6,9,7] | Conv{group=6 pads=1,1,1,1} x ~6x1x3x3 -> a; Clip a 0.0 6.0 -> b; Conv b "
    "~4x6x1x1 -> c;"
    "Mul ~4 ~4 -> v; BatchNormalization c ~4 ~4 ~4 v -> d; PRelu d ~4x1x1 -> e",
    "x f32 [N,6,9,7] | Conv{group=6 pads=1,1,1,1 strides=2,1} x ~6x1x3x3 -> a; HardSwish a -> b;"
    "Conv b ~4x6x1x1 -> c; Sigmoid c -> d; Mul c d -> e; AveragePool{kernel_shape=3,3 "
    "pads=1,1,1,1} e -> f;"
    "Sub e f -> g; ReduceMean{axes=2,3 keepdims=1} g -> h; Mul e h -> i",
    "x f32 [N,2,30] | Conv{dilations=3, pads=3,3} x ~5x2x3 -> a; LeakyRelu{alpha=0.1} a -> b;"
    "Conv{strides=2,} b ~3x5x1 -> c; ConvTranspose{strides=2,} c ~3x2x2 -> d; Concat{axis=1} d x "
    "-> e",
    "x f32 [N,1,1,9] | Conv x ~4x1x1x3 -> a; Tanh a -> b; Conv b ~4x4x1x3 -> c; Relu c -> d; Add d "
    "1.0 -> e",
    /* norms, activations and attention from their pieces */
    "x f32 [N,3,8] | ReduceMean{axes=-1,} x -> a; Sub x a -> b; Mul b b -> c; ReduceMean{axes=-1,} "
    "c -> d;"
    "Add d 0.001 -> e; Sqrt e -> f; Div b f -> g; Mul g ~8 -> h; Add h ~8 -> i; Div i 1.41421356 "
    "-> j; Erf j -> k;"
    "Add k 1.0 -> l; Mul i l -> m; Mul m 0.5 -> n",
    "x f32 [N,5,8] | MatMul x ~8x8 -> a; Reshape a [0,0,2,4] -> b; Transpose{perm=0,2,1,3} b -> c;"
    "Transpose{perm=0,1,3,2} c -> d; MatMul c d -> e; Mul e 0.5 -> f; Softmax{axis=-1} f -> g; "
    "MatMul g c -> h;"
    "Transpose{perm=0,2,1,3} h -> i; Reshape i [0,0,8] -> j; Add j x -> k; LayerNormalization k ~8 "
    "-> l",
    "x f32 [7,2,4] | LSTM{hidden_size=3} x ~1x12x4 ~1x12x3 -> a b c; Squeeze a [1] -> d; "
    "GRU{hidden_size=2} d "
    "~1x6x3 ~1x6x2 -> e f; Relu d -> g",
    /* choices, tables, sorting, integers */
    "x f32 [N,6] | Greater x 0.25 -> a; Not a -> b; Where a x -1.0 -> c; Cast{to=1} b -> d; Mul c "
    "d -> e;"
    "TopK{axis=1} e [3] -> f g; ArgMax{axis=1} e -> h; CumSum e 1 -> i",
    "ids i64 [N,4] | Gather ~7x3 ids -> a; Pad a [0,1,0,0,1,0] -> b; Tile b [1,1,2] -> c; "
    "ReduceMax{axes=1,} c -> d;"
    "Expand d [1,6,6] -> e; Add c e -> f",
    "x f32 [N,3,6,6] | QuantizeLinear x 0.0625 -> a; DequantizeLinear a 0.0625 -> b; Conv b "
    "~4x3x3x3 -> c; Relu c -> d;"
    "QuantizeLinear d 0.0625 -> e; DequantizeLinear e 0.0625 -> f; MaxPool{kernel_shape=2,2} f -> "
    "g",
    "x f32 [1,4,5,5] | Resize{mode=linear} x ' ' [1,4,6,10] -> a; DepthToSpace{blocksize=2} a -> "
    "b; Relu b -> c;"
    "Transpose{perm=0,2,3,1} c -> d; ReduceSum{keepdims=0} d [1] -> e",
};

/* The text with output i of `outputs` alone. */
static struct running run_one(const char *text, const struct bound_sizes *bound, uint32_t i,
                              const char *what)
{
    struct pith_model *m = read_network(network_file(text, NULL, true), what);
    m->outputs[0] = m->outputs[i];
    m->n_outputs = 1;
    return run_network(m, bound, what);
}

static void each_alone(const char *net, const char *sizes)
{
    const struct bound_sizes bound = bind_sizes(sizes);
    char what[1024];
    snprintf(what, sizeof what, "%s at %s", net, sizes);
    struct running all =
        run_network(read_network(network_file(net, NULL, true), what), &bound, what);
    const uint32_t n = pith_plan_output_count(pith_plan_of(all.s));
    for (uint32_t i = 0; i < n; i++) {
        struct running one = run_one(net, &bound, i, what);
        outputs_agree(&all, i, &one, 0, 1e-5f, what);
        stop_running(&one);
    }
    stop_running(&all);
}

TEST(test_each_alone)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        each_alone(networks[i], "N=1");
        each_alone(networks[i], "N=3");
    }
}

RUN_TESTS
