/* upload.h - batches on their way to a device: pinned, two at a time, beside the work under way. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_UPLOAD_H
#define HOST_TRAIN_DATA_UPLOAD_H

#include "tutti/dataset.h"
#include "tutti_host/device.h"

enum {
    UPLOAD_COLUMNS = 3 * TUTTI_MAX_COLUMNS
}; /* inputs, targets, what plugins' kernels work on */

typedef struct upload_lane {
    void *host;
    void *device;
    uint64_t capacity; /* bytes of each */
    void *copied;      /* event: host is free again */
    void *used;        /* event: device is free again */
} upload_lane;

typedef struct uploads {
    upload_lane lanes[UPLOAD_COLUMNS][2];
    uint32_t turn[UPLOAD_COLUMNS];
    void *stream;
} uploads;

/* Copies a column on the host to `to` on the device; nobody waits.  `from` may change at once.  [step] */
TUTTI_NODISCARD tutti_status upload_run(uploads *u, const tutti_device *d, uint32_t column,
                                        void *to, const tutti_tensor *from, tutti_error *err);
void uploads_fini(uploads *u, const tutti_device *d);

#endif
