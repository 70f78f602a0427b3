/* gpu.h - what NVIDIA's management library (NVML) says of the GPU that this process computes on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYSTEM_METRICS_MONITOR_GPU_H
#define SYSTEM_METRICS_MONITOR_GPU_H

#include "tutti/base.h"

enum { GPU_NUMBERS = 4 };
/* "gpu_percentage", "memory_percentage", "gpu_temperature_C", "gpu_power_usage_W" */
extern const char *const gpu_names[GPU_NUMBERS];

typedef struct gpu gpu;

/* The device of the calling thread's CUDA context.  Both libraries are the driver's and are opened at run time.
 * Errors: E_UNSUPPORTED a library or one of its functions is not there; E_STATE the thread has no context, or a call
 * failed; E_NOMEM. */
TUTTI_NODISCARD tutti_status gpu_open(gpu **ret_gpu, tutti_error *err);
/* Numbers in the order of gpu_names; NaN for what this GPU does not tell, as parts of one (MIG) do not. */
void gpu_read(const gpu *g, double *ret_values);
void gpu_close(gpu *g); /* NULL is allowed */

#endif
