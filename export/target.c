/* SPDX-License-Identifier: MIT */
/* target.c - processors, and what a run takes there. Instructions were counted by QEMU for code of
 * arm-none-eabi-gcc 12 -O2 (tests/embedded/figures.sh holds the estimates against that). */
#include "kernels/act_kind.h"
#include "network.h"

const struct pith_word pith_export_targets[] = {{"generic", PITH_TARGET_GENERIC},
                                                {"cortex-m0", PITH_TARGET_CORTEX_M0},
                                                {"cortex-m3", PITH_TARGET_CORTEX_M3},
                                                {"cortex-m4", PITH_TARGET_CORTEX_M4},
                                                {"cortex-m4f", PITH_TARGET_CORTEX_M4F},
                                                {"cortex-m7", PITH_TARGET_CORTEX_M7},
                                                {"cortex-m33", PITH_TARGET_CORTEX_M33},
                                                {"cortex-m55", PITH_TARGET_CORTEX_M55},
                                                {"cortex-m85", PITH_TARGET_CORTEX_M85},
                                                {"rv32", PITH_TARGET_RV32},
                                                {NULL, 0}};

const struct processor *pith_export_processor(enum pith_export_target target)
{
    static const struct processor plain = {false, CORE_PLAIN}, thumb1 = {false, CORE_THUMB1},
                                  dsp = {false, CORE_DSP}, dsp_fpu = {true, CORE_DSP};
    switch (target) {
    case PITH_TARGET_CORTEX_M0:
        return &thumb1;
    case PITH_TARGET_CORTEX_M3:
    case PITH_TARGET_RV32:
        return &plain;
    case PITH_TARGET_CORTEX_M4:
        return &dsp;
    default:
        return &dsp_fpu;
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Of each unit of work and each output, with an FPU and without. A unit is a multiply-accumulate,
 * a tap of a pool, else an element of the larger of input and output. Products of integers have
 * units in weights.c. */
static const struct {
    uint16_t unit[2], output[2];
} cost[STEP_KINDS] = {
    [STEP_CONV] = {{0, 0}, {24, 50}},
    [STEP_POINTWISE] = {{0, 0}, {24, 50}},
    [STEP_PRODUCT] = {{0, 0}, {24, 50}},
    [STEP_PRODUCT_F32] = {{0, 0}, {15, 80}},
    [STEP_GROUPED] = {{8, 8}, {40, 60}},
    [STEP_GROUPED_F32] = {{8, 8}, {40, 120}},
    [STEP_DEPTHWISE] = {{4, 4}, {24, 50}},
    [STEP_QUANTIZE] = {{25, 260}, {0, 0}},
    [STEP_QUANTIZE_CHANNELS] = {{25, 260}, {0, 0}},
    [STEP_DEQUANTIZE] = {{10, 80}, {0, 0}},
    [STEP_COMBINE] = {{45, 300}, {0, 0}},
    [STEP_TABLE] = {{5, 5}, {0, 0}},
    [STEP_FLIP] = {{5, 5}, {0, 0}},
    [STEP_MAX_POOL] = {{9, 9}, {20, 20}},
    [STEP_AVERAGE_POOL] = {{15, 140}, {60, 400}},
    [STEP_MEAN] = {{15, 140}, {60, 2000}},
    [STEP_SOFTMAX_BYTES] = {{90, 2500}, {0, 0}},
    [STEP_COPY] = {{3, 3}, {0, 0}},
    [STEP_FILL] = {{1, 1}, {0, 0}},
    [STEP_RESIZE_NEAREST] = {{20, 20}, {0, 0}},
    [STEP_RESIZE_LINEAR] = {{40, 500}, {0, 0}},
    [STEP_SOFTMAX] = {{70, 2000}, {0, 0}},
    [STEP_SCALE_SHIFT] = {{7, 110}, {0, 0}},
    [STEP_GEMM_F32] = {{6, 58}, {12, 60}},
    [STEP_PRODUCTS] = {{8, 60}, {40, 60}},
    [STEP_ATTENTION] = {{9, 110}, {12, 60}},
    [STEP_NORMALIZE] = {{40, 400}, {0, 0}},
    [STEP_REDUCE] = {{60, 250}, {150, 600}},
    [STEP_ARG] = {{8, 30}, {20, 20}},
    [STEP_CONV_F32] = {{14, 55}, {20, 60}},
    [STEP_ACTIVATE] = {{9, 30}, {0, 0}},
    [STEP_BINARY_F32] = {{12, 80}, {0, 0}},
    [STEP_MAX_POOL_F32] = {{15, 70}, {30, 60}},
    [STEP_POOL_F32] = {{15, 70}, {30, 60}},
    [STEP_MEAN_F32] = {{8, 70}, {60, 1000}},
};

#define THUMB1_PERCENT 250u /* where weights.c does not count */
#define DECODED 16ull       /* instructions of a weight that is decoded */
#define TAP_ROW 20u         /* instructions of a row of taps in a convolution of floats */
#define TAP_PLANE 16u       /* and of a channel */
#define EXPONENTIAL_FPU 60u /* instructions of a sigmoid */
#define EXPONENTIAL_SOFT 1800u

uint64_t pith_export_instructions(const struct network *net, const struct step *s)
{
    const bool soft = !net->cpu->fpu;
    if (s->y == STORE_NONE)
        return 0;
    const struct store *y = &net->store[s->y];
    const uint64_t outputs = y->bytes / y->element, taps = (uint64_t)s->g.kh * s->g.kw;
    uint64_t units = s->macs ? s->macs : taps ? outputs * taps : outputs, weights = 0, all = 0;
    if (s->x[0] != STORE_NONE && !s->macs && !taps && net->store[s->x[0]].bytes > y->bytes)
        units = net->store[s->x[0]].bytes / net->store[s->x[0]].element;
    if (s->product.w && cost[s->kind].unit[0] == 0) {
        const uint32_t pixels =
            s->kind == STEP_PRODUCT || s->kind == STEP_PRODUCT_F32 ? s->rows : s->g.oh * s->g.ow;
        pith_export_is_sparse(net, s, &weights);
        weights *= pixels;
    }
    all += units * cost[s->kind].unit[soft] + outputs * cost[s->kind].output[soft];
    if (s->kind == STEP_ACTIVATE &&
        (s->act.kind == ACT_SIGMOID || s->act.kind == ACT_TANH || s->act.kind == ACT_GELU ||
         s->act.kind == ACT_GELU_TANH || s->act.kind == FUNCTION_EXP))
        all += units * (soft ? EXPONENTIAL_SOFT : EXPONENTIAL_FPU);
    if (s->product.ring)
        all += DECODED * s->product.symbols;
    if (s->kind == STEP_CONV_F32)
        all += units / s->g.kw * TAP_ROW + units / taps * TAP_PLANE;
    return weights + (net->cpu->core == CORE_THUMB1 ? all * THUMB1_PERCENT / 100 : all);
}

/* ---- stack ----------------------------------------------------------------------------------- */

#define STACK_BYTES 240u      /* of the run and a kernel */
#define STACK_CONV_BYTES 240u /* more, of convolutions: two calls deeper */

uint32_t pith_export_most_taps(const struct network *net)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < net->n_steps; i++) {
        const struct window_shape *g = &net->step[i].g;
        const enum step_kind k = net->step[i].kind;
        const uint32_t taps = k == STEP_CONV && g->dil_w > 1 ? g->kh * g->kw : g->kh;
        if ((k == STEP_CONV || k == STEP_DEPTHWISE) && taps > n)
            n = taps;
    }
    return n;
}

uint64_t pith_export_stack_bytes(const struct network *net)
{
    bool conv = false;
    for (uint32_t i = 0; i < net->n_steps; i++)
        conv = conv || net->step[i].g.kh > 0;
    return STACK_BYTES + (conv ? STACK_CONV_BYTES + 4ull * pith_export_most_taps(net) : 0);
}
