/* slot_runs.c - memory of a rank's slots that run side by side, and which of them the net's is now. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/slot_runs.h"

#include "graph/runtime/device_memory.h"
#include "train/step/plan_step.h"
#include "train/step/trainer_state.h"

#include <stdlib.h>
#include <string.h>

static tutti_status no_memory(const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %s of microbatches side by side",
                      what);
}

static void free_run(const slot_runs *l, slot_run *one)
{
    plan_workspace_fini(&one->memory);
    device_free(l->device, one->buffers);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        device_free(l->device, one->inputs[k]);
}

void slot_runs_free(slot_runs *l)
{
    for (int64_t k = 0; l && k < l->capacity; k++)
        free_run(l, &l->runs[k]);
    if (l) {
        free(l->runs);
        free((void *)l->numbers);
        free(l->staged);
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

/* Memory for `bytes` where there is room for *capacity; what it holds is lost. */
static tutti_status fit(const slot_runs *l, void **memory, uint64_t *capacity, uint64_t bytes,
                        const char *what, tutti_error *err)
{
    if (*memory && *capacity >= bytes)
        return TUTTI_OK;
    device_free(l->device, *memory);
    *memory = device_alloc(l->device, bytes);
    *capacity = *memory ? bytes : 0;
    return *memory ? TUTTI_OK : no_memory(what, err);
}

/* ---- samples, on a device ---- */

static tutti_status load_inputs(trainer *t, slot_run *one, tutti_error *err)
{
    const char *const *names = t->run.model_table->inputs;
    const slot_runs *l = t->plans.slots;
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; !device_is_host(l->device) && names[k] && !s; k++) {
        const tutti_tensor *from = &batch_find(&t->tensors.micro, names[k])->now;
        s = fit(l, &one->inputs[k], &one->input_bytes[k], tutti_nbytes(&from->desc), "samples",
                err);
        if (!s)
            s = trainer_send_input(t, k, one->inputs[k], from, err);
    }
    return s;
}

/* Where a device has them there is nothing to be sent again. */
static tutti_status bind_inputs(trainer *t, slot_run *one, tutti_error *err)
{
    const char *const *names = t->run.model_table->inputs;
    if (device_is_host(t->plans.slots->device))
        return trainer_bind_inputs(t, one->plan, &t->tensors.micro, err);
    for (uint32_t k = 0; names[k]; k++)
        plan_set_input(one->plan, k, one->inputs[k]);
    return TUTTI_OK;
}

static void unbind_inputs(const trainer *t, const slot_run *one)
{
    const char *const *names = t->run.model_table->inputs;
    for (uint32_t k = 0; !device_is_host(t->plans.slots->device) && names[k]; k++)
        plan_set_input(one->plan, k, NULL);
}

/* ---- buffers ---- */

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

static tutti_status copy_buffers(const trainer *t, const slot_run *one, bool back,
                                 tutti_error *err)
{
    const slot_runs *l = t->plans.slots;
    unsigned char *at = one->buffers;
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < l->nassigned && !s; k++) {
        const tutti_tensor *w = &net_weight(t->run.net, l->assigned[k])->data;
        const uint64_t bytes = tutti_nbytes(&w->desc);
        s = device_copy(l->device, back ? w->data : at, back ? at : w->data, bytes,
                        TUTTI_COPY_ON_DEVICE, err);
        at += bytes;
    }
    return s;
}

tutti_status slot_run_fit(trainer *t, slot_run *one, tutti_error *err)
{
    slot_runs *l = t->plans.slots;
    const bool first = one == l->runs;
    tutti_status s = first ? list_assigned(l, t->run.net, one->plan, err)
                           : plan_workspace_fit(&one->memory, t->run.net, err);
    if (!s)
        s = fit(l, &one->buffers, &one->buffers_bytes, l->buffer_bytes + 1, "buffers", err);
    if (!s)
        s = copy_buffers(t, one, false, err);
    return s ? s : load_inputs(t, one, err);
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
    const tutti_status s = copy_buffers(t, one, true, err);
    return s ? s : bind_inputs(t, one, err);
}

tutti_status slot_run_leave(trainer *t, slot_run *one, tutti_error *err)
{
    const tutti_status s = copy_buffers(t, one, false, err);
    unbind_inputs(t, one);
    if (one != t->plans.slots->runs)
        plan_workspace_leave(&one->memory, one->plan);
    return s;
}

/* ---- numbers of a pause ---- */

/* Memory of the host's for the numbers of all slots, where they are on a device. */
static tutti_status fit_numbers(slot_runs *l, int64_t count, tutti_error *err)
{
    const uint64_t all = (uint64_t)(l->count * count);
    if (all > l->nstaged) {
        free(l->staged);
        l->staged = malloc(all * sizeof *l->staged);
        l->nstaged = l->staged ? all : 0;
    }
    return l->nstaged >= all ? TUTTI_OK : no_memory("statistics", err);
}

tutti_status slot_runs_get(slot_runs *l, int64_t count, tutti_error *err)
{
    const bool here = device_is_host(l->device);
    tutti_status s = here ? TUTTI_OK : fit_numbers(l, count, err);
    for (int64_t k = 0; k < l->count && !s; k++) {
        l->numbers[k] = here ? l->runs[k].numbers : l->staged + k * count;
        if (!here)
            s = device_copy(l->device, l->numbers[k], l->runs[k].numbers,
                            (uint64_t)count * sizeof(double), TUTTI_COPY_FROM_DEVICE, err);
    }
    return s;
}

tutti_status slot_runs_put(slot_runs *l, int64_t count, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int64_t k = 0; k < l->count && !s && !device_is_host(l->device); k++)
        s = device_copy(l->device, l->runs[k].numbers, l->numbers[k],
                        (uint64_t)count * sizeof(double), TUTTI_COPY_TO_DEVICE, err);
    return s;
}
