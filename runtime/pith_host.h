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
 * "neon", "dotprod"; several with commas or '|'. A name selects that level and all below it.
 * *mask is untouched on failure (PITH_ERR_ARGUMENT). */
enum pith_status pith_cpu_mask_parse(const char *text, uint32_t *mask);
/* The names in a feature set, separated by spaces, "ref" when there are none; cut to n bytes, with
 * NUL. Returns text. */
const char *pith_cpu_names(uint32_t features, char *text, size_t n);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
