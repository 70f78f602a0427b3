/* scalars.c - the numbers of a step where a device keeps them: loss scale, rates, the gradients' factor. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "graph/program.h"
#include "train/trainer_internal.h"

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
static bool open_op(trainer *t, int which)
{
    scalars *s = &t->scalars;
    scalar_op *o = &s->ops[which];
    const tutti_op *op = find(t->ops, names[which]);
    uint64_t scratch = 0;
    o->kernel = op ? program_kernel(s->device, op) : NULL;
    if (!o->kernel)
        return false;
    o->call = (tutti_op_call){.struct_size = sizeof o->call,
                              .threads = t->threads,
                              .in = o->in,
                              .out = o->out,
                              .step = &t->step,
                              .cuda = program_cuda(s->device)};
    return !o->kernel->prepare || !o->kernel->prepare(&o->call, &o->state, &scratch, NULL);
}

/* What lies where in the block: f64, and the factor in f32. */
static void lay_out(scalars *s, double *block, size_t ngroups)
{
    s->scaler = block;
    s->numbers = s->scaler + TUTTI_SCALER_NUMBERS;
    s->rates = s->numbers + ngroups * TUTTI_UPDATE_NUMBERS;
    s->weight = s->rates + ngroups;
    s->factor = (float *)(s->weight + 1);
}

tutti_status scalars_open(trainer *t, tutti_error *err)
{
    scalars *s = &t->scalars;
    const size_t ngroups = t->update.ngroups;
    const uint64_t count = TUTTI_SCALER_NUMBERS + ngroups * (TUTTI_UPDATE_NUMBERS + 1) + 2;
    if (s->tried || !trainer_is_remote(t))
        return TUTTI_OK;
    s->tried = true;
    s->device = trainer_device(t);
    s->sent = calloc(ngroups, sizeof *s->sent);
    double *block = place_take(s->device, count * sizeof *block);
    if (!block || !s->sent) {
        place_give(s->device, block);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the rates of optimizer groups");
    }
    lay_out(s, block, ngroups);
    s->on = true;
    for (int k = 0; k < SCALARS_OPS; k++)
        s->on = s->on && open_op(t, k);
    s->weight_now = (double)NAN;
    for (size_t k = 0; k < ngroups; k++)
        s->sent[k] = (double)NAN;
    return TUTTI_OK;
}

void scalars_fini(scalars *s)
{
    for (int k = 0; k < SCALARS_OPS; k++)
        if (s->ops[k].kernel && s->ops[k].kernel->prepare && s->ops[k].kernel->destroy)
            s->ops[k].kernel->destroy(s->ops[k].state);
    if (s->scaler)
        place_give(s->device, s->scaler);
    free(s->sent);
    *s = (scalars){.on = false};
}

static tutti_status send(const scalars *s, void *to, const void *from, uint64_t bytes,
                         tutti_error *err)
{
    return place_copy(s->device, to, from, bytes, TUTTI_COPY_TO_DEVICE, err);
}

/* The device gets what the host has: at first, and after a checkpoint. */
static tutti_status settle(trainer *t, tutti_error *err)
{
    scalars *s = &t->scalars;
    const float one = 1.0f;
    double scaler[TUTTI_SCALER_NUMBERS] = {0};
    if (s->settled)
        return TUTTI_OK;
    scaler[TUTTI_SCALER_SCALE] = t->scaler.scale;
    scaler[TUTTI_SCALER_CLEAN] = t->scaler.clean;
    scaler[TUTTI_SCALER_UPDATES] = (double)t->update.step;
    scaler[TUTTI_SCALER_ON] = t->scaler.on;
    tutti_status status = send(s, s->scaler, scaler, sizeof scaler, err);
    if (!status)
        status = send(s, s->factor, &one, sizeof one, err);
    s->settled = !status;
    return status;
}

static tutti_status launch(trainer *t, int which, const void *const *in, uint32_t nin,
                           void *const *out, uint32_t nout, tutti_error *err)
{
    scalars *s = &t->scalars;
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

tutti_status scalars_prepare(trainer *t, tutti_error *err)
{
    scalars *s = &t->scalars;
    tutti_status status = settle(t, err);
    s->pending = false;
    for (size_t k = 0; k < t->update.ngroups && !status; k++) {
        const double lr = t->update.groups[k].lr;
        if (s->sent[k] == lr)
            continue;
        status = send(s, s->rates + k, &lr, sizeof lr, err);
        s->sent[k] = status ? (double)NAN : lr;
    }
    return status;
}

tutti_status scalars_loss_scale(trainer *t, double weight, float *scale, tutti_error *err)
{
    scalars *s = &t->scalars;
    tutti_status status = settle(t, err);
    if (!status && s->weight_now != weight) {
        status = send(s, s->weight, &weight, sizeof weight, err);
        s->weight_now = status ? (double)NAN : weight;
    }
    const void *in[] = {s->scaler, s->weight};
    void *out[] = {scale};
    return status ? status : launch(t, SCALARS_LOSS_SCALE, in, 2, out, 1, err);
}

static tutti_status on_gradients(trainer *t, int which, void *with, tutti_error *err)
{
    float *weights, *grads;
    int64_t count;
    scalar_op *o = &t->scalars.ops[which];
    net_arena(t->net, &weights, &grads, &count);
    o->in[0] = o->out[0] = (tutti_desc){{count}, 1, TUTTI_F32};
    const void *in[] = {grads, with};
    void *out[] = {grads, with};
    return launch(t, which, in, 2, out, which == SCALARS_UNSCALE ? 2 : 1, err);
}

tutti_status scalars_unscale(trainer *t, tutti_error *err)
{
    return on_gradients(t, SCALARS_UNSCALE, t->scalars.scaler, err);
}

tutti_status scalars_forget(trainer *t, tutti_error *err)
{
    const double none = 0.0;
    const tutti_status s = settle(t, err);
    return s ? s
             : send(&t->scalars, t->scalars.scaler + TUTTI_SCALER_FOUND, &none, sizeof none,
                    err);
}

tutti_status scalars_next_update(trainer *t, size_t ngroups, tutti_error *err)
{
    const scalars *s = &t->scalars;
    t->scalars.ops[SCALARS_NEXT_UPDATE].out[2] =
        (tutti_desc){{(int64_t)ngroups, TUTTI_UPDATE_NUMBERS}, 2, TUTTI_F64};
    const void *in[] = {s->rates};
    void *out[] = {s->factor, s->scaler, s->numbers};
    return launch(t, SCALARS_NEXT_UPDATE, in, 1, out, 3, err);
}

tutti_status scalars_fetch(trainer *t, double *ret_scaler, tutti_error *err)
{
    scalars *s = &t->scalars;
    double own[TUTTI_SCALER_NUMBERS];
    double *scaler = ret_scaler ? ret_scaler : own;
    tutti_status status = settle(t, err);
    if (!status)
        status =
            place_copy(s->device, scaler, s->scaler, sizeof own, TUTTI_COPY_FROM_DEVICE, err);
    if (status)
        return status;
    t->scaler.scale = scaler[TUTTI_SCALER_SCALE];
    t->scaler.clean = scaler[TUTTI_SCALER_CLEAN];
    t->update.step = (int64_t)scaler[TUTTI_SCALER_UPDATES];
    return TUTTI_OK;
}

/* ---- the factor of gradients ---- */

float *scalars_ask_factor(trainer *t)
{
    scalars *s = &t->scalars;
    if (!s->on || t->wrapper || !updater_reads(t) || settle(t, NULL))
        return NULL;
    s->asked = true;
    s->asker = crash_breadcrumb.who;
    return s->factor;
}

void scalars_end_event(trainer *t)
{
    scalars *s = &t->scalars;
    s->pending = s->pending || s->asked;
    s->asked = false;
}

tutti_status scalars_apply_factor(trainer *t, tutti_error *err)
{
    scalars *s = &t->scalars;
    const float one = 1.0f;
    if (!s->pending && !(s->asked && crash_breadcrumb.who != s->asker))
        return TUTTI_OK;
    s->pending = s->asked = false;
    views_age(t, 1u << VIEW_GRADIENTS);
    const tutti_status status = on_gradients(t, SCALARS_SCALE_BY, s->factor, err);
    return status ? status : send(s, s->factor, &one, sizeof one, err);
}
