/* SPDX-License-Identifier: MIT */
/* metrics.h - what monitoring and the page read. */
#ifndef METRICS_H
#define METRICS_H

#include "server.h"

/* Prometheus' text format, with the names of Triton; times in us, counted from the start. */
void metrics_prometheus(struct server *s, struct byte_out *out);
/* JSON for the page: each network with its load, and latency of the last minute. */
void metrics_status(struct server *s, struct byte_out *out);

#endif
