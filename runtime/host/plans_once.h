/* SPDX-License-Identifier: MIT */
/* plans_once.h - plans for sizes that will hardly come again. */
#ifndef PLANS_ONCE_H
#define PLANS_ONCE_H

#include "pith_host.h"

/* last: a plan whose outputs are still read, which keeps its memory; or NULL. The rest: of struct
 * pith_opts. */
struct plans_once {
    const struct pith_plan *last;
    uint32_t last_row_of, n_caches;
    const struct pith_cache *caches;
};

/* pith_plans_get, as for each length of a cache that grows. Of such plans two are kept, and the
 * next takes the memory of the older one, which is in the caches and needs no new pages. */
enum pith_status pith_plans_get_once(struct pith_plans *plans, uint32_t batch,
                                     const struct plans_once *once, struct pith_plan **plan,
                                     struct pith_error *err);

#endif
