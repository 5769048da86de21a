/* SPDX-License-Identifier: MIT */
/* weight.h - a constant tensor as it stands in a file: support x grid x code.
 *
 *   support  which elements are nonzero    dense | bitmap | gaps (relative index, entropy-coded)
 *   grid     which values they take        plain elements of `type` | codebook(s) | integers times
 *                                          scales
 *   code     how indices are written       plain k-bit | canonical Huffman | rANS | rANS by classes
 *                                          | adaptive binary
 *            how elements are written      plain | bytes under Huffman codes | adaptive binary
 *
 * The three are independent. `count` elements in row-major order; `nnz` of them carry a value (all
 * of them when support is dense); the others are 0. With a codebook, element i belongs to group
 * i / group_elems and its value is codebook[group][index]: one group is a tensor codebook, one
 * group per output channel a channel codebook. Everything here was validated when the container
 * was opened; the streams themselves are entropy-coded bytes whose decoders check as they go. */
#ifndef PITH_WEIGHT_H
#define PITH_WEIGHT_H

#include "core/tensor.h"

enum weight_support {
    SUPPORT_DENSE = 0,
    SUPPORT_BITMAP = 1,  /* bit i%8 of byte i/8: element i is stored; tail bits 0 */
    SUPPORT_GAPS = 2,    /* Huffman-coded gaps, docs/format.md */
    SUPPORT_ADAPTIVE = 3 /* within the stream of an adaptive code or of classes */
};

enum weight_grid {
    GRID_PLAIN = 0,    /* elements of `type`, little-endian */
    GRID_CODEBOOK = 1, /* indices into f32 codebooks of up to 256 centroids, sorted ascending; of i8
                          they are whole numbers -128..127 */
    GRID_SCALED = 2    /* plain integers of type `scaled`: f32 (integer - zero point) * scale, as
                          DequantizeLinear has it; dense, and not coded */
};

enum weight_code {
    CODE_PLAIN = 0,    /* elements as they are; indices packed in index_bits each, LSB first */
    CODE_HUFFMAN = 1,  /* indices only */
    CODE_ADAPTIVE = 2, /* support and indices, or f32 elements, adaptively */
    CODE_PLANES = 3,   /* f32 elements of dense support, each of their bytes by itself */
    CODE_RANS = 4,     /* indices only */
    CODE_CLASSES = 5   /* support and indices, under static rANS tables by classes */
};

/* One table in the file (docs/format.md), of a Huffman code, a support or rANS frequencies; tensors
 * may share it. */
struct huff_table {
    const uint8_t *bytes;
    size_t n_bytes;
};

struct stream {
    const uint8_t *bytes;
    size_t n_bytes;
};

struct weight {
    enum pith_type type;
    struct shape shape;
    uint64_t count;
    uint64_t nnz;
    enum weight_support support;
    enum weight_grid grid;
    enum weight_code code;
    uint32_t n_centroids; /* per group, 1..256; 0 without codebook */
    uint32_t index_bits;  /* CODE_PLAIN with codebook: 1..8; scaled: the axis of the scales */
    uint64_t group_elems; /* count for one codebook per tensor; scaled: as block of scale_number */
    uint64_t n_groups;    /* scaled: number of scales */
    struct huff_table gap_table, index_table; /* n_bytes 0: not used */
    struct stream support_stream;             /* bitmap or coded gaps; empty when dense */
    struct stream index_stream;               /* coded indices, or plain elements */
    struct stream codebook;                   /* coded codebooks; scaled: f32 scales, then zero
                                                 points, or none where all are 0 */
    uint32_t cpu;    /* PITH_CPU_ bits that decoding may use; 0: the reference */
    uint8_t trellis; /* adaptive or classes, with codebooks: states of trellis.h, whose levels are
                        coded; 0: indices are */
    uint8_t scaled;  /* GRID_SCALED: the integers' type, i8, u8, i16 or u16; else 0 */
};

/* Of integers with scales: the number of the scale of element i. n_scales 1: of all. Else block 0:
 * one scale for each place of `axis`; block >= 2: one for each `block` neighbours along the axis,
 * the scales in the order of a tensor whose dim there is dim[axis] / block, rounded up. */
static inline uint64_t scale_number(const struct shape *s, uint32_t axis, uint64_t block,
                                    uint64_t n_scales, uint64_t i)
{
    if (n_scales == 1)
        return 0;
    uint64_t inner = shape_product(s, axis + 1, s->rank), dim = s->dim[axis], place = i / inner;
    if (block == 0)
        return place % dim;
    return (place / dim * ((dim + block - 1) / block) + place % dim / block) * inner + i % inner;
}

/* n plain or scaled elements from number `first` on, as they lie in the stream, as f32. */
void pith_weight_elements(const struct weight *w, uint64_t first, size_t n, float *dst);

/* The elements where they lie in the image, when they are stored there as they are computed with -
 * dense, plain, in this machine's byte order, on an address aligned for their type, no f16, bf16 or
 * f64 -; else NULL. Lives as long as the image. */
const void *pith_weight_borrow(const struct weight *w);

/* Scratch that the three calls below need for w (decode tables, block buffers): it follows the size
 * of w up to some 20 KB, and what its codes need; 0 for plain elements of dense support. */
size_t pith_weight_scratch_bytes(const struct weight *w);

/* Effective values as f32: dst[count]. scratch: pith_weight_scratch_bytes. Types other than f32
 * are converted (f16, bf16, f64 rounded to f32, integers rounded). PITH_ERR_CORRUPT when a coded
 * stream breaks its rules; dst is then unspecified. */
enum pith_status pith_weight_expand_f32(const struct weight *w, float *dst, void *scratch);

/* Elements of w->type, dense, for GRID_PLAIN weights and those of i8: dst[count * type bytes]. */
enum pith_status pith_weight_expand_plain(const struct weight *w, void *dst, void *scratch);

/* The parts apart, for run forms. pos[nnz]: element numbers ascending (NULL where not wanted; for
 * dense support it would be 0, 1, 2 ...). index[nnz]: codebook indices (NULL unless GRID_CODEBOOK).
 * value[nnz]: the nonzeros as f32 (NULL where not wanted). */
enum pith_status pith_weight_expand_parts(const struct weight *w, uint32_t *pos, uint8_t *index,
                                          float *value, void *scratch);

/* The codebooks as f32: dst[n_groups * n_centroids]. */
enum pith_status pith_weight_codebooks(const struct weight *w, float *dst);

#endif
