/* SPDX-License-Identifier: MIT */
/* test_onnx_open.c - one file with open sizes gives, at every choice of sizes, what the same
 * network with numbers in their place gives; and which networks cannot stay open, and why. */
#include <stdint.h>
#include "test_run.h"
#include "core/op_number.h"
#include "failing_import.h"
#include "network_text.h"

#define LENGTH "Shape x -> s; Gather s 1 -> n; Unsqueeze n [0] -> list;"
#define STEPS LENGTH "Range 0 n 1 -> at;"

static const struct {
    const char *net, *sizes[4];
} networks[] = {
    /* a part of no elements, whatever the size */
    {"x f32 [N,seq,4] | Slice x [4] [1000] [2] -> b; Neg x -> c; Concat{axis=2} c b -> y | y",
     {"N=1 seq=3", "N=2 seq=40"}},
    /* the sizes themselves */
    {"x f32 [N,seq,4] | " LENGTH "Cast{to=1} n -> f; Div x f -> y | y",
     {"N=1 seq=3", "N=2 seq=40"}},
    {"x f32 [N,seq,4] | Size x -> n; Cast{to=1} n -> f; Div x f -> y | y",
     {"N=1 seq=3", "N=1 seq=40"}},
    {"x f32 [1,seq,4] | Shape x -> s; Cast{to=1} s -> f; ReduceSum f [0] -> g; Mul x g -> y | y",
     {"seq=2", "seq=33"}},
    {"x f32 [N,seq,4] | Shape{start=1} x -> s; Cast{to=1} s -> f; Unsqueeze f [0] -> y | y",
     {"N=1 seq=2", "N=1 seq=33"}},
    /* a Range that is the same for all small sizes */
    {"x f32 [N,seq,4] | " LENGTH "Div n 160 -> k; Add k 1 -> end; Range 0 end 1 -> at;"
     "Cast{to=1} at -> f; ReduceSum{keepdims=0} f [0] -> g; Mul x g -> y | y",
     {"N=1 seq=100", "N=2 seq=1000"}},
    /* another value with small sizes */
    {"x f32 [N,seq,4] | " LENGTH "Less n 300 -> c; Where c 1.5 2.5 -> f; Mul x f -> y | y",
     {"N=1 seq=1", "N=2 seq=299", "N=1 seq=300"}},
    /* a range */
    {"x f32 [N,2,h,w] | AveragePool{kernel_shape=24,2 strides=24,2} x -> p; Squeeze p [2] -> y | y",
     {"N=1 h=24 w=2", "N=2 h=40 w=9", "N=1 h=47 w=100"}},
    /* Range: from 0, from a number, from a size, of fractions, in steps, downwards */
    {"x f32 [N,seq,4] | " STEPS "Cast{to=1} at -> f; Unsqueeze f [1] -> g; Add x g -> y | y",
     {"N=1 seq=1", "N=2 seq=40"}},
    {"x f32 [N,seq,4] | " LENGTH "Add n 3 -> end; Range 3 end 1 -> at; Cast{to=1} at -> f;"
     "Unsqueeze f [1] -> g; Add x g -> y | y",
     {"N=1 seq=1", "N=2 seq=40"}},
    {"x f32 [1,seq,4]; p f32 [1,past,4] | " LENGTH
     "Shape p -> t; Gather t 1 -> from; Add from n -> end;"
     "Range from end 1 -> at; Gather ~90x4 at -> e; Add x e -> z; Concat{axis=1} p z -> y | y",
     {"seq=1 past=1", "seq=5 past=40", "seq=50 past=2"}},
    {"x f32 [N,seq,4] | " LENGTH
     "Cast{to=1} n -> end; Mul end 0.5 -> half; Range 0.0 half 0.5 -> at;"
     "Unsqueeze at [1] -> g; Add x g -> y | y",
     {"N=1 seq=2", "N=2 seq=40"}},
    {"x f32 [N,seq,4] | " LENGTH "Mul n 3 -> end; Range 0 end 3 -> at; Cast{to=1} at -> f;"
     "Unsqueeze f [1] -> g; Add x g -> y | y",
     {"N=1 seq=2", "N=2 seq=40"}},
    {"x f32 [N,seq,4] | " LENGTH "Cast{to=6} n -> i; Cast{to=6} 0 -> zero; Cast{to=6} 1 -> one;"
     "Range zero i one -> at; Cast{to=1} at -> f; Unsqueeze f [1] -> g; Add x g -> y | y",
     {"N=1 seq=2", "N=2 seq=40"}},
    /* masks of S by S, tables of positions, ones for each sample */
    {"x f32 [N,seq,4] | " STEPS "Unsqueeze at [1] -> column; LessOrEqual at column -> past;"
     "Transpose{perm=0,2,1} x -> t; MatMul x t -> m; Where past m -1.5 -> w; Softmax{axis=-1} w -> "
     "p;"
     "MatMul p x -> y | y",
     {"N=1 seq=1", "N=2 seq=5", "N=1 seq=64"}},
    {"x f32 [N,seq,4] | " LENGTH
     "Concat{axis=0} list list -> both; ConstantOfShape both -> z; Add z 1.0 -> o;"
     "Trilu{upper=0} o -> l; MatMul l x -> y | y",
     {"N=1 seq=2", "N=2 seq=33"}},
    /* masks of samples that are counted in thousands: trials at 1000003 would take 120 MB, of the
     * 40 MB that so small a file may take */
    {"x f32 [N,1,samples] | Conv{strides=320,} x ~4x1x400 -> f;"
     "Transpose{perm=0,2,1} f -> t; Shape t -> s; Gather s 1 -> n; Unsqueeze n [0] -> list;"
     "Concat{axis=0} list list -> both; ConstantOfShape both -> z; Add z 1.0 -> o;"
     "Trilu{upper=0} o -> l; MatMul l t -> y | y",
     {"N=1 samples=400", "N=2 samples=16001"}},
    {"ids i64 [N,seq] | Shape ids -> s; Gather s 1 -> n; Unsqueeze n [0] -> list; Slice #1x64 [0] "
     "list [1] -> at;"
     "Gather ~64x4 at -> p; Gather ~7x4 ids -> e; Add p e -> y | y",
     {"N=1 seq=1", "N=3 seq=17", "N=2 seq=64"}},
    {"x f32 [N,seq,4] | Shape x -> s; Gather s 0 -> n; Unsqueeze n [0] -> list; Concat{axis=0} "
     "list [1,4] -> to;"
     "Expand ~1x1x4 to -> token; Concat{axis=1} token x -> y | y",
     {"N=1 seq=1", "N=3 seq=20"}},
    {"x f32 [N,seq,4] | Shape x -> s; ConstantOfShape s -> z; Add z 2.0 -> o; Concat{axis=2} x o "
     "-> y | y",
     {"N=1 seq=1", "N=3 seq=20"}},
    /* axes of one element go, whichever they are */
    {"x f32 [N,seq,4] | ReduceSum x [2] -> r; Squeeze r -> s; Relu s -> y | y",
     {"N=1 seq=1", "N=1 seq=5", "N=3 seq=1", "N=2 seq=9"}},
    {"x f32 [T,4] | MatMul x ~4x1 -> r; Squeeze r -> y | y", {"T=1", "T=2", "T=50"}},
    {"x f32 [T,4] | MatMul x ~4x3 -> r; Squeeze r -> y | y", {"T=1", "T=2", "T=50"}},
    /* shapes: lines, products, squares, halves, whole windows */
    {"x f32 [N,3,h,w] | Shape x -> s; Slice s [0] [2] -> nc; Concat{axis=0} nc [-1] -> to; Reshape "
     "x to -> f;"
     "Softmax{axis=2} f -> y | y",
     {"N=1 h=3 w=5", "N=2 h=17 w=8"}},
    {"x f32 [N,3,h,w] | Shape x -> s; Gather s 2 -> h; Gather s 3 -> w; Mul h w -> hw; Unsqueeze "
     "hw [0] -> l;"
     "Concat{axis=0} [0,3] l -> to; Reshape x to -> f; ReduceSum{keepdims=0} f [2] -> g; "
     "Cast{to=1} hw -> d;"
     "Div g d -> y | y",
     {"N=1 h=3 w=5", "N=2 h=17 w=8"}},
    {"x f32 [1,n,1] | Shape x -> s; Gather s 1 -> n; Transpose{perm=0,2,1} x -> t; MatMul x t -> "
     "m; Mul n n -> q;"
     "Unsqueeze q [0] -> l; Concat{axis=0} [1] l -> to; Reshape m to -> y | y",
     {"n=2", "n=19"}},
    {"x f32 [N,3,h,w] | Conv{pads=1,1,1,1 strides=2,2} x ~4x3x3x3 -> c; Relu c -> y | y",
     {"N=1 h=3 w=5", "N=2 h=16 w=9"}},
    {"x f32 [N,2,t] | Conv{strides=3,} x ~4x2x5 -> c; MaxPool{kernel_shape=2, strides=2,} c -> y | "
     "y",
     {"N=1 t=11", "N=2 t=30"}},
    {"x f32 [N,2,h,w] | Conv{pads=1,1,1,1 strides=2,2} x ~2x2x3x3 -> c; Shape x -> s; Slice s [2] "
     "[4] -> hw;"
     "Shape c -> q; Slice q [0] [2] -> nc; Concat{axis=0} nc hw -> to; Resize{mode=nearest} c ' ' "
     "to -> u;"
     "Concat{axis=1} u x -> y | y",
     {"N=1 h=4 w=6", "N=2 h=9 w=30"}},
    {"x f32 [N,seq,4] | " LENGTH "Div n 2 -> half; Unsqueeze half [0] -> l; Slice x [0] l [1] -> a;"
     "Slice x l [1000] [1] -> b; ReduceSum{keepdims=1} a [1] -> c; ReduceSum{keepdims=1} b [1] -> "
     "d;"
     "Sub c d -> y | y",
     {"N=1 seq=2", "N=2 seq=9"}},
    {"x f32 [N,seq,4] | " LENGTH "Sub n 1 -> last; Gather{axis=1} x last -> y | y",
     {"N=1 seq=2", "N=2 seq=9"}},
    {"x f32 [N,seq,4] | Slice x [0] [64] [1] -> y | y", {"N=1 seq=5", "N=2 seq=100"}},
    {"x f32 [N,seq,4] | Slice x [-64] [1000] [1] -> y | y", {"N=1 seq=5", "N=2 seq=100"}},
    {"x f32 [N,seq,4] | " LENGTH "Min n 20 -> m; Unsqueeze m [0] -> l; Slice x [0] l [1] -> y | y",
     {"N=1 seq=5", "N=2 seq=100"}},
    {"x f32 [N,seq,4] | Slice x [-2] [1000] [1] -> y | y", {"N=1 seq=2", "N=2 seq=9"}},
    {"x f32 [N,seq,4] | " LENGTH
     "Concat{axis=0} [1] list [1] -> times; Tile ~1x1x4 times -> z; Add x z -> y | y",
     {"N=1 seq=2", "N=2 seq=9"}},
    {"x f32 [N,b,4] | Shape x -> s; Gather s 1 -> n; Unsqueeze n [0] -> l; Concat{axis=0} [1] l "
     "[2] -> to;"
     "ConstantOfShape to -> z; LSTM{hidden_size=2} x ~1x8x4 ~1x8x2 ~1x16 ' z z -> o h c; Squeeze o "
     "[1] -> y | y",
     {"N=1 b=1", "N=7 b=3"}},
    {"x f32 [N,seq,4] | " STEPS
     "CumSum at 0 -> c; Cast{to=1} c -> f; Unsqueeze f [1] -> g; Mul x g -> y | y",
     {"N=1 seq=2", "N=2 seq=9"}},
    {"x f32 [N,seq,4] | " LENGTH "TopK{axis=1} x list -> v i; Relu v -> y | y",
     {"N=1 seq=2", "N=2 seq=9"}},
    {"x f32 [1,a+b,2]; z f32 [1,a,2] | Shape z -> s; Gather s 1 -> n; Unsqueeze n [0] -> l; Slice "
     "x [0] l [1] -> f;"
     "Add f z -> g; Slice x l [9999] [1] -> h; Concat{axis=1} g h -> y | y",
     {"a=1 b=1", "a=5 b=9", "a=9 b=2"}},
};

/* All outputs of m, with these sizes, are those of the other. Both models are released. */
static void give_the_same(struct pith_model *m, const struct bound_sizes *sizes,
                          struct pith_model *other, float near, const char *what)
{
    struct running a = run_network(m, sizes, what), b = run_network(other, NULL, what);
    for (uint32_t i = 0; i < pith_plan_output_count(pith_plan_of(b.s)); i++)
        outputs_agree(&a, i, &b, i, near, what);
    stop_running(&a);
    stop_running(&b);
}

static void open_is_as_fixed(const char *net, const char *sizes)
{
    const struct bound_sizes bound = bind_sizes(sizes);
    char what[1024];
    snprintf(what, sizeof what, "%s at %s", net, sizes);
    give_the_same(read_network(network_file(net, NULL, false), what), &bound,
                  read_network(network_file(net, &bound, false), what), 1e-6f, what);
}

TEST(open_as_fixed)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (size_t k = 0; k < 4 && networks[i].sizes[k]; k++)
            open_is_as_fixed(networks[i].net, networks[i].sizes[k]);
}

#define OPEN                                                                                       \
    "net.onnx: input 'x' dim 1 'seq' is open: give --input-shape x:1x1x4 (it cannot stay open: "
#define FIRST_ROWS                                                                                 \
    "Unsqueeze m [0] -> l; Slice x [0] l [1] -> z; ReduceSum{keepdims=1} z [1] -> y | y"

static const struct {
    const char *net, *why;
} refused[] = {
    {"x f32 [N,seq,4] | " LENGTH "Sub n n -> z; Range z z 1 -> at; Gather{axis=1} x at -> e;"
     "Concat{axis=1} x e -> y | y",
     OPEN "node 'n5' (Gather): input 1 'at' has no elements)"},
    {"x f32 [N,seq,4] | Shape x -> s; ConstantOfShape s -> z; Bernoulli z -> b; Add x b -> y | y",
     OPEN "1 of 4 nodes unsupported: Bernoulli 1x (n2): export in inference mode: it draws random "
          "numbers)"},
    {"x f32 [N,a,b,c,d,e]; z f32 [N,h,i,j,k,l]; q f32 [N,o,p,q,r,s]; t f32 [N,t,u] | Relu x -> y; "
     "Relu z -> w;"
     "Relu q -> v; Relu t -> u | y w v u",
     "net.onnx: input 'x' dim 1 'a' is open: give --input-shape x:1x1x224x224x224x224 "
     "--input-shape "
     "z:1x1x224x224x224x224 --input-shape q:1x1x224x224x224x224 --input-shape t:1x1x224 (it cannot "
     "stay open: it has "
     "more than 16 open sizes)"},
};

/* What is padded to multiples takes any number. What takes multiples alone has a size that counts
 * them: others do not fit its inputs. */
TEST(test_multiples)
{
    static const struct {
        const char *net, *dim;
    } nets[] = {
        {"x f32 [N,seq,4] | " LENGTH "Neg n -> m; Mod m 8 -> d; Unsqueeze d [0] -> l;"
         "Concat{axis=0} [0,0,0,0] l [0] -> pads; Pad x pads -> p; "
         "ReduceSum{keepdims=0} p [1] -> y | y",
         "seq"},
        {"x f32 [N,seq,4] | " LENGTH "Mod n 2 -> k; Add k 1 -> m;" FIRST_ROWS, "seq"},
        /* another formula below 20, so above it in multiples of 32 */
        {"x f32 [N,seq,4] | " LENGTH "Max n 20 -> m; Sub m n -> d; Unsqueeze d [0] -> l;"
         "Concat{axis=0} [0,0,0,0] l [0] -> pads; Pad x pads -> y | y",
         "32*seq"},
        {"x f32 [N,seq,4] | " LENGTH "Less n 20 -> c; Where c 1 n -> m;" FIRST_ROWS, "32*seq"},
        /* four and sixteen times shorter, and as often longer again */
        {"x f32 [N,4,seq] | MaxPool{kernel_shape=4, strides=4,} x -> p; "
         "ConvTranspose{strides=4,} p ~4x4x4 -> u; Add u x -> y | y",
         "4*seq"},
        {"x f32 [N,4,seq] | MaxPool{kernel_shape=16, strides=16,} x -> p; "
         "ConvTranspose{strides=16,} p ~4x4x16 -> u; Add u x -> y | y",
         "16*seq"},
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct pith_model *m = read_network(network_file(nets[i].net, NULL, false), nets[i].net);
        assert_int_equal(m->n_sizes, 1);
        assert_int_equal(m->n_sized > 0, 1);
        assert_string_equal(m->sized[0].formula, nets[i].dim);
        pith_model_free(m);
    }
}

TEST(test_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct proto file = network_file(refused[i].net, NULL, false);
        struct pith_model *m = NULL;
        struct pith_error err = {0};
        assert_int_not_equal(pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err),
                             PITH_OK);
        assert_string_equal(err.text, refused[i].why);
        free(file.data);
    }
}

TEST(no_memory)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        struct proto file = network_file(networks[i].net, NULL, false);
        assert_true(fail_import(&file, NULL, 20) > 200);
        free(file.data);
    }
}

/* Names of sizes, the values they have, their least, and their largest, in order. */
TEST(test_chosen)
{
    static const struct {
        const char *net, *sizes;
    } chosen[] = {
        {"x f32 [N,seq,4] | Relu x -> y | y", "seq 128, 1 to 16777215;"},
        {"x f32 [N,?,4] | Relu x -> y | y", "x_1 128, 1 to 16777215;"},
        {"x f32 [N,3,h,w] | Relu x -> y | y", "h 224, 1 to 2631720; w 224, 1 to 4067203;"},
        {"x f32 [N,a.b,4]; z f32 [N,2c+1,4] | Relu x -> y; Relu z -> w | y w",
         "a.b 128, 1 to 16777215; _c_1 128, 1 to 16777215;"},
        /* a table of 64 positions, its ends, and what grows to a value of 512 MiB */
        {"x f32 [N,seq,4] | " STEPS "Gather ~64x4 at -> p; Add x p -> y | y", "seq 64, 1 to 64;"},
        {"x f32 [1,seq,4]; p f32 [1,past,4] | Concat{axis=1} p x -> c; Shape c -> s; Gather s 1 -> "
         "n; Range 0 n 1 -> at; Gather ~64x4 at -> t; Add c t -> y; Relu x -> z | y z",
         "seq 32, 1 to 64; past 31, 0 to 63;"},
        {"x f32 [1,n,1] | Transpose{perm=0,2,1} x -> t; MatMul x t -> y | y", "n 128, 1 to 11585;"},
        {"x f32 [1,a,4]; z f32 [1,b,4] | Add x z -> y | y", "a 128, 1 to 16777215;"},
        /* another axis with small sizes; a Slice that ends beyond them is none */
        {"x f32 [N,seq,4] | " LENGTH "Less n 20 -> c; Where c 1 2 -> axis; CumSum x axis -> y | y",
         "seq 128, 20 to 16777215;"},
        {"x f32 [N,seq,4] | " LENGTH "Less n 300 -> c; Where c 1 2 -> axis; CumSum x axis -> y | y",
         "seq 1009, 300 to 16777215;"},
        {"x f32 [N,seq,4] | Slice x [0] [64] [1] -> y | y", "seq 128, 1 to 16777215;"},
        /* a pool and a Squeeze leave heights that a step makes one row */
        {"x f32 [N,2,h,w] | AveragePool{kernel_shape=24,2 strides=24,2} x -> p; Squeeze p [2] -> y"
         "| y",
         "h 32, 24 to 47; w 224, 1 to 1917396;"},
        /* it is not the outermost one, which the weight fixes */
        {"x f32 [a,b] | MatMul ~3x12 x -> y | y", "b 128, 1 to 11184810;"},
        /* a weight fixes widths alone, of which heights leave the mean */
        {"x f32 [N,3,h,w] | ReduceMean{axes=2, keepdims=0} x -> m; Flatten m -> f; "
         "Gemm{transB=1} f ~5x288 -> y | y",
         "h 224, 1 to 466033;"},
        /* the least of a frame, and one frame at most */
        {"x f32 [N,seq] | Unsqueeze x [1] -> u; Conv{strides=128,} u ~4x1x256 -> c; Squeeze c [2] "
         "-> "
         "y | y",
         "seq 256, 256 to 383;"},
        /* features of a weight, of a state; a height that is a multiple; a sum, though 1 is
         * repeated, too */
        {"x f32 [N,a,b] | Relu x -> r; MatMul r ~12x3 -> y | y", "a 128, 1 to 11184810;"},
        {"x f32 [t,n,4]; h f32 [1,1,2] | RNN{hidden_size=2} x ~1x2x4 ~1x2x2 ' ' h -> y s | y s",
         "t 1, 1 to 16777215;"},
        {"x f32 [N,t,f] | Reshape x [-1,35] -> y | y",
         "n 1, 1 to 75192; t 128, 1 to 116205; f 3, 1 to 20506;"},
        {"x f32 [1,w] | Add x ~1x6 -> y | y", ""},
        /* two names of the same number, beside another size */
        {"x f32 [2,a,b,4]; z f32 [2,c,4] | Slice x [100] [9999] [2] -> s;"
         "ReduceSum{keepdims=0} s [2] -> m; Add m z -> y | y",
         "a 128, 1 to 17586; b 224, 101 to 1525201;"},
    };
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        struct pith_model *m =
            read_network(network_file(chosen[i].net, NULL, false), chosen[i].net);
        char text[256] = "", *p = text;
        for (uint32_t k = 0; k < m->n_sizes; k++)
            p += sprintf(p, "%s%s %u, %u to %u;", k ? " " : "", m->sizes[k].name, m->sizes[k].value,
                         pith_model_least_size(m, k), m->sizes[k].max);
        assert_string_equal(text, chosen[i].sizes);
        pith_model_free(m);
    }
}

/* Sizes that follow others have no names of their own. */
TEST(test_related)
{
    static const struct {
        const char *net, *open, *fixed;
    } cases[] = {
        {"x f32 [1,seq,4]; p f32 [1,past,4]; m f32 [1,total] | Concat{axis=1} p x -> c;"
         "Unsqueeze m [2] -> n; Mul c n -> y | y",
         "seq=3 past=5", "seq=3 past=5 total=8"},
        {"m f32 [1,total]; x f32 [1,seq,4]; p f32 [1,past,4]; v f32 [1,values,4] |"
         "Concat{axis=1} p x -> k; Transpose{perm=0,2,1} k -> t; MatMul x t -> s; Add s m -> a;"
         "Concat{axis=1} v x -> w; MatMul a w -> y | y",
         "seq=6 past=2", "seq=6 past=2 values=2 total=8"},
        {"m f32 [1,total]; p f32 [1,past,4]; x f32 [1,seq,4] | Shape p -> s; Gather s 1 -> n;"
         "Unsqueeze n [0] -> from; Slice m from [1000000] [1] -> new; Unsqueeze new [2] -> w;"
         "Mul x w -> z; Concat{axis=1} p z -> y | y",
         "seq=4 past=7", "seq=4 past=7 total=11"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].net;
        struct bound_sizes open = bind_sizes(cases[i].open), fixed = bind_sizes(cases[i].fixed);
        struct pith_model *m = read_network(network_file(text, NULL, false), text);
        if (m->n_sizes != 2)
            fail_msg("%s: %u sizes", text, m->n_sizes);
        give_the_same(m, &open, read_network(network_file(text, &fixed, false), text), 0, text);
    }
}

/* A length of 0 that is read as a number: nothing is added to x. */
TEST(number_of_none)
{
    const char *net = "x f32 [1,seq,4]; p f32 [1,past,4] | Shape p -> t; Gather t 1 -> n;"
                      "Cast{to=1} n -> f; Concat{axis=1} p x -> c; Add c f -> y | y";
    const char *same = "x f32 [1,3,4] | Add x 0.0 -> y | y";
    struct bound_sizes none = bind_sizes("seq=3 past=0");
    give_the_same(read_network(network_file(net, NULL, false), net), &none,
                  read_network(network_file(same, NULL, false), same), 0, net);
}

/* A part without elements is left out of a Concat. */
TEST(part_of_none)
{
    const char *net = "x f32 [N,3,4] | Slice x [0] [4] [2] -> a; Slice x [4] [1000] [2] -> b;"
                      "Neg a -> c; Concat{axis=2} c b -> y | y";
    struct pith_model *m = read_network(network_file(net, NULL, false), net);
    assert_int_equal(m->nodes[m->n_nodes - 1].op, PITH_OP_UNARY);
    pith_model_free(m);
}

/* A list of numbers whose bytes are not there is not read where import stops. */
TEST(missing_numbers)
{
    const int64_t dims[1] = {3};
    char input[] = "x f32 [1,seq,4]";
    struct proto g = {0};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    const struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = 1u << 30};
    add_text_input(&g, input, NULL);
    proto_message(&g, GRAPH_NODE, build_node("Reshape", "r", "x list -> y"));
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("list", BUILD_INT64, dims, 1, "", 0));
    build_output(&g, "y");
    struct proto file = build_model(g, 17);
    assert_int_not_equal(pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err), PITH_OK);
    assert_non_null(strstr(err.text, "tensor 'list'"));
    free(file.data);
}

RUN_TESTS
