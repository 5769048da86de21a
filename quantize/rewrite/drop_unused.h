/* SPDX-License-Identifier: MIT */
/* drop_unused.h - values that no node, input or output names any more. */
#ifndef DROP_UNUSED_H
#define DROP_UNUSED_H

#include "pith_model.h"

/* Drops them and numbers the others anew. m->inputs and m->outputs are replaced; m->nodes and
 * m->values are changed where they are. PITH_ERR_MEMORY: nothing changed. */
enum pith_status pith_drop_unused(struct pith_model *m, struct pith_error *err);

#endif
