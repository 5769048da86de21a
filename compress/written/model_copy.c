/* SPDX-License-Identifier: MIT */
#include "model_copy.h"

#include "pith_load.h"
#include "pith_pack.h"

enum pith_status pith_stage_copy_model(const struct pith_model *m, struct pith_model **copy,
                                       struct pith_error *err)
{
    const struct pith_pack_opts pack = {.size_bytes = sizeof pack, .keep_names = true};
    struct pith_buffer file;
    enum pith_status st = pith_model_pack(m, &pack, &file, err);
    if (st)
        return st;
    st = pith_model_read(file.data, file.bytes, "the network", NULL, NULL, copy, err);
    pith_buffer_free(&file);
    return st;
}
