/* dataset.h - tutti.dataset/1: samples by index. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_DATASET_H
#define TUTTI_DATASET_H

#include "tensor.h"

TUTTI_C_BEGIN

#define TUTTI_DATASET_V1 "tutti.dataset/1"
#define TUTTI_MAX_COLUMNS 8

/* One field of a sample.  Image classification calls them "input" and "target".  No struct_size: calls take
 * arrays of it, so it never grows. */
typedef struct tutti_column {
    char name[32];
    tutti_desc desc; /* of one sample; a dimension of -1 differs from sample to sample */
    int64_t classes; /* labels run from 0 to classes - 1; 0: not a label */
} tutti_column;

/* The host owns it; the plugin fills what struct_size has room for.  More columns need another interface. */
typedef struct tutti_dataset_info {
    uint32_t struct_size;
    uint32_t ncolumns;
    int64_t samples;
    tutti_column columns[TUTTI_MAX_COLUMNS];
} tutti_dataset_info;

typedef struct tutti_dataset_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* What it holds; fixed after open.  [any] */
    tutti_status (*info)(void *self, tutti_dataset_info *ret_info, tutti_error *err);
    /* Writes sample `index` into columns[k].data, which has room for `capacity[k]` bytes, and sets
     * columns[k].desc.  TUTTI_E_RANGE: too little room, desc says what is needed.  Errors name
     * the file and the sample.  [any] */
    tutti_status (*read)(void *self, int64_t index, tutti_tensor *columns,
                         const uint64_t *capacity, uint32_t ncolumns, tutti_error *err);
} tutti_dataset_v1;

TUTTI_C_END
#endif
