/* plugin_kernels.h - tutti.kernel/1 and tutti.device_view/1: plugins' kernels and the tensors they work on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_PLUGIN_KERNELS_H
#define HOST_TRAIN_UPDATE_PLUGIN_KERNELS_H

#include "train/context/step_tensors.h"
#include "train/data/upload.h"
#include "train/update/updater.h"
#include "tutti/device_view.h"

typedef struct plugin_kernels {
    run_context *run;
    host_mirrors *mirrors;
    step_tensors *tensors;
    device_scalars *scalars;
    const updater *updater;
    uploads *uploads;
    struct instance_kernels *first; /* what each instance gets; kept to the end of the run */
} plugin_kernels;

/* The tutti.kernel/1 of `i` on a device whose memory is its own; NULL elsewhere.  It finds what runs
 * there, and all of it once the plugin has asked for tutti.device_view/1.  [control] */
const void *kernels_service(plugin_kernels *p, instance *i);
/* Its tutti.device_view/1; NULL: out of memory.  [control] */
const void *kernels_view(plugin_kernels *p, instance *i);
/* Whether the run's device has memory of its own, and all kernels of `i` run there. */
bool kernels_run_there(plugin_kernels *p, instance *i);
void kernels_fini(plugin_kernels *p);

/* ---- device_view.c ---- */

enum { PEEKS = 8 }; /* under way at a time */

typedef struct device_view {
    tutti_device_view_v1 table;
    plugin_kernels *kernels;
    const tutti_device *place; /* where its kernels run; NULL: on the host */
    unsigned char *peeked;     /* pinned: TUTTI_PEEK_BYTES for each */
    void *came[PEEKS];         /* events */
    uint64_t npeeks;
} device_view;

void device_view_init(device_view *v, plugin_kernels *p, const tutti_device *place);
void device_view_fini(device_view *v);

#endif
