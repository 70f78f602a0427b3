/* batch.h - the columns of a batch, and replacing them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_BATCH_H
#define HOST_TRAIN_CONTEXT_BATCH_H

#include "train/context/host_mirror.h"

typedef struct slot_memory {
    void *data;
    uint64_t capacity;         /* bytes */
    const tutti_device *place; /* NULL: the host's memory */
} slot_memory;

/* A named tensor: borrowed memory, or `own` once it was replaced. */
typedef struct slot {
    char name[32];
    tutti_tensor now;
    void *own; /* 64-byte aligned */
    uint64_t capacity;
    host_mirror mirror; /* of what lies on a device */
    slot_memory two[2]; /* what plugins' kernels fill: one while the other is read */
    uint64_t turn;
} slot;

typedef struct batch {
    slot columns[TUTTI_MAX_COLUMNS];
    uint32_t ncolumns;
    int64_t samples; /* of the first column */
} batch;

void batch_load(batch *b, const tutti_column *names, const tutti_tensor *columns, uint32_t n);
/* Makes `part` the rows [first, first + count) of `whole`. */
void batch_slice(batch *part, const batch *whole, int64_t first, int64_t count);
slot *batch_find(batch *b, const char *name); /* by name or number; NULL when absent */
void batch_fini(batch *b);

/* A copy on the host of `t`, which lies here or on `d`. */
TUTTI_NODISCARD tutti_status slot_set(slot *s, const tutti_device *d, const tutti_tensor *t,
                                      tutti_error *err);
/* `bytes` of memory of the slot's own on `place`, of any contents; what was taken the time before
 * stays as it is. */
TUTTI_NODISCARD tutti_status slot_take(slot *s, const tutti_device *place, uint64_t bytes,
                                       void **ret_memory, tutti_error *err);
void slot_fini(slot *s);

#endif
