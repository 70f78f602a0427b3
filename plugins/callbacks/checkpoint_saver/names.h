/* names.h - file names with {variables}: made for a time, and read back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NAMES_H
#define NAMES_H

#include "tutti/time.h"

#include <stdbool.h>

/* Writes `pattern` with every {variable} replaced: run_name; epoch, batch, batch_in_epoch, sample,
 * sample_in_epoch, token, token_in_epoch; total_wct, epoch_wct, batch_wct in seconds; rank and the
 * like, which are 0, and world sizes, which are 1.
 * Errors: E_ARG an unknown variable; E_RANGE it does not fit into `size`. */
TUTTI_NODISCARD tutti_status name_expand(const char *pattern, const char *run_name,
                                         const tutti_timestamp *time, char *ret, size_t size,
                                         tutti_error *err);

/* What a name says of its checkpoint's time; -1: nothing. */
typedef struct name_time {
    int64_t batch, epoch;
} name_time;

/* Whether `text` could have been made from `pattern`; then *ret_time is what it says. */
bool name_match(const char *pattern, const char *run_name, const char *text,
                name_time *ret_time);

/* Of one batch the checkpoint behind the end of its epoch is the later one. */
static inline bool name_is_later(name_time a, name_time b)
{
    return a.batch > b.batch || (a.batch == b.batch && a.epoch > b.epoch);
}

/* Whether `text` is a shard of a checkpoint of several files, "STEM-1a2b3c4d-00001-of-00003.safetensors"; then *ret_index
 * is the name of its index, "STEM.safetensors.index.json". */
bool name_is_shard(const char *text, char *ret_index, size_t size);
/* Whether `text` is the name of such an index; of one that says of what only by ".index.json". */
bool name_is_index(const char *text);
bool name_is_odd_index(const char *text);

#endif
