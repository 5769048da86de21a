/* SPDX-License-Identifier: MIT */
/* run_logs.h - logs of training and compression (pith train --log and others: lines of JSON) in a
 * folder, while they are written. A file is read to its last whole line; what is no log of a run is
 * left out. */
#ifndef RUN_LOGS_H
#define RUN_LOGS_H

#include <stdbool.h>
#include "base/json_text.h"
#include "pith_base.h"

/* {"folder":..,"runs":[{"name":..,"command":..,"status":..,"share":0.4,...}]}: running ones first,
 * then the latest. PITH_ERR_IO: the folder cannot be read; PITH_ERR_MEMORY. */
enum pith_status run_logs_list(const char *folder, struct byte_out *out, struct pith_error *err);
/* "loss" or "accuracy" of the log of this name, by epoch or by bytes, as SVG; the caller owns it.
 * PITH_ERR_ARGUMENT: no such log, or none with such a curve; PITH_ERR_MEMORY. */
enum pith_status run_logs_curve(const char *folder, const char *name, const char *what,
                                struct pith_buffer *svg, struct pith_error *err);

#endif
