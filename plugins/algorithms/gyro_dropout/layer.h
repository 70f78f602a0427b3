/* layer.h - the layer that the algorithm puts in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_GYRO_DROPOUT_H
#define PLUGIN_GYRO_DROPOUT_H

#include "tutti/tutti.h"

extern const tutti_object gyro_dropout_layer_object;

#endif
