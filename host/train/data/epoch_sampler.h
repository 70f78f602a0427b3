/* epoch_sampler.h - "sampler" of training data: which samples an epoch has, by weights, by classes, by lengths. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_EPOCH_SAMPLER_H
#define HOST_TRAIN_DATA_EPOCH_SAMPLER_H

#include "plugin/instance.h"
#include "train/run_file/run_sections.h"
#include "tutti/dataset.h"

typedef struct epoch_sampler epoch_sampler; /* opaque */

/* Settings, dataset and `info` are borrowed.  Reads nothing of the data yet.  Errors: E_NOTFOUND there is no such column;
 * E_ARG the column has no classes or lengths, or the dataset has an order of its own; E_RANGE more samples are wanted,
 * each once, than there are.  [control] */
TUTTI_NODISCARD tutti_status epoch_sampler_create(const run_sampler *settings,
                                                  instance *dataset,
                                                  const tutti_dataset_info *info,
                                                  uint32_t threads, epoch_sampler **ret_sampler,
                                                  tutti_error *err);
void epoch_sampler_destroy(epoch_sampler *s);         /* NULL is allowed */
int64_t epoch_sampler_places(const epoch_sampler *s); /* of an epoch */
/* As tutti_sample_order_v1's.  The first call reads the file of weights, or every sample once, by as many threads as the
 * loader has workers.  Errors: the dataset's; E_IO, E_FORMAT the file; E_NOMEM.  Not for two threads at once. */
TUTTI_NODISCARD tutti_status epoch_sampler_order(epoch_sampler *s, const tutti_epoch *epoch,
                                                 int64_t *ret_index, tutti_error *err);

#endif
