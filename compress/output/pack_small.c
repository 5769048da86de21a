/* SPDX-License-Identifier: MIT */
#include "pack_small.h"
#include "core/tensor.h"

enum pith_status pith_small_bytes(const struct pith_model *m, uint64_t *bytes,
                                  struct pith_error *err)
{
    uint64_t constants = 0;
    struct pith_buffer file;
    *bytes = 0;
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            constants += m->values[i].constant->count * pith_type_bytes(m->values[i].type);
    if (constants >= PITH_SMALL_BYTES)
        return PITH_OK;
    enum pith_status st = pith_model_pack(m, NULL, &file, err);
    if (st)
        return st;
    *bytes = file.bytes;
    pith_buffer_free(&file);
    return PITH_OK;
}

enum pith_status pith_pack_small(const struct pith_model *m, const struct pith_pack_opts *pack,
                                 uint64_t plain_bytes, struct pith_buffer *file,
                                 struct pith_error *err)
{
    struct pith_pack_opts bare = *pack;
    enum pith_status st = pith_model_pack(m, pack, file, err);
    if (st || plain_bytes == 0 || file->bytes <= plain_bytes)
        return st;
    pith_buffer_free(file);
    bare.no_history = true;
    bare.keep_history = false;
    return pith_model_pack(m, &bare, file, err);
}
