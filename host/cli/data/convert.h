/* convert.h - a data set written anew: shards of MosaicML Streaming (MDS, version 2), or a file of tokens. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_DATA_CONVERT_H
#define HOST_CLI_DATA_CONVERT_H

#include "base/text.h"
#include "cli/data/data_set.h"

/* What a column of samples becomes. */
typedef enum shard_kind { SHARD_PICTURE, SHARD_NUMBER, SHARD_ARRAY, SHARD_TOKENS } shard_kind;

typedef struct shard_column {
    char name[32];
    char encoding[64];
    int64_t size;  /* bytes of each value; -1: they differ */
    uint32_t from; /* column of the samples */
    shard_kind kind;
} shard_column;

/* How samples are laid out; columns are sorted by name. */
typedef struct shard_layout {
    shard_column columns[TUTTI_MAX_COLUMNS];
    uint32_t ncolumns;
} shard_layout;

/* shard.c: input and target are rows of tokens of one length, the target the input one further. */
bool shard_is_text(const data_set *d);
/* shard.c: pictures stay the JPEG and PNG files that they are, or become PNG; whole numbers and floats themselves, other columns arrays; input and target of a set of tokens
 * become one column `tokens`. */
void shard_layout_make(const data_set *d, shard_layout *ret_layout);
/* Looks at a sample, which `d` has read: one picture that is a JPEG names its column's encoding, by which either kind is read.
 * Errors: E_NOMEM; those of reading its file. */
TUTTI_NODISCARD tutti_status shard_see_sample(shard_layout *l, const data_set *d,
                                              tutti_error *err);
/* Adds one sample, which `d` has read.  Errors: E_NOMEM; E_UNSUPPORTED, E_SHAPE what MDS cannot hold. */
TUTTI_NODISCARD tutti_status shard_add_sample(const shard_layout *l, const data_set *d,
                                              text_buffer *b, tutti_error *err);

typedef struct convert_options {
    const char *from; /* for the file that tells a second try what was begun */
    const char *to;   /* folder */
    const char *const *sets;
    size_t nsets;
    int64_t shard_samples; /* 0: as many as make some 32 MiB */
    int64_t threads;
} convert_options;

/* Writes the set; shards that an earlier try has finished stay.  Progress goes to stderr where that is a terminal.  Errors: E_STATE
 * a folder that has a set already, or one begun from other data or settings; E_IO; those of reading samples. */
TUTTI_NODISCARD tutti_status convert_data(const data_set *d, const convert_options *o,
                                          tutti_error *err);

/* tokens.c: the tokens of all samples, each of which goes on where the one before it ends, as the data set tokens_bin reads
 * them: u16 where there are at most 65536, else u32.  The file is there whole or not at all; what an earlier try wrote of it
 * stays, in the file .part beside it.  Progress as above.  Errors: E_UNSUPPORTED other samples; E_STATE a file that is there,
 * one begun from other data or settings, or one that another process writes; E_RANGE too many tokens; E_IO; those of reading
 * samples. */
TUTTI_NODISCARD tutti_status convert_tokens(const data_set *d, const convert_options *o,
                                            tutti_error *err);

#endif
