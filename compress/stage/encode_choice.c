/* SPDX-License-Identifier: MIT */
/* encode_choice.c - whether encode looks for the smaller code itself. */
#include "pith_stage.h"

bool pith_encode_chooses(const struct pith_encode_opts *o)
{
    return o->compact && !o->plain && !o->huffman && !o->adaptive;
}
