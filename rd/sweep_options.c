/* SPDX-License-Identifier: MIT */
#include "sweep_options.h"

#include <math.h>
#include <stdlib.h>

#include "numeric/error_feedback.h"
#include "base/error_fill.h"
#include "decode/trellis.h"

static enum pith_status check_pattern(const struct pith_pattern *p, struct pith_error *err)
{
    char text[40];
    pith_pattern_print(p, text, sizeof text);
    if (p->kind == PITH_PATTERN_ROW || p->kind == PITH_PATTERN_CHANNEL)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot sweep in the pattern '%s': N:M, balanced:K/N or blocks",
                               text);
    return PITH_OK;
}

enum pith_status pith_weight_sweep_takes(const struct pith_model *m,
                                         const struct pith_pattern *pattern, struct pith_error *err)
{
    enum pith_status status = check_pattern(pattern, err);
    if (status)
        return status;
    struct pith_weight_ref *refs = malloc((m->n_nodes + (size_t)1) * sizeof *refs);
    const uint32_t n = refs ? pith_model_weights(m, refs) : 0;
    bool takes = false;
    if (!refs)
        return pith_error_no_memory(err);
    struct pith_error misfit = {0};
    for (uint32_t i = n; i-- > 0 && !takes;)
        takes = pith_prune_leaves(m, &refs[i], pattern, &misfit) == PITH_PRUNE_TAKEN;
    free(refs);
    if (n == 0)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "no layer has float weights");
    return takes ? PITH_OK : pith_error_fill(err, PITH_ERR_ARGUMENT, "%s", misfit.text);
}

bool pith_sweep_has_pattern(const struct pith_weight_sweep_opts *o)
{
    return o->pattern.kind != PITH_PATTERN_ANY;
}

enum pith_status pith_sweep_check(const struct pith_model *m,
                                  const struct pith_weight_sweep_opts *o, struct pith_error *err)
{
    if (!(o->lambda > 0) || !isfinite(o->lambda) || !(o->rate_share >= 0) || o->rate_share > 1 ||
        o->paths > PITH_MOST_PATHS || (o->states && !pith_trellis_is(o->states)) ||
        (o->states && o->paths % o->states) || (o->levels && (o->levels < 3 || o->levels > 16)))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "cannot sweep: lambda %g, rate share %g, %u paths, %u states, %u "
                               "levels",
                               o->lambda, o->rate_share, o->paths, o->states, o->levels);
    return pith_sweep_has_pattern(o) ? pith_weight_sweep_takes(m, &o->pattern, err) : PITH_OK;
}
