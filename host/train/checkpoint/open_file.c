/* open_file.c - a checkpoint here or elsewhere, by the plugins of the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/open_file.h"

#include "base/text.h"
#include "train/context/signals.h"
#include "train/fetch/fetch.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Several ranks have fetched the file, and it may have been replaced in between: all ranks go on with the same one, or
 * none does. */
static tutti_status agree_on_fetched(distributed *d, tutti_status status, const char *path,
                                     const checkpoint *c, tutti_error *err)
{
    char hash[24] = "", name[320];
    const tutti_status s = distributed_agree(d, status, err);
    if (s)
        return s;
    hash_tensors(c, hash, sizeof hash);
    (void)snprintf(name, sizeof name, "file at %.256s (by its hash)", path);
    const world_item item = {name, hash};
    return distributed_equal(d, &item, 1, err);
}

static tutti_status open_here(run_context *run, const char *path, checkpoint **ret,
                              tutti_error *err)
{
    char text[640];
    run_file *file = run->file;
    const fetch_source from = {run->registry, run->participants.items, run->participants.count,
                               is_stopped};
    if (text_is_address(path) && !file->source.fetched) {
        (void)snprintf(text, sizeof text, "fetches %.600s", path);
        run_log_message(&run->log, TUTTI_LOG_INFO, "train", text);
    }
    return fetch_open(&from, path, &file->source.fetched, ret, err);
}

/* ---- one rank of each machine fetches, and the others open what it has ---- */

/* What a rank tells all others of the file at an address. */
typedef struct rank_file {
    int32_t failed; /* it could not be fetched or opened; why follows */
    int32_t there;  /* at `at` */
    fetched_place at;
} rank_file;

/* Of the first rank of this machine; where ranks of machines do not follow each other, of any first one that this rank sees.
 * E_NOTFOUND: none. */
static tutti_status open_of_others(const world *w, const char *path, const rank_file *all,
                                   checkpoint **ret, tutti_error *err)
{
    const world_place *place = world_where(w);
    const bool known = place->machine >= 0;
    const int32_t first = known ? world_rank(w) - place->local_rank : 0;
    const int32_t last = known ? first : world_size(w) - 1;
    tutti_status s = TUTTI_E_NOTFOUND;
    for (int32_t r = first; r <= last && s == TUTTI_E_NOTFOUND; r++)
        if (all[r].there) {
            *err = (tutti_error)TUTTI_ERROR_INIT;
            s = fetch_open_there(path, &all[r].at, ret, err);
        }
    return s;
}

static tutti_status open_second(run_context *run, const world *w, const char *path,
                                const rank_file *all, checkpoint **ret, tutti_error *err)
{
    char text[1024];
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = open_of_others(w, path, all, ret, &why);
    if (!s)
        return s;
    if (s == TUTTI_E_FORMAT || s == TUTTI_E_NOMEM)
        return tutti_fail(err, s, "%s", why.text);
    (void)snprintf(text, sizeof text,
                   "%.400s is fetched here too: what another process of this machine has "
                   "fetched is not seen (%.400s)",
                   path, why.text[0] ? why.text : "it has none");
    run_log_message(&run->log, TUTTI_LOG_WARNING, "train", text);
    return open_here(run, path, ret, err);
}

/* Files stay until all ranks have opened theirs. */
static tutti_status open_together(run_context *run, distributed *d, const char *path,
                                  checkpoint **ret, tutti_error *err)
{
    const int32_t size = world_size(d->world);
    fetched *const *kept = &run->file->source.fetched;
    const bool first = *kept || world_where(d->world)->local_rank == 0;
    tutti_error unheard = TUTTI_ERROR_INIT;
    rank_file *all = calloc((size_t)size + 1, sizeof *all), *mine = all ? all + size : NULL;
    if (!all) /* the others find this rank gone */
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %d ranks", size);
    tutti_status s = first ? open_here(run, path, ret, err) : TUTTI_OK;
    mine->failed = s != TUTTI_OK;
    mine->there = first && !s && fetched_tell(*kept, &mine->at);
    const tutti_status told =
        world_exchange(d->world, mine, all, sizeof *mine, s ? &unheard : err);
    bool failed = told != TUTTI_OK;
    for (int32_t r = 0; r < size && !failed; r++)
        failed = all[r].failed;
    if (!failed && !first)
        s = open_second(run, d->world, path, all, ret, err);
    free(all);
    if (told)
        return s ? s : told;
    return agree_on_fetched(d, s, path, *ret, err);
}

tutti_status context_open_file(run_context *run, distributed *d, const char *path,
                               checkpoint **ret_checkpoint, tutti_error *err)
{
    checkpoint *c = NULL;
    const bool together = distributed_on(d) && text_is_address(path);
    const tutti_status s =
        together ? open_together(run, d, path, &c, err) : open_here(run, path, &c, err);
    fetched_free(run->file->source.fetched); /* an open file needs no name */
    run->file->source.fetched = NULL;
    if (s)
        checkpoint_close(c);
    else
        *ret_checkpoint = c;
    return s;
}
