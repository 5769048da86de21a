/* SPDX-License-Identifier: MIT */
/* test_onnx_refusals.c - nodes that do not fit what comes in, each with the whole message it is
 * refused with: which numbers stand in it, and in which order. */
#include <stdint.h>
#include "test_run.h"
#include "network_text.h"

struct refusal {
    const char *network; /* "opset: network": not of opset 17 */
    const char *text;    /* behind "net.onnx: node 'n0' (OPERATOR): ", or behind "net.onnx:" */
};

/* Tables, a case a line. */
/* clang-format off */
static const struct refusal corrupt[] = {
    {"x f32 [1,1,8,8] | Conv{kernel_shape=3,3} x ~4x1x5x5 -> y | y", "kernel 3x3 does not match weight 5x5"},
    {"x f32 [1,1,8,8] | Conv{strides=1,0} x ~4x1x5x5 -> y | y", "strides holds 0, which is not in 1..65535"},
    {"x f32 [1,1,8,8] | Conv{group=3} x ~4x1x5x5 -> y | y", "4 output channels do not divide into 3 groups"},
    {"x f32 [1,1,8,8] | Conv{strides=two} x ~4x1x5x5 -> y | y", "attribute strides is not a list of integers"},
    {"x f32 [1,1,8,8] | Conv{pads=0,0,0} x ~4x1x5x5 -> y | y", "pads has 3 entries, 2 spatial dims need 4"},
    {"x f32 [2,3] | Add x b -> a; Add a x -> b; Add b x -> y | y", " node 'n0' (Add) depends on its own output"},
    {"x f32 [2,3] | Add x x -> y; Add x x -> y | y", " value 'y' is defined twice: by node 'n0' and node 'n1'"},
    {"x f32 [2,3] | Add x z -> y | y", "nothing produces its input 'z'"},
    {"x f32 [2,3] | Add x ' -> y | y", "input 1 is missing"},
    {"1: x f32 [2,3,4] | LpPool{p=2.0} x -> y | y", "kernel_shape has 0 entries, 1 spatial dims need 1"},
    {"x f32 [1,4,6] | ConvTranspose x ~4x2x3x3 -> y | y", "the input has 3 dims, the weight 4"},
    {"x f32 [1,4] | ConvTranspose x ~4x2 -> y | y", "its input has 2 dims, only 3 (1-D) to 6 are supported"},
    {"x f32 [1,4,6,6] | ConvTranspose x ~3x2x3x3 -> y | y", "the input has 4 channels, the weight takes 3"},
    {"x f32 [1,4,6,6] | ConvTranspose{strides=1,2,3} x ~4x2x3x3 -> y | y", "strides has 3 entries, 2 are needed"},
    {"x f32 [1,4,6,6] | ConvTranspose{output_shape=1,2,3} x ~4x2x3x3 -> y | y",
     "output_shape has 3 entries, 2 are needed"},
    {"x f32 [1,4,6] | Conv x ~4x2x3x3 -> y | y", "the input has 3 dims, the weight 4"},
    {"x f32 [1,4] | Conv x ~4x2 -> y | y", "its input has 2 dims, only 3 (1-D) to 6 are supported"},
    {"x f32 [1,4,6,6] | Conv{group=2} x ~6x3x3x3 -> y | y",
     "the input has 4 channels, the weight takes 3 in 2 groups"},
    {"x f32 [1,4,6,6] | Conv x ~6x4x3x3 ~5 -> y | y", "the bias has 5 elements, the weight 6 output channels"},
    {"x f32 [2,3] | Tile x [1,2,3] -> y | y", "3 repeats for a tensor of 2 dims"},
    {"x f32 [2,3] | Transpose{perm=0,2,1} x -> y | y", "perm 2 is outside a tensor of 2 dims"},
    {"x f32 [1,1,4,4] | Resize x ' ' ' -> y | y", "it needs either scales or sizes, 0 and 0 are given"},
    {"x f32 [6] | Split x [1,2,3] -> a b | a", "3 sizes for 2 outputs"},
    {"x f32 [6] | Split{num_outputs=3} x -> a b | a", "num_outputs is 3, it has 2 outputs"},
    {"x f32 [2] | Split{num_outputs=3} x -> a b c | a", "2 elements do not split into 3 parts"},
    {"x f32 [2,3] | Pad x [1,2,3] -> y | y", "pads has 3 entries, 2 axes need 4"},
    {"x f32 [2,3] | Pad x [1,2,3] ' [1] -> y | y", "pads has 3 entries, 2 axes need 4"},
    {"x f32 [2,3] | Einsum{equation=ab->b} x x -> y | y", "2 inputs for an equation of 1"},
    {"x f32 [2,3] | Squeeze x [0,-2] -> y | y", "axes names axis 0 twice"},
    {"x f32 [2,3] | ReduceSum x [1,1] -> y | y", "axes names axis 1 twice"},
    {"x f32 [2,3] | Slice x [0,0] [1,1] [1,1] -> y | y", "axes names axis 1 twice"},
    {"x f32 [2,3] | TopK x [1,2] -> v i | v", "input 'k' has 2 entries, not one"},
    {"x f32 [2,3] | Expand x [2,-3] -> y | y", "dim 1 of the new shape is -3, the input has 3"},
    {"x f32 [2,3] | ConstantOfShape [2,-3] -> y | y", "dim 1 of its output is -3"},
    {"x f32 [2,3] | Range 0 [5,6] 1 -> y | y", "limit is not one number"},
    {"x f32 [2,3] | OneHot #1x2 [3,4] ~2 -> y | y", "input 'depth' has 2 entries, not one"},
    {"x f32 [1,2,4,8] | RotaryEmbedding{rotary_embedding_dim=10} x ~9x5 ~9x5 -> y | y",
     "rotary_embedding_dim is 10 of 8"},
    {"x f32 [1,2,4,8] | RotaryEmbedding{rotary_embedding_dim=3} x ~9x5 ~9x5 -> y | y",
     "rotary_embedding_dim is 3 of 8"},
    {"x f32 [1,4,9]; k f32 [1,4,6] | Attention{q_num_heads=3 kv_num_heads=2} x k k -> y | y",
     "3 heads of q and 2 of k do not fit"},
    {"x f32 [2,3] | CumSum x [0,1] -> y | y", "input 'axis' has 2 entries, not one"},
    {"x f32 [2,3] | Trilu x [0,1] -> y | y", "input 'k' has 2 entries, not one"},
    {"x f32 [2,3] | MaxPool{kernel_shape=2,2} x -> y | y", "its input has 2 dims, only 3 (1-D) to 6 are supported"},
    {"x f32 [1,2,6,6] | MaxPool{kernel_shape=2,2,2} x -> y | y", "kernel_shape has 3 entries, 2 spatial dims need 2"},
    {"x f32 [1,2,6,6] | MaxPool{kernel_shape=2,2 pads=1,1} x -> y | y", "pads has 2 entries, 2 spatial dims need 4"},
    {"x f32 [2,3,4] | Transpose{perm=0,1} x -> y | y", "perm has 2 entries, the input 3 dims"},
    {"x f32 [1,1,4,4] | Resize x ' ~4 -> y | y", "scale -0.85 of axis 0 makes no size from 1"},
    {"x f32 [1,1,4,4] | Resize x ' ~3 -> y | y", "it gives 3 numbers for 4 axes"},
    {"x f32 [1,1,4,4] | Resize{keep_aspect_ratio_policy=not_larger} x ' ' [1,1,0,9] -> y | y",
     "scale 0 of axis 0 makes no size"},
    {"x f32 [1,1,4,4] | Resize{axes=2,3} x ' ' [1,2,3] -> y | y", "it gives 3 numbers for 4 axes"},
    {"x f32 [2,3] | ArgMax{axis=2} x -> y | y", "axis 2 is outside a tensor of 2 dims"},
    {"x f32 [2,3] | Concat{axis=2} x x -> y | y", "axis 2 is outside a tensor of 2 dims"},
    {"x f32 [2,3]; z f32 [3,4] | Concat{axis=1} x z -> y | y",
     "its inputs and attributes do not fit: f32 2x3, f32 3x4"},
    {"x f32 [2,3] | MatMul ' x -> y | y", "input 0 is missing"},
    {"x f32 [2,3]; z f32 [4,5] | MatMul x z -> y | y", "its inputs and attributes do not fit: f32 2x3, f32 4x5"},
    {"x f32 [2,3]; z f32 [4,5] | Gemm x z -> y | y", "its inputs and attributes do not fit: f32 2x3, f32 4x5"},
    {"x f32 [2,3]; z f32 [4,5] | Add x z -> y | y", "its inputs and attributes do not fit: f32 2x3, f32 4x5"},
    {"x f32 [2,3] | Reshape x [4,2] -> y | y", "its inputs and attributes do not fit: f32 2x3"},
    {"x f32 [2,3] | Reshape x [-1,-1] -> y | y", "its inputs and attributes do not fit: f32 2x3"},
    {"x f32 [2,3] | Flatten{axis=3} x -> y | y", "axis 3 is outside a tensor of 2 dims"},
    {"x f32 [2,3] | Unsqueeze x [1,1] -> y | y", "axes names axis 1 twice"},
    {"x f32 [2,3] | Unsqueeze x [7] -> y | y", "axes 7 is outside a tensor of 3 dims"},
    {"x f32 [2,3] | Gather{axis=2} x [0] -> y | y", "axis 2 is outside a tensor of 2 dims"},
    {"x f32 [2,3] | GatherElements{axis=2} x #2x3 -> y | y", "axis 2 is outside a tensor of 2 dims"},
    {"x f32 [2,3] | GatherND x #1x3 -> y | y", "its inputs and attributes do not fit: f32 2x3, i64 1x3"},
    {"x f32 [2,3] | DepthToSpace{blocksize=2} x -> y | y", "its inputs and attributes do not fit: f32 2x3"},
    {"x f32 [1,6,2,2] | DepthToSpace{blocksize=2} x -> y | y", "its inputs and attributes do not fit: f32 1x6x2x2"},
    {"x f32 [1,6,3,3] | SpaceToDepth{blocksize=2} x -> y | y", "its inputs and attributes do not fit: f32 1x6x3x3"},
    {"x f32 [1,6,3,3] | BatchNormalization x ~5 ~6 ~6 ~6 -> y | y",
     "its inputs and attributes do not fit: f32 1x6x3x3, f32 5, f32 6, f32 6, f32 6"},
    {"x f32 [1,6,3,3] | InstanceNormalization x ~5 ~6 -> y | y",
     "its inputs and attributes do not fit: f32 1x6x3x3, f32 5, f32 6"},
    {"x f32 [1,6,3,3] | GroupNormalization{num_groups=4} x ~6 ~6 -> y | y",
     "its inputs and attributes do not fit: f32 1x6x3x3, f32 6, f32 6"},
    {"x f32 [1,6,3,3] | LayerNormalization{axis=4} x ~3 -> y | y", "axis 4 is outside a tensor of 4 dims"},
    {"x f32 [2,3] | PRelu x ~2x2 -> y | y", "its inputs and attributes do not fit: f32 2x3, f32 2x2"},
    {"x f32 [3,2,4] | LSTM{hidden_size=5} x ~1x20x3 ~1x20x5 -> y | y",
     "W 1x20x3 and R 1x20x5 do not fit 4 gates of 5 on inputs of 4"},
    {"x f32 [3,2,4] | GRU{hidden_size=5} x ~1x15x4 ~1x15x4 -> y | y",
     "W 1x15x4 and R 1x15x4 do not fit 3 gates of 5 on inputs of 4"},
    {"x f32 [1,2,4,4]; g f32 [2,3,3,2] | GridSample x g -> y | y",
     "its inputs and attributes do not fit: f32 1x2x4x4, f32 2x3x3x2"},
    {"x f32 [1,2,4,4]; g f32 [1,3,3,3] | GridSample x g -> y | y",
     "its inputs and attributes do not fit: f32 1x2x4x4, f32 1x3x3x3"},
    {"x f32 [2,3] | QuantizeLinear{axis=2} x ~3 [0,0,0] -> y | y", "axis 2 is outside a tensor of 2 dims"},
    {"x f32 [2,3] | Hardmax{axis=5} x -> y | y", "axis 5 is outside a tensor of 2 dims"},
    {"x f32 [2,3] | Softmax{axis=-3} x -> y | y", "axis -3 is outside a tensor of 2 dims"},
    {"x f32 [2,3] | Split x [0,3] -> y z | y", "part 1 has 3 of 2 elements"},
    {"x f32 [2,3] | OneHot x 2.5 ~2 -> y | y", "input 'depth' is not a whole number"},
    {"x f32 [N,16,1] | STFT x [4] ' [17] -> y | y", "frames of 17, 4 apart, of a signal of 16"},
    {"x f32 [2,3] | Gather x [2,1] -> y | y", "index 2 is outside an axis of 2 elements"},
    {"x f32 [2,3] | Gather x [-3,1] -> y | y", "index -3 is outside an axis of 2 elements"},
    {"x f32 [2,3] | Expand x [3,1] -> y | y", "dim 0 of the new shape is 3, the input has 2"},
    {"x f32 [3] | Range [3] [3] [0] -> r; Add x r -> y | y", "3 to 3 by 0 has no number of elements"},
    {"x f32 [N,4,6] | Einsum{equation=ij,jk->ik} x ~6x5 -> y | y",
     "input 0 does not have the 2 dims of the equation"},
    {"x f32 [N,4,6] | Einsum{equation=nij,jk->nikz} x ~6x5 -> y | y", "output label 'z' is in no operand"},
    {"x f32 [N,4,6] | Einsum{equation=nij,jk->nn} x ~6x5 -> y | y", "output label 'n' occurs twice"},
    {"x f32 [N,4,6] | Einsum{equation=a,b,c->abc} x ~6x5 -> y | y", "2 inputs for a longer equation"},
    {"x f32 [N,4,6] | Einsum{equation=nij,kk->nijk} x ~6x5 -> y | y", "label 'k' is of 6 and of 5"},
};

static const struct refusal unsupported[] = {
    {"0: x f32 [2,3] | Add x x -> y | y", " opset 0 does not exist: the first is 1"},
    {"6: x f32 [2,3] | :Add{axis=1} x x -> y | y",
     " node 'y' (Add) follows the rules of opset 6: convert the file to opset 7 or later with onnx.version_converter"},
    {"6: x f32 [2,3] | BatchNormalization x x -> y | y",
     " node 'n0' (BatchNormalization) follows the rules of opset 6: convert the file to opset 7 or later with onnx.version_converter"},
    {"1: x f32 [2,3,4] | GlobalLpPool{p=2.5} x -> y | y", "p 2.5 is not a whole number from 1 on"},
    {"x f32 [2,3] | Cast{to=8} x -> y | y", "a cast to type string (8) is not supported"},
    {"x f32 [1,1,4,4] | Resize x ' [1,1,2,2] [1,1,8,8] -> y | y", "input 'scales' is not a float tensor"},
    {"x f32 [1,64] | STFT x 16 ~12 32 -> y | y", "a window of 12 for frames of 32"},
    {"x f32 [2,3] | Clip x [1,2] -> y | y", "input 'min' is not a float tensor"},
    {"x f32 [3,2,4] | RNN{hidden_size=5 direction=both} x ~1x5x4 ~1x5x5 -> y | y",
     "direction 'both' is not supported"},
    {"x f32 [2,3] | Slice x [5] [9] -> y | y", " output 'y' has no elements"},
    {"x f32 [2,3] | Split x [0,2] -> y z | y", " output 'y' has no elements"},
    {"19: x f32 [2,3] | Pad{mode=wrap} x [0,4,0,0] -> y | y",
     "mode 'wrap' with pads 4 and 0 of an axis of 3: from 0 to the length of the axis are supported"},
    {"x f32 [2,3]; roi f32 [4] | Resize{coordinate_transformation_mode=tf_crop_and_resize} x roi ' [2,2] -> y | y",
     "roi is not a constant of 4 floats: freeze it with --set-input"},
    {"x f32 [3,0] | Relu x -> y | y",
     " input 'x' has no elements, dim 1 is 0: if that stands for any size, give --input-shape x:3x1"},
    {"x f32 [2,3] | Tile x [0,1] -> y | y", "its output has no elements"},
    {"24: x f32 [3] | Swish x -> y z | y z", "nothing makes its output 1 'z'"},
    {"x f32 [N,4,6] | Einsum{equation=n.j,jk->nk} x ~6x5 -> y | y",
     "this equation: rewrite it as MatMul and Transpose before export"},
    {"x f32 [N,4,6] | Einsum{equation=nij,j7->ni} x ~6x5 -> y | y",
     "this equation: rewrite it as MatMul and Transpose before export"},
    {"x f32 [N,4,6] | Einsum{equation=nij,abcdefghi->n} x ~6x5 -> y | y",
     "an operand of so many labels: rewrite it as MatMul and Transpose before export"},
};
/* clang-format on */

static void refuse(const struct refusal *r, enum pith_status status)
{
    const char *network = r->network, *op = strchr(network, '|') + 2;
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    char text[512];
    int opset = 17, n = 0;
    if (sscanf(network, "%d: %n", &opset, &n) == 1)
        network += n;
    struct proto file = build_model(text_graph(network), opset);
    const enum pith_status st = pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err);
    if (*r->text == ' ')
        snprintf(text, sizeof text, "net.onnx:%s", r->text);
    else
        snprintf(text, sizeof text, "net.onnx: node 'n0' (%.*s): %s", (int)strcspn(op, " {"), op,
                 r->text);
    if (st != status || strcmp(err.text, text) != 0)
        fail_msg("%s: status %d, '%s'", r->network, (int)st, err.text);
    assert_null(m);
    free(file.data);
}

TEST(messages_have_their_numbers)
{
    for (size_t i = 0; i < sizeof corrupt / sizeof *corrupt; i++)
        refuse(&corrupt[i], PITH_ERR_CORRUPT);
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        refuse(&unsupported[i], PITH_ERR_UNSUPPORTED);
}

RUN_TESTS
