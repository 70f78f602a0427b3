/* device_dataset.h - a data set whole on a device whose memory is its own, and its batches, made there. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_DEVICE_DATASET_H
#define HOST_TRAIN_DATA_DEVICE_DATASET_H

#include "graph/runtime/device_memory.h"
#include "train/data/loader.h"

typedef struct device_dataset device_dataset; /* opaque */

typedef struct device_dataset_options {
    loader *loader;             /* borrowed: data set, transforms, order; it makes no batches */
    const tutti_device *device; /* borrowed */
    const tutti_op *gather;     /* "gather" */
    const tutti_step *step;     /* borrowed: what launches carry */
} device_dataset_options;

/* Takes the memory, reads nothing yet.  [control]  Errors: E_UNSUPPORTED what a transform has no kernel
 * for; E_NOMEM. */
TUTTI_NODISCARD tutti_status device_dataset_create(const device_dataset_options *options,
                                                   device_dataset **ret_dataset,
                                                   tutti_error *err);
void device_dataset_destroy(device_dataset *r); /* NULL is allowed */

/* As the loader's seek, to batch `number`; the first one reads the data set. */
TUTTI_NODISCARD tutti_status device_dataset_seek(device_dataset *r, int64_t epoch,
                                                 int64_t number, tutti_error *err);
/* As the loader's next, to the bit, but columns lie on the device, and the work that makes them may
 * still be under way on its own stream. */
TUTTI_NODISCARD tutti_status device_dataset_next(device_dataset *r, tutti_tensor *columns,
                                                 uint32_t *ret_ncolumns, int64_t *ret_samples,
                                                 tutti_error *err);

#endif
