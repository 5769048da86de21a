/* SPDX-License-Identifier: MIT */
/* op_branch.c - Branch, BranchElse, BranchEnd: of two runs of nodes, one is executed.
 *
 *     condition --> Branch     first branch, when it holds
 *                   BranchElse second branch, when it does not
 *                   BranchEnd  the values of the branch that ran
 *
 * The condition travels through Branch, so that it is there for BranchEnd. Which
 * node comes next is the executor's affair (run.c).
 *
 * Of values on two sides only one is ever alive, so the planner may put both where BranchEnd's
 * output lies (plan/alias.c). Both have to leave values of the same types and shapes, because
 * their readers are planned once. */
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"

/* A scalar bool. Anything else would need a rule for what a vector's truth is, which ONNX does
 * not have. */
static enum pith_status shape_condition(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st || args->in[0]->type != PITH_BOOL || args->in[0]->shape.rank != 0)
        return PITH_ERR_CORRUPT;
    return pith_out_set(args->out[0], PITH_BOOL, &args->in[0]->shape);
}

static void run_condition(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    *(uint8_t *)args->out[0]->data = *(const uint8_t *)args->in[0]->data;
}

static enum pith_status shape_branch_end(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, args->n_in);
    /* n_out <= n_in / 2 first: 1 + 2 * n_out cannot then wrap, whatever the file says. */
    if (st || args->n_out > args->n_in / 2 || args->n_in != 1 + 2 * args->n_out ||
        args->in[0]->type != PITH_BOOL || args->in[0]->shape.rank != 0)
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; i < args->n_out && !st; i++) {
        const struct tview *a = args->in[1 + i], *b = args->in[1 + args->n_out + i];
        if (a->type != b->type || !pith_shape_equal(&a->shape, &b->shape))
            return PITH_ERR_CORRUPT;
        st = pith_out_set(args->out[i], a->type, &a->shape);
    }
    return st;
}

/* Copies only where alias.c could not make both branches write the output's place themselves. */
static void run_branch_end(const struct op_args *args, const struct op_env *env)
{
    (void)env;
    uint32_t first = *(const uint8_t *)args->in[0]->data ? 1 : 1 + args->n_out;
    for (uint32_t i = 0; i < args->n_out; i++) {
        const struct tview *x = args->in[first + i];
        if (args->out[i]->data != x->data) /* the planner may have put them in one place */
            memcpy(args->out[i]->data, x->data, shape_elems(&x->shape) * pith_type_bytes(x->type));
    }
}

static enum pith_status need_branch(const struct op_args *args, const struct op_env *env,
                                    struct op_need *need)
{
    (void)args;
    (void)env;
    need->kernel = "branch";
    return PITH_OK;
}

#define CONDITION(name, number, has)                                                               \
    const struct op_info pith_op_##name = {                                                        \
        .op = number,                                                                              \
        .n_in_min = 1,                                                                             \
        .n_in_max = 1,                                                                             \
        .n_out_min = 1,                                                                            \
        .n_out_max = 1,                                                                            \
        .flags = OP_CONTROL,                                                                       \
        .traits = {.flags = has},                                                                  \
        .shape = shape_condition,                                                                  \
        .need = need_branch,                                                                       \
        .run = run_condition,                                                                      \
    };

CONDITION(branch, PITH_OP_BRANCH, TRAIT_OPENS_BODY)
CONDITION(branch_else, PITH_OP_BRANCH_ELSE, 0)

const struct op_info pith_op_branch_end = {
    .op = PITH_OP_BRANCH_END,
    .n_in_min = 3,
    .n_in_max = OP_ANY,
    .n_out_min = 1,
    .n_out_max = OP_ANY,
    .flags = OP_CONTROL,
    .traits = {.flags = TRAIT_CLOSES_BODY},
    .shape = shape_branch_end,
    .need = need_branch,
    .run = run_branch_end,
};
