/* slot_runs.c - memory of a rank's slots that run side by side, and which of them the net's is now. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/slot_runs.h"

#include "train/step/plan_step.h"
#include "train/step/trainer_state.h"

#include <stdlib.h>
#include <string.h>

static tutti_status no_memory(const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %s of microbatches side by side",
                      what);
}

void slot_runs_free(slot_runs *l)
{
    for (int64_t k = 0; l && k < l->capacity; k++) {
        plan_workspace_fini(&l->runs[k].memory);
        free(l->runs[k].buffers);
    }
    if (l) {
        free(l->runs);
        free((void *)l->numbers);
        free(l->assigned);
    }
    free(l);
}

tutti_status slot_runs_reserve(slot_runs *l, int64_t count, tutti_error *err)
{
    l->count = count;
    if (count <= l->capacity)
        return TUTTI_OK;
    slot_run *runs = realloc(l->runs, (size_t)count * sizeof *runs);
    l->runs = runs ? runs : l->runs;
    double **numbers = realloc((void *)l->numbers, (size_t)count * sizeof *numbers);
    l->numbers = numbers ? numbers : l->numbers;
    if (!runs || !numbers)
        return no_memory("plans", err);
    memset(runs + l->capacity, 0, (size_t)(count - l->capacity) * sizeof *runs);
    l->capacity = count;
    return TUTTI_OK;
}

static tutti_status list_assigned(slot_runs *l, const net *n, const plan *p, tutti_error *err)
{
    const uint32_t all = net_weight_count(n);
    uint32_t *assigned = realloc(l->assigned, (all + 1) * sizeof *assigned);
    if (!assigned)
        return no_memory("buffers", err);
    l->assigned = assigned;
    l->nassigned = 0;
    l->buffer_bytes = 0;
    for (uint32_t k = 0; k < all; k++) {
        if (!plan_assigns(p, k))
            continue;
        assigned[l->nassigned++] = k;
        l->buffer_bytes += tutti_nbytes(&net_weight(n, k)->data.desc);
    }
    return TUTTI_OK;
}

static void copy_buffers(const trainer *t, const slot_run *one, bool back)
{
    const slot_runs *l = t->plans.slots;
    unsigned char *at = one->buffers;
    for (uint32_t k = 0; k < l->nassigned; k++) {
        const tutti_tensor *w = &net_weight(t->run.net, l->assigned[k])->data;
        const uint64_t bytes = tutti_nbytes(&w->desc);
        memcpy(back ? w->data : at, back ? at : w->data, bytes);
        at += bytes;
    }
}

tutti_status slot_run_fit(trainer *t, slot_run *one, tutti_error *err)
{
    slot_runs *l = t->plans.slots;
    const bool first = one == l->runs;
    tutti_status s = first ? list_assigned(l, t->run.net, one->plan, err)
                           : plan_workspace_fit(&one->memory, t->run.net, err);
    if (s)
        return s;
    unsigned char *buffers = realloc(one->buffers, l->buffer_bytes + 1);
    if (!buffers)
        return no_memory("buffers", err);
    one->buffers = buffers;
    copy_buffers(t, one, false);
    return TUTTI_OK;
}

tutti_status slot_run_enter(trainer *t, slot_run *one, int64_t size, tutti_error *err)
{
    const int64_t left = t->tensors.whole.samples - one->slot * size;
    batch_slice(&t->tensors.micro, &t->tensors.whole, one->slot * size,
                left < size ? left : size);
    t->tensors.microbatch = t->run.step.microbatch = (uint32_t)one->slot;
    t->run.step.first_sample = (uint64_t)(one->slot * size);
    t->plans.forward = t->plans.loss = one->plan;
    if (one != t->plans.slots->runs)
        plan_workspace_enter(&one->memory, one->plan);
    copy_buffers(t, one, true);
    return trainer_bind_inputs(t, one->plan, &t->tensors.micro, err);
}

void slot_run_leave(trainer *t, slot_run *one)
{
    copy_buffers(t, one, false);
    if (one != t->plans.slots->runs)
        plan_workspace_leave(&one->memory, one->plan);
}
