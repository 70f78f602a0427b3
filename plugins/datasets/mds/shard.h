/* shard.h - MosaicML Streaming's sets, version 2: an index, and shards of samples (mds), of lines with separators (xsv,
 * csv, tsv) or of lines of JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_SHARD_H
#define PLUGIN_MDS_SHARD_H

#include "tutti/base.h"

#include <pthread.h>

enum { MDS_MAX_COLUMNS = 32 };

/* How the samples of a shard's data stand there. */
typedef enum mds_format {
    MDS_BINARY, /* u32 samples, u32 offsets[samples + 1]; a sample: u32 sizes of its variable columns, the columns */
    MDS_LINES, /* the columns' texts with separators between them; offsets are in the file of meta data */
    MDS_JSON /* an object; offsets are in the file of meta data */
} mds_format;

/* How one column of a sample is stored; those of a binary shard are sorted by name. */
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

/* A file of a shard in memory. */
typedef struct mds_part {
    mds_file raw;
    mds_file zip; /* path NULL when not compressed */
    /* behind the shard's lock: */
    const unsigned char *data; /* NULL: closed */
    uint64_t size;
    int mapped;   /* 1: a mapping, 0: memory of ours */
    int verified; /* its hash was right once */
} mds_part;

enum { MDS_DATA, MDS_META, MDS_PARTS }; /* MDS_META: of formats other than mds */

typedef struct mds_shard {
    mds_part part[MDS_PARTS];
    uint32_t folder; /* which of the set's */
    char *zip_kind;  /* "zstd", "zstd:7"; NULL: none */
    int64_t samples;
    int64_t first; /* index of its first sample */
    uint64_t used; /* atomic; of a remote set: when, by the cache's clock */
    /* behind the lock: */
    int kept;       /* of a remote set: its files are here; read without the lock too, atomic */
    int recent;     /* used since the hand went past */
    uint32_t users; /* of the parts' data; they stay open */
    pthread_mutex_t lock;
} mds_shard;

/* A process may have 65530 maps, by Linux's default, and needs some for all else. */
enum { MDS_MAX_OPEN = 16384 };

/* One stream of the set: its index and shards. */
typedef struct mds_folder {
    char *path;
    struct remote *there; /* where its files come from; NULL: they are here */
    int64_t shards;
    int64_t samples;
} mds_folder;

typedef struct mds_set {
    mds_folder *folders;
    const char *folder; /* the path of the last, for sentences about what all have */
    uint32_t nfolders;
    int32_t sealed;
    struct mds_cache
        *cache; /* of a set with a remote folder, its own; NULL: all files are here */
    mds_shard *shards;
    uint64_t nshards;
    int64_t samples;
    mds_column columns[MDS_MAX_COLUMNS]; /* those of every shard */
    uint32_t ncolumns;
    int32_t verify;
    int32_t format;         /* mds_format, of every shard */
    char *separator;        /* MDS_LINES: between columns */
    char *newline;          /* MDS_LINES: at the end of a sample */
    uint64_t nopen;         /* atomic */
    uint64_t inflated;      /* bytes of memory that open shards take; atomic */
    uint64_t most_inflated; /* above which shards are closed; 0: no limit */
    uint64_t hand;          /* where the next shard to close is looked for */
    pthread_mutex_t closer; /* has the hand */
} mds_set;

/* A column of a sample, in the shard's memory or its sample's own. */
typedef struct mds_field {
    const unsigned char *data;
    uint64_t size;
} mds_field;

typedef struct mds_row {
    mds_field fields[MDS_MAX_COLUMNS];
    char *own; /* values of JSON; NULL: none */
} mds_row;

/* Reads folder/index.json, whose shards come behind those that the set has; they have the same columns.  Takes `there`
 * for its own, also after an error.  `set` is zeros but for `verify` before the first, and for mds_close even after an
 * error.  Errors name the file and what is wrong with it.  [control] */
TUTTI_NODISCARD tutti_status mds_add(mds_set *set, const char *folder, struct remote *there,
                                     tutti_error *err);
/* There are no more: samples can be read.  [control] */
void mds_seal(mds_set *set);
void mds_close(mds_set *set);
/* The fields of sample `index`.  Its shard is mapped, or inflated, when it is not open, and verified the first
 * time; of more than MDS_MAX_OPEN shards one that was not used lately is closed, and as many as are needed above most_inflated.  The fields are good until
 * mds_done with the same index and row, which follows each success.  [any] */
TUTTI_NODISCARD tutti_status mds_sample(mds_set *set, int64_t index, mds_row *ret_row,
                                        tutti_error *err);
void mds_done(mds_set *set, int64_t index, mds_row *row);
/* Column number by name; -1. */
int32_t mds_find(const mds_set *set, const char *name);
/* The shard that holds sample `index`. */
mds_shard *mds_shard_of(mds_set *set, int64_t index);
/* Opens its files, which are here, and verifies those that were not; all or none.  Its lock is held.  Errors: E_IO,
 * E_FORMAT, E_NOMEM, which name the file.  [any] */
TUTTI_NODISCARD tutti_status mds_parts_load(mds_set *set, mds_shard *s, tutti_error *err);
/* Closes it: nobody uses it, and its lock is held. */
void mds_shard_unload(mds_set *set, mds_shard *s);
/* The file that errors about a shard name. */
const char *mds_shard_path(const mds_shard *s);

#endif
