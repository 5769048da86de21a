/* SPDX-License-Identifier: MIT */
#include "data_check.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "cli/common/engine_options.h"

#define LOOK_VALUES (UINT64_C(1) << 22) /* of an input: some 0.1 s */

static void warn_of_data(const struct pith_model *m, const struct pith_input_look *look)
{
    static bool said[PITH_LOOK_KINDS]; /* not again of the same file's held-out samples */
    char text[PITH_LOOK_TEXT_BYTES];
    for (uint32_t k = 0; k < PITH_LOOK_KINDS; k++) {
        bool found = false;
        for (uint32_t i = 0; i < m->n_inputs && !said[k]; i++)
            if (pith_look_finding(&look[i], k, text)) {
                cli_hint("%s", text);
                found = true;
            }
        said[k] |= found;
    }
}

enum cli_exit cli_check_data(const struct pith_model *m, const struct pith_feed *feed)
{
    struct pith_error err = {0};
    struct pith_input_look *look = calloc(m->n_inputs + 1u, sizeof *look);
    enum cli_exit rc = EXIT_DONE;
    if (!look)
        return cli_no_memory();
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (feed->input[i].data && pith_data_reordered(feed->input[i].data))
            cli_hint("%s", pith_data_reordered(feed->input[i].data));
    if (pith_check_data(m, feed, LOOK_VALUES, true, look, &err))
        rc = cli_fail_to(&err);
    else
        warn_of_data(m, look);
    free(look);
    return rc;
}

static struct pith_data *data_of(const struct pith_feed *feed)
{
    for (uint32_t i = 0; i < feed->n_inputs; i++)
        if (feed->input[i].data)
            return feed->input[i].data;
    return NULL;
}

bool cli_answer_finding(const struct pith_model *m, const struct pith_feed *feed,
                        const struct pith_answer_look *l, char text[CLI_ANSWER_TEXT_BYTES])
{
    struct pith_data *data = data_of(feed);
    if (!data || l->samples == 0)
        return false;
    if (l->nan || l->infinite)
        snprintf(text, CLI_ANSWER_TEXT_BYTES, "output '%.200s' of the network is %s for %.100s",
                 m->values[m->outputs[l->output]].name, l->nan ? "NaN" : "infinite",
                 pith_data_sample_name(data, l->sample));
    else if (l->one_class)
        snprintf(text, CLI_ANSWER_TEXT_BYTES,
                 "all %" PRIu64 " samples are of class %" PRIu64
                 " for the network, each with p > 0.999: is the preprocessing right?",
                 l->samples, l->which);
    else
        return false;
    return true;
}

/* What fails here fails in the command, too, which says why. */
enum cli_exit cli_check_outputs(const struct cli_common *c, struct pith_engine *e,
                                const struct pith_model *m, const struct pith_feed *feed)
{
    struct pith_engine *made = NULL;
    struct pith_engine_opts opts;
    struct pith_answer_look look = {0};
    struct pith_error err = {0};
    char text[CLI_ANSWER_TEXT_BYTES];
    if (!e && cli_engine_opts(c, &opts) == EXIT_DONE && !pith_engine_open(m, &opts, &made, &err))
        e = made;
    bool has_finding = e && !pith_check_outputs(e, m, feed, &look, &err) &&
                       cli_answer_finding(m, feed, &look, text);
    pith_engine_close(made);
    if (!has_finding)
        return EXIT_DONE;
    if (look.nan && made) {
        err = (struct pith_error){.status = PITH_ERR_UNSUPPORTED};
        snprintf(err.text, sizeof err.text, "%s", text);
        return cli_fail_to(&err);
    }
    cli_hint("%s", text);
    return EXIT_DONE;
}
