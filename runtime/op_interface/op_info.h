/* SPDX-License-Identifier: MIT */
/* op_info.h - what an operator is, to those who read, check and run networks: the schema of its
 * attributes (op_attr.h), its shape rule, its traits (op_traits.h).
 *
 * One operator is one `struct op_info`: its attribute schema (which drives the file format, the
 * importer, the printer), its traits (which the toolchain's stages test in place of lists of
 * operators), its shape rule, how it prepares constant weights and how it runs. Shape inference,
 * constant folding, the planner, the toolchain's rewrites and the executor all call these same
 * functions; nothing else knows operator semantics. What the functions are given and may do stands
 * in op_exec.h, for those who call or write them.
 *
 * pith's operators are normalised ONNX: everything that decides a shape is an attribute with
 * explicit values (auto_pad resolved, opset differences gone, axes non-negative), so shapes follow
 * from attributes and input shapes alone. What is still data is a float tensor.
 *
 * To add one: a number in core/op_number.h, a file op_<name>.c with its op_info, a row in
 * op_table.c, a row in onnx/onnx_table.c (docs/add-an-operator.md). */
#ifndef PITH_OP_INFO_H
#define PITH_OP_INFO_H

#include "op_interface/op_slot.h"
#include "op_interface/op_traits.h"

enum attr_kind {
    ATTR_INT = 1,   /* one int32 in [min, max] */
    ATTR_FLOAT = 2, /* one finite float (infinities too where max == 1) */
    ATTR_LIST = 3   /* up to 8 int32 in [min, max] */
};

struct attr_field {
    uint8_t kind;
    uint8_t slot;
    int32_t def; /* scalar default (float: its bits); lists default to empty */
    int32_t min, max;
};

struct op_args;
struct op_env;
struct op_need;

enum {
    OP_VIEW = 1u << 0,    /* output 0 holds the bytes of input 0 (reshape family) */
    OP_INPLACE = 1u << 1, /* output may be input 0's memory when shapes are equal: run() reads each
                             element of inputs 0 and 1 before it writes what depends on it */
    OP_FUSES = 1u << 2,   /* takes an epilogue */
    OP_WEIGHT = 1u << 3,  /* prepares a constant in[1] (weight != NULL) into run form */
    OP_TABLE = 1u << 5,   /* Gather: where weights are read where they lie (weight_rows.h), so is a
                             coded   constant in[0]; then it is args->weight and in[0] has no data */
    OP_CONTROL = 1u << 4  /* says which node is next (loop, branch): never folded, fused, shared */
};

#define OP_ANY 65535u

struct op_info {
    uint16_t op;                 /* enum pith_op */
    uint16_t n_in_min, n_in_max; /* n_in_max may be OP_ANY; inputs from n_in_min on are optional */
    uint16_t n_out_min, n_out_max;
    uint8_t n_fields, n_slots;
    uint8_t flags;
    uint16_t lowered_most; /* bytes of args->lowered, at most */
    const struct attr_field *fields;
    struct op_traits traits;
    /* Sets type and shape of every out[]. Reads only info, attr and in[]'s types and shapes, all of
     * which may come from a hostile file (attributes already lie within their schema's min..max):
     * PITH_ERR_CORRUPT when they do not fit, PITH_ERR_UNSUPPORTED for a type or rank not computed
     * here. Never divides by, allocates from or indexes with an untested number. */
    enum pith_status (*shape)(const struct op_args *args);
    /* Bytes of args->lowered; NULL: 0. Shapes are set. */
    uint32_t (*lowered_bytes)(const struct op_args *args, const struct op_env *env);
    /* Fills args->lowered, bytes and the kernel's name; NULL: needs nothing and the kernel is
     * "ref". Shapes are set. */
    enum pith_status (*need)(const struct op_args *args, const struct op_env *env,
                             struct op_need *need);
    /* Packs args->weight (OP_WEIGHT), or the constant in[1]->data, into args->prep, as
     * args->lowered says. */
    enum pith_status (*prepare)(const struct op_args *args, const struct op_env *env);
    /* Cannot fail: everything was validated. */
    void (*run)(const struct op_args *args, const struct op_env *env);
};

/* NULL for a number this build does not have. */
const struct op_info *pith_op_get(uint32_t op);

/* Sets all slots to their defaults. attr: info->n_slots entries. */
void pith_op_attr_defaults(const struct op_info *info, int32_t *attr);

/* PITH_ERR_CORRUPT when an attribute is outside its schema's range, or input and output counts are
 * not allowed. */
enum pith_status pith_op_check(const struct op_info *info, const int32_t *attr, uint32_t n_in,
                               uint32_t n_out);

#endif
