/* SPDX-License-Identifier: MIT */
/* array_files.h - single tensors from and to files, for run, --state and --dump. */
#ifndef ARRAY_FILES_H
#define ARRAY_FILES_H

#include "cli/common/cli.h"
#include "pith_data.h"
#include "pith_measure.h"

#define CLI_PATH_BYTES 4096

uint32_t cli_type_bytes(enum pith_type type);
/* The element at p as a number to compare and print. */
double cli_element(enum pith_type type, const void *p);
/* npy in `file` as the elements of v, times batch; *data: [elems] of v's type, the caller frees. */
enum cli_exit cli_convert_array(const struct pith_buffer *file, const char *path,
                                const struct pith_value *v, uint32_t batch, void **data);
/* The same from a path ("-": standard input). */
enum cli_exit cli_read_array(const char *path, const struct pith_value *v, uint32_t batch,
                             void **data);

/* What a value is called as a file: its name, with '_' for what is no letter, digit, '.', '-' or
 * '_', then tail; its number where it has no name. */
void cli_array_file_name(const char *name, size_t name_bytes, uint32_t number, const char *tail,
                         char *out, size_t room);
/* "TENSOR[=FILE]": TENSOR is the name of a layer of m, for its first output, or of a value that a
 * layer computes. Fills name, step and output of *dump (the name is m's); *path: NULL without
 * FILE. model: its path, for the message. */
enum cli_exit cli_dump_split(const struct pith_model *m, const char *model, const char *text,
                             struct pith_dump *dump, const char **path);
/* Where a dump goes: FILE where one was given, else TENSOR.npy as a file name; mark ("-A") stands
 * before the ending. */
void cli_dump_path(const char *text, const char *file, const char *mark, char *out, size_t room);
/* Writes file to path, by the rules of -o; frees it. */
enum cli_exit cli_write_array(const struct cli_common *c, const char *path,
                              struct pith_buffer *file);
/* Would cli_write_array be refused? input: the model's path. */
enum cli_exit cli_check_array(const struct cli_common *c, const char *path, const char *input);

#endif
