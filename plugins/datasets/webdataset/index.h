/* index.h - where the samples of all shards lie, and their classes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_INDEX_H
#define PLUGIN_WEBDATASET_INDEX_H

#include "../common/label_names.h"

#include "shards.h"
#include "value.h"

#include "tutti/params.h"

/* One sample's input. */
typedef struct place {
    uint64_t at;
    uint64_t size;
    uint32_t shard;
    int32_t label;
} place;

typedef struct wds_index {
    wds_shards shards;
    place *places;
    int64_t count;
    int64_t capacity;
    int64_t classes;   /* 0: no targets */
    label_names names; /* of the file `labels`; else none */
    int32_t kind;      /* wds_kind, of every input */
    int32_t reserved;
} wds_index;

/* Makes the shards readable, one after the other, and reads their headers and classes.  `x` is for wds_close even after an error.
 * Errors, which name the shard and the sample: E_IO, E_FORMAT, E_RANGE, E_UNSUPPORTED, E_NOMEM.
 * [control] */
TUTTI_NODISCARD tutti_status wds_open(wds_index *x, const tutti_params *params,
                                      const tutti_log_v1 *log, tutti_error *err);
void wds_close(wds_index *x);

#endif
