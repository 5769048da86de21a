/* SPDX-License-Identifier: MIT */
/* weight_cut.h - large weights decoded by several threads, in pieces that begin where a reader can
 * enter: rANS-coded indices at any block (docs/format-streams.md, section 10), plain ones at any
 * byte. What has no such places, is small, or is sparse is decoded by one thread, as weight.h does
 * it. The same bits for any number of threads. */
#ifndef WEIGHT_CUT_H
#define WEIGHT_CUT_H

#include "op_interface/op_exec.h"
#include "decode/weight.h"

/* Whether w is decoded in pieces where there are threads; its streams have not been looked at. */
bool pith_weight_is_cut(const struct weight *w);

/* As pith_weight_expand_f32, _plain and _parts, by env->parallel_for where w is cut; of parts where
 * indices alone are wanted. */
enum pith_status pith_weight_cut_f32(const struct op_env *env, const struct weight *w, float *dst,
                                     void *scratch);
enum pith_status pith_weight_cut_plain(const struct op_env *env, const struct weight *w, void *dst,
                                       void *scratch);
enum pith_status pith_weight_cut_parts(const struct op_env *env, const struct weight *w,
                                       uint32_t *pos, uint8_t *index, float *value, void *scratch);

#endif
