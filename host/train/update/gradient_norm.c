/* gradient_norm.c - the norm of all gradients, by the operations gradient_squares and gradient_norm. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/gradient_norm.h"

#include "graph/program/program.h"
#include "graph/runtime/device_memory.h"
#include "tutti_internal/scaler.h"

#include <string.h>

static const char *const names[NORM_OPS] = {
    [NORM_SQUARES] = "gradient_squares", [NORM_ROOT] = "gradient_norm"};

static tutti_status open_op(gradient_norm *n, const run_context *run, int which,
                            tutti_error *err)
{
    scalar_op *o = &n->ops[which];
    const tutti_op *const *op = run->ops;
    uint64_t scratch = 0;
    while (op && *op && strcmp((*op)->name, names[which]) != 0)
        op++;
    o->kernel = op && *op ? program_kernel(n->device, *op) : NULL;
    if (!o->kernel)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "device %s: cannot run %s, which an optimizer with max_grad_norm "
                          "needs; want a device that does, or the algorithm gradient_clipping",
                          run->file->device.part.name, names[which]);
    o->call = (tutti_op_call){.struct_size = sizeof o->call,
                              .nin = 1,
                              .nout = 1,
                              .threads = run->threads,
                              .in = o->in,
                              .out = o->out,
                              .step = &run->step,
                              .cuda = program_cuda(n->device)};
    return o->kernel->prepare ? o->kernel->prepare(&o->call, &o->state, &scratch, err)
                              : TUTTI_OK;
}

tutti_status norm_fit(gradient_norm *n, const run_context *run, const tutti_device *device,
                      bool staged, int64_t count, tutti_error *err)
{
    const int64_t pieces = (count + TUTTI_GRADIENT_PIECE - 1) / TUTTI_GRADIENT_PIECE;
    tutti_status s = TUTTI_OK;
    if (!n->wanted)
        return TUTTI_OK;
    n->device = staged || !context_is_remote(run) ? NULL : device;
    for (int k = 0; k < NORM_OPS && !s; k++)
        if (!n->ops[k].kernel)
            s = open_op(n, run, k, err);
    if (s)
        return s;
    device_free(n->device, n->parts);
    n->parts = device_alloc(n->device, (uint64_t)(pieces + 1) * sizeof *n->parts);
    n->ops[NORM_SQUARES].in[0] = (tutti_desc){{count}, 1, TUTTI_F32};
    n->ops[NORM_SQUARES].out[0] = n->ops[NORM_ROOT].in[0] =
        (tutti_desc){{pieces}, 1, TUTTI_F64};
    return n->parts ? TUTTI_OK
                    : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the norm of %lld gradients",
                                 (long long)count);
}

static tutti_status launch(const gradient_norm *n, int which, const void *in, void *out,
                           tutti_error *err)
{
    const scalar_op *o = &n->ops[which];
    const void *ins[] = {in};
    void *outs[] = {out};
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = names[which],
                            .run = o->kernel->run,
                            .state = o->state,
                            .call = &o->call,
                            .in = ins,
                            .out = outs};
    if (n->device)
        return n->device->table->launch(n->device->device, NULL, &l, err);
    const tutti_status s = o->kernel->run(o->state, &o->call, ins, outs, NULL);
    return s ? tutti_fail(err, s, "%s failed", names[which]) : TUTTI_OK;
}

tutti_status norm_launch(gradient_norm *n, const float *grads, double *numbers, size_t ngroups,
                         tutti_error *err)
{
    if (!n->wanted)
        return TUTTI_OK;
    n->ops[NORM_ROOT].out[0] =
        (tutti_desc){{(int64_t)ngroups, TUTTI_UPDATE_NUMBERS}, 2, TUTTI_F64};
    const tutti_status s = launch(n, NORM_SQUARES, grads, n->parts, err);
    return s ? s : launch(n, NORM_ROOT, n->parts, numbers, err);
}

tutti_status norm_compute(gradient_norm *n, const float *grads, tutti_error *err)
{
    double numbers[TUTTI_UPDATE_NUMBERS] = {[TUTTI_UPDATE_FACTOR] = 1.0};
    const tutti_status s = norm_launch(n, grads, numbers, 1, err);
    n->now = numbers[TUTTI_UPDATE_NORM];
    return s;
}

void norm_fini(gradient_norm *n)
{
    for (int k = 0; k < NORM_OPS; k++)
        if (n->ops[k].kernel && n->ops[k].kernel->prepare && n->ops[k].kernel->destroy)
            n->ops[k].kernel->destroy(n->ops[k].state);
    device_free(n->device, n->parts);
    *n = (gradient_norm){.device = NULL};
}
