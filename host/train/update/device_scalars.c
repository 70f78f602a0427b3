/* device_scalars.c - the numbers of a step where a device keeps them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/device_scalars.h"

#include "graph/program/program.h"
#include "graph/runtime/device_memory.h"
#include "train/update/loss_scaler.h"
#include "train/update/updater.h"
#include "tutti_internal/scaler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[SCALARS_OPS] = {
    [SCALARS_UNSCALE] = "unscale",
    [SCALARS_SCALE_BY] = "scale_by",
    [SCALARS_LOSS_SCALE] = "loss_scale",
    [SCALARS_NEXT_UPDATE] = "next_update",
};

static const tutti_op *find(const tutti_op *const *ops, const char *name)
{
    while (ops && *ops && strcmp((*ops)->name, name) != 0)
        ops++;
    return ops ? *ops : NULL;
}

/* False where the device cannot run the operation: then nothing is kept there. */
static bool open_op(device_scalars *s, int which)
{
    scalar_op *o = &s->ops[which];
    const tutti_op *op = find(s->run->ops, names[which]);
    uint64_t scratch = 0;
    o->kernel = op ? program_kernel(s->device, op) : NULL;
    if (!o->kernel)
        return false;
    o->call = (tutti_op_call){.struct_size = sizeof o->call,
                              .threads = s->run->threads,
                              .in = o->in,
                              .out = o->out,
                              .step = &s->run->step,
                              .cuda = program_cuda(s->device)};
    return !o->kernel->prepare || !o->kernel->prepare(&o->call, &o->state, &scratch, NULL);
}

/* What lies where in the block: f64, and the factor in f32. */
static void lay_out(device_scalars *s, double *block, size_t ngroups)
{
    s->scaler = block;
    s->numbers = s->scaler + TUTTI_SCALER_NUMBERS;
    s->rates = s->numbers + ngroups * TUTTI_UPDATE_NUMBERS;
    s->weight = s->rates + ngroups;
    s->factor = (float *)(s->weight + 1);
}

tutti_status scalars_open(device_scalars *s, tutti_error *err)
{
    const size_t ngroups = s->updater->ngroups;
    const uint64_t count = TUTTI_SCALER_NUMBERS + ngroups * (TUTTI_UPDATE_NUMBERS + 1) + 2;
    if (s->tried || !context_is_remote(s->run))
        return TUTTI_OK;
    s->tried = true;
    s->device = context_device(s->run);
    s->sent = calloc(ngroups, sizeof *s->sent);
    double *block = device_alloc(s->device, count * sizeof *block);
    if (!block || !s->sent) {
        device_free(s->device, block);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the rates of optimizer groups");
    }
    lay_out(s, block, ngroups);
    s->on = true;
    for (int k = 0; k < SCALARS_OPS; k++)
        s->on = s->on && open_op(s, k);
    s->weight_now = (double)NAN;
    for (size_t k = 0; k < ngroups; k++)
        s->sent[k] = (double)NAN;
    return TUTTI_OK;
}

void scalars_fini(device_scalars *s)
{
    for (int k = 0; k < SCALARS_OPS; k++)
        if (s->ops[k].kernel && s->ops[k].kernel->prepare && s->ops[k].kernel->destroy)
            s->ops[k].kernel->destroy(s->ops[k].state);
    if (s->scaler)
        device_free(s->device, s->scaler);
    free(s->sent);
    memset(s, 0, sizeof *s);
}

static tutti_status send_scalars(const device_scalars *s, void *to, const void *from,
                                 uint64_t bytes, tutti_error *err)
{
    return device_copy(s->device, to, from, bytes, TUTTI_COPY_TO_DEVICE, err);
}

/* The device gets what the host has: at first, and after a checkpoint. */
static tutti_status settle(device_scalars *s, tutti_error *err)
{
    const float one = 1.0f;
    double scaler[TUTTI_SCALER_NUMBERS] = {0};
    if (s->settled)
        return TUTTI_OK;
    scaler[TUTTI_SCALER_SCALE] = s->loss_scaler->scale;
    scaler[TUTTI_SCALER_CLEAN] = s->loss_scaler->clean;
    scaler[TUTTI_SCALER_UPDATES] = (double)s->updater->step;
    scaler[TUTTI_SCALER_ON] = s->loss_scaler->on;
    tutti_status status = send_scalars(s, s->scaler, scaler, sizeof scaler, err);
    if (!status)
        status = send_scalars(s, s->factor, &one, sizeof one, err);
    s->settled = !status;
    return status;
}

static tutti_status launch(device_scalars *s, int which, const void *const *in, uint32_t nin,
                           void *const *out, uint32_t nout, tutti_error *err)
{
    scalar_op *o = &s->ops[which];
    o->call.nin = nin;
    o->call.nout = nout;
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = names[which],
                            .run = o->kernel->run,
                            .state = o->state,
                            .call = &o->call,
                            .in = in,
                            .out = out};
    return s->device->table->launch(s->device->device, NULL, &l, err);
}

tutti_status scalars_prepare(device_scalars *s, tutti_error *err)
{
    tutti_status status = settle(s, err);
    s->pending = false;
    for (size_t k = 0; k < s->updater->ngroups && !status; k++) {
        const double lr = s->updater->groups[k].lr;
        if (s->sent[k] == lr)
            continue;
        status = send_scalars(s, s->rates + k, &lr, sizeof lr, err);
        s->sent[k] = status ? (double)NAN : lr;
    }
    return status;
}

tutti_status scalars_loss_scale(device_scalars *s, double weight, float *scale,
                                tutti_error *err)
{
    tutti_status status = settle(s, err);
    if (!status && s->weight_now != weight) {
        status = send_scalars(s, s->weight, &weight, sizeof weight, err);
        s->weight_now = status ? (double)NAN : weight;
    }
    const void *in[] = {s->scaler, s->weight};
    void *out[] = {scale};
    return status ? status : launch(s, SCALARS_LOSS_SCALE, in, 2, out, 1, err);
}

static tutti_status on_gradients(device_scalars *s, int which, void *with, tutti_error *err)
{
    float *weights, *grads;
    int64_t count;
    scalar_op *o = &s->ops[which];
    net_arena(s->run->net, &weights, &grads, &count);
    o->in[0] = o->out[0] = (tutti_desc){{count}, 1, TUTTI_F32};
    const void *in[] = {grads, with};
    void *out[] = {grads, with};
    return launch(s, which, in, 2, out, which == SCALARS_UNSCALE ? 2 : 1, err);
}

tutti_status scalars_unscale(device_scalars *s, tutti_error *err)
{
    const tutti_status status = settle(s, err); /* a rank may have computed no loss */
    return status ? status : on_gradients(s, SCALARS_UNSCALE, s->scaler, err);
}

tutti_status scalars_forget(device_scalars *s, tutti_error *err)
{
    const double none = 0.0;
    const tutti_status status = settle(s, err);
    return status ? status
                  : send_scalars(s, s->scaler + TUTTI_SCALER_FOUND, &none, sizeof none, err);
}

tutti_status scalars_next_update(device_scalars *s, size_t ngroups, tutti_error *err)
{
    s->ops[SCALARS_NEXT_UPDATE].out[2] =
        (tutti_desc){{(int64_t)ngroups, TUTTI_UPDATE_NUMBERS}, 2, TUTTI_F64};
    const void *in[] = {s->rates};
    void *out[] = {s->factor, s->scaler, s->numbers};
    return launch(s, SCALARS_NEXT_UPDATE, in, 1, out, 3, err);
}

tutti_status scalars_fetch(device_scalars *s, double *ret_scaler, tutti_error *err)
{
    double own[TUTTI_SCALER_NUMBERS];
    double *scaler = ret_scaler ? ret_scaler : own;
    tutti_status status = settle(s, err);
    if (!status)
        status =
            device_copy(s->device, scaler, s->scaler, sizeof own, TUTTI_COPY_FROM_DEVICE, err);
    if (status)
        return status;
    s->loss_scaler->scale = scaler[TUTTI_SCALER_SCALE];
    s->loss_scaler->clean = scaler[TUTTI_SCALER_CLEAN];
    s->updater->step = (int64_t)scaler[TUTTI_SCALER_UPDATES];
    return TUTTI_OK;
}

/* ---- the factor of gradients ---- */

float *scalars_ask_factor(device_scalars *s)
{
    if (!s->on || s->run->participants.wrapper || !s->updater->reads_numbers || settle(s, NULL))
        return NULL;
    s->asked = true;
    s->asker = crash_breadcrumb.who;
    return s->factor;
}

void scalars_end_event(device_scalars *s)
{
    s->pending = s->pending || s->asked;
    s->asked = false;
}

tutti_status scalars_apply_factor(device_scalars *s, tutti_error *err)
{
    const float one = 1.0f;
    if (!s->pending && !(s->asked && crash_breadcrumb.who != s->asker))
        return TUTTI_OK;
    s->pending = s->asked = false;
    mirrors_invalidate(s->mirrors, 1u << MIRROR_GRADIENTS);
    const tutti_status status = on_gradients(s, SCALARS_SCALE_BY, s->factor, err);
    return status ? status : send_scalars(s, s->factor, &one, sizeof one, err);
}
