/* shard.h - MosaicML Streaming's MDS format, version 2: an index and its shards. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_SHARD_H
#define PLUGIN_MDS_SHARD_H

#include "tutti/base.h"

#include <pthread.h>

enum { MDS_MAX_COLUMNS = 32 };

/* How one column of a sample is stored; columns are sorted by name in the file. */
typedef struct mds_column {
    char *name;
    char *encoding;
    int64_t size; /* bytes; -1: differs, and stands before the sample's data */
} mds_column;

/* One file of a shard: as it is, or compressed. */
typedef struct mds_file {
    char *path;
    char *hash_kind; /* NULL when the index gives none */
    char *hash;
    uint64_t bytes;
} mds_file;

typedef struct mds_shard {
    mds_file raw;
    mds_file zip;   /* path NULL when not compressed */
    char *zip_kind; /* "zstd", "zstd:7" */
    int64_t samples;
    int64_t first; /* index of its first sample */
    /* behind the lock: */
    const unsigned char *data; /* NULL: closed */
    uint64_t size;
    int mapped;     /* 1: a mapping, 0: memory of ours */
    int verified;   /* its hash was right once */
    int recent;     /* used since the hand went past */
    uint32_t users; /* of `data`; it stays open */
    pthread_mutex_t lock;
} mds_shard;

/* A process may have 65530 maps, by Linux's default, and needs some for all else. */
enum { MDS_MAX_OPEN = 16384 };

typedef struct mds_set {
    char *folder;
    mds_shard *shards;
    uint64_t nshards;
    int64_t samples;
    mds_column columns[MDS_MAX_COLUMNS]; /* those of every shard */
    uint32_t ncolumns;
    int32_t verify;
    uint64_t nopen;         /* atomic */
    uint64_t hand;          /* where the next shard to close is looked for */
    pthread_mutex_t closer; /* has the hand */
} mds_set;

/* A column of a sample, in the shard's memory. */
typedef struct mds_field {
    const unsigned char *data;
    uint64_t size;
} mds_field;

/* Reads folder/index.json.  Errors name the file and what is wrong with it. */
TUTTI_NODISCARD tutti_status mds_open(mds_set *set, const char *folder, int32_t verify,
                                      tutti_error *err);
void mds_close(mds_set *set);
/* The fields of sample `index`.  Its shard is mapped, or inflated, when it is not open, and verified the first
 * time; of more than MDS_MAX_OPEN shards one that was not used lately is closed.  The fields are good until
 * mds_done with the same index, which follows each success.  [any] */
TUTTI_NODISCARD tutti_status mds_sample(mds_set *set, int64_t index, mds_field *fields,
                                        tutti_error *err);
void mds_done(mds_set *set, int64_t index);
/* Column number by name; -1. */
int32_t mds_find(const mds_set *set, const char *name);
/* The shard that holds sample `index`. */
mds_shard *mds_shard_of(mds_set *set, int64_t index);

#endif
