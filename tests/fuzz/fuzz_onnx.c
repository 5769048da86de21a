/* SPDX-License-Identifier: MIT */
/* fuzz_onnx.c - any bytes as an ONNX file. What import accepts must have consistent shapes, fold
 * its batch normalizations, and export to a file that imports again. Seven of eight changes are of
 * the graph (onnx_mutator.h), the eighth of bytes. */
#include <stdlib.h>
#include <string.h>
#include "onnx_mutator.h"
#include "kernels/crc32c.h"
#include "onnx/onnx_read.h"

#define MAX_BYTES (64u << 20)

static void must(int ok)
{
    if (!ok)
        abort();
}

static void check_accepted(struct pith_model *m, bool written)
{
    struct pith_error err;
    struct pith_buffer file;
    must(pith_model_infer_shapes(m, &err) == PITH_OK);
    must(pith_model_fold_batch_norm(m, NULL, &err) == PITH_OK);
    must(pith_model_infer_shapes(m, &err) == PITH_OK);
    if (!written)
        return;
    enum pith_status status = pith_model_write_onnx(m, &file, &err);
    if (status == PITH_ERR_UNSUPPORTED)
        return;
    must(status == PITH_OK);
    struct pith_model *back = NULL;
    must(pith_onnx_read(file.data, file.bytes, "back.onnx", NULL, &back, &err) == PITH_OK);
    must(back->n_outputs == m->n_outputs);
    pith_model_free(back);
    pith_buffer_free(&file);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t n = seed % 8 ? mutate_onnx(data, size, max_size, seed / 8) : 0;
    return n ? n : LLVMFuzzerMutate(data, size, max_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(const uint8_t *bytes, size_t n, const struct pith_import_opts *opts)
{
    struct pith_error err = {0};
    struct pith_onnx_report *report = NULL;
    if (pith_onnx_check(bytes, n, "fuzz.onnx", opts, &report, &err) == PITH_OK)
        pith_onnx_report_free(report);
    else
        must(err.status != PITH_OK && strncmp(err.text, "fuzz.onnx: ", 11) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = MAX_BYTES};
    struct pith_error err = {0};
    struct pith_model *m = NULL;
    /* One file of 8, chosen by its bytes, is checked, too; another is written and read again. */
    uint32_t turn = pith_crc32c(0, bytes, n) % 8;
    if (turn == 0)
        check(bytes, n, &opts);
    if (pith_onnx_read(bytes, n, "fuzz.onnx", &opts, &m, &err) == PITH_OK) {
        check_accepted(m, turn == 1);
        pith_model_free(m);
    } else {
        must(err.status != PITH_OK && err.text[0] != 0);
    }
    return 0;
}
