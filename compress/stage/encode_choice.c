/* SPDX-License-Identifier: MIT */
/* encode_choice.c - whether encode chooses the code itself. */
#include "pith_stage.h"

bool pith_encode_chooses(const struct pith_encode_opts *o)
{
    if (!o)
        return false;
    return !o->plain && !o->huffman && !o->adaptive && !o->rans;
}
