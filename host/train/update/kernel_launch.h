/* kernel_launch.h - how a plugin's kernel starts: as device code, or as code of the host where a device runs that. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_KERNEL_LAUNCH_H
#define HOST_TRAIN_UPDATE_KERNEL_LAUNCH_H

#include "train/update/plugin_kernels.h"
#include "tutti/kernel.h"

/* What one instance gets. */
typedef struct instance_kernels {
    struct instance_kernels *next;
    tutti_kernel_v1 table;
    device_view view;
    plugin_kernels *all;
    const struct kernel_launcher *launcher; /* chosen by what the device offers */
    instance *instance;
    struct device_code *codes; /* owned: loaded when a kernel of them is first found */
    bool viewed;               /* it has asked for views, so that kernels may run on the host */
} instance_kernels;

/* One way to start kernels on a device.  [control] */
typedef struct kernel_launcher {
    /* TUTTI_E_UNSUPPORTED: there is no code for the device.  `number` and `k` are the same kernel. */
    tutti_status (*find)(instance_kernels *p, uint32_t number, const kernel_info *k,
                         tutti_error *err);
    /* Queues it; `args` point at the arguments and are read before it returns. */
    tutti_status (*launch)(instance_kernels *p, uint32_t number, const kernel_info *k,
                           void *const *args, tutti_error *err);
} kernel_launcher;

enum { KERNEL_MAX_ARGS = 64 };

/* ---- kernel_launch_code.c ---- */

extern const kernel_launcher kernel_launch_code;
void device_codes_free(instance_kernels *p);

/* ---- kernel_launch_host.c ---- */

extern const kernel_launcher kernel_launch_host;

#endif
