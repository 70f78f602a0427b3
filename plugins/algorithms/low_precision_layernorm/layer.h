/* layer.h - the layer that low_precision_layernorm puts in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOW_PRECISION_LAYERNORM_LAYER_H
#define LOW_PRECISION_LAYERNORM_LAYER_H

#include "tutti/state.h"
#include "tutti/tutti.h"

#include <string.h>

extern const tutti_object low_precision_layer_norm_object;

/* What the run's precision rounds to; TUTTI_F32: it does not. */
static inline int32_t low_precision_dtype(const tutti_state_v1 *state)
{
    const char *name =
        TUTTI_HAS(state, tutti_state_v1, precision) ? state->precision(state->ctx) : "fp32";
    return strcmp(name, "amp_bf16") == 0   ? TUTTI_BF16
           : strcmp(name, "amp_fp16") == 0 ? TUTTI_F16
                                           : TUTTI_F32;
}

#endif
