/* layer.h - what the algorithm has weights read through. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEIGHT_STANDARDIZATION_H
#define PLUGIN_WEIGHT_STANDARDIZATION_H

#include "tutti/tutti.h"

extern const tutti_object standardized_filters_object;

#endif
