/* checkpoint_format.h - what writing and reading of checkpoints share: where the checksum stands, a file in memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CHECKPOINT_FILE_CHECKPOINT_FORMAT_H
#define HOST_TRAIN_CHECKPOINT_FILE_CHECKPOINT_FORMAT_H

#include "base/json.h"
#include "train/checkpoint_file/checkpoint.h"

/* A header of version 2 begins with SEAL_HEAD, then 16 hexadecimal digits: XXH3 of the whole file with SEAL_NONE
 * in their place. */
#define SEAL_HEAD "{\"__metadata__\":{\"xxh3_64_file\":\""
#define SEAL_NONE "0000000000000000"
enum { SEAL_HEAD_SIZE = sizeof SEAL_HEAD - 1, SEAL_DIGITS = sizeof SEAL_NONE - 1 };

/* One file, or an index and its shards. */
struct checkpoint {
    char *path;
    void *map; /* of a file */
    uint64_t size;
    json_doc *header; /* of a file, or the index */
    checkpoint_item *items;
    const char **words; /* the names, NULL-terminated */
    size_t count;
    struct checkpoint **shards; /* owned */
    size_t nshards;
    bool sealed;
};

/* As checkpoint_open, of one file. */
TUTTI_NODISCARD tutti_status checkpoint_open_file(const char *path, checkpoint **ret_checkpoint,
                                                  tutti_error *err);
/* As checkpoint_write, of a text. */
TUTTI_NODISCARD tutti_status checkpoint_write_text(const char *path, const char *text,
                                                   tutti_error *err);

#endif
