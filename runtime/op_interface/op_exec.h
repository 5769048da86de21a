/* SPDX-License-Identifier: MIT */
/* op_exec.h - how an operator is executed: what shape rules, need(), prepare() and run() of a
 * struct op_info (op_info.h) are given, and what they return. */
#ifndef PITH_OP_EXEC_H
#define PITH_OP_EXEC_H

#include "kernels/act_kind.h"
#include "op_interface/op_info.h"

/* What the planner adds behind a Conv, Gemm or MatMul: y = act(acc + bias + residual). */
struct epilogue {
    enum act_kind act;
    float a, b;
    const struct tview *residual; /* same shape as the output; NULL: none */
    bool residual_last;           /* it is channels-last, as op_args.x_last */
};

/* What an operator is as an activation; ACT_NONE: it is none. Of the unary functions GELU is one,
 * by its kind; the others are dearer than what fusing saves, or rare. Schemas put a in slot 0, b
 * in 1. */
struct dense_act pith_activation_of(const struct op_info *info, const int32_t *attr);

/* A grid of integers: scale (or factor) and zero point, NULL for 0. */
struct grid_operand {
    const struct tview *scale, *zero;
};

/* Which of an integer product's grids is which (op_args.grid). */
enum product_grid {
    GRID_RESULT = 0, /* of a Requantize: factor and zero point; of a DequantizeLinear: the scale */
    PRODUCT_GRIDS = 1,
    /* Where the result is added to fuse.residual, and fuse.act follows: */
    GRID_SUMMAND = 1, /* the result as the Add read it */
    GRID_RESIDUAL = 2,
    GRID_SUM = 3,
    PRODUCT_ADD_GRIDS = 4
};

struct weight;
struct pith_kernels;

/* One node as shape rules and kernels see it. in[i] == NULL: optional input left out. */
struct op_args {
    const struct op_info *info;
    const int32_t *attr;
    uint32_t n_in, n_out;
    const struct tview *const *in;
    struct tview *const *out;
    /* Constant weight of in[1] where the operator prepares it itself; in[1]->data is then NULL. */
    const struct weight *weight;
    struct epilogue fuse; /* only operators with OP_FUSES get one */
    /* Of an integer product: what was fused behind it (enum product_grid). Of a chain on bytes
     * (integer_chain.h): of each input, both NULL for bytes that are moved as they are; then of the
     * output. */
    const struct grid_operand *grid;
    uint32_t n_grids;
    void *prep; /* what prepare() made; NULL without one */
    /* The lowered operation, op_info.lowered_bytes of it, aligned to 8: what need() decided - the
     * kernel, geometry, layout - for prepare() and run() to read. NULL where it has none. */
    void *lowered;
    /* Channels-last values (layout.c): whether inputs of bytes are; output 0's elements from one
     * pixel to the next, 0: row-major. */
    bool x_last;
    uint32_t y_step;
    uint8_t choice;  /* the kernel that is wanted: its number in a list, 0: the cheapest */
    uint8_t n_table; /* entries of `table` */
    const struct op_info *inner; /* of a chain on bytes (integer_chain.h): the float operator */
    union {
        const struct table_op *table; /* of a table of bytes (byte_table.h): its operators */
        /* Of an Attention or Concat that reads or writes a cache (opts.caches): of each input, then
         * of the output, the length that its growing axis has in memory, 0: as in its shape. */
        const uint32_t *room;
    };
};

struct op_env {
    const struct pith_kernels *kernels;
    void *scratch; /* op_need.scratch_bytes, 64-byte aligned */
    void *user;
    void (*parallel_for)(void *user, uint32_t n, void (*body)(void *arg, uint32_t i), void *arg);
    uint32_t flags;   /* PITH_FLAG_ bits of the plan */
    uint32_t threads; /* that run bodies of parallel_for at the same time, 0: unknown */
};

/* What prepare() makes of a weight, where that depends on the weight, this and a detail alone:
 * steps that read one weight in one form share it. */
enum prep_form {
    PREP_OWN = 0,      /* not shared */
    PREP_ELEMENTS = 1, /* as they are, f32 or integers */
    PREP_RUN_FORM = 2, /* run_form.h */
    PREP_COLUMNS = 3,  /* these three of product_f32.c */
    PREP_ROWS = 4,
    PREP_STRIPS = 5,
    PREP_CONV_PANELS = 6,  /* conv_run.c; detail: groups */
    PREP_CONV_INTEGER = 7, /* these two of integer_layout.c */
    PREP_MATMUL_INTEGER = 8,
    PREP_RECURRENT = 9, /* recurrent_product.c */
    PREP_CONV_TRANSPOSE = 10,
    PREP_WIDE_STRIPS = 11, /* product_f32.c */
    PREP_QUADS = 13,       /* quad_form.h */
    PREP_WINOGRAD = 14,    /* conv_winograd.c; detail: groups */
    PREP_CONV_PHASES = 15, /* conv_phases.c; detail: a checksum of what each phase takes */
    PREP_CONV_QUADS = 20   /* and on, by width; detail: taps */
};

static inline uint64_t prep_form(enum prep_form form, uint32_t detail)
{
    return (uint64_t)form << 32 | detail;
}

struct op_need {
    uint64_t prep_bytes;         /* kept as long as the plan */
    uint64_t prep_form;          /* prep_form() */
    uint64_t prep_scratch_bytes; /* during prepare() only, or what tests the weight */
    uint64_t scratch_bytes;      /* during run() */
    const char *kernel;          /* short static name of what will run */
    uint64_t macs;               /* multiply-accumulates of one run */
    uint8_t choice;              /* the kernel's number in a list; 0: there is none */
    bool reads_rows;             /* run() reads the weight by weight_rows.h: it is tested once */
    bool writes_last;            /* run() writes out[0] when it has read in[0] for the last time */
};

/* Bytes of args->lowered, for who calls need(). */
static inline uint32_t op_lowered_bytes(const struct op_args *args, const struct op_env *env)
{
    return args->info->lowered_bytes ? args->info->lowered_bytes(args, env) : 0;
}

/* At most so many: a plan reserves no more for a node. */
#define OP_LOWERED_MAX (UINTPTR_MAX > 0xffffffffu ? 416u : 352u)

/* Runs body(arg, i) for i < n through env->parallel_for, or here. */
void pith_op_parallel(const struct op_env *env, uint32_t n, void (*body)(void *arg, uint32_t i),
                      void *arg);

/* Lanes of n <= 32 bodies: as many as run at the same time, where that is known. */
uint32_t pith_op_lanes(const struct op_env *env, uint32_t n);

/* As pith_op_parallel for n <= 32, with a lane below pith_op_lanes(env, n) that no other body has
 * at the same time: it selects the body's scratch. A body takes the lowest lane that is free
 * and gives it back, so no more are used than threads run at once, and their scratch stays in the
 * threads' caches; scratch of each body's own would come from beyond them. It holds nothing from
 * one body to the next. */
typedef void op_lane_body(void *arg, uint32_t i, uint32_t lane);
void pith_op_parallel_lanes(const struct op_env *env, uint32_t n, op_lane_body *body, void *arg);

#endif
