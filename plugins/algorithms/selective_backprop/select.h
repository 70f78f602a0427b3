/* select.h - choosing samples by their losses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SELECT_H
#define PLUGIN_SELECT_H

#include "../algorithm.h"

/* Samples that are kept out of `samples`: the whole part of keep * samples, at least one. */
int64_t select_count(int64_t samples, double keep);
/* Draws `count` of `samples` without replacement, where the sample with the i-th smallest of the N
 * losses has a chance in proportion to ((i + 1/2) / N)^(1 / keep - 1).  picked[0..count) ascend. */
tutti_status select_pick(tutti_stream *r, const float *losses, int64_t samples, double keep,
                         uint32_t *picked, int64_t count, tutti_error *err);
/* Rows or columns of an image of `size` after scaling: the whole part, at least one. */
int64_t select_size(int64_t size, double scale);

#endif
