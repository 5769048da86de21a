/* SPDX-License-Identifier: MIT */
/* pith_report.h - what compression did to a network, as one static page.
 *
 *     struct pith_report_opts o = {.size_bytes = sizeof o, .name = "net.pith", .packed = &packed,
 *                                  .vs_name = "net.onnx", .vs = &original, .feed = &feed};
 *     struct pith_buffer html;
 *     if (!pith_report(&o, &html, &err)) ... pith_file_write("report.html", html.data, ...)
 *     pith_buffer_free(&html);
 *
 * The page needs nothing from outside and no JavaScript, is PITH_REPORT_MOST_BYTES long at most,
 * and holds all its numbers as JSON in <script type="application/json" id="pith">. The same inputs
 * give the same bytes, unless times are measured (opts.seconds). */
#ifndef PITH_REPORT_H
#define PITH_REPORT_H

#include "pith_load.h"
#include "pith_measure.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_REPORT_MOST_BYTES 500000u

/* A file that another command wrote; data NULL: none. */
struct pith_report_log {
    const char *name; /* for messages */
    const char *data; /* borrowed */
    size_t bytes;
};

struct pith_report_opts {
    uint32_t size_bytes;
    const char *name; /* of the network, as titles have it */
    const struct pith_packed *packed;
    const char *vs_name;          /* of what it is compared with; NULL: none */
    const struct pith_packed *vs; /* borrowed, gets the open sizes of packed; NULL: none */
    /* Of their files, where they are no .pith: layers then count as they lie there, not packed. 0:
     * they are. */
    uint64_t onnx_bytes, vs_onnx_bytes;
    bool two_models; /* vs is no original, but a model like any other: A, and packed B */
    const struct pith_feed *feed; /* samples, for both; NULL: none. Its data sets may have picked
                                     samples; they have the same at the end */
    const char *data_name;        /* for the text; may be NULL */
    struct pith_report_log curve; /* pith train, compress or sweep --log */
    struct pith_report_log sweep; /* pith sweep: results.jsonl */
    double seconds;               /* of measuring each model's time; 0: no times */
    uint32_t threads, cpu_mask;   /* as pith_engine_opts */
    const char *command;          /* that makes the page, as the page shows it; NULL: not shown */
    /* Each figure as an SVG file of its own; name without ending, unique in the page. False ends
     * the work (PITH_ERR_IO). May be NULL. */
    bool (*figure)(void *user, const char *name, const char *svg, size_t bytes);
    /* Called now and then with what is being done; false ends the work (PITH_ERR_STOPPED). May be
     * NULL. */
    bool (*progress)(void *user, const char *part, uint64_t done, uint64_t all);
    void *user; /* of both */
};

/* PITH_ERR_ARGUMENT (the feed does not fit; labels beyond the classes), PITH_ERR_CORRUPT (a log is
 * not what it should be), PITH_ERR_MEMORY, PITH_ERR_IO, PITH_ERR_STOPPED, and what reading and
 * running the models returns. The caller owns *html. */
enum pith_status pith_report(const struct pith_report_opts *opts, struct pith_buffer *html,
                             struct pith_error *err);

/* The weight of a layer (name of the layer or tensor, exactly; NULL: the only weight) as numbers:
 * f32 in the stored shape; integers as they are stored. */
struct pith_weight_array {
    const char *layer; /* borrowed from the model */
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK];
    uint64_t count;
    float *x; /* [count], owned: free */
};
/* PITH_ERR_ARGUMENT: no such layer, or several (err lists names); PITH_ERR_MEMORY. */
enum pith_status pith_weight_read(const struct pith_model *m, const char *layer,
                                  struct pith_weight_array *weight, struct pith_error *err);
/* The same as a PNG, one pixel a weight: rows are outputs, columns inputs, and each crossing of the
 * two is the kernel of a convolution, with a grey line between kernels. Many outputs of few inputs
 * stand side by side. Positive weights are blue, negative ones orange, zeros white; darkest is
 * three times the root mean square, and what is larger. PITH_ERR_LIMIT: more than 16384 pixels a
 * side; PITH_ERR_MEMORY. The caller owns *png. */
enum pith_status pith_weight_png(const struct pith_weight_array *weight, struct pith_buffer *png,
                                 struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
