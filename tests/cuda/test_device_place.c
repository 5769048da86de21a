/* SPDX-License-Identifier: MIT */
/* Convolutions of several images that write where a Concat would copy to, on the fake driver: with
 * the CPU's values, and the Concat copies what is left. A part that somebody else reads, too, is
 * copied as ever. */
#include "fake_device.h"
#include "gemm_model.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "cuda/device_plan.h"
#include "cuda/kernels/half_bits.h"
#include "op_interface/op_attr.h"

/* x -> squeeze 1 x 1 -> relu -> expand 1 x 1 and expand 3 x 3, each with a relu -> concat [, pool
 * of x] -> last 1 x 1. */
struct fire {
    uint32_t images, channels, squeezed, expanded, groups, side;
    bool reads_twice;       /* the 1 x 1 part is an output, too */
    bool has_pool;          /* x, pooled, is the third part */
    enum value_type values; /* between steps; BF16: weights are stored so */
    uint32_t launches_of_concat;
};

struct built {
    struct pith_model *m;
    struct test_random r;
    const struct fire *f;
};

static uint32_t convolution(struct built *b, const char *name, uint32_t x, uint32_t outputs,
                            uint32_t inputs, uint32_t kernel, uint32_t groups)
{
    char part[32];
    const uint32_t side = b->f->side;
    snprintf(part, sizeof part, "%s.w", name);
    uint32_t w = add_weight(b->m, part, 4, (uint32_t[]){outputs, inputs / groups, kernel, kernel});
    struct pith_const *c = b->m->values[w].constant;
    for (uint64_t i = 0; i < c->count; i++)
        ((float *)c->data)[i] = test_gauss(&b->r);
    if (b->f->values == VALUE_BF16) {
        for (uint64_t i = 0; i < c->count; i++)
            ((float *)c->data)[i] = f32_from_bits(bf16_of_f32(((float *)c->data)[i]) << 16);
        c->stored = PITH_BF16;
    }
    uint32_t y = add_value(b->m, name, 4, (uint32_t[]){b->f->images, outputs, side, side});
    add_node(b->m, name, PITH_OP_CONV, 2, (uint32_t[]){x, w}, y);
    int32_t *attr = b->m->nodes[b->m->n_nodes - 1].attr;
    attr[ATTR_CONV_GROUP] = (int32_t)groups;
    attr[ATTR_CONV_PADS] = 4;
    for (uint32_t i = 1; i <= 4; i++)
        attr[ATTR_CONV_PADS + i] = (int32_t)kernel / 2;
    snprintf(part, sizeof part, "%s.relu", name);
    uint32_t v = add_value(b->m, part, 4, (uint32_t[]){b->f->images, outputs, side, side});
    add_node(b->m, part, PITH_OP_RELU, 1, &y, v);
    return v;
}

static uint32_t pooled(struct built *b, uint32_t x)
{
    const struct fire *f = b->f;
    uint32_t y = add_value(b->m, "pool", 4, (uint32_t[]){f->images, f->channels, f->side, f->side});
    add_node(b->m, "pool", PITH_OP_MAX_POOL, 1, &x, y);
    int32_t *attr = b->m->nodes[b->m->n_nodes - 1].attr;
    attr[ATTR_POOL_KERNEL] = 2;
    attr[ATTR_POOL_PADS] = 4;
    for (uint32_t i = 1; i <= 2; i++)
        attr[ATTR_POOL_KERNEL + i] = 3;
    for (uint32_t i = 1; i <= 4; i++)
        attr[ATTR_POOL_PADS + i] = 1;
    return y;
}

static struct pith_buffer packed_fire(const struct fire *f)
{
    struct built b = {.r = {7}, .f = f};
    struct pith_buffer file;
    struct pith_error err = {0};
    if (pith_model_new(NULL, &b.m))
        abort();
    b.m->values = pith_model_alloc(b.m, 32, sizeof *b.m->values);
    b.m->nodes = pith_model_alloc(b.m, 16, sizeof *b.m->nodes);
    b.m->inputs = pith_model_alloc(b.m, 1, sizeof *b.m->inputs);
    b.m->outputs = pith_model_alloc(b.m, 2, sizeof *b.m->outputs);
    uint32_t x = add_value(b.m, "x", 4, (uint32_t[]){f->images, f->channels, f->side, f->side});
    b.m->inputs[b.m->n_inputs++] = x;
    uint32_t s = convolution(&b, "squeeze", x, f->squeezed, f->channels, 1, 1), part[3];
    part[0] = convolution(&b, "one", s, f->expanded, f->squeezed, 1, 1);
    part[1] = convolution(&b, "three", s, f->expanded + f->groups, f->squeezed, 3, f->groups);
    uint32_t channels = 2 * f->expanded + f->groups, n = 2;
    if (f->has_pool) {
        part[n++] = pooled(&b, x);
        channels += f->channels;
    }
    uint32_t all = add_value(b.m, "all", 4, (uint32_t[]){f->images, channels, f->side, f->side});
    add_node(b.m, "concat", PITH_OP_CONCAT, n, part, all);
    b.m->nodes[b.m->n_nodes - 1].attr[ATTR_AXIS] = 1;
    b.m->outputs[b.m->n_outputs++] = convolution(&b, "last", all, 5, channels, 1, 1);
    if (f->reads_twice)
        b.m->outputs[b.m->n_outputs++] = part[0];
    SUCCEEDS(pith_model_pack(b.m, NULL, &file, &err));
    pith_model_free(b.m);
    return file;
}

static const struct step *concat_of(const struct pith_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (plan->step[i].args.info->op == PITH_OP_CONCAT)
            return &plan->step[i];
    fail_msg("no concat");
    return NULL;
}

/* Outputs of the device, where `there`, for the same input as the CPU's. */
static void compare(struct pith_plan *plan, struct pith_cuda_plan *gpu, enum value_type values)
{
    static const float off[] = {1e-5f, 1e-2f, 5e-2f};
    struct pith_error err = {0};
    struct pith_tensor t;
    float *kept[2];
    for (int there = 0; there < 2; there++) {
        pith_fill_normal(plan, 7);
        SUCCEEDS(there ? pith_cuda_plan_run(gpu, &err) : pith_plan_run(plan));
        for (uint32_t i = 0; i < pith_plan_output_count(plan); i++) {
            float *y = (float *)(uintptr_t)pith_plan_output_data(plan, i);
            pith_plan_output(plan, i, &t);
            if (!there) {
                kept[i] = malloc((size_t)t.bytes);
                memcpy(kept[i], y, (size_t)t.bytes);
                continue;
            }
            float largest = 0;
            for (uint64_t k = 0; k < t.bytes / sizeof *y; k++)
                largest = fmaxf(largest, fabsf(kept[i][k]));
            assert_true(largest > 0);
            for (uint64_t k = 0; k < t.bytes / sizeof *y; k++)
                if (!(fabsf(y[k] - kept[i][k]) <= off[values] * largest))
                    fail_msg("output %u, element %u: %g, not %g", i, (unsigned)k, (double)y[k],
                             (double)kept[i][k]);
            free(kept[i]);
        }
    }
}

static void check(const struct fire *f, uint32_t order)
{
    struct pith_buffer file = packed_fire(f);
    struct pith_session *s;
    struct pith_cuda *cuda;
    struct pith_cuda_plan *gpu;
    struct pith_error err = {0};
    fake_set((struct fake_cuda_behaviour){.order = order});
    SUCCEEDS(pith_open_memory(file.data, file.bytes, NULL, &s, &err) ||
             pith_cuda_open(0, &cuda, &err));
    struct pith_plan *plan = pith_plan_of(s);
    pith_cuda_set_precision(cuda, f->values ? PITH_CUDA_F16 : PITH_CUDA_F32);
    SUCCEEDS(pith_cuda_plan_new(cuda, plan, &gpu, &err));
    assert_int_equal(pith_cuda_plan_facts(gpu).cpu_steps, 0);
    assert_int_equal(gpu->step[concat_of(plan) - plan->step].n, f->launches_of_concat);
    assert_int_equal(gpu->lowering.values, f->values);
    compare(plan, gpu, f->values);
    pith_cuda_plan_free(gpu);
    pith_cuda_close(cuda);
    pith_close(s);
    pith_buffer_free(&file);
    assert_nothing_left();
}

TEST(test_places)
{
    static const struct fire of[] = {
        {3, 9, 4, 70, 1, 5, false, false, VALUE_F32, 0},
        {3, 9, 4, 70, 1, 5, false, false, VALUE_F16, 0},
        {2, 20, 32, 64, 2, 9, false, true, VALUE_F32, 1},
        {2, 20, 32, 64, 2, 9, false, true, VALUE_F16, 1},
        {2, 9, 8, 12, 1, 6, true, false, VALUE_F16, 2},
        {2, 30, 640, 20, 1, 3, false, false, VALUE_F32, 0},
        {3, 30, 1300, 20, 1, 3, false, false, VALUE_F16, 0},
        {2, 20, 32, 64, 2, 9, false, true, VALUE_BF16, 1},
        {3, 9, 4, 70, 1, 5, true, false, VALUE_BF16, 2},
    };
    for (uint32_t i = 0; i < sizeof of / sizeof *of; i++)
        check(&of[i], i % 3);
}

RUN_TESTS
