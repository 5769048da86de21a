/* SPDX-License-Identifier: MIT */
/* writer.h - the text that is written: parts of kernels.h.in, constants, calls. */
#ifndef EXPORT_WRITER_H
#define EXPORT_WRITER_H

#include "network.h"
#include "base/byte_out.h"

#define MOST_PARTS 64u
#define MOST_PALETTES 64u

/* Values of a weight of few, which codes of four bits stand for. */
struct palette {
    uint32_t value[16], n, step; /* bytes; the step whose table it is */
    char name[16];
};

struct writer {
    const struct network *net;
    const char *name;
    char upper[64];
    bool used[MOST_PARTS]; /* of kernels.h.in */
    uint32_t part_bytes[MOST_PARTS], instances[MOST_PARTS];
    struct byte_out constants, kernels, calls;
    uint64_t model_bytes, code_bytes;
    struct palette palette[MOST_PALETTES]; /* of integers */
    uint32_t n_palettes;
    bool has_code[CODES]; /* tables that are written */
    char name_of_table[16];
};

void pith_c_say(struct byte_out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pith_c_use(struct writer *w, const char *name);
/* A kernel made by a macro of part `from`, once for its numbers; its name. */
void pith_c_instance(struct writer *w, char name[80], const char *macro, const char *from,
                     const uint32_t *number, uint32_t n);
/* Hexadecimal without a point, which every locale writes alike. */
void pith_c_f32(struct byte_out *o, float v);
/* n rows of `size` bytes, each made `padded` long by zeros, and as many rows of zeros as make
 * `rows`. */
struct int8_rows {
    const int8_t *p;
    uint64_t n;
    uint32_t size, padded;
    uint64_t rows;
};
void pith_c_bytes_array(struct writer *w, char letter, uint32_t step, struct int8_rows m);
void pith_c_u8_array(struct writer *w, char letter, uint32_t step, const uint8_t *p, uint64_t n);
void pith_c_i32_array(struct writer *w, char letter, uint32_t step, const int32_t *p, uint64_t n,
                      uint64_t count);
void pith_c_f32_array(struct writer *w, char letter, uint32_t step, const float *p, uint64_t n);
bool pith_c_factor_array(struct writer *w, uint32_t step, const float *f, uint32_t n,
                         uint32_t count);
void pith_c_u16_array(struct writer *w, char letter, uint32_t step, const uint32_t *p, uint64_t n);

/* weights.c: the numbers of forms are those of the macros. */
enum weight_form { WEIGHT_SPARSE = 0, WEIGHT_BYTES = 1, WEIGHT_CODES = 2 };
/* Writes the integers of a step, rows padded to words. *pairs: the name of the table of codes. */
enum weight_form pith_c_weights(struct writer *w, uint32_t step, const char **pairs);
/* The floats of a step; *apart: from the centroids of one output to those of the next. */
enum weight_form pith_c_float_weights(struct writer *w, uint32_t step, const char **centroids,
                                      uint32_t *apart);
/* The parts that are used, in the order in which they need one another. */
void pith_c_parts(const struct writer *w, struct byte_out *o);

/* files.c: all but the layers. PITH_ERR_UNSUPPORTED, PITH_ERR_MEMORY. */
enum pith_status pith_c_files(struct writer *w, struct pith_export *e, struct pith_error *err);

#endif
