/* SPDX-License-Identifier: MIT */
/* sample_feed.h - a plan and what it is fed: samples, their steps, and the state between
 * calls. */
#ifndef PITH_SAMPLE_FEED_H
#define PITH_SAMPLE_FEED_H

#include "pith_measure.h"

/* One input of the plan. */
struct feeder_input {
    uint64_t bytes;
    uint64_t steps;  /* of a sample of its data set; 1: read straight into the plan */
    uint8_t *buffer; /* owns: a sample of several steps, or the state; NULL: not needed */
};

struct feeder {
    struct pith_plan *plan;       /* borrows */
    struct pith_engine *engine;   /* borrows: runs the plan; NULL: the CPU does */
    const struct pith_feed *feed; /* borrows; NULL: all inputs random */
    struct feeder_input *input;   /* owns: [n_inputs] */
    uint32_t n_inputs;
    uint64_t n_samples; /* 1 where no input comes from a data set */
    uint64_t steps;     /* of one sample */
    bool random;        /* some inputs have nothing to come from */
    bool uneven;        /* samples have several sizes, for each of which the engine plans */
    uint64_t sample;
};

/* Tests feed against plan, names both where they do not fit. random: inputs without a source get
 * seeded numbers, else they are refused. Close in any case: the engine's plan is then again as
 * large as the largest sample. */
enum pith_status pith_feeder_open(struct feeder *f, struct pith_plan *plan,
                                  const struct pith_feed *feed, bool random,
                                  struct pith_error *err);
void pith_feeder_close(struct feeder *f);

/* Begins sample i: its steps follow. */
enum pith_status pith_feeder_sample(struct feeder *f, uint64_t i, struct pith_error *err);
/* Writes every input of one step, to be run next. seed: of random inputs. */
enum pith_status pith_feeder_step(struct feeder *f, uint64_t step, uint64_t seed,
                                  struct pith_error *err);
/* After the run: outputs that come back are kept. */
void pith_feeder_keep(struct feeder *f);

/* Sample i whole: every step loaded, run and kept. */
enum pith_status pith_feeder_run(struct feeder *f, uint64_t i, struct pith_error *err);

#endif
