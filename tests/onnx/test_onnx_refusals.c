/* SPDX-License-Identifier: MIT */
/* test_onnx_refusals.c - nodes that do not fit what comes in, each with the whole message it is
 * refused with: which numbers stand in it, and in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "network_text.h"

/* Behind "net.onnx: node 'n0' (OPERATOR): ". */
static const struct {
    const char *network, *text;
    enum pith_status status;
} refusals[] = {
    {"x f32 [1,4,6] | ConvTranspose x ~4x2x3x3 -> y | y", "the input has 3 dims, the weight 4",
     PITH_ERR_CORRUPT},
    {"x f32 [1,4] | ConvTranspose x ~4x2 -> y | y",
     "its input has 2 dims, only 3 (1-D) to 6 are supported", PITH_ERR_CORRUPT},
    {"x f32 [1,4,6,6] | ConvTranspose x ~3x2x3x3 -> y | y",
     "the input has 4 channels, the weight takes 3", PITH_ERR_CORRUPT},
    {"x f32 [1,4,6,6] | ConvTranspose{strides=1,2,3} x ~4x2x3x3 -> y | y",
     "strides has 3 entries, 2 are needed", PITH_ERR_CORRUPT},
    {"x f32 [1,4,6,6] | ConvTranspose{output_shape=1,2,3} x ~4x2x3x3 -> y | y",
     "output_shape has 3 entries, 2 are needed", PITH_ERR_CORRUPT},
    {"x f32 [1,4,6] | Conv x ~4x2x3x3 -> y | y", "the input has 3 dims, the weight 4",
     PITH_ERR_CORRUPT},
    {"x f32 [1,4] | Conv x ~4x2 -> y | y", "its input has 2 dims, only 3 (1-D) to 6 are supported",
     PITH_ERR_CORRUPT},
    {"x f32 [1,4,6,6] | Conv{group=2} x ~6x3x3x3 -> y | y",
     "the input has 4 channels, the weight takes 3 in 2 groups", PITH_ERR_CORRUPT},
    {"x f32 [1,4,6,6] | Conv x ~6x4x3x3 ~5 -> y | y",
     "the bias has 5 elements, the weight 6 output channels", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Tile x [1,2,3] -> y | y", "3 repeats for a tensor of 2 dims", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Transpose{perm=0,2,1} x -> y | y", "perm 2 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Cast{to=8} x -> y | y", "a cast to type string (8) is not supported",
     PITH_ERR_UNSUPPORTED},
    {"x f32 [1,1,4,4] | Resize x ' ' ' -> y | y",
     "it needs either scales or sizes, 0 and 0 are given", PITH_ERR_CORRUPT},
    {"x f32 [1,1,4,4] | Resize x ' [1,1,2,2] [1,1,8,8] -> y | y",
     "input 'scales' is not a float tensor", PITH_ERR_UNSUPPORTED},
    {"x f32 [6] | Split x [1,2,3] -> a b | a", "3 sizes for 2 outputs", PITH_ERR_CORRUPT},
    {"x f32 [6] | Split{num_outputs=3} x -> a b | a", "num_outputs is 3, it has 2 outputs",
     PITH_ERR_CORRUPT},
    {"x f32 [2] | Split{num_outputs=3} x -> a b c | a", "2 elements do not split into 3 parts",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Pad x [1,2,3] -> y | y", "pads has 3 entries, 2 axes need 4", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Pad x [1,2,3] ' [1] -> y | y", "pads has 3 entries, 2 axes need 4",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Einsum{equation=ab->b} x x -> y | y", "2 inputs for an equation of 1",
     PITH_ERR_CORRUPT},
    {"x f32 [1,64] | STFT x 16 ~12 32 -> y | y", "a window of 12 for frames of 32",
     PITH_ERR_UNSUPPORTED},
    {"x f32 [2,3] | Squeeze x [0,-2] -> y | y", "axes names axis 0 twice", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | ReduceSum x [1,1] -> y | y", "axes names axis 1 twice", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Slice x [0,0] [1,1] [1,1] -> y | y", "axes names axis 1 twice",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | TopK x [1,2] -> v i | v", "input 'k' has 2 entries, not one", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Clip x [1,2] -> y | y", "input 'min' is not a float tensor",
     PITH_ERR_UNSUPPORTED},
    {"x f32 [2,3] | Expand x [2,-3] -> y | y", "dim 1 of the new shape is -3, the input has 3",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | ConstantOfShape [2,-3] -> y | y", "dim 1 of its output is -3",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Range 0 [5,6] 1 -> y | y", "limit is not one number", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | OneHot #1x2 [3,4] ~2 -> y | y", "input 'depth' has 2 entries, not one",
     PITH_ERR_CORRUPT},
    {"x f32 [1,2,4,8] | RotaryEmbedding{rotary_embedding_dim=10} x ~9x5 ~9x5 -> y | y",
     "rotary_embedding_dim is 10 of 8", PITH_ERR_CORRUPT},
    {"x f32 [1,2,4,8] | RotaryEmbedding{rotary_embedding_dim=3} x ~9x5 ~9x5 -> y | y",
     "rotary_embedding_dim is 3 of 8", PITH_ERR_CORRUPT},
    {"x f32 [1,4,9]; k f32 [1,4,6] | Attention{q_num_heads=3 kv_num_heads=2} x k k -> y | y",
     "3 heads of q and 2 of k do not fit", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | CumSum x [0,1] -> y | y", "input 'axis' has 2 entries, not one",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Trilu x [0,1] -> y | y", "input 'k' has 2 entries, not one", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | MaxPool{kernel_shape=2,2} x -> y | y",
     "its input has 2 dims, only 3 (1-D) to 6 are supported", PITH_ERR_CORRUPT},
    {"x f32 [1,2,6,6] | MaxPool{kernel_shape=2,2,2} x -> y | y",
     "kernel_shape has 3 entries, 2 spatial dims need 2", PITH_ERR_CORRUPT},
    {"x f32 [1,2,6,6] | MaxPool{kernel_shape=2,2 pads=1,1} x -> y | y",
     "pads has 2 entries, 2 spatial dims need 4", PITH_ERR_CORRUPT},
    {"x f32 [2,3,4] | Transpose{perm=0,1} x -> y | y", "perm has 2 entries, the input 3 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [1,1,4,4] | Resize x ' ~4 -> y | y", "scale -0.85 of axis 0 makes no size from 1",
     PITH_ERR_CORRUPT},
    {"x f32 [1,1,4,4] | Resize x ' ~3 -> y | y", "it gives 3 numbers for 4 axes", PITH_ERR_CORRUPT},
    {"x f32 [1,1,4,4] | Resize{keep_aspect_ratio_policy=not_larger} x ' ' [1,1,0,9] -> y | y",
     "scale 0 of axis 0 makes no size", PITH_ERR_CORRUPT},
    {"x f32 [1,1,4,4] | Resize{axes=2,3} x ' ' [1,2,3] -> y | y", "it gives 3 numbers for 4 axes",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | ArgMax{axis=2} x -> y | y", "axis 2 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Concat{axis=2} x x -> y | y", "axis 2 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3]; z f32 [3,4] | Concat{axis=1} x z -> y | y",
     "its inputs and attributes do not fit: f32 2x3, f32 3x4", PITH_ERR_CORRUPT},
    {"x f32 [2,3]; z f32 [4,5] | MatMul x z -> y | y",
     "its inputs and attributes do not fit: f32 2x3, f32 4x5", PITH_ERR_CORRUPT},
    {"x f32 [2,3]; z f32 [4,5] | Gemm x z -> y | y",
     "its inputs and attributes do not fit: f32 2x3, f32 4x5", PITH_ERR_CORRUPT},
    {"x f32 [2,3]; z f32 [4,5] | Add x z -> y | y",
     "its inputs and attributes do not fit: f32 2x3, f32 4x5", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Reshape x [4,2] -> y | y", "its inputs and attributes do not fit: f32 2x3",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Reshape x [-1,-1] -> y | y", "its inputs and attributes do not fit: f32 2x3",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Flatten{axis=3} x -> y | y", "axis 3 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Unsqueeze x [1,1] -> y | y", "axes names axis 1 twice", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Unsqueeze x [7] -> y | y", "axes 7 is outside a tensor of 3 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Gather{axis=2} x [0] -> y | y", "axis 2 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | GatherElements{axis=2} x #2x3 -> y | y", "axis 2 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | GatherND x #1x3 -> y | y",
     "its inputs and attributes do not fit: f32 2x3, i64 1x3", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | DepthToSpace{blocksize=2} x -> y | y",
     "its inputs and attributes do not fit: f32 2x3", PITH_ERR_CORRUPT},
    {"x f32 [1,6,2,2] | DepthToSpace{blocksize=2} x -> y | y",
     "its inputs and attributes do not fit: f32 1x6x2x2", PITH_ERR_CORRUPT},
    {"x f32 [1,6,3,3] | SpaceToDepth{blocksize=2} x -> y | y",
     "its inputs and attributes do not fit: f32 1x6x3x3", PITH_ERR_CORRUPT},
    {"x f32 [1,6,3,3] | BatchNormalization x ~5 ~6 ~6 ~6 -> y | y",
     "its inputs and attributes do not fit: f32 1x6x3x3, f32 5, f32 6, f32 6, f32 6",
     PITH_ERR_CORRUPT},
    {"x f32 [1,6,3,3] | InstanceNormalization x ~5 ~6 -> y | y",
     "its inputs and attributes do not fit: f32 1x6x3x3, f32 5, f32 6", PITH_ERR_CORRUPT},
    {"x f32 [1,6,3,3] | GroupNormalization{num_groups=4} x ~6 ~6 -> y | y",
     "its inputs and attributes do not fit: f32 1x6x3x3, f32 6, f32 6", PITH_ERR_CORRUPT},
    {"x f32 [1,6,3,3] | LayerNormalization{axis=4} x ~3 -> y | y",
     "axis 4 is outside a tensor of 4 dims", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | PRelu x ~2x2 -> y | y",
     "its inputs and attributes do not fit: f32 2x3, f32 2x2", PITH_ERR_CORRUPT},
    {"x f32 [3,2,4] | LSTM{hidden_size=5} x ~1x20x3 ~1x20x5 -> y | y",
     "W 1x20x3 and R 1x20x5 do not fit 4 gates of 5 on inputs of 4", PITH_ERR_CORRUPT},
    {"x f32 [3,2,4] | GRU{hidden_size=5} x ~1x15x4 ~1x15x4 -> y | y",
     "W 1x15x4 and R 1x15x4 do not fit 3 gates of 5 on inputs of 4", PITH_ERR_CORRUPT},
    {"x f32 [3,2,4] | RNN{hidden_size=5 direction=both} x ~1x5x4 ~1x5x5 -> y | y",
     "direction 'both' is not supported", PITH_ERR_UNSUPPORTED},
    {"x f32 [1,2,4,4]; g f32 [2,3,3,2] | GridSample x g -> y | y",
     "its inputs and attributes do not fit: f32 1x2x4x4, f32 2x3x3x2", PITH_ERR_CORRUPT},
    {"x f32 [1,2,4,4]; g f32 [1,3,3,3] | GridSample x g -> y | y",
     "its inputs and attributes do not fit: f32 1x2x4x4, f32 1x3x3x3", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | QuantizeLinear{axis=2} x ~3 [0,0,0] -> y | y",
     "axis 2 is outside a tensor of 2 dims", PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Hardmax{axis=5} x -> y | y", "axis 5 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
    {"x f32 [2,3] | Softmax{axis=-3} x -> y | y", "axis -3 is outside a tensor of 2 dims",
     PITH_ERR_CORRUPT},
};

static void messages_have_their_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const char *network = refusals[i].network, *op = strchr(network, '|') + 2;
        struct pith_model *m = NULL;
        struct pith_error err = {0};
        char text[512];
        struct proto file = network_file(network, NULL, false);
        const enum pith_status st = pith_onnx_read(file.data, file.n, "net.onnx", NULL, &m, &err);
        snprintf(text, sizeof text, "net.onnx: node 'n0' (%.*s): %s", (int)strcspn(op, " {"), op,
                 refusals[i].text);
        if (st != refusals[i].status || strcmp(err.text, text) != 0)
            fail_msg("%s: status %d, '%s'", network, (int)st, err.text);
        assert_null(m);
        free(file.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_have_their_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
