/* data.c - the trainer's batches as the data of a loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_internal.h"
#include "tutti/rng.h"

#include <stdlib.h>
#include <string.h>

static int64_t length(void *ctx)
{
    return training_batches(((loop_run *)ctx)->trainer);
}

/* A resumed run goes on in the pass that was under way. */
static tutti_status restart(void *ctx, tutti_error *err)
{
    loop_run *l = ctx;
    if (!l->placed) {
        l->pass++;
        l->place = 0;
    }
    l->fetched = l->ended = false;
    l->found = l->found || l->placed;
    l->placed = false;
    return training_seek(l->trainer, l->pass, l->place, err);
}

static tutti_status seek(void *ctx, int64_t position, tutti_error *err)
{
    loop_run *l = ctx;
    if (l->found) /* also where the pass before was cut */
        return TUTTI_OK;
    l->place = position;
    return training_seek(l->trainer, l->pass, position, err);
}

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    loop_run *l = ctx;
    int64_t samples = 0;
    if (l->ended) /* the loader would go on with a pass of its own */
        return TUTTI_LOOP_END;
    const tutti_status s = training_next(l->trainer, &samples, err);
    if (s)
        return s;
    l->ended = samples == 0;
    if (l->ended)
        return TUTTI_LOOP_END;
    training_begin_batch(l->trainer, samples, &l->batch);
    l->place++;
    l->fetched = true;
    *ret_batch = &l->batch;
    return TUTTI_OK;
}

void run_fill_data(loop_run *l)
{
    l->pass = -1;
    l->data = (tutti_loop_data){l, length, restart, next, seek};
}

tutti_status run_use_data(loop_run *l, const char *label, tutti_error *err)
{
    tutti_status s = training_use_data(l->trainer, label, err);
    if (s)
        return s;
    char *copy = strdup(label);
    if (!copy)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the data's label");
    free(l->kept.data);
    l->kept.data = copy;
    l->ranks.data = (int64_t)tutti_hash(label);
    return TUTTI_OK;
}
