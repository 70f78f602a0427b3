/* layer.h - the layer that the algorithm puts in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEIGHT_STANDARDIZATION_H
#define PLUGIN_WEIGHT_STANDARDIZATION_H

#include "tutti/tutti.h"

extern const tutti_object standardized_conv2d_object;

#endif
