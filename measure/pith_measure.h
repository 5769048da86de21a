/* SPDX-License-Identifier: MIT */
/* pith_measure.h - what a model does: its answers, its accuracy, how it differs from another, how
 * long it takes. The toolchain has no second executor: everything here runs the runtime.
 *
 *     struct pith_engine *e;
 *     pith_engine_open(model, NULL, &e, &err);
 *     struct pith_feed_input x = {.data = data};
 *     struct pith_feed feed = {.size_bytes = sizeof feed, .input = &x, .n_inputs = 1};
 *     struct pith_accuracy a;
 *     pith_evaluate(e, &feed, NULL, &a, &err);
 *     printf("%.2f%%\n", 100.0 * a.correct1 / a.predictions);
 *     pith_engine_close(e);
 */
#ifndef PITH_MEASURE_H
#define PITH_MEASURE_H

#include "pith_model.h"
#include "pith_load.h"
#include "pith_data.h"
#include "pith_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A model made ready to run: its image, a plan and a thread pool. */
struct pith_engine;

struct pith_engine_opts {
    uint32_t size_bytes;
    uint32_t threads;  /* 0: 1 */
    uint32_t cpu_mask; /* as pith_opts */
    uint32_t batch;    /* as pith_opts */
    uint32_t flags;    /* as pith_opts */
    bool profile;      /* time every layer */
    bool ordered;      /* sums of one order (&pith_ordered_sums): what decides bytes of a file */
    void *user;
    void (*observe)(void *user, const struct pith_layer *layer, const struct pith_tensor *out);
    uint64_t max_steps;           /* as pith_opts */
    int (*stop)(void *stop_user); /* as pith_opts */
    void *stop_user;
    const uint8_t *choices; /* as pith_opts; borrowed until the engine is closed */
    uint32_t n_choices;
    const void *plan_file; /* borrowed until the engine is closed: the plan must be as it says */
    size_t plan_file_bytes;
    const char *plan_name; /* of the file, for messages; NULL: it has none */
    /* Where it runs: "cpu", "cuda:N" or "auto", which runs the model on both and keeps the faster;
     * with ",f16" behind, products there may be of 16-bit floats (PITH_CUDA_F16). NULL: "cpu".
     * Where that device cannot be had, or is lost, the CPU takes over, and pith_engine_note says
     * why; with device_or_fail it is PITH_ERR_UNSUPPORTED. */
    const char *device;
    bool device_or_fail;
    const char *blas;                /* as pith_cuda_allow_blas; NULL: not allowed */
    const struct pith_engine *share; /* runs on this engine's threads, which take turns; it is
                                        closed after the others. NULL: on `threads` of its own */
    /* An engine of the same model, with these options, which runs as long: its image is run, and
     * weights are read in the form that its plan has. NULL: they are this engine's own. */
    const struct pith_engine *weights_of;
};

/* Packs m in memory; m may be freed afterwards. opts may be NULL. */
enum pith_status pith_engine_open(const struct pith_model *m, const struct pith_engine_opts *opts,
                                  struct pith_engine **engine, struct pith_error *err);
/* The same of what is packed already: borrows packed->data until pith_engine_close. The memory
 * taken is what the plan needs. PITH_ERR_CORRUPT too: a stream of the image is broken. */
enum pith_status pith_engine_open_packed(const struct pith_packed *packed,
                                         const struct pith_engine_opts *opts,
                                         struct pith_engine **engine, struct pith_error *err);
void pith_engine_close(struct pith_engine *engine); /* accepts NULL */
struct pith_plan *pith_engine_plan(struct pith_engine *engine);
/* As the device is called that it runs on; NULL: it is the CPU. */
const char *pith_engine_device(const struct pith_engine *engine);
/* One line: why it is not the requested device; "": it is. */
const char *pith_engine_note(const struct pith_engine *engine);
/* Whether step `layer` runs on the CPU. */
bool pith_engine_on_cpu(const struct pith_engine *engine, uint32_t layer);
/* Bytes that the layer reads and writes on the device at least, weights as they are there; 0 on the
 * CPU. And how many bytes a second a long copy reads and writes there, 0 without a device.
 * PITH_ERR_MEMORY, _IO. */
uint64_t pith_engine_layer_bytes(const struct pith_engine *engine, uint32_t layer);
enum pith_status pith_engine_copy_speed(struct pith_engine *engine, double *bytes_per_s,
                                        struct pith_error *err);

/* What the engine's threads and instruction sets can do at most on this CPU, measured: some 100 ms
 * and 64 MiB. flops_per_s: of f32 products, an addition and a multiplication count 2; 0: there is
 * no vector kernel. Bytes are read: of 260 KiB a thread, and of 64 MiB. PITH_ERR_MEMORY. */
struct pith_roofline {
    double flops_per_s, cache_bytes_per_s, memory_bytes_per_s;
};
#define PITH_ROOFLINE_CACHE_BYTES                                                                  \
    (1u << 20) /* what is larger is held against memory, unless it came faster */
enum pith_status pith_engine_roofline(struct pith_engine *engine, struct pith_roofline *roof,
                                      struct pith_error *err);
/* Bytes that a layer reads and writes, each once: its weights as they are executed, inputs,
 * residual, outputs. */
uint64_t pith_engine_moved_bytes(const struct pith_engine *engine, uint32_t layer);
/* Whether opts.device may be this text. */
bool pith_engine_device_known(const char *text);
size_t pith_engine_file_bytes(const struct pith_engine *engine); /* of the image */
struct pith_need pith_engine_need(const struct pith_engine *engine);

/* Called now and then with the number done; false stops the work (PITH_ERR_ARGUMENT with a text).
 */
struct pith_watch {
    bool (*step)(void *user, uint64_t done);
    void *user;
};

/* ---- what a model is fed --------------------------------------------------------------------- */

/* One input of the model: a sample of a data set, or the same values at every call. */
struct pith_feed_input {
    struct pith_data *data; /* borrowed */
    const void *constant;   /* [bytes of the input], borrowed */
};

/* An output that is the input of the next call. The state begins with `first` (NULL: zeros). */
struct pith_state {
    uint32_t output, input;
    const void *first; /* [bytes of the input], borrowed */
};

/* Every input has exactly one source: a data set, a constant or a state; the data sets have equally
 * many samples. With states, a sample of a data set may be several inputs long
 * (pith_data_opts.steps): it is then a sequence, called step by step, the state beginning anew with
 * each sample, and what counts is the answer to the last step. Where samples are one input long
 * they are the steps of one stream: the state passes from sample to sample, and each answer counts.
 */
struct pith_feed {
    uint32_t size_bytes;
    uint32_t n_inputs;
    const struct pith_feed_input
        *input; /* [n_inputs], in the order of the model's inputs; borrowed */
    uint32_t n_states;
    const struct pith_state *state; /* borrowed */
    /* Samples of several sizes (pith_data_uneven) run at their own: the engine's plan is then
     * another for each. Else filled up with zeros, as they are read. */
    bool own_sizes;
};

/* Does every source given fit the model? Inputs may still lack one. PITH_ERR_ARGUMENT, _MEMORY. */
enum pith_status pith_feed_check(struct pith_engine *engine, const struct pith_feed *feed,
                                 struct pith_error *err);
/* Samples of the feed: 1 where nothing comes from a data set. */
uint64_t pith_feed_count(const struct pith_feed *feed);
/* The first data set with labels or targets, which say what is right; NULL: none has. */
struct pith_data *pith_feed_labels(const struct pith_feed *feed);

/* Runs the samples one after the other and calls taken after each (after its last step, where it is
 * a sequence), while its outputs lie in the plan; false stops (PITH_ERR_ARGUMENT).
 * PITH_ERR_ARGUMENT (the feed does not fit the model), _MEMORY and what pith_data_read returns. */
enum pith_status pith_feed_run(struct pith_engine *engine, const struct pith_feed *feed,
                               bool (*taken)(void *user, uint64_t sample), void *user,
                               struct pith_error *err);

/* ---- accuracy -------------------------------------------------------------------------------- */

struct pith_accuracy {
    uint64_t samples;
    bool positions; /* labels are of each position; those of no class (pith_data_labels) do not
                       count */
    uint64_t predictions; /* samples, or positions that count; 0 of regression */
    uint64_t correct1, correct5;
    uint64_t n_nan; /* predictions with a score that is NaN: such a one is of no class, and wrong */
    double loss; /* mean cross-entropy in nats; outputs that are no probabilities are softmaxed */
    double perplexity; /* exp(loss) */
    double mse, psnr;  /* regression data (targets as large as the output); psnr for peak 1 */
    bool regression;
};

/* Runs every sample once. One data set has labels or targets, the first of them counts: else
 * PITH_ERR_ARGUMENT. */
enum pith_status pith_evaluate(struct pith_engine *engine, const struct pith_feed *feed,
                               const struct pith_watch *watch, struct pith_accuracy *accuracy,
                               struct pith_error *err);

/* Are these scores probabilities already: n >= 1 numbers in 0..1 whose sum is within 1e-3 of 1?
 * Else the loss takes them for logits, and their softmax is what the model thinks of each class. */
bool pith_scores_are_probabilities(const float *score, uint64_t n);

/* confusion[label * n_classes + answer], zeroed by the caller; n_classes: elements of output 0, of
 * each position where those have labels. */
enum pith_status pith_confusion(struct pith_engine *engine, const struct pith_feed *feed,
                                const struct pith_watch *watch, uint64_t *confusion,
                                uint32_t n_classes, struct pith_error *err);

/* ---- differences ----------------------------------------------------------------------------- */

/* What one computed value was, each time it was: the first axis of the array counts the times
 * (samples, steps, and rounds of a loop). */
struct pith_dump {
    const char *name;  /* of the layer; borrowed */
    const char *label; /* what errors call it; NULL: name; borrowed */
    uint32_t step;     /* its number in the model; several layers may have one name */
    uint32_t output;   /* which of its outputs */
    enum pith_type type;
    uint32_t rank; /* of one time */
    uint32_t dim[PITH_MAX_RANK];
    uint64_t n_samples, n_bytes, room;
    uint8_t *data; /* owned: pith_dump_free */
    enum pith_status
        status; /* what prevented more: PITH_ERR_MEMORY, _UNSUPPORTED (shape changed) */
};
/* For an observer: appends *out to each dump of that output. */
void pith_dump_see(struct pith_dump *dump, uint32_t n, const struct pith_layer *layer,
                   const struct pith_tensor *out);
/* The bytes of a .npy. PITH_ERR_ARGUMENT: no layer gives it; the caller owns *file. */
enum pith_status pith_dump_npy(const struct pith_dump *dump, struct pith_buffer *file,
                               struct pith_error *err);
void pith_dump_free(struct pith_dump *dump);

/* The figures are those of difference.h, of pairs of numbers that are finite in both. */
struct pith_difference {
    char layer[256];
    uint64_t elements;
    uint64_t nonfinite_a, nonfinite_b; /* NaN or infinite in A (B), and something else in B (A) */
    uint64_t nonfinite_both;           /* the same in both: NaN, or infinities of one sign */
    double snr_db; /* 10 log10(sum a^2 / sum (a-b)^2); HUGE_VAL: all equal; -HUGE_VAL: nonfinite_a
                      or nonfinite_b are not 0 */
    double cosine;
    double max_abs; /* HUGE_VAL as for snr_db */
    double range;   /* max(a) - min(a) */
    bool equal_bits;
    /* Where B has integers with a known grid: */
    bool integers;
    double step, low, high;  /* of the grid: its coarsest step, its ends */
    double grid_db;          /* SQNR that the grid alone would leave of A's numbers */
    double clipped;          /* share of these beyond its ends */
    double clip_db;          /* SQNR that cutting them alone would leave */
    uint32_t dead, channels; /* channels always 0 with integers, and not before; of so many */
};

struct pith_comparison {
    uint64_t samples;     /* of sequences: calls */
    uint64_t predictions; /* of output 0: one a sample, or as many as it has rows of classes */
    uint64_t agree;       /* of these, with the same top-1 class */
    bool classes;         /* output 0 of A is classes (class_output.h) */
    double kl, kl_se;     /* then: mean KL(A || B) over samples, in nats, and its standard error */
    double logit_db;      /* and the SQNR of its logits, each row less its mean */
    struct pith_difference output;   /* the worst of the outputs, by SQNR; layer: its name */
    struct pith_difference *outputs; /* in A's order, paired with B's by name; malloc'ed */
    uint32_t n_outputs, worst;       /* which of them `output` is */
    struct pith_difference *layers; /* in A's order of execution: values both models name, as floats
                                       or as integers with a grid. malloc'ed */
    uint32_t n_layers;
};

struct pith_compare_opts {
    uint32_t size_bytes;
    const struct pith_feed *feed; /* NULL: all inputs are random */
    uint64_t n_random;            /* samples where no data set counts them; 0: 4 */
    uint64_t seed;                /* of random inputs: standard normal */
    bool layers;                  /* also every value that both models compute under one name */
    const struct pith_engine_opts *engine; /* NULL: defaults */
    const struct pith_watch *watch;        /* NULL: none */
    uint32_t n_dumps;                      /* values to keep of A and of B, by name */
    struct pith_dump *dump_a, *dump_b;     /* [n_dumps] each, zeroed but for the layer */
    const struct pith_packed *packed_a,
        *packed_b; /* what is run where A, B are outlines; NULL: A, B */
};

/* Runs A and B on the same samples. Free with pith_comparison_free. */
enum pith_status pith_compare(const struct pith_model *a, const struct pith_model *b,
                              const struct pith_compare_opts *opts,
                              struct pith_comparison *comparison, struct pith_error *err);
void pith_comparison_free(struct pith_comparison *comparison);

/* ---- weights --------------------------------------------------------------------------------- */

enum pith_weight_finding_kind {
    PITH_WEIGHT_NONFINITE = 1, /* count elements are NaN or infinite */
    PITH_WEIGHT_DENORMAL = 2,  /* count elements are not 0 and below 2^-126 */
    PITH_WEIGHT_DEAD = 3,      /* count output channels hold nothing but zeros */
    PITH_WEIGHT_OUTLIER = 4 /* the largest is more than 10 times what 99.9 % of the nonzero weights
                               stay below (of 1,000 or more); count elements are that large */
};

/* Texts are borrowed from the model. */
struct pith_weight_finding {
    enum pith_weight_finding_kind kind;
    const char *layer, *tensor;
    uint64_t count, of;   /* of so many elements, or channels */
    uint64_t first;       /* number of the first of them; of the largest element for outliers */
    double largest, rest; /* outliers: the magnitudes compared */
};

/* Looks at every f32 constant for the first two kinds, at those of pith_model_weights for the
 * others. *list is malloc'ed (may be NULL where *n is 0), in the order of the model.
 * PITH_ERR_MEMORY. */
enum pith_status pith_weight_check(const struct pith_model *m, struct pith_weight_finding **list,
                                   uint32_t *n, struct pith_error *err);

/* ---- time ------------------------------------------------------------------------------------ */

struct pith_timing {
    double ms_median, ms_min, ms_p90;
    uint32_t runs;
    uint64_t page_faults; /* of the process during these runs, the warm-ups not counted */
};

/* Runs the plan on a fixed seeded input for about `seconds`, at least 5 times after 2 warm-ups. */
enum pith_status pith_time(struct pith_engine *engine, double seconds, struct pith_timing *timing,
                           struct pith_error *err);

/* Milliseconds of the median of 11 runs on the same input, before each of which the engine's
 * threads write over 128 MiB, or twice the last cache: weights, plan and what the network keeps
 * between layers come from memory. Only of engines on the CPU. PITH_ERR_MEMORY, and those of a run.
 */
enum pith_status pith_time_cold(struct pith_engine *engine, double *ms, struct pith_error *err);

/* The fastest run of a layer, of all that pith_time has done so far: single runs, and so their last
 * one, hold interruptions longer than the layer. 0 before, or where the engine does not profile. */
uint64_t pith_engine_layer_ns(const struct pith_engine *engine, uint32_t layer);

/* Seeded inputs, standard normal, for models without data at hand; inputs that are not f32 are 0.
 */
void pith_fill_normal(struct pith_plan *plan, uint64_t seed);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
