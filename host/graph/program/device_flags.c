/* device_flags.c - whether a device has kernels for the operations that plans get because of its flags. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/traits.h"
#include "graph/program/program.h"

#include <string.h>

/* A flag and the fusion that it asks for. */
typedef struct promise {
    uint32_t flag;
    int32_t with; /* TUTTI_FUSE_* */
    const char *name;
} promise;

static const promise promises[] = {
    {TUTTI_DEVICE_ADDS, TUTTI_FUSE_ADD, "TUTTI_DEVICE_ADDS"},
    {TUTTI_DEVICE_SUMS, TUTTI_FUSE_FACTOR_SUMS, "TUTTI_DEVICE_SUMS"},
    {TUTTI_DEVICE_MASKS, TUTTI_FUSE_ACTIVATION_MASK, "TUTTI_DEVICE_MASKS"},
    {TUTTI_DEVICE_MASKS, TUTTI_FUSE_MASK_GRAD, "TUTTI_DEVICE_MASKS"},
    {TUTTI_DEVICE_HALF_RESULTS, TUTTI_FUSE_CAST, "TUTTI_DEVICE_HALF_RESULTS"},
    {TUTTI_DEVICE_LOSS_GRADS, TUTTI_FUSE_LOSS_GRAD, "TUTTI_DEVICE_LOSS_GRADS"},
};

static tutti_status lacks(const tutti_device *d, const char *flag, const char *op,
                          tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "device %s says %s, want a kernel for %s, of which it has none",
                      d->info.name, flag, op);
}

static const tutti_op *find(const tutti_op *const *ops, const char *name)
{
    while (name && *ops && strcmp((*ops)->name, name) != 0)
        ops++;
    return name ? *ops : NULL;
}

/* What runs `op` alone also runs what it becomes. */
static tutti_status check_fusions(const tutti_op *const *ops, const tutti_op *op,
                                  const tutti_device *d, tutti_error *err)
{
    for (size_t k = 0; k < sizeof promises / sizeof *promises; k++) {
        const promise *p = &promises[k];
        const tutti_op *into = (d->info.flags & p->flag) && program_kernel(d, op)
                                   ? find(ops, traits_fusion(op, p->with))
                                   : NULL;
        if (into && !program_kernel(d, into))
            return lacks(d, p->name, into->name, err);
    }
    return TUTTI_OK;
}

tutti_status program_check_device(const tutti_op *const *ops, const tutti_device *d,
                                  tutti_error *err)
{
    const bool groups = (d->info.flags & TUTTI_DEVICE_GROUPS) != 0;
    tutti_status s = TUTTI_OK;
    for (const tutti_op *const *it = ops; *it && !s; it++) {
        s = check_fusions(ops, *it, d, err);
        if (!s && groups && traits_have_role(*it, TUTTI_ROLE_POINTWISE_GROUP) &&
            !program_kernel(d, *it))
            s = lacks(d, "TUTTI_DEVICE_GROUPS", (*it)->name, err);
    }
    return s;
}
