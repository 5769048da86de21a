/* SPDX-License-Identifier: MIT */
/* presets.c - recipes by name; what they reach: docs/results/presets.md. deep-compression and qat
 * have the settings of bench/records.sh and bench/qat.sh. How pictures may be moved depends on what
 * they show, so none says: --set train.augment=... does. */
#include "preset.h"

static const struct pith_preset presets[] = {
    {"deep-compression", "Deep Compression: prune in steps, train, cluster, fine-tune, Huffman",
     "prune sparsity=0.9 steps=6 train=true train.epochs=2\n"
     "train epochs=8\n"
     "cluster bits=5\n"
     "train epochs=4 lr=0.0002\n"
     "encode for=size coder=huffman"},
    {"small", "smallest file: prune while training on a grid of 7 levels",
     "train epochs=30 lr=0.0015 sparsity=0.8 prune_until=0.5 levels=3 first_step=1.2 "
     "bias_levels=127 remove_dead_channels=true norms=fold teacher=start\n"
     "encode for=size"},
    {"qat", "quantization-aware training: 4-bit weights and activations",
     "train quantize=w4a4 epochs=8 lr=0.0005\n"
     "encode for=size"},
};

const struct pith_preset *pith_preset_row(uint32_t i)
{
    return i < sizeof presets / sizeof *presets ? &presets[i] : NULL;
}
