/* SPDX-License-Identifier: MIT */
/* network.h - a network as the calls that the C code makes: steps between stored values.
 *
 *     model --network.c--> steps, values --place.c--> offsets in one array --emit.c--> text
 *
 * Values of bytes are u8, whatever the network says: an i8 is the u8 that is 128 higher. Values of
 * rank 3 and 4 are stored pixel by pixel, channels side by side; floats as in the file. */
#ifndef EXPORT_NETWORK_H
#define EXPORT_NETWORK_H

#include "base/byte_out.h"
#include "export.h"
#include "pith_huffman.h"

#define STORE_NONE UINT32_MAX
#define STEP_INPUTS 4u

/* Of a store, by its bytes. */
enum element { ELEMENT_U8 = 1, ELEMENT_F32 = 4, ELEMENT_I64 = 8 };

struct store {
    enum element element;
    uint32_t channels, pixels; /* channels 1: no order to speak of */
    uint64_t bytes;
    const float *constant;  /* NULL: computed */
    bool shares;            /* output is that of a later store, which it becomes */
    uint32_t input, output; /* number of the network's input or output; STORE_NONE */
    uint32_t part_of;       /* the store whose bytes from part_at on it is; STORE_NONE */
    uint64_t part_at;
    uint32_t first, last; /* steps that write it and read it last */
    /* place.c: bytes from the start of the block, then of the arena */
    uint32_t block;
    int64_t at;
};

enum step_kind {
    STEP_CONV,
    STEP_POINTWISE,
    STEP_GROUPED,
    STEP_GROUPED_F32,
    STEP_DEPTHWISE,
    STEP_PRODUCT,
    STEP_PRODUCT_F32,
    STEP_QUANTIZE,
    STEP_QUANTIZE_CHANNELS,
    STEP_DEQUANTIZE,
    STEP_COMBINE,
    STEP_TABLE,
    STEP_FLIP,
    STEP_MAX_POOL,
    STEP_AVERAGE_POOL,
    STEP_MEAN,
    STEP_SOFTMAX_BYTES,
    STEP_COPY,
    STEP_FILL,
    STEP_RESIZE_NEAREST,
    STEP_RESIZE_LINEAR,
    STEP_LOOP, /* steps up to the next STEP_LOOP_END of its number run `rows` times */
    STEP_LOOP_END,
    STEP_NOTHING, /* a copy that its producer does */
    /* of floats */
    STEP_SOFTMAX,
    STEP_SCALE_SHIFT,
    STEP_GEMM_F32,
    STEP_PRODUCTS, /* of two values */
    STEP_ATTENTION,
    STEP_NORMALIZE,
    STEP_REDUCE,
    STEP_ARG,
    STEP_CONV_F32,
    STEP_ACTIVATE,
    STEP_BINARY_F32,
    STEP_MAX_POOL_F32,
    STEP_POOL_F32,
    STEP_MEAN_F32,
    STEP_KINDS
};

struct window_shape {
    uint32_t c, h, w, oc, oh, ow, kh, kw, stride_h, stride_w, dil_h, dil_w;
    uint32_t pad_top, pad_left, pad_right, groups;
    bool pads_end; /* the file pads behind rows or columns, whether a window reaches there or not */
};

struct grid {
    float scale;
    int32_t zero;
};

/* Axes of 1 and neighbours that lie alike in x and y are joined: the last ones of `n` are used. */
#define COPY_AXES 4
struct copy_shape {
    uint32_t n[COPY_AXES];
    int32_t from[COPY_AXES], to[COPY_AXES];
    int64_t x_at, y_at, x_by, y_by; /* elements; by: for each iteration of loop */
    uint32_t loop;                  /* the step that begins it */
};

enum unary_function {
    FUNCTION_SQRT = 16,
    FUNCTION_SQUARE,
    FUNCTION_RECIPROCAL,
    FUNCTION_NEG,
    FUNCTION_EXP
};
#define FUNCTION_MEAN REDUCE_END /* behind enum reduce_kind */

/* Filters [outputs][taps][channels] as in the file, order of the kernel: emit.c. */
struct step_product {
    const int8_t *w;
    const float *wf;     /* bias: x[1] */
    const int32_t *bias; /* the zero point of x taken in */
    const float *factor; /* [outputs]; of channels: scales, STEP_SCALE_SHIFT: factors */
    uint32_t k;          /* bytes or floats of one filter */
    uint32_t ring; /* w is decoded on every run, two outputs at a time, at most so many bytes; 0:
                      it is not */
    uint64_t ring_at;
    uint64_t symbols; /* that are decoded */
};

struct step {
    enum step_kind kind;
    const char *name;
    uint32_t x[STEP_INPUTS], y; /* stores; STORE_NONE */
    struct window_shape g;
    struct step_product product;
    uint32_t outputs;
    struct {
        uint32_t at, stride; /* bytes before the first pixel, from pixel to pixel; 0: outputs */
    } out;                   /* of y */
    uint32_t rows;           /* of a product, a softmax */
    uint32_t columns;        /* of a softmax: neighbours of one axis lie so far apart */
    uint8_t zero_x, zero_y;
    struct grid grid[3]; /* inputs, then output */
    uint8_t *table;      /* [256] */
    uint32_t *index;     /* [outputs][2]: resize */
    bool multiply, relu;
    bool transposed;   /* a convolution */
    bool about_zero;   /* a normalization: the mean counts as 0 */
    bool resizes_rows; /* not columns alone */
    struct {
        bool include_pad;
        bool largest, smallest; /* smallest: of bytes whose scale is negative; ArgMax: the last of
                                   equals; ArgMin */
    } pool;
    uint32_t spread; /* combine: period of the second input, gemm: its step from row to row; 0 */
    struct {
        uint32_t kind; /* enum act_kind, unary_function, or reduce_kind */
        float a, b;
    } act;
    uint32_t op; /* of STEP_BINARY_F32 */
    struct {
        uint32_t dim[4], step[5][4]; /* step: for each input and y */
    } loops;                         /* in one another: read_floats.c */
    struct copy_shape copy;
    uint32_t size; /* bytes of an element: copy, fill */
    uint8_t fill;
    uint64_t macs;
    struct {
        uint64_t bytes, at;
    } scratch;
};

/* What of a processor decides about the code. */
enum core { CORE_DSP, CORE_PLAIN, CORE_THUMB1 }; /* SMLAD; none; few registers, no SMLAL */
struct processor {
    bool fpu;
    enum core core;
};

struct network {
    struct pith_model *m; /* a copy; all memory below is its */
    const struct pith_model *given;
    const struct pith_export_opts *opts;
    const struct processor *cpu;
    struct store *store;
    uint32_t n_stores, room_stores;
    struct step *step;
    uint32_t n_steps, room_steps;
    uint32_t *input, *output; /* stores, in the order of the model */
    struct grid input_grid;
    uint64_t arena_bytes;
    bool counts;                   /* what is written counts alone: no text */
    struct pith_huff_code code[2]; /* of coded weights: values, distances */
    uint32_t longest_code[2];      /* bits */
};

/* target.c. Any other number is PITH_TARGET_GENERIC. */
const struct processor *pith_export_processor(enum pith_export_target target);
/* Instructions of one run of a step. */
uint64_t pith_export_instructions(const struct network *net, const struct step *s);
uint64_t pith_export_stack_bytes(const struct network *net);
/* The most taps whose places a convolution keeps. */
uint32_t pith_export_most_taps(const struct network *net);

/* Fills *net. PITH_ERR_UNSUPPORTED, PITH_ERR_MEMORY, PITH_ERR_ARGUMENT. */
enum pith_status pith_export_network(struct network *net, struct pith_error *err);
uint32_t pith_export_sparse_pixels(uint32_t pixels); /* how many of a row at once: 4 or 8 */
/* Whether the nonzeros of the integers of a step alone are kept. *instructions, unless NULL: of all
 * weights and one pixel. */
bool pith_export_is_sparse(const struct network *net, const struct step *s, uint64_t *instructions);
/* Gives `take` the weights as they are executed, in the order in which they are decoded: rows
 * padded to words, or of a sparse row the number of nonzeros, their distances and their values.
 * Returns the most bytes of two outputs. row: a buffer, which failed where memory is out. */
enum { VALUES = 0, DISTANCES = 1, CODES }; /* each has a code of its own */
typedef void symbol_fn(void *to, uint32_t code, uint8_t v);
uint32_t pith_export_symbols(const struct step *s, bool sparse, struct byte_out *row,
                             symbol_fn *take, void *to);
/* How the filters of a step lie: `segments` rows of `size` weights for each output. */
struct filter_rows {
    uint32_t size, segments;
};
struct filter_rows pith_export_rows(const struct step *s);
/* Codes the weights of one more layer, of which it saves the most bytes. false: there is none; or
 * no memory: then *st says so. */
bool pith_export_code_next(struct network *net, enum pith_status *st);
/* Parts of a Concat along channels are written there by the layers that compute them. */
void pith_export_join_channels(struct network *net);
/* Sets store.at, step.scratch_at, arena_bytes. */
enum pith_status pith_export_place(struct network *net);
/* Allocates the files of e. */
enum pith_status pith_export_emit(const struct network *net, struct pith_export *e,
                                  struct pith_error *err);

#endif
