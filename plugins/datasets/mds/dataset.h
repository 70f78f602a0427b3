/* dataset.h - the dataset mds: its columns, and what reading one takes; for its own files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_DATASET_H
#define PLUGIN_MDS_DATASET_H

#include "../common/label_names.h"
#include "encoding.h"
#include "order.h"
#include "tokens.h"
#include "weights.h"

#include "tutti/dataset.h"
#include "tutti/log.h"
#include "tutti/params.h"

#define MDS_CLASSES                                                                            \
    "classes.txt" /* beside index.json: what the classes of a target of numbers are called */

enum { INPUT, TARGET, OUTPUTS, PROBES = 16 };
enum { SLOT_EMPTY, SLOT_BUSY, SLOT_READY };

/* A column of the set as a column of our samples. */
typedef struct output {
    tutti_column column;
    mds_encoding encoding;
    int32_t from;  /* column of the set */
    int32_t label; /* 1: a class, given as i32 */
} output;

/* What an epoch has of the set, and in which order. */
typedef struct mds_epochs {
    mds_order order;     /* shards NULL: all of it, in the host's order */
    mds_weight *weights; /* one a stream */
    int64_t size;        /* samples of an epoch as the run says; 0: it does not */
    int32_t run_seed;    /* 1: the order's seed is that of the run */
} mds_epochs;

typedef struct mds {
    const tutti_log_v1 *log; /* NULL: nobody hears */
    mds_set set;
    output outputs[OUTPUTS];
    uint32_t noutputs;
    uint32_t reserved;
    mds_tokens tokens; /* from -1: none, else both outputs are of it */
    label_names names; /* of classes, where they have any */
    mds_epochs epochs;
    image_pool *pool;
    uint8_t *cache; /* decoded inputs, one after the other; NULL: off */
    uint8_t *slots; /* per sample: SLOT_* */
    uint64_t input_bytes;
} mds;

/* sample.c; errors of a sample name its shard, its number there and its column */
tutti_status mds_bad_sample(mds *m, int64_t index, const output *o, tutti_status status,
                            const char *why, tutti_error *err);
/* The shape of a field, which has to fit the column's, if that is known. */
TUTTI_NODISCARD tutti_status mds_shape_of(mds *m, int64_t index, const output *o,
                                          const mds_field *f, tutti_desc *ret,
                                          tutti_error *err);
/* A class: a text by its place among the labels, or any whole number, checked against the number of classes unless
 * that is 0. */
TUTTI_NODISCARD tutti_status mds_read_label(mds *m, int64_t index, const output *o,
                                            const mds_field *f, int64_t classes, int64_t *ret,
                                            tutti_error *err);

/* All columns of a sample.  Errors: also E_RANGE, one does not fit into its `capacity` bytes.  [any] */
TUTTI_NODISCARD tutti_status mds_read_columns(mds *m, int64_t index, const mds_field *fields,
                                              tutti_tensor *columns, const uint64_t *capacity,
                                              tutti_error *err);

/* sources.c: the folders of the set, here or remote.  [control] */
TUTTI_NODISCARD tutti_status mds_open_set(mds *m, const tutti_params *params, tutti_error *err);

/* epoch.c: which order the run wants.  [control] */
TUTTI_NODISCARD tutti_status mds_open_order(mds *m, const tutti_params *params,
                                            tutti_error *err);
void mds_close_order(mds *m);
/* tutti.sample_order/1; NULL: the host has the order. */
const tutti_sample_order_v1 *mds_order_table(const mds *m);
/* tutti.sample_groups/1: the shards. */
const tutti_sample_groups_v1 *mds_groups_table(void);

/* open.c: settles the columns of an open set, and reads what has to be known of all samples.  [control] */
TUTTI_NODISCARD tutti_status mds_open_outputs(mds *m, const tutti_params *params,
                                              tutti_error *err);

#endif
