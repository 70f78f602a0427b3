/* shuffle.h - the shuffles of MosaicML Streaming: which sample is where in an epoch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_SHUFFLE_H
#define PLUGIN_MDS_SHUFFLE_H

#include "tutti/base.h"

/* Each shuffles units, which are shards or what is drawn of them, in the order of their samples, and divides the samples
 * evenly among nodes.  But for naive, the assignment to nodes is that of the whole run. */
typedef enum mds_shuffle_algo {
    MDS_NAIVE, /* all samples with all */
    MDS_PY1E,  /* units, their samples, then each sample moved by at most half a block */
    MDS_PY1S,  /* units, then the samples of each */
    MDS_PY1BR, /* units, then the samples of blocks of random sizes, larger than units */
    MDS_PY2S   /* as py1s, and the samples of each unit once for the whole run too */
} mds_shuffle_algo;

typedef struct mds_shuffle {
    int32_t algo;  /* mds_shuffle_algo */
    int64_t nodes; /* at least 1 */
    uint64_t seed; /* of the run */
    int64_t block; /* samples, at least 2 */
} mds_shuffle;

/* The numbers of all samples of units of the given sizes, shuffled, into `ret`.  Errors: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status mds_shuffle_samples(const mds_shuffle *s, const int64_t *units,
                                                 int64_t nunits, int64_t epoch, int64_t *ret,
                                                 tutti_error *err);

#endif
