/* predictions.c - outputs of a round of batches, one a rank, which rank 0 gives on in the batches' order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/predictions.h"

#include "train/context/signals.h"

#include <stdlib.h>
#include <string.h>

/* What a rank has of a round: the outputs of one batch. */
typedef struct rank_outputs {
    tutti_desc desc;
    uint64_t bytes; /* 0: nothing */
    int32_t signal; /* that has come to it, or 0 */
    int32_t reserved;
} rank_outputs;

static tutti_status no_memory(uint64_t bytes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of predictions",
                      (unsigned long long)bytes);
}

static tutti_status reserve(predictions *p, uint64_t bytes, tutti_error *err)
{
    if (bytes <= p->capacity)
        return TUTTI_OK;
    void *data = realloc(p->data, bytes);
    if (!data)
        return no_memory(bytes, err);
    memset((char *)data + p->capacity, 0, bytes - p->capacity);
    p->data = data;
    p->capacity = bytes;
    return TUTTI_OK;
}

tutti_status predictions_add(predictions *p, const tutti_tensor *outputs, tutti_error *err)
{
    if (!distributed_on(p->distributed))
        return p->sink(p->ctx, outputs, err);
    const uint64_t bytes = tutti_nbytes(&outputs->desc);
    const tutti_status s = reserve(p, bytes, err);
    if (s)
        return s;
    memcpy(p->data, outputs->data, bytes);
    p->desc = outputs->desc;
    p->bytes = bytes;
    return TUTTI_OK;
}

/* Rank 0's part: what came, in the order of ranks, which is that of the batches. */
static void give(predictions *p, const rank_outputs *ranks, char *data, uint64_t most,
                 int32_t size)
{
    for (int32_t r = 0; r < size && !p->failed; r++) {
        const tutti_tensor t = {data + (uint64_t)r * most, ranks[r].desc, TUTTI_DEVICE_CPU, 0};
        if (ranks[r].bytes)
            p->failed = p->sink(p->ctx, &t, &p->why);
    }
}

static tutti_status exchange(predictions *p, rank_outputs *ranks, tutti_error *err)
{
    distributed *d = p->distributed;
    const int32_t size = world_size(d->world);
    const rank_outputs mine = {p->desc, p->bytes, trainer_pending_signal(), 0};
    uint64_t most = 0;
    tutti_status s = world_exchange(d->world, &mine, ranks, sizeof mine, err);
    for (int32_t r = 0; r < size && !s; r++) {
        most = ranks[r].bytes > most ? ranks[r].bytes : most;
        if (ranks[r].signal && !trainer_signal()) /* all stop behind this round */
            trainer_accept_signal(ranks[r].signal);
    }
    if (s || most == 0)
        return s;
    char *all = malloc((uint64_t)size * most);
    s = all ? reserve(p, most, err) : no_memory((uint64_t)size * most, err);
    if (!s)
        s = world_exchange(d->world, p->data, all, most, err);
    if (!s && distributed_first(d))
        give(p, ranks, all, most, size);
    free(all);
    p->bytes = 0;
    return s;
}

tutti_status predictions_next(predictions *p, bool end, tutti_status status, tutti_error *err)
{
    distributed *d = p->distributed;
    if (!distributed_on(d))
        return status;
    const int32_t size = world_size(d->world);
    p->heard += !end;
    if (!status && !end && p->heard % size)
        return TUTTI_OK;
    if (!status && p->failed)
        status = tutti_fail(err, p->failed, "%s", p->why.text);
    tutti_status s = distributed_agree(d, status, err);
    if (s || (end && p->heard % size == 0))
        return s;
    rank_outputs *ranks = calloc((size_t)size, sizeof *ranks);
    s = ranks ? exchange(p, ranks, err) : no_memory((uint64_t)size * sizeof *ranks, err);
    free(ranks);
    if (s || !end)
        return s;
    if (p->failed)
        s = tutti_fail(err, p->failed, "%s", p->why.text);
    return distributed_agree(d, s, err);
}
