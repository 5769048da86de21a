/* SPDX-License-Identifier: MIT */
/* manifest.h - many networks as rows of a CSV file. Its first line names the columns: `model`,
 * `goal`, and options of the command by their long names (input_shape is --input-shape). A row
 * becomes a command line:
 *
 *     model,data,preprocess,goal
 *     a.onnx,val/,imagenet,0.5%                             --data val/ --preprocess imagenet
 * --max-drop 0.5% a.onnx b.onnx,x.npy,,--max-size 20K --min-snr 30
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "cli/common/cli.h"

enum { MANIFEST_MAX_ROWS = 10000, MANIFEST_MAX_COLUMNS = 64, MANIFEST_FIELD_BYTES = 4096 };

struct manifest_row {
    uint64_t line;     /* of the file, from 1 on */
    const char **word; /* options, "--", model: owns the list, borrows from `text` */
    uint32_t n_words;
    char *text;                 /* owns */
    const char *model, *output; /* in `word` */
    char key[9]; /* checksum of the words and of the files that they name, by size and time */
};

struct manifest {
    const char *path;
    struct manifest_row *row; /* owns: [n] */
    uint32_t n;
};

/* Reads and checks all rows: each must be a command line of cmd, and the outputs must differ.
 * Messages name the file, the line and the column. m begins as {0}; free it in any case.
 * EXIT_USAGE, EXIT_IO, EXIT_MEMORY. */
enum cli_exit cli_read_manifest(const struct cli_command *cmd, const char *path, uint64_t seed,
                                struct manifest *m);
void cli_free_manifest(struct manifest *m);

#endif
