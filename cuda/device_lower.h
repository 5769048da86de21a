/* SPDX-License-Identifier: MIT */
/* device_lower.h - from steps of a plan to what is put on a stream.
 *
 * A step becomes actions: launches, copies on the device, fills. On the device there are
 *
 *     arena      the host's, byte for byte
 *     work       room that single steps work in, behind the arena
 *     constants  weights as kernels read them, and constants that steps read as they are
 *
 * so that what shares memory on the host shares it there. All steps are lowered twice: first to
 * count, when addresses are not known yet, then for good. */
#ifndef DEVICE_LOWER_H
#define DEVICE_LOWER_H

#include <stdbool.h>
#include "blas.h"
#include "driver.h"
#include "plan/plan_steps.h"
#include "core/op_number.h"

/* Copies are of bytes and between addresses on the device; fills of 32-bit words. */
enum action_kind { ACTION_LAUNCH, ACTION_COPY, ACTION_FILL, ACTION_BLAS };

struct action {
    enum action_kind kind;
    uint32_t kernel, grid[3];
    uint32_t arg; /* of a launch: where its struct begins in lowering.args; of BLAS: a product */
    device_address to, from;
    uint64_t bytes;
    uint32_t value; /* of a fill: each 32 bits */
};

/* What a weight becomes on the device. */
enum weight_form {
    FORM_ELEMENTS, /* of its type, where they lie or expanded */
    FORM_F32,      /* of dense floats */
    FORM_VALUES,   /* of a constant of floats that is read as f16 or, + 1, as bf16 */
    FORM_VALUES_BF16,
    FORM_RELATIVE, /* of pack_relative.h, and from here on of pack_forms.h */
    FORM_CODES,
    FORM_CODES_TURNED, /* here and below: of a matrix [k, n] */
    FORM_ROWS,
    FORM_ROWS_TURNED
};

/* A piece of the constants: host memory, or a weight in a form. */
struct constant {
    const void *key;
    enum weight_form form;
    bool is_weight;
    uint64_t offset, bytes;
};

/* A value that the kernels of one step read or write in another type (device_values.c). */
struct device_converted {
    const struct tview *t;
    void *at;
    uint32_t type; /* enum value_type */
};

/* Steps behind a product of integers, each of which alone reads what the one before wrote, and that
 * the product's kernel does, too: a Requantize to bytes; or that and the addition of other bytes -
 * two DequantizeLinear, Add, an activation (act NULL: none) and QuantizeLinear. */
struct device_join {
    const struct step *requantize, *own, *other, *act, *quantize; /* own NULL: Requantize alone */
    const struct step *last;
    uint32_t n; /* steps; 0: there are none */
};

/* A convolution's output, part, that is written into that of a Concat, from `channel` on. */
struct device_place {
    const struct tview *part, *whole;
    uint64_t channel;
};

/* A whole that lies behind the arena. */
struct device_moved {
    const struct tview *whole;
    uint32_t area;
};

#define PLACE_AREAS 2u
struct device_places {
    struct device_place *place; /* owns, n */
    struct device_moved *moved; /* owns, n_moved */
    uint32_t n, n_moved;
    uint64_t area_bytes[PLACE_AREAS];
    const struct step *until[PLACE_AREAS]; /* an area's last reader so far */
};

struct lowering {
    struct pith_plan *plan;
    struct pith_cuda *cuda;                /* NULL: cuBLASLt is not used */
    device_stream stream;                  /* on which ways to do a product are timed */
    bool half;                             /* factors of products may be rounded to 16 bits */
    uint32_t values;                       /* enum value_type, of floats between steps */
    uint32_t processors;                   /* multiprocessors to plan for; 0: those of cuda */
    device_address arena, work, constants; /* 0 while counting */
    device_address areas;                  /* of places */
    device_address halves;                 /* floats of the arena in 16 bits, at half its offsets */
    struct device_places places;
    const struct tview **floats; /* owns: values that stay f32 */
    uint32_t n_floats;
    struct device_converted *converted; /* owns: of the step */
    uint32_t n_converted, room_converted;
    uint64_t converted_bytes; /* of work, which the step's own is behind */
    struct action *action;    /* owns */
    uint32_t n_actions, room_actions;
    uint8_t *args; /* owns */
    uint32_t n_args, room_args;
    struct constant *constant; /* owns */
    uint32_t n_constants, room_constants;
    uint64_t constant_bytes, work_bytes; /* work: the most that a step takes */
    uint64_t step_bytes;                 /* of the constants that the step requested */
    uint64_t work_kept;                  /* by the step itself: its products work behind that */
    struct blas_product **product;       /* owns, each */
    uint32_t n_products, room_products;
    struct device_join behind; /* what the step's kernel could do, too */
    uint32_t joined;           /* steps that it does */
    bool no_memory;
};

/* Which convolutions write into a Concat's output (device_place.c). false: no memory. */
bool pith_device_find_places(struct lowering *l);
void pith_device_places_free(struct device_places *p);
/* Of a convolution's output, or NULL. */
const struct device_place *pith_device_place(const struct lowering *l, const struct tview *part);
/* Whether t was moved behind the arena, `at` bytes from the first area on. */
bool pith_device_moved(const struct lowering *l, const struct tview *t, uint64_t *at);

/* Chooses the type of values between steps, where 16 bits are allowed, and those that stay f32.
 * false: no memory. */
bool pith_device_find_values(struct lowering *l);
/* How the step's kernels have the floats of t (enum value_type), and bytes of an element of t. */
uint32_t pith_device_type(const struct lowering *l, const struct tview *t);
uint32_t pith_device_each(const struct lowering *l, const struct tview *t);
/* The elements of t as floats of a type, converted into work where they are of another. Called
 * before the step takes other work. */
void *pith_device_as(struct lowering *l, const struct tview *t, uint32_t type);
/* Conversions of graph's inputs in front of the first step, and of outputs behind the last one. */
void pith_device_convert_ends(struct lowering *l, bool outputs);

/* Appends the actions of the step; false: the device has no kernel for it. */
typedef bool lower_fn(struct lowering *l, const struct step *s);
bool pith_device_step(struct lowering *l, const struct step *s);
/* The same with all floats of the step of one type, which are converted before and behind it. */
bool pith_device_in(struct lowering *l, const struct step *s, lower_fn *lower, uint32_t type);
/* device_reduce.c: each plane, or other row of `elems` neighbours, to one element. */
bool pith_device_reduce_planes(struct lowering *l, const struct step *s, uint32_t elems,
                               uint32_t kind);
/* Whether kernels of the step take floats of f32 alone. */
bool pith_device_needs_f32(const struct step *s);
/* device_join.c: the steps behind step i. */
struct device_join pith_device_behind(const struct pith_plan *plan, uint32_t i);
/* Whether the step is of that kind; a Concat of which inputs lie in place already is of none. */
bool pith_device_is_op(const struct step *s, enum pith_op op);
/* Whether its elements are integers of 8 bits. */
bool pith_device_is_byte(const struct tview *t);
/* Whether step `reader` alone reads t; and whether a and b have memory in common. */
bool pith_device_is_its_own(const struct pith_plan *plan, const struct step *reader,
                            const struct tview *t);
bool pith_device_overlap(const struct tview *a, const struct tview *b);
bool pith_device_reads(const struct op_args *args, const struct tview *t);
bool pith_device_is_end(const struct pith_plan *plan, const struct tview *t); /* the caller's */
/* The planner may give what is written last memory that the product still reads: blocks of the
 * joined kernel would write there before others have read. Then it writes to the place of the sums,
 * and that is copied. */
bool pith_device_is_apart(const struct op_args *product, const struct device_join *j);
void pith_device_lowering_free(struct lowering *l);

/* Of the step's kind: device_table.c lists them. */
lower_fn pith_device_map, pith_device_unary, pith_device_zip, pith_device_power,
    pith_device_batch_norm, pith_device_view, pith_device_slice, pith_device_transpose,
    pith_device_concat, pith_device_split, pith_device_pad, pith_device_gather, pith_device_softmax,
    pith_device_reduce_mean, pith_device_reduce, pith_device_global_pool, pith_device_layer_norm,
    pith_device_group_norm, pith_device_pool, pith_device_gemm, pith_device_matmul,
    pith_device_conv, pith_device_recurrent, pith_device_matmul_integer, pith_device_conv_integer,
    pith_device_scale, pith_device_dynamic_quantize, pith_device_requantize, pith_device_attention,
    pith_device_compare, pith_device_where, pith_device_cast, pith_device_arg, pith_device_tile;

/* ---- what they are put together from (device_lower.c)
 * ---------------------------------------------- */

/* Room for `more` entries of `each` bytes behind n; false, and *no_memory: there is none. `array`
 * is the address of a pointer of any type. */
bool pith_device_grow(bool *no_memory, void *array, uint32_t n, uint32_t *room, uint32_t more,
                      size_t each);
/* Multiprocessors of the device, and threads that all of them run at once. */
uint32_t pith_device_processors(const struct lowering *l);
uint32_t pith_device_threads(const struct lowering *l);
/* Where the elements of t lie on the device. */
void *pith_device_data(struct lowering *l, const struct tview *t);
/* Members of a launch's struct: input 0 and output 0 of the step, and types of their floats. */
#define X_AND_Y(l, args_)                                                                          \
    .x = pith_device_data(l, (args_)->in[0]), .y = pith_device_data(l, (args_)->out[0]),           \
    .x_type = pith_device_type(l, (args_)->in[0]), .y_type = pith_device_type(l, (args_)->out[0])
#define DATA_X_Y_N(l, args_)                                                                       \
    .x = pith_device_data(l, (args_)->in[0]), .y = pith_device_data(l, (args_)->out[0]),           \
    .n = pith_device_count((args_)->out[0])
/* Of input i, which may be absent: by number at the end, by NULL before that. Then NULL. */
void *pith_device_optional(struct lowering *l, const struct op_args *args, uint32_t i);
/* Of a value in the arena: where its floats lie there, whatever kernels read. */
void *pith_device_in_arena(const struct lowering *l, const struct tview *t);
/* From now on the step has t so; NULL: it has t as the plan does. */
void pith_device_add_converted(struct lowering *l, const struct device_converted *converted);
const struct device_converted *pith_device_converted(const struct lowering *l,
                                                     const struct tview *t);
/* The elements of a constant, rounded to 16 bits. */
void *pith_device_rounded(struct lowering *l, const struct tview *t, uint32_t type);
/* Whether the elements of t are known now, and stay what they are. */
bool pith_device_is_constant(const struct lowering *l, const struct tview *t);
/* The weight of a step in a form. FORM_F32 or FORM_ELEMENTS; the same weight in the same form has
 * one address. What goes there is made later (pith_device_pack). */
void *pith_device_weight(struct lowering *l, const struct weight *w, enum weight_form form);
/* The weight in relative index; NULL: it is not one for that, or there is no memory. Decodes the
 * weight at the first request. */
const uint8_t *pith_device_relative(struct lowering *l, const struct weight *w);
/* The weight in a form of so many bytes, to be packed later. While counting the address is that of
 * its place alone. */
void *pith_device_form(struct lowering *l, const struct weight *w, enum weight_form form,
                       uint64_t bytes);
/* Room that only this step works in, a multiple of 256 from its beginning. */
void *pith_device_work(struct lowering *l, uint64_t offset, uint64_t bytes);
/* Elements, where launches can count them; 0: there are too many. */
uint32_t pith_device_count(const struct tview *t);

/* A launch over n elements, false: 0; or of a grid; arg is copied. */
bool pith_device_launch(struct lowering *l, enum launch_kernel kernel, uint32_t n, const void *arg,
                        uint32_t arg_bytes);
void pith_device_grid(struct lowering *l, enum launch_kernel kernel, const uint32_t grid[3],
                      const void *arg, uint32_t arg_bytes);
/* An action that is the product, of which the lowering takes ownership. */
bool pith_device_append_blas(struct lowering *l, struct blas_product *p);
/* Drops actions [first, end). */
void pith_device_drop(struct lowering *l, uint32_t first, uint32_t end);
/* Puts an action on a stream (device_run.c); a result of the driver. */
int pith_device_act(const struct lowering *l, const struct action *a, device_stream stream);
void pith_device_copy(struct lowering *l, void *to, const void *from, uint64_t bytes);
void pith_device_fill(struct lowering *l, void *to, uint32_t value, uint64_t bytes);

/* Actions as steps of LAUNCH_program (device_program.c). `to`, which the device has from `memory`
 * on, begins with the words of the barrier, 0; its steps begin at PROGRAM_STEPS. NULL: only sizes
 * are found. blocks, room, set before: of the launch, and bytes of shared memory that a block has
 * for weights. false: some action has no place there. */
#define PROGRAM_STEPS 256u
struct program_table {
    uint32_t blocks, room;
    uint32_t tiles; /* blocks of the step that has most */
    uint64_t bytes;
    struct program_args args;
};
bool pith_device_program_table(const struct lowering *l, const struct action *action, uint32_t n,
                               uint8_t *to, device_address memory, struct program_table *t);

#endif
