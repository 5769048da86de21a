/* SPDX-License-Identifier: MIT */
/* bench_side.h - what pith bench times, a side each: one model, or two, or one on several numbers
 * of threads. bench_side.c opens and times them, bench_print.c prints the results. */
#ifndef BENCH_SIDE_H
#define BENCH_SIDE_H

#include "cli/common/cli.h"
#include "explain.h"
#include "pith_load.h"
#include "pith_measure.h"

#define BENCH_SIDES 5 /* at most: columns of a table */

struct bench_options {
    struct cli_common common;
    const char *vs;
    double seconds;
    uint64_t batch;
    bool per_layer, explain, cold, csv;
    uint64_t max_steps;
    const char *device;
    const char *plan;
    const char *threads;
};

struct bench_side {
    const char *path, *device;
    uint32_t threads; /* 0: as many as there are processors */
    struct pith_engine_opts opts;
    struct pith_packed packed;  /* owns */
    struct pith_buffer plan;    /* owns: the plan file, or none */
    struct pith_engine *engine; /* owns */
    struct pith_timing timing;
    double ms_cold;                 /* 0: not requested */
    struct cli_explained explained; /* owns; of the first side, where requested */
    struct pith_roofline roof;      /* of the CPU; zeros: not requested */
    double copy_speed; /* bytes a second on its device; 0: on the CPU, or not requested */
};

struct bench_sides {
    struct bench_side side[BENCH_SIDES];
    uint32_t n;
    bool by_threads; /* all are of one model */
};

/* side: path, device and threads are set. Failures are printed. */
enum cli_exit bench_open(const struct bench_options *o, struct bench_side *side);
void bench_close(struct bench_side *side);
/* Files of open sizes run at those they state, which a stage takes from its data: warns where two
 * sides differ. */
void bench_warn_of_sizes(const struct bench_sides *s);
/* All sides in turn for `seconds` each. */
enum cli_exit bench_measure(struct bench_sides *s, const struct bench_options *o, double seconds);

/* Bytes that a layer moves, on a device those of its memory. */
uint64_t bench_moved_bytes(const struct bench_side *side, uint32_t layer);
/* The share of the time that it would take at least: on the CPU what bounds a layer is its products
 * or its bytes, on a device what a copy takes. 0: it was not measured. */
double bench_share_of_roof(const struct bench_side *side, uint32_t layer);

void bench_print_text(const struct bench_options *o, const struct bench_sides *s);
void bench_print_json(const struct bench_options *o, const struct bench_sides *s);
/* A line a layer of every side. */
void bench_print_csv(const struct bench_sides *s);

#endif
