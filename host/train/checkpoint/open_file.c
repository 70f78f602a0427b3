/* open_file.c - a checkpoint here or elsewhere, by the plugins of the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/open_file.h"

#include "base/text.h"
#include "train/context/signals.h"
#include "train/fetch/fetch.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static bool is_stopped(void)
{
    return trainer_signal() != 0 || trainer_pending_signal() != 0;
}

/* Of names, types, shapes and bytes of all its tensors. */
static void hash_tensors(const checkpoint *c, char *ret_hash, size_t size)
{
    XXH64_hash_t hash = 0;
    for (size_t k = 0; k < checkpoint_count(c); k++) {
        checkpoint_item item;
        checkpoint_at(c, k, &item);
        const tutti_desc *d = &item.tensor.desc;
        hash = XXH3_64bits_withSeed(item.name, strlen(item.name), hash);
        hash = XXH3_64bits_withSeed(&d->dtype, sizeof d->dtype, hash);
        hash = XXH3_64bits_withSeed(d->dim, d->rank * sizeof *d->dim, hash);
        hash = XXH3_64bits_withSeed(item.tensor.data, tutti_nbytes(d), hash);
    }
    (void)snprintf(ret_hash, size, "%016llx", (unsigned long long)hash);
}

/* Each rank has fetched the file for itself, and it may have been replaced in between: all ranks go on with the same
 * one, or none does. */
static tutti_status agree_on_fetched(distributed *d, tutti_status status, const char *path,
                                     const checkpoint *c, tutti_error *err)
{
    char hash[24] = "", name[320];
    if (!distributed_on(d))
        return status;
    const tutti_status s = distributed_agree(d, status, err);
    if (s)
        return s;
    hash_tensors(c, hash, sizeof hash);
    (void)snprintf(name, sizeof name, "file at %.256s (by its hash)", path);
    const world_item item = {name, hash};
    return distributed_equal(d, &item, 1, err);
}

tutti_status context_open_file(run_context *run, distributed *d, const char *path,
                               checkpoint **ret_checkpoint, tutti_error *err)
{
    char text[640];
    run_file *file = run->file;
    const fetch_source from = {run->registry, run->participants.items, run->participants.count,
                               is_stopped};
    if (text_is_address(path) && !file->source.fetched) {
        (void)snprintf(text, sizeof text, "fetches %.600s", path);
        run_log_message(&run->log, TUTTI_LOG_INFO, "train", text);
    }
    checkpoint *c = NULL;
    tutti_status s = fetch_open(&from, path, &file->source.fetched, &c, err);
    fetched_free(file->source.fetched); /* an open file needs no name */
    file->source.fetched = NULL;
    if (text_is_address(path))
        s = agree_on_fetched(d, s, path, c, err);
    if (s)
        checkpoint_close(c);
    else
        *ret_checkpoint = c;
    return s;
}
