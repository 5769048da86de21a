/* SPDX-License-Identifier: MIT */
/* layer_table.h - a packed model as people want to see it: one row a weight. */
#ifndef LAYER_TABLE_H
#define LAYER_TABLE_H

#include <stdio.h>
#include "cli/common/cli.h"
#include "pith_pack.h"

/* One prunable weight of a packed model. */
struct layer_row {
    char name[256]; /* layer name; operator and number in files without names */
    const char *op; /* "Conv" */
    char shape[96]; /* "64x3x3x3" */
    uint64_t count, kept;
    double bits;      /* of an index; without codebook of a number */
    const char *grid; /* "f32", "i8", "codebook" */
    const char *code; /* "plain", "huffman", "adaptive" */
    uint64_t bytes;   /* in the file: support, codebook, indices or values, own tables */
};

struct layer_rows {
    const struct pith_model *model;    /* an outline of the file */
    struct pith_model *made;           /* owns: that, where the caller had none */
    struct pith_byte_account *account; /* owns */
    struct layer_row *row;             /* owns */
    uint32_t n;
    uint64_t weights, kept, bytes; /* sums over the rows */
};

/* outline: of this file, borrowed as long as rows are; NULL: made here. */
enum cli_exit cli_layer_rows(const void *file, size_t bytes, const char *path,
                             const struct pith_model *outline, struct layer_rows *rows);
/* Counts the zeros among stored weights, too, for which it decodes them: within the bounds of
 * import's `strict`; what is beyond keeps the number of stored ones. */
enum cli_exit cli_count_nonzeros(struct layer_rows *rows, const void *file, size_t bytes,
                                 const char *path);
void cli_layer_rows_free(struct layer_rows *rows);
/* Warns where no weight is left: a goal of outputs alone allows that where they hardly vary. */
void cli_warn_nothing_kept(const struct layer_rows *rows);

/* The table with a total, to out. */
void cli_print_layers(const struct layer_rows *rows, FILE *out);
/* The member "layers" of the object that --json prints. */
void cli_json_layers(const struct layer_rows *rows);

#endif
