/* layer.h - the layer that the algorithm puts in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_GATED_LINEAR_UNITS_H
#define PLUGIN_GATED_LINEAR_UNITS_H

#include "tutti/tutti.h"

/* "bert_gated_output": children gated_layer, non_gated_layer, wo, act, layernorm and, where there is any,
 * dropout; whoever makes it adds them. */
extern const tutti_object bert_gated_output_object;

#endif
