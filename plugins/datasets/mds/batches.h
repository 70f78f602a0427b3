/* batches.h - batches that have their samples of one stream each, or of all streams in one proportion. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_BATCHES_H
#define PLUGIN_MDS_BATCHES_H

#include "order.h"

/* Whether an order's batching can be done; samples of streams that fill no whole batch are left out.  Errors: E_ARG names the
 * stream that has too few samples, or what does not divide.  [control] */
TUTTI_NODISCARD tutti_status mds_batches_check(const mds_order *o, tutti_error *err);
/* As mds_order_places and mds_order_samples, of an order that mds_batches_check has passed and whose batching is not
 * MDS_BATCH_RANDOM. */
int64_t mds_batches_places(const mds_order *o);
TUTTI_NODISCARD tutti_status mds_batches_samples(const mds_order *o, int64_t epoch,
                                                 int64_t *ret, tutti_error *err);

#endif
