/* SPDX-License-Identifier: MIT */
/* byte_table.c - see byte_table.h. */
#include "products/byte_table.h"
#include "op_interface/op_range.h"
#include "kernels/kernels.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define BYTES 256u
#define PIECE 16384u

/* Types of what an operator in a table makes: bytes for a QuantizeLinear, else real numbers. */
static enum pith_type result_type(const struct table_op *op)
{
    return op->info->op == PITH_OP_QUANTIZE ? (enum pith_type)op->attr[ATTR_QUANTIZE_TYPE]
                                            : PITH_F32;
}

/* While it is made, each operator has 256 results of its own, as wide as f32. */
static void *result_at(const struct op_env *env, uint32_t number)
{
    return (float *)env->scratch + (size_t)number * BYTES;
}

/* What a number in table_op.in stands for: all 256 bytes, a constant of the step, or what an
 * operator further down made. */
static struct tview operand(const struct op_args *args, const struct op_env *env, uint32_t number,
                            void *all)
{
    struct tview v = {.shape = {1, {BYTES}}};
    if (number == 0) {
        v.type = args->in[0]->type;
        v.data = all;
    } else if (number < TABLE_RESULT) {
        v = (struct tview){args->in[number]->type, {0}, args->in[number]->data};
    } else {
        v.type = result_type(&args->table[number - TABLE_RESULT]);
        v.data = result_at(env, number - TABLE_RESULT);
    }
    return v;
}

/* An operator as it runs by itself, on 256 elements: the table holds the bits that the steps would
 * give. */
static void run_one(const struct op_args *args, const struct op_env *env, uint32_t number,
                    void *all)
{
    const struct table_op *op = &args->table[number];
    struct tview view[TABLE_OPERANDS], y = operand(args, env, TABLE_RESULT + number, all);
    const struct tview *in[TABLE_OPERANDS];
    struct tview *out[1] = {&y};
    for (uint32_t i = 0; i < op->n_in; i++) {
        in[i] = op->in[i] == TABLE_NONE ? NULL : &view[i];
        if (in[i])
            view[i] = operand(args, env, op->in[i], all);
    }
    const struct op_args one = {
        .info = op->info, .attr = op->attr, .n_in = op->n_in, .n_out = 1, .in = in, .out = out};
    const struct op_env alone = {.kernels = env->kernels};
    op->info->run(&one, &alone);
}

static enum pith_status need_table(const struct op_args *args, const struct op_env *env,
                                   struct op_need *need)
{
    (void)env;
    need->kernel = "table";
    need->prep_bytes = BYTES;
    need->prep_scratch_bytes = (uint64_t)args->n_table * BYTES * sizeof(float);
    return PITH_OK;
}

/* Operators are listed from the last to the first, so they run from the end. */
static enum pith_status prepare_table(const struct op_args *args, const struct op_env *env)
{
    uint8_t all[BYTES];
    for (uint32_t q = 0; q < BYTES; q++)
        all[q] = (uint8_t)q;
    for (uint32_t number = args->n_table; number-- > 0;)
        run_one(args, env, number, all);
    memcpy(args->prep, result_at(env, 0), BYTES);
    return PITH_OK;
}

struct table_job {
    const struct op_args *args;
    look_up_bytes_fn *look_up;
    size_t n;
};

/* Items are pieces. */
static void table_range(void *arg, size_t begin, size_t end)
{
    const struct table_job *j = arg;
    size_t at = begin * PIECE, n = (end * PIECE < j->n ? end * PIECE : j->n) - at;
    j->look_up(j->args->prep, (const uint8_t *)j->args->in[0]->data + at,
               (uint8_t *)j->args->out[0]->data + at, n);
}

static void run_table(const struct op_args *args, const struct op_env *env)
{
    struct table_job job = {args, env->kernels->integer.bytes.look_up,
                            shape_elems(&args->in[0]->shape)};
    pith_op_range(env, (job.n + PIECE - 1) / PIECE, PIECE / 8, table_range, &job);
}

const struct op_info pith_byte_table = {
    .need = need_table,
    .prepare = prepare_table,
    .run = run_table,
};
