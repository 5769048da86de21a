/* SPDX-License-Identifier: MIT */
/* pith_host.h - the runtime for programs with an operating system: files, threads, a clock, texts.
 *
 *     struct pith_opts o;
 *     pith_opts_init(&o, sizeof o);
 *     pith_threads_start(&o, 4);                            // optional
 *     struct pith_session *s;
 *     struct pith_error err;
 *     if (pith_open("net.pith", &o, &s, &err))
 *         fprintf(stderr, "%s\n", err.text);
 *     struct pith_plan *p = pith_plan_of(s);
 *     memcpy(pith_plan_input_data(p, 0), image, ...);
 *     pith_plan_run(p);
 *     ... pith_plan_output_data(p, 0) ...
 *     pith_close(s);
 *     pith_threads_stop(&o);
 *
 * Also here: pith_plan_size (declared in pith_runtime.h), which takes its working memory from
 * malloc. */
#ifndef PITH_HOST_H
#define PITH_HOST_H

#include "pith_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- sessions --------------------------------------------------------------------------- */

struct pith_session;

/* Opens a .pith file and builds a plan in memory of its own. Files of less than 1 MiB, all with
 * PITH_OPEN_READ, and what cannot be mapped are read whole: whatever becomes of the file then, the
 * session has its copy. Larger files are mapped, so that processes share their pages: such a file
 * may be replaced (by rename, as pith writes) or unlinked, but writing into it or truncating it
 * under the session changes its weights or ends the process with SIGBUS. What decoding alone took
 * goes back to the system, and so do pages of a mapped file whose weights are kept in another form:
 * resident are the plan's weights and arena. opts and err may be NULL; *s and everything else is
 * untouched on failure. PITH_ERR_IO, _MEMORY, or what pith_plan_size and pith_plan_init return.
 * err->text begins with the path. */
enum pith_status pith_open(const char *path, const struct pith_opts *opts, struct pith_session **s,
                           struct pith_error *err);
/* The same for an image in memory. Borrows it until pith_close. */
enum pith_status pith_open_memory(const void *image, size_t bytes, const struct pith_opts *opts,
                                  struct pith_session **s, struct pith_error *err);
/* Owned by the session. */
struct pith_plan *pith_plan_of(struct pith_session *s);
/* The image behind the plan, valid until pith_close; *bytes is its length. */
const void *pith_image_of(const struct pith_session *s, size_t *bytes);
/* What the plan took. */
void pith_session_need(const struct pith_session *s, struct pith_need *need);
void pith_close(struct pith_session *s); /* accepts NULL */

/* ---- open sizes --------------------------------------------------------------------------- */

/* A file may leave dimensions of its inputs open beside the batch: a sequence's length, a picture's
 * height and width. Each open size has a name, a largest value, and the value that the file is
 * planned with by default; a plan is made for one choice of values.
 *
 *     struct pith_sizes *sizes;
 *     pith_sizes_open(blob, blob_bytes, &sizes, &err);    // sizes NULL: the file has none
 *     pith_sizes_fit(sizes, inputs, n_inputs, &err);      // or pith_sizes_set
 *     pith_sizes_apply(sizes, &opts, &err);
 *     pith_open_memory(blob, blob_bytes, &opts, &session, &err);
 *     pith_sizes_free(sizes);                             // when no plan will be made with opts
 */
struct pith_sizes;

/* PITH_ERR_MEMORY, _CORRUPT; *sizes is then untouched. The caller owns *sizes, which does not need
 * the blob any more. */
enum pith_status pith_sizes_open(const void *blob, size_t bytes, struct pith_sizes **sizes,
                                 struct pith_error *err);
void pith_sizes_free(struct pith_sizes *sizes);            /* accepts NULL */
uint32_t pith_sizes_count(const struct pith_sizes *sizes); /* 0 for NULL */
/* Of size i: its name, owned by sizes, its value and largest value. PITH_ERR_ARGUMENT: no such i.
 */
enum pith_status pith_sizes_get(const struct pith_sizes *sizes, uint32_t i, const char **name,
                                uint32_t *value, uint32_t *max);
/* 0 (a cache that is empty) to its largest value; another is PITH_ERR_ARGUMENT, as is an unknown
 * name, and changes nothing.
 */
enum pith_status pith_sizes_set(struct pith_sizes *sizes, const char *name, uint32_t value,
                                struct pith_error *err);
/* A larger or smaller largest value, at least the value. */
enum pith_status pith_sizes_set_max(struct pith_sizes *sizes, const char *name, uint32_t max,
                                    struct pith_error *err);
/* Dimension `dim` of input `input` as a formula of the names: "P + S". PITH_ERR_ARGUMENT: it is not
 * open. Owned by sizes. */
enum pith_status pith_sizes_formula(const struct pith_sizes *sizes, uint32_t input, uint32_t dim,
                                    const char **formula);
/* The values that make the inputs have these shapes (rank and dim are read; a rank above 8: not
 * known). Sizes that no known input gives keep their value. PITH_ERR_ARGUMENT, and nothing is
 * changed, where no values do, or one is beyond its largest. */
enum pith_status pith_sizes_fit(struct pith_sizes *sizes, const struct pith_tensor *inputs,
                                uint32_t n_inputs, struct pith_error *err);
/* Sets opts->changes and n_changes, in memory of sizes. sizes may be NULL: there are none then.
 * PITH_ERR_ARGUMENT: the values are no sizes of a network, or opts is too short for them. */
enum pith_status pith_sizes_apply(struct pith_sizes *sizes, struct pith_opts *opts,
                                  struct pith_error *err);

/* Plans of one file for changing sizes: each choice is planned once, in some milliseconds, for the
 * weights of the first plan are shared.
 *
 *     pith_plans_open(blob, blob_bytes, &opts, &plans, &err);
 *     pith_sizes_set(pith_plans_sizes(plans), "seq", 77, &err);
 *     pith_plans_get(plans, 1, &plan, &err);
 *     pith_plan_run(plan);
 */
struct pith_plans;

/* Borrows the blob until pith_plans_close. opts (may be NULL) is copied; what it points to must
 * live as long and stay as it is (for caches in other memory: pith_plans_forget), and its batch and
 * changes are not used. PITH_ERR_MEMORY, _CORRUPT, _ARGUMENT. */
enum pith_status pith_plans_open(const void *blob, size_t bytes, const struct pith_opts *opts,
                                 struct pith_plans **plans, struct pith_error *err);
/* Owned by plans; NULL: the file has no open sizes. */
struct pith_sizes *pith_plans_sizes(struct pith_plans *plans);
/* The plan for the values that the sizes have now. It stays as it is, with its inputs and outputs,
 * until two others have been got. PITH_ERR_ARGUMENT, or what pith_plan_size and pith_plan_init
 * return. */
enum pith_status pith_plans_get(struct pith_plans *plans, uint32_t batch, struct pith_plan **plan,
                                struct pith_error *err);
/* What the plan for the values that the sizes have now takes with weights of its own. As
 * pith_plan_size. */
enum pith_status pith_plans_need(struct pith_plans *plans, uint32_t batch, struct pith_need *need);
/* Frees all plans; the next are made with these options. Sizes stay as they are. */
void pith_plans_forget(struct pith_plans *plans, const struct pith_opts *opts);
void pith_plans_close(struct pith_plans *plans); /* accepts NULL */

/* ---- tokens ------------------------------------------------------------------------------- */

/* A decoder run token by token. Its inputs are known by their names and shapes: ids are integers
 * [1, length]; `...mask...` gets ones, as many as tokens so far; `...position...` the numbers of
 * the new tokens; what is called past... is fed with the output called present... of the last run,
 * and has no elements before the first. A network without such states runs all tokens so far each
 * time, or as many of the last as it takes.
 *
 *     pith_generator_open(plans, &g, &err);
 *     pith_generator_run(g, prompt, n, &logits, &n_logits, &err);
 *     id = pith_choose_token(logits, n_logits, 0.8f, 40, &random);
 *     pith_generator_run(g, &id, 1, &logits, &n_logits, &err); ...
 */
struct pith_generator;

/* Borrows plans until pith_generator_close, and sets their sizes. PITH_ERR_UNSUPPORTED: no input
 * takes ids, or no output has scores; PITH_ERR_ARGUMENT: plans have opts.caches; else as
 * pith_plans_get. */
enum pith_status pith_generator_open(struct pith_plans *plans, struct pith_generator **generator,
                                     struct pith_error *err);
void pith_generator_close(struct pith_generator *g); /* accepts NULL */
/* Input `input` is fed with output `output` of the last run, with zeros in the first. Before the
 * first run or behind pith_generator_restart, else PITH_ERR_ARGUMENT. */
enum pith_status pith_generator_pair(struct pith_generator *g, uint32_t input, uint32_t output);
/* A value for an input that is none of the above, such as what an encoder made. value->data is
 * borrowed until the last run. */
enum pith_status pith_generator_give(struct pith_generator *g, uint32_t input,
                                     const struct pith_tensor *value);
/* Whether n tokens in all fit the sizes of the network; PITH_ERR_ARGUMENT and a text that names the
 * size where not. Before the first run. */
enum pith_status pith_generator_check(struct pith_generator *g, uint32_t n, struct pith_error *err);
/* Runs n >= 1 tokens behind those of earlier runs. *logits: n_logits scores of what follows the
 * last of them, valid until the next run. As pith_sizes_fit, pith_plans_get and pith_plan_run. A
 * run that fails adds no tokens; one that ends early (opts.stop, opts.max_steps) of a network with
 * states and without open sizes forgets all, as its plan has written over the states. */
enum pith_status pith_generator_run(struct pith_generator *g, const int64_t *ids, uint32_t n,
                                    const float **logits, uint32_t *n_logits,
                                    struct pith_error *err);
/* Forgets all tokens. */
void pith_generator_restart(struct pith_generator *g);
/* The best of n scores where temperature is 0 or random NULL (the first of equal ones; NaN never
 * wins); else one drawn with the probabilities softmax(logits / temperature) of the top_k best (0:
 * of all). *random: the state of the generator, any number at first. */
uint32_t pith_choose_token(const float *logits, uint32_t n, float temperature, uint32_t top_k,
                           uint64_t *random);

/* ---- threads ---------------------------------------------------------------------------- */

/* Threads that can run at once: processors that this process may use, by its affinity and the
 * cpu.max of its control group; at least 1. */
uint32_t pith_processor_count(void);
/* Starts a pool of n threads, the caller's included, and sets opts->parallel_for and
 * opts->parallel_user to it. n 0: pith_processor_count(). A thread that cannot be created is done
 * without. Plans made with these opts may run on different threads; they take turns in the pool.
 * PITH_ERR_ARGUMENT when opts->parallel_for is set already or n > 1024; PITH_ERR_MEMORY. */
enum pith_status pith_threads_start(struct pith_opts *opts, uint32_t n);
/* Ends and joins the threads; no plan made with these opts may run any more. Does nothing when none
 * were started. */
void pith_threads_stop(struct pith_opts *opts);
/* Threads at work, the caller's included; 1 without a pool. */
uint32_t pith_threads_count(const struct pith_opts *opts);

/* ---- time ------------------------------------------------------------------------------- */

/* Nanoseconds of a clock that never goes back; for opts.clock_ns. */
uint64_t pith_clock_ns(void *user);

/* ---- texts ------------------------------------------------------------------------------ */

/* "corrupt file", "out of memory": lower case, no full stop. Never NULL. */
const char *pith_status_text(enum pith_status status);
/* The ONNX name of an operator number: "Conv"; "?" for a number this build does not have. */
const char *pith_op_text(uint32_t op);
/* "f32", "i8", ...; "?" for an unknown type. */
const char *pith_type_text(enum pith_type type);

/* Sets err->status and writes one formatted line into err->text, cut to fit. Returns status, so
 * that `return pith_error_set(err, PITH_ERR_IO, ...)` works. err may be NULL. */
enum pith_status pith_error_set(struct pith_error *err, enum pith_status status, const char *format,
                                ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* A CPU mask by name, for opts.cpu_mask: "ref", "avx2", "avxvnni", "avx512", "vbmi", "vnni",
 * "neon", "dotprod", "i8mm"; several with commas or '|'. A name selects that level and all below
 * it. *mask is untouched on failure (PITH_ERR_ARGUMENT). */
enum pith_status pith_cpu_mask_parse(const char *text, uint32_t *mask);
/* The names in a feature set, separated by spaces, "ref" when there are none; cut to n bytes, with
 * NUL. Returns text. */
const char *pith_cpu_names(uint32_t features, char *text, size_t n);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
