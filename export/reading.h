/* SPDX-License-Identifier: MIT */
/* reading.h - what the files that turn nodes into steps share: the state of the reading, stores and
 * steps, the order of elements, and one entry each for products, operators on bytes, and operators
 * on floats. */
#ifndef EXPORT_READING_H
#define EXPORT_READING_H

#include "network.h"
#include "base/error_fill.h"
#include "pith_host.h"
#include "core/integer_at.h"
#include "kernels/kernels.h"
#include "op_interface/op_exec.h"
#include "op_interface/op_info.h"

#define MOST_LOOPS 8u /* in one another */

enum form {
    FORM_NONE = 0,
    FORM_STORED,        /* in store[value.store] */
    FORM_BYTE_FUNCTION, /* a float that is a function of an element of value.store */
    FORM_SUMS,          /* of the product that gives it */
    FORM_INDEX          /* first + by * iteration of loop `node`, an integer */
};

struct value {
    enum form form;
    uint32_t store;
    uint32_t floats;  /* of FORM_BYTE_FUNCTION: the store of the floats; STORE_NONE: not stored */
    bool pure;        /* it is what a DequantizeLinear gives, maybe in another shape */
    struct grid grid; /* of a pure one */
    uint32_t node;    /* FORM_SUMS, FORM_BYTE_FUNCTION: which gives it */
    uint32_t bias;    /* FORM_SUMS: the constant that was added to them; PITH_VALUE_NONE: none */
    int64_t first, by;
};

struct reading {
    struct network *net;
    struct pith_model *m;
    struct value *value;                /* [n_values] */
    uint32_t *uses, *producer, *reader; /* [n_values]; reader: the last node that reads it */
    bool *done;                         /* [n_nodes] taken by an earlier one */
    uint32_t loop[MOST_LOOPS], n_loops; /* steps that begin loops which are open */
    struct pith_kernels kernels;
    struct pith_error *err;
    bool no_memory;
    struct step nowhere; /* what is written to when memory is out */
};

static inline const struct pith_const *constant_of(const struct pith_model *m, uint32_t v)
{
    return v == PITH_VALUE_NONE ? NULL : m->values[v].constant;
}

static inline uint32_t input_of(const struct pith_node *n, uint32_t i)
{
    return i < n->n_in ? n->in[i] : PITH_VALUE_NONE;
}

static inline uint64_t elems(const struct pith_model *m, uint32_t v)
{
    return pith_value_elems(&m->values[v]);
}

static inline bool is_byte_type(enum pith_type t)
{
    return t == PITH_I8 || t == PITH_U8;
}

static inline bool is_view(uint32_t op)
{
    return (pith_op_get(op)->flags & OP_VIEW) != 0;
}

enum pith_status pith_export_refuse(struct reading *r, const struct pith_node *n, const char *why);
/* The one node that reads v, or NULL. */
struct pith_node *pith_export_only_reader(const struct reading *r, uint32_t v);
/* A scale of one element and its zero point. */
bool pith_export_grid_of(const struct reading *r, const struct pith_node *n, enum pith_type type,
                         struct grid *g);
uint32_t pith_export_new_store(struct reading *r, enum element element, uint32_t channels,
                               uint32_t pixels);
/* For value v, of floats or of bytes; in the order that the type has. */
uint32_t pith_export_store_for(struct reading *r, uint32_t v, enum element element);
struct step *pith_export_new_step(struct reading *r, enum step_kind kind, const struct pith_node *n,
                                  uint32_t x, uint32_t y);
void pith_export_set_stored(struct reading *r, uint32_t v, uint32_t store);
/* The 256 reals that value v is of the bytes 0 to 255, as the operators themselves compute them. */
void pith_export_function_of(const struct reading *r, uint32_t v, float real[256]);
uint8_t pith_export_quantized_byte(float v, const struct grid *g);
enum pith_status pith_export_floats_of(struct reading *r, const struct pith_node *n, uint32_t v,
                                       uint32_t *store);
/* Elements of a store in the order of the file, which they have without channels. */
uint32_t pith_export_in_file_order(struct reading *r, const struct pith_node *n, uint32_t store);
/* Pixel by pixel, `channels` side by side. */
uint32_t pith_export_by_pixels(struct reading *r, const struct pith_node *n, uint32_t store,
                               uint32_t channels);
/* All of x to the front of y. */
struct step *pith_export_copy(struct reading *r, const struct pith_node *n, uint32_t x, uint32_t y);
uint32_t pith_export_copied(struct reading *r, const struct pith_node *n, uint32_t store);
bool pith_export_conv_window(const struct pith_model *m, const struct pith_node *n,
                             struct window_shape *g);
bool pith_export_pool_window(const struct pith_model *m, const struct pith_node *n,
                             struct window_shape *g);
/* Slice, Split, Gather, Transpose: of whatever form; Concat, Pad: of bytes or floats. */
enum pith_status pith_export_move(struct reading *r, const struct pith_node *n);
enum pith_status pith_export_resized(struct reading *r, const struct pith_node *n);
enum pith_status pith_export_loop(struct reading *r, const struct pith_node *n);
enum pith_status pith_export_loop_end(struct reading *r, const struct pith_node *n);
/* An integer that follows from the iteration of a loop. */
bool pith_export_index(struct reading *r, const struct pith_node *n);
void pith_export_set_floats(struct reading *r, uint32_t v, uint32_t store);
/* A DequantizeLinear's value, or bytes as they are (moved alone), and its grid. */
bool pith_export_byte_input(const struct reading *r, uint32_t v);
const struct grid *pith_export_grid_in(const struct reading *r, uint32_t v);
/* What a byte step that ends node n writes: of bytes as they are, n's output; of reals, that of the
 * QuantizeLinear which alone reads it, behind a Relu if `relu` is not NULL. PITH_VALUE_NONE: there
 * is none. */
uint32_t pith_export_byte_output(struct reading *r, const struct pith_node *n, struct grid *g,
                                 bool *relu);
/* The store behind a table from bytes of one grid in `store` to those of another. */
uint32_t pith_export_through_table(struct reading *r, const struct pith_node *n, uint32_t store,
                                   const struct grid *from, const struct grid *to);
enum pith_status pith_export_float_step(struct reading *r, const struct pith_node *n);
/* sums: of a ConvInteger or MatMulInteger; end: the Requantize or DequantizeLinear behind it. */
enum pith_status pith_export_product(struct reading *r, const struct value *sums,
                                     const struct pith_node *end);
/* Whether n is element-wise in values that are functions of the same byte, and constants of one
 * element; of which store. */
bool pith_export_one_byte(const struct reading *r, const struct pith_node *n, uint32_t *store);
/* Of the axes behind channels: one or two. false: another number. */
struct window_slots {
    uint32_t strides, dilations, pads;
};
bool pith_export_window_of(const struct pith_model *m, const struct pith_node *n,
                           struct window_slots slots, const uint32_t kernel[2],
                           struct window_shape *g);
/* 16-bit fields of struct window in the written code. */
bool pith_export_is_small(const struct window_shape *g);
bool pith_export_is_whole(const struct window_shape *g);

/* Operators on bytes: *taken where n became steps. */
typedef enum pith_status byte_op(struct reading *r, const struct pith_node *n, bool *taken);
byte_op pith_export_combine, pith_export_pool, pith_export_softmax_of_bytes;

#endif
