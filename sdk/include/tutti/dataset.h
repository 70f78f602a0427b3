/* dataset.h - tutti.dataset/1: samples by index; tutti.sample_order/1: the order of an epoch;
 * tutti.class_names/1: what classes are called; tutti.stored/1: pictures as the files that they are;
 * tutti.sample_groups/1: which samples lie together. */
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

#if TUTTI_USE_MINOR >= 1
#define TUTTI_SAMPLE_ORDER_V1 "tutti.sample_order/1"

/* since 1.1.  The pass over the data that an order is wanted for.  The host owns it. */
typedef struct tutti_epoch {
    uint32_t struct_size;
    uint32_t shuffle;   /* 1: the run wants samples mixed; 0: it does not */
    uint64_t seed;      /* the run's */
    int64_t epoch;      /* from 0 */
    int64_t batch_size; /* samples of a batch, all processes of the run together */
} tutti_epoch;

/* since 1.1.  A dataset answers this to query where it has an order of its own, in the place of the host's: batch k of
 * an epoch is samples index[k * batch_size] and on.  The host asks again where a run is resumed, and in every process of
 * a distributed run, so the answer depends on the settings and the epoch alone. */
typedef struct tutti_sample_order_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* Samples that an epoch gives, each counted as often as it comes: at least 1, more or fewer than the
     * dataset's.  Fixed after open.  [any] */
    int64_t (*places)(void *self);
    /* Writes which sample is at each place, from 0 to the dataset's number of samples less one, to index[0] and on.
     * [any], also while samples are read.  Errors: E_RANGE `room` is less than `places` says. */
    tutti_status (*order)(void *self, const tutti_epoch *epoch, int64_t *index, uint64_t room,
                          tutti_error *err);
} tutti_sample_order_v1;

#define TUTTI_CLASS_NAMES_V1 "tutti.class_names/1"

/* since 1.1.  A dataset answers this to query where it knows what its classes are called. */
typedef struct tutti_class_names_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* What class `index` of a column is called, UTF-8; `column` NULL is the first one whose classes have names.  NULL:
     * it has no name, or there is no such class or column.  Lives until the dataset's close.  [any] */
    const char *(*name)(void *self, const char *column, int64_t index);
} tutti_class_names_v1;

#define TUTTI_STORED_V1 "tutti.stored/1"

/* since 1.1.  A dataset answers this to query where its pictures are JPEG or PNG files, which may then be copied
 * without a loss. */
typedef struct tutti_stored_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* The file of which read makes column number `column` of sample `index`: *ret_size bytes, which go to `to` where
     * `capacity` has room for them.  0 bytes: it has no such file, or the file says another shape than read gives, such
     * as grey for what is read as colour.  [any] */
    tutti_status (*file)(void *self, int64_t index, uint32_t column, void *to,
                         uint64_t capacity, uint64_t *ret_size, tutti_error *err);
} tutti_stored_v1;
#endif

#if TUTTI_USE_MINOR >= 2
#define TUTTI_SAMPLE_GROUPS_V1 "tutti.sample_groups/1"

/* since 1.2.  A dataset answers this to query where its samples lie in groups that are cheap to read one after the other,
 * such as shards.  A run can then shuffle in lanes of groups, so that a process reads few of them. */
typedef struct tutti_sample_groups_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* How many groups there are, at least 1.  Fixed after open.  [any] */
    int64_t (*count)(void *self);
    /* The number of the first sample of group `group`, below `count`.  Group 0 begins at sample 0, each other one where
     * the one before it ends, the last one ends with the data set; a group may be empty.  Fixed after open.  [any] */
    int64_t (*first)(void *self, int64_t group);
    /* The samples that this process reads in an epoch, about in this order, for fetching ahead: `count` numbers, which are
     * the caller's and go after the call.  Comes in runs with lanes alone, before the epoch's first read, also
     * while samples of the epoch before are read.  NULL: the data set fetches nothing ahead.  [any] */
    void (*expect)(void *self, const int64_t *samples, uint64_t count);
} tutti_sample_groups_v1;
#endif

TUTTI_C_END
#endif
