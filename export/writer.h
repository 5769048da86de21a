/* SPDX-License-Identifier: MIT */
/* writer.h - the text that is written: parts of kernels.h.in, constants, calls. */
#ifndef EXPORT_WRITER_H
#define EXPORT_WRITER_H

#include "network.h"
#include "base/byte_out.h"

#define MOST_PARTS 64u

struct writer {
    const struct network *net;
    const char *name;
    char upper[64];
    bool used[MOST_PARTS]; /* of kernels.h.in */
    struct byte_out constants, kernels, calls;
    uint64_t model_bytes;
};

void pith_c_say(struct byte_out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pith_c_use(struct writer *w, const char *name);
/* A kernel made by a macro, once for its numbers; its name. */
void pith_c_instance(struct writer *w, char name[80], const char *macro, const char *stem,
                     const uint32_t *number, uint32_t n);
/* Hexadecimal without a point, which every locale writes alike. */
void pith_c_f32(struct byte_out *o, float v);
/* n rows of `row` bytes, each made `padded` long by zeros, and as many rows of zeros as make
 * `rows`. */
void pith_c_bytes_array(struct writer *w, char letter, uint32_t step, const int8_t *p, uint64_t n,
                        uint32_t row, uint32_t padded, uint64_t rows);
void pith_c_u8_array(struct writer *w, char letter, uint32_t step, const uint8_t *p, uint64_t n);
void pith_c_i32_array(struct writer *w, char letter, uint32_t step, const int32_t *p, uint64_t n,
                      uint64_t count);
void pith_c_f32_array(struct writer *w, char letter, uint32_t step, const float *p, uint64_t n);
bool pith_c_factor_array(struct writer *w, uint32_t step, const float *f, uint32_t n,
                         uint32_t count);
/* The parts that are used, in the order in which they need one another. */
void pith_c_parts(const struct writer *w, struct byte_out *o);

/* files.c: all but the layers. PITH_ERR_UNSUPPORTED, PITH_ERR_MEMORY. */
enum pith_status pith_c_files(struct writer *w, struct pith_export *e, struct pith_error *err);

#endif
