/* plugin.c - low_precision_layernorm: layer norms read and give 16 bits where products do. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOW_WHO "low_precision_layernorm"
#define LOW_CLASS "LowPrecisionLayerNorm"
#define LOW_OP "layer_norm"
#define LOW_LAYER low_precision_layer_norm
#define LOW_NOUN "layer norm"
#define LOW_CHANNELS "num_features"
#define LOW_GROUPS NULL
#include "../low_precision.h"
