/* SPDX-License-Identifier: MIT */
/* pith_runtime.h - execute a compressed network.
 *
 * The core (all of this header but pith_plan_size) allocates nothing, opens nothing, prints nothing
 * and keeps no global state: three calls turn a model image in memory into a running plan in memory
 * you own.
 *
 *     struct pith_opts o;
 *     pith_opts_init(&o, sizeof o);
 *     struct pith_need need;
 *     if (pith_plan_size(blob, blob_bytes, &o, &need)) ...      // validates everything, once
 *     void *mem = aligned_alloc(need.align, need.bytes);        // or a static array
 *     struct pith_plan *plan;
 *     if (pith_plan_init(mem, need.bytes, blob, blob_bytes, &o, &plan)) ...
 *     memcpy(pith_plan_input_data(plan, 0), image, ...);
 *     pith_plan_run(plan);
 *     const float *scores = pith_plan_output_data(plan, 0);
 *
 * There is nothing to free: a plan lives in `mem`. The blob must stay readable and unchanged as
 * long as the plan lives (weights stored plain are used where they lie).
 *
 * Threads: calls on different plans may run at once, also when they share one blob. Calls on one
 * plan must not overlap. Programs with an operating system find mmap, a thread pool and texts in
 * <pith/pith_host.h>. */
#ifndef PITH_RUNTIME_H
#define PITH_RUNTIME_H

#include "pith_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_VERSION_MAJOR 0
#define PITH_VERSION_MINOR 2
#define PITH_VERSION_PATCH 0
#define PITH_FORMAT_VERSION 3 /* of the files; docs/format.md */

/* 0xMMmmpp */
uint32_t pith_version(void);
/* What this CPU and operating system offer, as a set of PITH_CPU_ bits. On Linux with AMX it
 * requests the tile registers from the kernel (arch_prctl), for this process and once and for all;
 * where that is refused there is no PITH_CPU_AMX. */
uint32_t pith_cpu_features(void);

/* Of the class of machines with these PITH_CPU_ bits. *name (may be NULL): "scalar", "neon",
 * "avx2", "avx512", "vbmi", "avxvnni", "amx". */
void pith_costs_of(uint32_t features, struct pith_costs *costs, const char **name);

/* One executed step of a plan. */
struct pith_layer {
    const char *name;
    uint32_t name_bytes;
    uint32_t op;            /* operator number of docs/format.md */
    const char *kernel;     /* short static name: "gemm-f32", "spmv-codebook" */
    uint64_t macs;          /* in a loop: of all iterations (of one, where only data ends it) */
    uint64_t weight_bytes;  /* bytes of weights in the form executed */
    uint64_t file_bytes;    /* bytes of the same weights in the file */
    uint64_t ns;            /* time of the last run; 0 without opts.clock_ns */
    uint32_t step;          /* i of pith_plan_layer */
    uint32_t output;        /* observer: index of the output */
    const char *activation; /* that the step ends in, fused: "relu", "clip"; NULL: none */
    uint32_t choice; /* the kernel's number in its operator's list (opts.choices); 0: has none */
    /* Steps of one segment (from 1 on; 0: of none) run together for `group` samples, then for the
     * next: on `lanes` threads at once, each in memory of its own. Their operands are reported as
     * one group's, the first. */
    uint32_t segment, group, lanes;
    /* Of two steps that run band by band (the second reads what the first wrote while it is in
     * cache): rows of the second one's output in a band, set for the first, whose output is then
     * reported as a band of the first of `lanes` threads; else 0. */
    uint32_t band_rows;
    uint32_t decodes; /* 1: the weight is coded, and decoded at each run; else 0 */
};

/* What one step reads or writes, and where it lies. */
enum pith_role {
    PITH_ROLE_INPUT = 0,    /* index: which input of the operator; a bias of its own, too */
    PITH_ROLE_RESIDUAL = 1, /* added to the result before the activation */
    PITH_ROLE_PACKED = 2,   /* the weight as the kernel reads it, made once a plan; bytes alone */
    PITH_ROLE_SCRATCH = 3,  /* bytes alone; their content is not kept from step to step */
    PITH_ROLE_OUTPUT = 4,   /* index: which output */
    /* Of a grid of integers (`of`) that a step took over; of inputs, index: which. */
    PITH_ROLE_SCALE = 5,
    PITH_ROLE_ZERO_POINT = 6
};
enum pith_place {
    PITH_PLACE_NONE = 0,   /* a weight that is there in its packed form alone */
    PITH_PLACE_ARENA = 1,  /* offset: from the arena's first byte */
    PITH_PLACE_IMAGE = 2,  /* read where it lies in the blob; offset: from its first byte */
    PITH_PLACE_WEIGHTS = 3 /* kept by the plan; offset: from the first byte of what it keeps */
};
struct pith_operand {
    enum pith_role role;
    uint32_t index;
    struct pith_tensor tensor; /* named after the input, constant, or node that gives it */
    enum pith_place place;
    uint64_t offset;
    uint32_t channels_last; /* 1: [N, axes, C] in memory */
    /* Of a scale (or factor) and zero point: "input", "output", or of a product of integers
     * "result", "summand" (the result as it is added), "residual", "sum". Else NULL. */
    const char *of;
};

enum {
    PITH_FLAG_NO_CHECKSUM = 1u << 0, /* skip the CRC test (fuzzing, images checked before) */
    PITH_FLAG_NO_FUSION = 1u << 1,   /* every node is its own step and every value is kept apart;
                                        `observe` implies the former */
    PITH_FLAG_DENSE_ONLY = 1u << 2,  /* expand every weight to dense (for comparison) */
    PITH_FLAG_INIT_APART = 1u << 3,  /* what pith_plan_init alone needs is opts.init_memory */
    PITH_FLAG_DECODE_ONCE = 1u << 4, /* coded weights are expanded when the plan is made, also where
                                        they would be read at each run (struct pith_need) */
    PITH_FLAG_OUTLINE = 1u << 5,     /* pith_plan_init decodes nothing and leaves most of the plan's
                                        memory as it was: the plan describes itself, and a run of
                                        it is PITH_ERR_ARGUMENT */
    PITH_FLAG_TRY_CHOICES =
        1u << 6,                     /* where an operator refuses its choice (opts.choices), the
                                        cheapest kernel is taken: a tuner finds so which there are */
    PITH_FLAG_WHOLE_BATCH = 1u << 7, /* every step runs over all samples and all rows at once: for
                                        executors that know no segments and no bands (struct
                                        pith_layer), and to compare */
    PITH_OPEN_READ = 1u << 16        /* of pith_open alone: a copy of the file, however large */
};

/* A number of the file that a plan takes otherwise: a dimension of an input, or an entry of a
 * node's attributes. So a file with open sizes is planned for one choice of them; struct pith_sizes
 * of <pith/pith_host.h> makes the list. */
#define PITH_CHANGE_INPUT UINT32_MAX
struct pith_change {
    uint32_t node; /* in the order of the file; PITH_CHANGE_INPUT: an input's dimension */
    uint32_t slot; /* of the attributes in memory; of an input: its number times PITH_MAX_RANK, and
                      the dimension */
    int32_t value;
};

/* A cache: an input that a run makes longer along one axis, output = Concat(input, new), such as
 * the keys and values of a decoder's past tokens. Both lie in memory of the caller, as long as
 * pith_plan_output_data(plan, output) == data:
 *
 *     data: [dims before axis][room][dims behind axis], in the type of the input
 *
 * A run reads the first elements of each `room`, as many as the input is long, writes the new ones
 * behind them, and moves nothing. So the caller writes no input, and finds the output's rows `room`
 * elements apart. The next run takes a plan for the longer input (struct pith_sizes of
 * <pith/pith_host.h>); a plan for length 0 starts anew.
 *
 * A cache is used where the output is that Concat alone, nothing else reads the input, the batch is
 * 1, and either the dims before axis are all 1 or only Attention reads the output, as keys or
 * values whose number grows. Else, with PITH_FLAG_NO_FUSION and with `observe`, both are values
 * like others. PITH_ERR_ARGUMENT: fields that fit no network (also where a cache is not used).
 * Plans that use one run on the CPU alone (pith_cuda_plan_new: PITH_ERR_UNSUPPORTED). */
struct pith_cache {
    uint32_t input, output, axis;
    uint32_t room; /* along the axis; at least the output's length */
    void *data;    /* aligned to 64; no other cache lies there */
};

struct pith_ordered;
struct pith_plan;
extern const struct pith_ordered pith_ordered_sums;

#define PITH_MAX_OPTS_BYTES 4096u /* of size_bytes, whatever the version of the caller */
struct pith_opts {
    uint32_t size_bytes; /* sizeof(struct pith_opts) of the caller */
    uint32_t cpu_mask;   /* features allowed; 0: all */
    uint32_t flags;
    uint32_t batch; /* for models whose batch is open; 0: 1 */
    /* Refuse plans that need more; 0: 4 GiB. Below 4 GiB it also says how much memory there is, and
     * coded weights are decoded once where that fits (struct pith_need). */
    uint64_t max_bytes;
    void *user; /* for clock_ns and observe */
    /* Calls body(arg, i) once for each i < n, in any order and on any thread, and returns when all
     * are done. NULL: the plan runs on the calling thread. Results never depend on it. */
    void (*parallel_for)(void *parallel_user, uint32_t n, void (*body)(void *arg, uint32_t i),
                         void *arg);
    uint64_t (*clock_ns)(void *user);
    /* Called after each node with its output (data valid until it returns), once for each of
     * several outputs; in a loop each time the node ran: a Loop at the beginning of each iteration,
     * its LoopEnd behind the last. Switches fusion off: the step is the node, and what reads the
     * output reads these very bytes; an observer may change them in place (out->data is writable
     * memory of the plan) and so see what the rest of the network makes of it. */
    void (*observe)(void *user, const struct pith_layer *layer, const struct pith_tensor *out);
    void *parallel_user; /* for parallel_for */
    /* A run ends with PITH_ERR_LIMIT when it is not done after so many steps; 0: 2^32. Each step of
     * a loop's body counts in each iteration: a file of some hundred bytes can require any number.
     */
    uint64_t max_steps;
    /* Called before each step, on the thread that runs the plan: anything but 0 ends the run with
     * PITH_ERR_STOPPED. NULL: never. */
    int (*stop)(void *stop_user);
    void *stop_user;
    /* With PITH_FLAG_INIT_APART: need.init_bytes, aligned to need.align, which pith_plan_init
     * writes to and which are the caller's again when it returns. Without, they are part of
     * need.bytes. */
    void *init_memory;
    uint64_t init_memory_bytes;
    const struct pith_costs *costs; /* read when a plan is made; NULL: of the machine's class */
    /* The kernel of step i, i < n_choices, where its operator has several: its number in the
     * operator's list, 0: the cheapest. PITH_ERR_CORRUPT where a kernel cannot do it. From
     * pith_plan_file_open; read when a plan is made. */
    const uint8_t *choices;
    uint32_t n_choices;
    /* &pith_ordered_sums: every f32 result is one written chain of roundings, the same bits on
     * every x86-64 and AArch64 CPU, whatever its instruction sets; implies PITH_FLAG_DENSE_ONLY.
     * On other processors it changes nothing. NULL: the fastest kernels. A pointer, not a flag, so
     * that programs that never name it are linked without its kernels. */
    const struct pith_ordered *ordered;
    /* How many threads parallel_for has, 0: unknown. So many groups of samples run at once, each in
     * memory of its own (struct pith_layer), where the batch has as many, and layers are cut for
     * so many, whose scratch the plan has: more bodies at once wait for each other. It changes no
     * result. pith_threads_start sets it. At most 64 count. */
    uint32_t threads;
    uint32_t n_changes;
    const struct pith_change *changes; /* read when a plan is made; PITH_ERR_CORRUPT where a node
                                          does not take one. NULL: the sizes of the file */
    /* A finished plan of the same blob, for other changes or another batch: weights that both keep
     * in the same form are not made again but read there, so it must outlive this plan. What it
     * borrowed itself may be borrowed, too. PITH_ERR_ARGUMENT where the blob, cpu_mask, flags,
     * ordered or threads differ. NULL: all weights are this plan's own. */
    const struct pith_plan *weights_of;
    /* The number of an output, plus 1: of it the last row is enough. Where it is a product of rows
     * with a weight, [1, S, N], it is planned as [1, 1, N]. 0: none. */
    uint32_t last_row_of;
    /* Inputs and outputs that stay in memory of the caller; the list is read when a plan is made.
     * Results do not depend on it. A cache is used where the output is such a Concat, alone reads
     * the input, and is read by Attention alone - by any operator where the product of the
     * dimensions before the axis is 1 -, opts.batch is 1, and the plan is fused and not observed.
     * Else the plan has memory of its own for both: pith_plan_output_data() of the output is then
     * not cache.data (of an input of length 0, which the network does not read, it may be).
     * PITH_ERR_ARGUMENT: `room` is too small, `data` NULL, or there is no such input, output, axis.
     */
    uint32_t n_caches;
    const struct pith_cache *caches;
};

/* Fills *opts with defaults. size_bytes: sizeof(struct pith_opts) as the caller compiled it. */
void pith_opts_init(struct pith_opts *opts, uint32_t size_bytes);

/* With reference kernels alone (cpu_mask PITH_CPU_REF, or a CPU without vectors: a microcontroller)
 * and without parallel_for, weights are read at each run where they lie in the blob: integers
 * stored plain as they are, coded ones element after element by a decoder in the scratch of their
 * step, some hundred bytes and more with its codebook, of adaptive streams up to some 100 KB.
 * Convolutions of coded integers keep one filter beside it, products of them a sum of 4
 * bytes for each output. Such a plan needs no more memory than one of the float network that the
 * file was made from, where the network has that much to spare beside its largest step; a small
 * coded network needs so much more. Outputs have the same bits; a run takes the time of decoding
 * longer (a recurrent layer's at each time step), which PITH_FLAG_DECODE_ONCE saves, and
 * opts.max_bytes where there is room. Not read so: constants of other operators than layers and
 * look-ups along an axis, second operands not transposed or of more than two axes, convolutions
 * over more than two axes, transposed ones, recurrent layers in two parts, 16-bit integers. With
 * vector kernels or threads each weight is kept in a form of its own: need.bytes may then be more
 * than for the float network, which reads its matrices in the blob. */
struct pith_need {
    uint64_t bytes;         /* for pith_plan_init */
    uint64_t align;         /* of that memory; a power of two, at most 64 */
    uint64_t weights_bytes; /* of which weights in run form */
    uint64_t arena_bytes;   /* of which activations and scratch (reused between layers) */
    uint64_t scratch_bytes; /* inside the arena: the most that one kernel takes */
    /* Working memory of pith_plan_init: where the arena will be, so that it adds to `bytes` only
     * what it is larger; with PITH_FLAG_INIT_APART nothing. */
    uint64_t init_bytes;
};

/* Validates the image without memory: checksums, graph, extents of all streams, texts. (What needs
 * memory - shapes, uniqueness of names, the content of entropy-coded streams - is tested when a
 * plan is made.) *err (may be NULL): where it fails. PITH_OK, or PITH_ERR_CORRUPT, _VERSION,
 * _UNSUPPORTED; PITH_ERR_ARGUMENT where blob is NULL. */
enum pith_status pith_blob_check(const void *blob, size_t bytes, uint32_t flags,
                                 struct pith_error *err);
/* The value stored under `key` ("labels", "preprocess", "recipe"): bytes inside the blob, not
 * NUL-terminated. PITH_ERR_ARGUMENT when there is none; outputs are then untouched. */
enum pith_status pith_blob_meta(const void *blob, size_t bytes, const char *key, const char **value,
                                size_t *value_bytes);

/* Validates the image and computes what a plan for it needs. *need is untouched on failure. opts
 * may be NULL. This one call is part of the host library (<pith/pith_host.h>) and takes its working
 * memory from malloc; without a heap, use the two calls below it.
 * PITH_OK, PITH_ERR_CORRUPT, _VERSION, _UNSUPPORTED, _LIMIT, _MEMORY, _ARGUMENT. */
enum pith_status pith_plan_size(const void *blob, size_t bytes, const struct pith_opts *opts,
                                struct pith_need *need);
/* Working memory that pith_plan_need takes, at most. It tests the checksums; with
 * PITH_FLAG_NO_CHECKSUM the calls behind it on the same image do not test them again. */
enum pith_status pith_plan_work_bytes(const void *blob, size_t bytes, const struct pith_opts *opts,
                                      uint64_t *work_bytes);
/* As pith_plan_size, in memory of the caller (aligned to 64), which is free again afterwards.
 * PITH_ERR_SPACE when that is too small; less than pith_plan_work_bytes returned may do. */
enum pith_status pith_plan_need(const void *blob, size_t bytes, const struct pith_opts *opts,
                                void *work, size_t work_bytes, struct pith_need *need);
/* Builds the plan inside mem (aligned to need.align). Borrows the blob until the plan is no longer
 * used. PITH_ERR_SPACE when mem_bytes, or opts.init_memory_bytes, is below what pith_plan_size
 * returned. */
enum pith_status pith_plan_init(void *mem, size_t mem_bytes, const void *blob, size_t bytes,
                                const struct pith_opts *opts, struct pith_plan **plan);

/* A plan as a file: which kernels were chosen and what was placed where, for one model on one kind
 * of CPU, with one version of pith and the same flags, batch and threads or none.
 *
 *     pith_plan_file_write(plan, file, pith_plan_file_bytes(plan))
 *     ...
 *     pith_plan_file_open(file, bytes, blob, blob_bytes, &opts, &why)
 *     pith_plan_size, pith_plan_init with opts
 *     pith_plan_file_check(file, bytes, plan)
 *
 * write: PITH_ERR_SPACE; PITH_ERR_ARGUMENT for a plan that is observed. open: sets opts->choices,
 * which point into the file; where it does not fit - PITH_ERR_CORRUPT, _VERSION, _UNSUPPORTED
 * (another CPU), _ARGUMENT (another model, other options) - *why (may be NULL) says it in words.
 * options: the batch and the number of threads (1, or 2: several) that open() would take it with;
 * PITH_ERR_CORRUPT. check: PITH_ERR_CORRUPT where the plan did not come out as the file says. */
uint64_t pith_plan_file_bytes(const struct pith_plan *plan);
enum pith_status pith_plan_file_write(const struct pith_plan *plan, void *file, size_t bytes);
enum pith_status pith_plan_file_open(const void *plan_file, size_t bytes, const void *blob,
                                     size_t blob_bytes, struct pith_opts *opts, const char **why);
enum pith_status pith_plan_file_options(const void *plan_file, size_t bytes, uint32_t *batch,
                                        uint32_t *threads);
enum pith_status pith_plan_file_check(const void *plan_file, size_t bytes,
                                      const struct pith_plan *plan);

uint32_t pith_plan_input_count(const struct pith_plan *plan);
uint32_t pith_plan_output_count(const struct pith_plan *plan);
/* PITH_ERR_ARGUMENT when i is out of range. */
enum pith_status pith_plan_input(const struct pith_plan *plan, uint32_t i, struct pith_tensor *t);
enum pith_status pith_plan_output(const struct pith_plan *plan, uint32_t i, struct pith_tensor *t);
/* Memory to write input i to before each run: its content is not kept across runs. NULL when i is
 * out of range. */
void *pith_plan_input_data(struct pith_plan *plan, uint32_t i);
/* Valid after a run until the next one. */
const void *pith_plan_output_data(const struct pith_plan *plan, uint32_t i);
/* Cannot fail but by opts.max_steps (PITH_ERR_LIMIT) and opts.stop (PITH_ERR_STOPPED). The outputs
 * are then unspecified, and the plan can be run again. */
enum pith_status pith_plan_run(struct pith_plan *plan);
/* Of the last run: how many steps it did, and which layer would have been next (the number of
 * layers when all were done). */
void pith_plan_progress(const struct pith_plan *plan, uint64_t *steps, uint32_t *layer);
/* Of a plan with `observe`: step i of pith_plan_layer and those behind it, after a run of all; the
 * observer has put back what they read, where it lay then. i may be the
 * number of layers. PITH_ERR_ARGUMENT: it is more, or there is no observer; PITH_ERR_UNSUPPORTED:
 * there are loops or branches; else as pith_plan_run. */
enum pith_status pith_plan_run_from(struct pith_plan *plan, uint32_t i);
uint32_t pith_plan_layer_count(const struct pith_plan *plan);
enum pith_status pith_plan_layer(const struct pith_plan *plan, uint32_t i,
                                 struct pith_layer *layer);
/* Operand i of step `step`, in the order inputs, grids, residual, packed weight, scratch, outputs,
 * of those that there are; two steps whose operands have one offset share memory. PITH_ERR_ARGUMENT
 * where there is none of this number: the way to end a loop over them. */
enum pith_status pith_plan_operand(const struct pith_plan *plan, uint32_t step, uint32_t i,
                                   struct pith_operand *operand);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
