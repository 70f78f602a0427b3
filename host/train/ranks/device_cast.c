/* device_cast.c - numbers on a device between F32 and BF16, by the operation cast. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/device_cast.h"

#include "graph/ir/traits.h"
#include "graph/program/program.h"

#include <stdlib.h>

struct cast_call {
    cast_call *next;
    tutti_op_call call;
    tutti_desc in, out;
    void *state;
};

tutti_status cast_open(device_cast *c, const run_context *run, tutti_error *err)
{
    const tutti_op *const *op = run->ops;
    while (op && *op && !traits_have_role(*op, TUTTI_ROLE_CAST))
        op++;
    c->run = run;
    c->kernel = op && *op ? program_kernel(context_device(run), *op) : NULL;
    c->name = op && *op ? (*op)->name : NULL;
    return c->kernel
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_UNSUPPORTED,
                            "device %s: cannot cast numbers to BF16, as \"reduce_dtype\": "
                            "\"bf16\" of \"distributed\" needs it; want \"f32\"",
                            run->file->device.part.name);
}

void cast_close(device_cast *c)
{
    while (c->calls) {
        cast_call *one = c->calls;
        c->calls = one->next;
        if (c->kernel->prepare && c->kernel->destroy)
            c->kernel->destroy(one->state);
        free(one);
    }
    *c = (device_cast){.run = NULL};
}

static tutti_status add_call(device_cast *c, int32_t to_dtype, int64_t n, tutti_error *err)
{
    cast_call *one = calloc(1, sizeof *one);
    uint64_t scratch = 0;
    if (!one)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a cast of %lld numbers",
                          (long long)n);
    one->in = (tutti_desc){{n}, 1, to_dtype == TUTTI_F32 ? TUTTI_BF16 : TUTTI_F32};
    one->out = (tutti_desc){{n}, 1, to_dtype};
    one->call = (tutti_op_call){.struct_size = sizeof one->call,
                                .nin = 1,
                                .nout = 1,
                                .threads = c->run->threads,
                                .in = &one->in,
                                .out = &one->out,
                                .step = &c->run->step,
                                .cuda = program_cuda(context_device(c->run))};
    const tutti_status s = c->kernel->prepare
                               ? c->kernel->prepare(&one->call, &one->state, &scratch, err)
                               : TUTTI_OK;
    if (s) {
        free(one);
        return s;
    }
    one->next = c->calls;
    c->calls = one;
    return TUTTI_OK;
}

tutti_status cast_numbers(void *ctx, void *stream, void *to, int32_t to_dtype, const void *from,
                          int64_t n, tutti_error *err)
{
    device_cast *c = ctx;
    const tutti_device *d = context_device(c->run);
    const cast_call *one = c->calls;
    const void *ins[] = {from};
    void *outs[] = {to};
    while (one && (one->out.dim[0] != n || one->out.dtype != to_dtype))
        one = one->next;
    const tutti_status s = one ? TUTTI_OK : add_call(c, to_dtype, n, err);
    if (s)
        return s;
    one = one ? one : c->calls;
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = c->name,
                            .run = c->kernel->run,
                            .state = one->state,
                            .call = &one->call,
                            .in = ins,
                            .out = outs};
    return d->table->launch(d->device, stream, &l, err);
}
