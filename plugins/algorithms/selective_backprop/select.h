/* select.h - choosing samples by their losses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SELECT_H
#define PLUGIN_SELECT_H

#include "../algorithm.h"

/* Samples that are kept out of `samples`: the whole part of keep * samples, at least one. */
int64_t select_count(int64_t samples, double keep);
/* Draws `count` of `samples` without replacement, where the sample with the i-th smallest of the N
 * losses has a chance in proportion to ((i + 1/2) / N)^(1 / keep - 1): chosen[i] is 1 for those that are
 * drawn, else 0.  The losses themselves are not needed for that. */
tutti_status select_ranks(tutti_stream *r, int64_t samples, double keep, uint32_t *chosen,
                          int64_t count, tutti_error *err);
/* Rows or columns of an image of `size` after scaling: the whole part, at least one. */
int64_t select_size(int64_t size, double scale);

#endif
