/* transform.h - tutti.transform/1: a step from stored sample to training sample. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_TRANSFORM_H
#define TUTTI_TRANSFORM_H

#include "dataset.h"

TUTTI_C_BEGIN

#define TUTTI_TRANSFORM_V1 "tutti.transform/1"

/* Keys for random draws: use tutti_stream_at(seed, TUTTI_RNG_TRANSFORM ^ your own hash, epoch,
 * index), so that a sample's draw depends on nothing else. */
typedef struct tutti_sample {
    uint32_t struct_size;
    uint32_t ncolumns; /* of `columns` */
    uint64_t seed;
    uint64_t epoch;
    uint64_t index;              /* in the dataset */
    const tutti_tensor *columns; /* all of them, as they were before this transform */
} tutti_sample;

/* A batch on a device, for transforms that change it there; draws are those of tutti_sample. */
typedef struct tutti_samples {
    uint32_t struct_size;
    uint32_t ncolumns; /* of `columns` */
    uint64_t seed;
    uint64_t epoch;
    const int64_t *index;        /* on the device: of each row in the dataset */
    const tutti_tensor *columns; /* all of the batch, as they were before this transform */
} tutti_samples;

typedef struct tutti_transform_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* Changes the descriptions of a sample's columns as apply will change the sample, or says why
     * they do not fit.  [control] */
    tutti_status (*infer)(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err);
    /* Reads column `k` from `in` and writes it to out->data (room as `infer` told; for -1
     * dimensions as in->desc), setting out->desc.  `in` and `out` never overlap.  Returns 1 when
     * it has written, 0 when it leaves this column as it is, negative status on error.  [any] */
    int32_t (*apply)(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err);
    /* What apply does, bit for bit, to column `k`
     * of a batch (B, ...) in memory of the run's device, by kernels of the plugin (tutti.kernel/1).
     * Returns as apply, the same for every batch.  Without in->data it launches nothing: it sets
     * out->desc for in->desc and returns what it would; E_UNSUPPORTED then says why settings or column
     * have no kernel.  NULL: there is apply alone.  [step] */
    int32_t (*apply_batch)(void *self, const tutti_samples *samples, uint32_t k,
                           const tutti_tensor *in, tutti_tensor *out, tutti_error *err);
} tutti_transform_v1;

TUTTI_C_END
#endif
