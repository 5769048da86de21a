/* SPDX-License-Identifier: MIT */
/* spec_decode.c - a second decoder of .pith, written from docs/format.md and docs/format-streams.md
 * and from nothing else.
 *
 *     spec_decode net.pith        prints what the file holds; exit code 0, or 4: refused
 *
 * It is written to be read beside the two documents: section numbers "F4" and "S3" in comments mean
 * section 4 of format.md and section 3 of format-streams.md. One bit at a time, no tables for
 * speed. A broken rule ends the program with the offset in the file and the rule's words. No file
 * of it includes a header of pith's.
 *
 * Here is the order of things. The headers say what the other files do; each file builds on those
 * above it:
 *
 *     spec_bytes      F1 F12 S1   refusing, numbers, texts, bits
 *     spec_chunks     F1 F2 F3    headers and chunks
 *     spec_huffman    S2          Huffman tables
 *     spec_rans       S10         rANS tables and streams
 *     spec_classes    S11         tensors coded by classes
 *     spec_tables     F6 S5       the list of tables
 *     spec_coded      S3          coded streams
 *     spec_tensor     F5 F6       what is known of a tensor
 *     spec_support    S5          which elements are stored
 *     spec_codebook   S6          centroids
 *     spec_model      S8          adaptive streams: arithmetic code, counters, mixed decisions
 *     spec_adaptive   S8          their elements
 *     spec_values     S4 S9 F5    the elements of any tensor
 *     spec_streams    F5 F6       where a tensor's streams lie
 *     spec_heads      F5          the heads of tensors
 *     spec_print                  the lines about tensors
 *     spec_operators  F11         operators and attributes
 *     spec_graph      F4          inputs, tensors, nodes, bodies, outputs
 *     spec_notes      F7 F8 F9    names, meta, history
 *     spec_observed   F10         ranges
 *
 * Not done: shapes of computed values (the last sentence of F4) and arithmetic.
 *
 * Lines that begin with a blank print how something is coded; the others print what the network is.
 * Names and texts are escaped. `hash` is FNV-1a, 64 bits, over the elements of the tensor in memory
 * order: f32 little-endian after codebook and support; other types as their bytes. */
#include <stdio.h>
#include "spec_chunks.h"
#include "spec_graph.h"
#include "spec_notes.h"
#include "spec_observed.h"
#include "spec_tables.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: spec_decode file.pith\n");
        return 2;
    }
    read_file(argv[1]);
    read_header();
    printf(" header %s, %zu bytes\n", compact ? "compact" : "full", file_bytes);
    huff_chunk = chunk[HUFF];
    struct counts counts = read_graph(chunk[GRPH], chunk[DATA]);
    if (has_chunk[NAME]) {
        read_names(chunk[NAME], counts.n_values, counts.n_nodes);
    }
    read_meta(chunk[META]);
    read_history(chunk[HIST]);
    read_observed(chunk[STAT], counts.n_values);
    return 0;
}
