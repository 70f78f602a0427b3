/* weights.h - how many samples an epoch has of each stream, as MosaicML Streaming counts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_WEIGHTS_H
#define PLUGIN_MDS_WEIGHTS_H

#include "order.h"

enum { MDS_MAX_STREAMS = 64 };

typedef enum mds_weight_kind {
    MDS_ALL,
    MDS_PROPORTION,
    MDS_REPEAT,
    MDS_CHOOSE
} mds_weight_kind;

typedef struct mds_weight {
    int32_t kind; /* mds_weight_kind; MDS_PROPORTION for all streams or none */
    double value; /* of proportion and repeat */
    int64_t choose;
} mds_weight;

/* Sets `choose` and `share` of each stream, whose samples are known.  `size` is the epoch's number of samples where streams have
 * proportions or nothing; 0: theirs.  The sum of all does not depend on `seed`, which says who gets what is left of rounding
 * down.  Errors: E_ARG a size beside repeat or choose, or an epoch of no samples; E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status mds_weights_apply(const mds_weight *weights, mds_stream *streams,
                                               int64_t count, int64_t size, uint64_t seed,
                                               tutti_error *err);

#endif
