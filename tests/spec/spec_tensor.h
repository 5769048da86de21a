/* SPDX-License-Identifier: MIT */
/* spec_tensor.h - what is known of a tensor once its head is read: the fields of F5, and where its
 * streams lie (F6). Element types: F1. */
#ifndef SPEC_TENSOR_H
#define SPEC_TENSOR_H

#include "spec_bytes.h"

enum { BITMAP = 1, CODED = 2, SPARSE = 3 };

struct tensor {
    uint32_t type, rank, dim[MAX_RANK];
    uint64_t count, nnz;
    uint32_t support, grid; /* the numbers of F5 */
    uint32_t n_centroids;   /* 0: no codebook */
    uint64_t n_groups;
    uint64_t support_table, index_table;
    uint64_t support_bytes, index_bytes;
    struct span codebook, support_data, elements; /* `elements`: those, or indices */
    struct span scales, zero_points;
    uint32_t integers; /* their type, of a tensor of integers with scales; 0: another tensor */
    uint32_t axis;
    uint64_t block; /* 0: a scale for each place of the axis */
    bool adaptive, planes, rans, classes;
    uint32_t trellis; /* states; 0: none */
};

/* By the numbers of F1. */
extern const char *const type_name[];
extern const uint8_t type_bytes[];

uint32_t read_type(struct span *s);
uint32_t read_dim(struct span *s);

/* Coded: under a Huffman or an rANS table, or a model of classes. */
bool huffman_indices(const struct tensor *t);
bool coded_indices(const struct tensor *t);

/* Of plain indices, bits of each; of plain indices or elements, bytes of all. */
uint32_t index_width(uint32_t n_centroids);
uint64_t plain_bytes(const struct tensor *t);

#endif
