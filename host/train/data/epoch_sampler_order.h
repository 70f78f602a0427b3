/* epoch_sampler_order.h - orders that samplers give, out of weights and lengths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_EPOCH_SAMPLER_ORDER_H
#define HOST_TRAIN_DATA_EPOCH_SAMPLER_ORDER_H

#include "tutti/dataset.h"

/* All are functions of their arguments alone; `index` has room for the places that are asked for. */

/* Each place draws sample k with the probability weight[k] / sum: the inverse of the distribution function at a uniform
 * draw of (seed, epoch, place).  `sums` has weight[0] + ... + weight[k] at k, the last above 0. */
void epoch_sampler_draw(const double *sums, int64_t samples, const tutti_epoch *epoch,
                        int64_t places, int64_t *index);
/* The same where no sample comes twice: the first `places` of the samples by -log(u) / weight, which is a draw of
 * exponentials (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).  At least `places` weights
 * are above 0.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status epoch_sampler_draw_once(const double *weight, int64_t samples,
                                                     const tutti_epoch *epoch, int64_t places,
                                                     int64_t *index, tutti_error *err);
/* `index` is an order of all samples: cut into parts of some 50 batches, fewer where there are not four of them, each part
 * sorted by falling length; the first place is the longest of all, so that what does not fit in memory is seen at
 * once.  As Hugging Face's LengthGroupedSampler.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status epoch_sampler_group(const int64_t *length, int64_t samples,
                                                 int64_t batch_size, int64_t *index,
                                                 tutti_error *err);

#endif
