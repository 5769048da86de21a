/* SPDX-License-Identifier: MIT */
/* pith_sweep.h - many recipes from one: every combination of some values, measured, and the Pareto
 * front of them in bytes and accuracy.
 *
 * A spec is a recipe with one more member, whose keys are paths into it - members and list
 * positions from 0, joined by dots - and whose values are lists of alternatives:
 *
 *     { "pith": 1,
 *       "sweep": { "stages.0.sparsity": [0.8, 0.9, 0.95], "stages.1.bits": [3, 4, 5] },
 *       "stages": [ { "do": "prune" }, { "do": "cluster" }, { "do": "encode" } ] }
 *
 * What a path leads to is put there or replaced; the object or list it lies in must be there,
 * perhaps put there by a path before it. The combinations are numbered from 0; the last key changes
 * fastest.
 *
 *     struct pith_sweep *s;
 *     struct pith_sweep_inputs on = {.size_bytes = sizeof on, .model = model, .model_name =
 * "net.pith"}; pith_sweep_parse(text, n, "grid.json", &s, &err); pith_sweep_bind(s, &on, &err); for
 * (uint64_t i = 0; i < pith_sweep_count(s); i++) if (!pith_sweep_done(s, results, i) &&
 * pith_sweep_run(s, i, model, &opts, &output, &err) == PITH_OK) append(output.line),
 * pith_sweep_output_free(&output);
 *
 * A result is one line of JSON: spec (a checksum of the spec, the model and the data), combination,
 * version (of pith), host, model (name, crc32c), data (name, range, samples, crc32c; where there is
 * any), params, bytes, seconds; with data also top1 (or psnr), before, drop and met. A combination
 * that cannot be run has error in place of these. So results of many processes, models and data
 * sets may be put together in any order. */
#ifndef PITH_SWEEP_H
#define PITH_SWEEP_H

#include "pith_compress.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_sweep;

/* Each value must make a recipe, the other paths at their first value; PITH_ERR_ARGUMENT says what
 * is wrong with the first that does not; also what pith_recipe_parse returns. What fails in other
 * combinations alone shows when these are run. At most 1,000,000 combinations. */
enum pith_status pith_sweep_parse(const char *text, size_t n, const char *name,
                                  struct pith_sweep **sweep, struct pith_error *err);
void pith_sweep_free(struct pith_sweep *sweep); /* accepts NULL */
uint64_t pith_sweep_count(const struct pith_sweep *sweep);
/* What combinations will be run on. */
struct pith_sweep_inputs {
    uint32_t size_bytes;
    const struct pith_model *model;
    const char *model_name;  /* a path: its last part is recorded; NULL: "model" */
    struct pith_data *data;  /* what accuracy is measured on; NULL: it is not */
    const char *data_name;   /* likewise; NULL: "data" */
    const char *range;       /* of it, as it was given; NULL: all */
    struct pith_data *train; /* what recipes train on, if it is another; NULL: none */
    const char *host;        /* the machine, for `seconds`; NULL: not recorded */
};

/* Sets what will be run, and on what: results of other specs, models or data are not this one's,
 * and lines name these. Texts are copied, nothing is kept. As pith_model_pack and pith_data_read;
 * nothing changes on failure. */
enum pith_status pith_sweep_bind(struct pith_sweep *sweep, const struct pith_sweep_inputs *on,
                                 struct pith_error *err);

/* The i-th recipe; the caller owns it. */
enum pith_status pith_sweep_recipe(const struct pith_sweep *sweep, uint64_t i,
                                   struct pith_recipe **recipe, struct pith_error *err);
/* What is set in combination i, as compact JSON; malloc'ed. NULL without memory. */
char *pith_sweep_params(const struct pith_sweep *sweep, uint64_t i);

struct pith_sweep_output {
    char *line;              /* the result without a newline; malloc'ed */
    struct pith_buffer file; /* the model that was made; no bytes where the combination failed */
};

/* Runs combination i on a copy of m; a combination that fails for a reason of its own
 * (PITH_ERR_ARGUMENT, _UNSUPPORTED, _GOAL) is a result, too, and PITH_OK here. Else as
 * pith_compress; stopped by opts->stop: PITH_ERR_ARGUMENT. The caller owns *output, which is
 * untouched on failure. */
enum pith_status pith_sweep_run(const struct pith_sweep *sweep, uint64_t i,
                                const struct pith_model *m, const struct pith_compress_opts *opts,
                                struct pith_sweep_output *output, struct pith_error *err);
void pith_sweep_output_free(struct pith_sweep_output *output); /* leaves it zeroed */

/* ---- results --------------------------------------------------------------------------------- */

struct pith_sweep_point {
    uint64_t combination, bytes;
    double quality; /* top-1 as a fraction, or PSNR in dB; NAN: not measured */
    bool regression;
    double seconds;
    const char *params;               /* compact JSON; borrowed from the results, as what follows */
    const char *spec;                 /* checksum of spec, model and data, 8 hexadecimal digits */
    const char *model, *model_crc32c; /* "": the line does not say */
    const char *data, *data_crc32c;
    uint64_t samples; /* of the data; 0: the line does not say */
};

struct pith_sweep_results {
    uint64_t n_lines, n_foreign; /* lines that are no results of a sweep, as a torn last one */
    uint32_t n;                  /* measured combinations */
    struct pith_sweep_point *point;
    void *json; /* private, as what follows */
    uint32_t room;
    bool sorted;
};

/* Adds the lines of text; *results begins as {0}. Of one spec and combination the last counts. */
enum pith_status pith_sweep_results_add(struct pith_sweep_results *results, const char *text,
                                        size_t n, struct pith_error *err);
void pith_sweep_results_free(struct pith_sweep_results *results);
/* Whether the results hold combination i of this spec and model. */
bool pith_sweep_done(const struct pith_sweep *sweep, const struct pith_sweep_results *results,
                     uint64_t i);
/* Moves the points to the front that no other of the same model and data beats in bytes and
 * quality; returns how many. Points of one model and data, by checksum, lie together, smallest
 * first. Unmeasured quality counts as equal. */
uint32_t pith_sweep_front(struct pith_sweep_results *results);
/* "net-1a2b3c4d-5.pith": the model's name, the spec and the combination of a point, which no other
 * result has. */
#define PITH_SWEEP_NAME_BYTES 300
void pith_sweep_file_name(const struct pith_sweep_point *point, char name[PITH_SWEEP_NAME_BYTES]);
/* Whether two points are of the same model and data, so that they may be compared. */
bool pith_sweep_comparable(const struct pith_sweep_point *a, const struct pith_sweep_point *b);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
