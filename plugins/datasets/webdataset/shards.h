/* shards.h - the files of all shards: mapped from open to close, or, with addresses and a bounded disk, while they are used. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_SHARDS_H
#define PLUGIN_WEBDATASET_SHARDS_H

#include "../common/mapped_file.h"

#include "fetch.h"

#include <pthread.h>

typedef struct shard {
    char *path;           /* of its file here */
    char *address;        /* where that comes from, if the disk is bounded; else NULL */
    mapped_file file;     /* what is in it, unpacked */
    uint64_t size, sum;   /* of the file that was read first, where there is an address */
    uint64_t bytes;       /* of the disk, unpacked too */
    int64_t first;        /* number of its first sample; the reader's */
    uint64_t used;        /* atomic: when it was used last */
    pthread_mutex_t lock; /* of `file` and `users`, where there is an address */
    int32_t users;
    int32_t kept; /* atomic: `file` is mapped */
} shard;

typedef struct wds_shards {
    shard *all;
    uint32_t count;
    int32_t reserved;
    wds_source source;
    char *unpack;         /* folder */
    uint64_t limit;       /* bytes of shards with addresses; 0: no limit */
    uint64_t clock;       /* atomic */
    pthread_mutex_t lock; /* of `held`; taken while a shard's is held, never the other way */
    uint64_t held;        /* bytes of the shards that are kept */
} wds_shards;

/* The names of the shards, of none the file.  `x` is for shards_close even after an error.  Errors: those of braces_expand;
 * E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status shards_open(wds_shards *x, const tutti_params *params,
                                         const tutti_log_v1 *log, tutti_error *err);
void shards_close(wds_shards *x);

/* Makes shard `k` readable for the first time; `fetch` goes from one to the next.  Errors: those of fetch_shard, mapped_file_open and unpack_file.  [control] */
TUTTI_NODISCARD tutti_status shards_first(wds_shards *x, wds_fetch *fetch, uint32_t k,
                                          tutti_error *err);
/* It has been read through: a shard for which there is no room leaves again.  Errors: E_ARG a limit below this shard.
 * [control] */
TUTTI_NODISCARD tutti_status shards_settle(wds_shards *x, uint32_t k, tutti_error *err);

/* Makes shard `k` readable until shards_done.  To make room, the least recently used shards that nobody uses now are
 * removed; where there are none, the limit is passed for a while.  Errors: those of shards_first; E_FORMAT the server has
 * another file by now.  [any] */
TUTTI_NODISCARD tutti_status shards_use(wds_shards *x, uint32_t k, tutti_error *err);
void shards_done(wds_shards *x, uint32_t k);

#endif
