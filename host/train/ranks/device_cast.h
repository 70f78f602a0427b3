/* device_cast.h - numbers on a device between F32 and BF16, by the operation cast. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_DEVICE_CAST_H
#define HOST_TRAIN_RANKS_DEVICE_CAST_H

#include "train/context/run_context.h"

typedef struct cast_call cast_call;

typedef struct device_cast {
    const run_context *run;
    const tutti_kernel *kernel; /* the device's; NULL: not open */
    const char *name;
    cast_call *calls; /* one for each length so far: what is launched later looks at them */
} device_cast;

/* Errors: E_UNSUPPORTED the run's device cannot cast.  [control] */
TUTTI_NODISCARD tutti_status cast_open(device_cast *c, const run_context *run,
                                       tutti_error *err);
/* Nothing is under way.  Never opened and zero: nothing. */
void cast_close(device_cast *c);
/* `ctx` is a device_cast: n numbers at `from` to `to`, on a stream of the device's; `to_dtype` is F32, of BF16, or BF16, of
 * F32.  Errors: E_NOMEM, the device's.  [step] */
TUTTI_NODISCARD tutti_status cast_numbers(void *ctx, void *stream, void *to, int32_t to_dtype,
                                          const void *from, int64_t n, tutti_error *err);

#endif
