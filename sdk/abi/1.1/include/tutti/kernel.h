/* kernel.h - tutti.kernel/1: calling the kernels that a manifest declares. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_KERNEL_H
#define TUTTI_KERNEL_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_KERNEL_V1 "tutti.kernel/1"

typedef struct tutti_kernel_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Number of the kernel that this plugin's manifest declares as `name`.  [control] */
    tutti_status (*find)(void *ctx, const char *name, uint32_t *ret_kernel, tutti_error *err);
    /* Calls it on the device where the run is; args[k] points to argument k's storage, in the
     * manifest's order (a buffer's storage holds the pointer).  On a GPU it may run later; args may
     * change at once.  [step] */
    tutti_status (*launch)(void *ctx, uint32_t kernel, void *const *args, uint32_t nargs,
                           tutti_error *err);
} tutti_kernel_v1;

TUTTI_C_END
#endif
