/* SPDX-License-Identifier: MIT */
/* .npy and .npz: what is read can be written and read again with the same meaning. */
#include <stdlib.h>
#include <string.h>
#include "data/data_source.h"
#include "data/npy_header.h"
#include "core/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void npy_round_trip(const uint8_t *bytes, size_t n)
{
    struct pith_error err;
    struct pith_array a, b;
    struct pith_buffer file;
    if (pith_npy_read(bytes, n, "fuzz", &a, &err))
        return;
    if (pith_npy_write(a.type, a.rank, a.dim, a.data, &file, &err) == PITH_OK) {
        if (pith_npy_read(file.data, file.bytes, "again", &b, &err) || b.type != a.type ||
            b.count != a.count ||
            memcmp(a.data, b.data, (size_t)(a.count * pith_type_bytes(a.type))) != 0)
            abort();
        pith_array_free(&b);
        free(file.data);
    }
    pith_array_free(&a);
}

static void open_npz(const uint8_t *bytes, size_t n)
{
    struct data_source s = {.max_bytes = 1 << 22};
    struct pith_error err;
    s.file =
        (struct file_source){.fd = -1, .mem = malloc(n + 1), .bytes = n, .name = strdup("fuzz")};
    if (!s.file.mem || !s.file.name)
        abort();
    memcpy(s.file.mem, bytes, n);
    if (pith_zip_open(&s, &err) == PITH_OK) {
        float *x = s.pictures ? NULL : malloc(s.elems * sizeof *x);
        if (x)
            s.numbers(&s, s.n_samples - 1, x, &err);
        free(x);
    }
    free(s.labels);
    free(s.targets);
    free(s.packed);
    pith_list_free(&s.list);
    pith_source_close(&s.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (pith_is_npy(bytes, n))
        npy_round_trip(bytes, n);
    else
        open_npz(bytes, n);
    return 0;
}
