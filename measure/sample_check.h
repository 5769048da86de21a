/* SPDX-License-Identifier: MIT */
/* sample_check.h - checks of data before a network is calibrated, compressed or evaluated with
 * it: is it what the network was made for?
 *
 *     struct pith_input_look look[N_INPUTS];
 *     pith_check_data(model, feed, 1 << 22, look, &err);
 *     for (uint32_t i = 0; i < model->n_inputs; i++)
 *         for (uint32_t k = 0; k < PITH_LOOK_KINDS; k++)
 *             if (pith_look_finding(&look[i], k, text)) ...
 *
 * Samples are looked at evenly spread, so that large data sets are not read twice. A sample that is
 * NaN is refused wherever it is read (pith_data_read). */
#ifndef PITH_SAMPLE_CHECK_H
#define PITH_SAMPLE_CHECK_H

#include "pith_measure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pith_input_look {
    const char *name;     /* of the input; borrowed from the model */
    uint64_t samples, of; /* looked at, of the data set's; 0: the input has no data */
    uint64_t values;      /* of one sample */
    uint64_t still;       /* of these, equal in all samples */
    double min, mean, max;
    double zeros; /* share */
    bool floats;  /* the input's type is f32 */
    bool pixels;  /* stored as bytes 0..255, and no preprocessing is given or stored */
    bool ranged;  /* the network holds the input's range, from calibration or as a grid: */
    double low, high;
    double beyond; /* share of values outside of it by more than half its width */
};

/* look: [m->n_inputs]. About max_values values of each input are read, of 16 samples at least.
 * skip_unread: pictures that cannot be read are left out, for the caller reports them. What
 * pith_data_read returns, PITH_ERR_MEMORY. */
enum pith_status pith_check_data(const struct pith_model *m, const struct pith_feed *feed,
                                 uint64_t max_values, bool skip_unread,
                                 struct pith_input_look *look, struct pith_error *err);

/* Finding `kind` (0 .. PITH_LOOK_KINDS - 1) in words; false: there is none. */
#define PITH_LOOK_KINDS 3
#define PITH_LOOK_TEXT_BYTES 400
#define PITH_LOOK_RAW_PIXELS                                                                       \
    "the model stores no preprocessing: pixels are fed as they are, 0 to 255 (--preprocess "       \
    "imagenet, caffe, unit, signed, raw or SPEC; see pith help preprocess)"
bool pith_look_finding(const struct pith_input_look *look, uint32_t kind,
                       char text[PITH_LOOK_TEXT_BYTES]);

/* What the network answers to samples. */
struct pith_answer_look {
    uint64_t samples; /* run; 0: inputs lack a source */
    bool nan, infinite;
    uint32_t output; /* that holds the first NaN, or else the first infinity */
    uint64_t sample;
    bool one_class; /* of 16 samples or more, unless all have one label */
    uint64_t which; /* that class */
    /* what one_class follows from */
    bool same_class, same_label;
    int64_t first_label;
};
/* Adds the outputs that lie in the plan, m's or of the network that m is the outline of, to a look
 * that was zero at first. label: of that sample, or PITH_NO_LABEL. */
void pith_see_answer(const struct pith_model *m, const struct pith_plan *plan, uint64_t sample,
                     int64_t label, struct pith_answer_look *look);
/* The same of some of the samples: as many as 2^31 multiplications allow, at least 8 and at most
 * 4,096. e runs m, or the network that m is the outline of. What reading and running return. */
enum pith_status pith_check_outputs(struct pith_engine *e, const struct pith_model *m,
                                    const struct pith_feed *feed, struct pith_answer_look *look,
                                    struct pith_error *err);

#ifdef __cplusplus
}
#endif
#endif
