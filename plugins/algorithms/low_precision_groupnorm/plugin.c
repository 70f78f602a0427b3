/* plugin.c - low_precision_groupnorm: group norms read and give 16 bits where products do. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOW_WHO "low_precision_groupnorm"
#define LOW_CLASS "LowPrecisionGroupNorm"
#define LOW_OP "group_norm"
#define LOW_LAYER low_precision_group_norm
#define LOW_NOUN "group norm"
#define LOW_CHANNELS "num_channels"
#define LOW_GROUPS "num_groups"
#include "../low_precision.h"
