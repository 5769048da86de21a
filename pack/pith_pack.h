/* SPDX-License-Identifier: MIT */
/* pith_pack.h - where the bytes of a .pith go, to the last one.
 *
 *     struct pith_byte_account *a;
 *     if (pith_byte_account_new(file.data, file.bytes, &a, &err)) ...
 *     for (uint32_t s = 0; s < PITH_SECTIONS; s++)
 *         printf("%s %llu | ", pith_section_name(s), a->section[s]);     // sums to a->total
 *     pith_byte_account_free(a); */
#ifndef PITH_PACK_H
#define PITH_PACK_H

#include "pith_model.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_pack_opts {
    uint32_t size_bytes;
    bool compact;      /* the compact header: no names, no history unless keep_history */
    bool keep_history; /* with `compact`: the history and observed ranges */
    bool full;         /* the full header for a small network, too: plain weights lie aligned */
    bool no_history;   /* without `compact`: neither */
    bool plain;        /* nothing is entropy-coded: for an image that runs at once */
};

/* The bytes of a .pith; the caller owns *file. The same model gives the same bytes. Without
 * `compact`, too, the header is compact where the streams of all tensors take less than 16 KiB, or
 * their alignment more than a 512th of that: a full header could make the file larger than an ONNX
 * file of the network. Names and history are kept. */
enum pith_status pith_model_pack(const struct pith_model *m, const struct pith_pack_opts *opts,
                                 struct pith_buffer *file, struct pith_error *err);

/* About how long one core decodes the constants of a .pith (checked bytes, as packed), in seconds:
 * elements in adaptive streams and in Huffman codes times a stated cost of each, the same on every
 * machine. PITH_ERR_MEMORY, PITH_ERR_CORRUPT; *seconds is then untouched. */
enum pith_status pith_load_seconds(const struct pith_buffer *file, double *seconds);

/* The same, whole or not at all, to path: pith_file_write with `replace`, else pith_file_write_new.
 * The weights that the file holds as the model does go straight from the model: the memory taken is
 * that of what is coded. *bytes (may be NULL): the size of the file. PITH_ERR_IO too. */
enum pith_status pith_model_write(const struct pith_model *m, const struct pith_pack_opts *opts,
                                  const char *path, bool replace, uint64_t *bytes,
                                  struct pith_error *err);

enum pith_section {
    PITH_SECTION_HEADER = 0, /* magic, version, chunk table */
    PITH_SECTION_GRAPH = 1,  /* nodes, attributes, shapes, lengths of streams */
    PITH_SECTION_NAMES = 2,
    PITH_SECTION_TABLES = 3, /* Huffman and support tables */
    PITH_SECTION_CODEBOOKS = 4,
    PITH_SECTION_SUPPORTS = 5, /* bitmaps and coded gaps */
    PITH_SECTION_INDICES = 6,  /* plain or coded */
    PITH_SECTION_VALUES = 7,   /* plain elements of weights (rank 2 and more) */
    PITH_SECTION_BIASES = 8,   /* plain elements of all other tensors */
    PITH_SECTION_META = 9,
    PITH_SECTION_HISTORY = 10,
    PITH_SECTION_RANGES = 11, /* observed ranges */
    PITH_SECTION_OTHER = 12,  /* chunks that this version does not know */
    PITH_SECTION_PADDING = 13,
    PITH_SECTION_CHECKSUMS = 14,
    PITH_SECTIONS = 15
};

const char *pith_section_name(enum pith_section section); /* "header", "graph", ... */

struct pith_tensor_bytes {
    uint64_t support, codebook, index, values; /* one of the last two is 0 */
    uint32_t table;  /* bytes of the tables this tensor is the first to use */
    uint32_t shared; /* tables that it uses and others pay for: 0..2 */
    /* What it is, from the graph, without decoding a stream. */
    uint64_t kept;         /* elements stored */
    uint32_t n_centroids;  /* of a codebook for each group; 0: none */
    enum pith_type stored; /* without codebook: of an element in the file. What is coded as f32 may
                              be found to hold f16 or bf16 numbers when it is read */
    enum pith_code code;
    uint8_t trellis; /* states; 0: none */
};

struct pith_byte_account {
    uint64_t total; /* of the file; the sum of all sections */
    uint64_t section[PITH_SECTIONS];
    uint32_t parts; /* bits of PITH_BUILD_PARTS (build_choice.h) that a runtime needs to read it */
    bool coded;     /* some weight is stored otherwise than as plain elements of dense support */
    uint32_t n_tensors;
    /* One for each constant, in the order of the file: constants of the model that
     * pith_model_read gives, values n_inputs, n_inputs + 1, ... */
    struct pith_tensor_bytes *tensor;
};

/* The file is validated first. Free with pith_byte_account_free. PITH_ERR_CORRUPT, _VERSION,
 * _UNSUPPORTED, _MEMORY. */
enum pith_status pith_byte_account_new(const void *file, size_t n,
                                       struct pith_byte_account **account, struct pith_error *err);
void pith_byte_account_free(struct pith_byte_account *account); /* accepts NULL */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
