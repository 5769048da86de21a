/* SPDX-License-Identifier: MIT */
/* facts.h - all that a report says, before it is written: gathered from the models, a run over the
 * samples and the logs of other commands. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include "pith_pack.h"
#include "pith_report.h"
#include "pith_sweep.h"
#include "measure/class_output.h"

#define REPORT_BINS 48u
#define REPORT_LEVELS 256u

/* One of the two models. */
struct report_side {
    const char *name;
    const struct pith_packed *packed; /* borrowed; NULL: there is no such model */
    struct pith_model *m;             /* owns: decoded, normalizations folded */
    struct pith_weight_ref *ref;      /* owns: [n_refs] weights of m */
    uint32_t n_refs;
    uint64_t *bytes; /* owns: [n_refs] each weight takes in the file */
    uint64_t file_bytes;
    bool onnx;                         /* the file is no .pith */
    struct pith_byte_account *account; /* owns */
    struct pith_engine *engine;        /* owns */
    struct pith_engine *outline;       /* owns: of one thread, describes itself and does not run */
    struct pith_need need;
    uint64_t macs;
    double ms; /* median; 0: not measured */
    /* Of each sample: the class that is predicted (n_classes: none), and its probability. */
    uint32_t *top;      /* owns: [n_samples]; NULL: no classes */
    float *probability; /* owns: [n_samples] */
    uint64_t correct, labelled;
};

/* What a step of the plan takes, as energy_45nm.c reckons it. */
struct report_energy {
    double arithmetic, weights, activations; /* joules of one inference */
};

/* One weight of the network. */
struct report_weights {
    double low, high;
    uint64_t bin[2][REPORT_BINS]; /* before (has_before), after */
    bool has_before;
    uint32_t n_levels; /* distinct values; 0: more than REPORT_LEVELS */
    double level[REPORT_LEVELS];
    uint64_t level_count[REPORT_LEVELS];
};

struct report_pictures {
    struct pith_buffer weight, activation;       /* own; data NULL: none */
    uint32_t weight_side[2], activation_side[2]; /* columns and rows of pixels */
    uint32_t n_maps, n_channels; /* of the activation: shown, and all; n_maps 0: one strip */
};

struct report_layer {
    const char *name, *op; /* name is never empty */
    char own_name[64];     /* what name points to where the file has none */
    char shape[96];
    uint64_t count, nonzeros, bytes, before_bytes;
    double bits;
    const char *grid, *code;
    uint32_t vs;        /* the weight of the other model; UINT32_MAX: none */
    uint32_t node;      /* of the model as packed */
    bool integers;      /* stored as such, and no scale is known: histograms are of integers */
    double weight_db;   /* SQNR of the weight against the other model's; NAN: not known */
    double alone_db;    /* SQNR of the outputs with only this weight changed; NAN: not measured */
    double layer_db;    /* SQNR of what the layer gives, in the whole network; NAN: not measured */
    const char *kernel; /* NULL: its step is not known */
    uint64_t macs;
    double ms; /* fastest run; NAN: not measured */
    struct report_energy before, after;
    struct report_weights weights;
    struct report_pictures picture;
};

/* A sample whose prediction changed. */
struct report_change {
    uint64_t sample;
    char name[128];
    int64_t label; /* PITH_NO_LABEL: none */
    uint32_t top[2];
    float probability[2];
    struct pith_buffer png; /* owns; data NULL: no picture */
};
#define REPORT_CHANGES 12u

struct report {
    const struct pith_report_opts *o;
    struct pith_error *err;
    struct report_side side[2]; /* before (may be none), after */
    struct report_layer *layer; /* owns: [n_layers] weights of the second */
    uint32_t n_layers;
    /* samples */
    uint64_t n_samples;
    uint32_t n_classes;               /* 0: output 0 is no row of classes */
    int64_t *label;                   /* owns: [n_samples]; NULL: none */
    struct pith_accuracy accuracy[2]; /* of regression; samples 0: not measured */
    uint64_t agree;
    uint64_t n_changed;
    struct report_change change[REPORT_CHANGES];
    uint32_t n_changes;
    const char *class_names; /* borrowed; NULL: none */
    /* the two models on some samples */
    struct pith_comparison compared; /* samples 0: not compared */
    bool random;                     /* on random inputs */
    uint64_t sense_samples;
    struct report_energy before, after; /* of the whole network */
    /* logs */
    double *curve[5]; /* own: [n_epochs] epoch, loss, top1, val_loss, val_top1; NAN: none */
    uint32_t n_epochs;
    bool curve_of_files;             /* curve[0] is their bytes */
    struct pith_sweep_results sweep; /* owns; n_front of them on the Pareto front */
    uint32_t n_front;
};

/* All of it. *r is zeroed but for o and err; free in any case. */
enum pith_status pith_report_gather(struct report *r);
void pith_report_free(struct report *r);

/* ---- parts ---------------------------------------------------------------------------------- */

enum pith_status pith_report_open_side(struct report *r, uint32_t side);
enum pith_status pith_report_layers(struct report *r);
enum pith_status pith_report_weights(struct report *r);
/* Kernels, operations, time and energy, from the plan of the second model. */
enum pith_status pith_report_steps(struct report *r);
enum pith_status pith_report_runs(struct report *r);
enum pith_status pith_report_errors(struct report *r);
enum pith_status pith_report_activations(struct report *r);
enum pith_status pith_report_logs(struct report *r);
/* Each side's time and its layers', where opts.seconds > 0. */
enum pith_status pith_report_times(struct report *r);

/* What a layer that computes `macs` products takes; active_bytes: of activations that it reads and
 * writes; weight_bytes: fetched from DRAM. integers: 8-bit products, else f32. */
struct report_energy pith_energy_45nm(double macs, double weight_bytes, double active_bytes,
                                      bool integers);
double pith_energy_sum(const struct report_energy *e);

/* PITH_ERR_STOPPED where the caller ends the work. */
enum pith_status pith_report_progress(struct report *r, const char *part, uint64_t done,
                                      uint64_t all);
/* Weight `ref` of m as numbers, row-major as stored: x [count]. Integers, where like is not NULL,
 * come as the same weight of floats: each row in its order, multiplied by the scale that fits a row
 * of `like` [rows, cols] best. *integers: they are integers still. PITH_ERR_UNSUPPORTED: of another
 * type; PITH_ERR_MEMORY. */
enum pith_status pith_weight_numbers(const struct pith_model *m, const struct pith_weight_ref *ref,
                                     const float *like, float *x, bool *integers);
/* Name of a class: "17", or "17 tench" where names are known. to: room bytes; returns to. */
const char *pith_class_text(const struct report *r, int64_t c, char *to, size_t room);

/* A picture of a weight, cut to `most` pixels a side (0: PITH_ERR_LIMIT beyond 16384). */
enum pith_status pith_weight_picture(const struct pith_weight_array *w, uint32_t most,
                                     struct pith_buffer *png, uint32_t side[2]);
/* A layer's activation as maps of grey: [1, C, H, W] as C maps, at most 16; others row by row.
 * x: [count of t]. */
enum pith_status pith_map_picture(const float *x, const struct pith_tensor *t, uint32_t side,
                                  struct report_layer *l);

/* All numbers as JSON, fit to stand in a <script>. */
enum pith_status pith_report_json(const struct report *r, struct pith_buffer *text);

#endif
