/* unet.h - what the parts of unet share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_UNET_H
#define PLUGIN_UNET_H

#include "../model.h"

/* Twice a 3x3 convolution, batch norm and relu, from `in` over `mid` to `out` channels: `name` with a child
 * "double_conv". */
tutti_status unet_double_conv(const tutti_module_v1 *m, tutti_module parent, const char *name,
                              int64_t in, int64_t mid, int64_t out, tutti_error *err);

extern const tutti_object unet_up;

#endif
