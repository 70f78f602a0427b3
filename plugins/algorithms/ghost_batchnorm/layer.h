/* layer.h - the layer that the algorithm puts in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_GHOST_BATCHNORM_H
#define PLUGIN_GHOST_BATCHNORM_H

#include "tutti/tutti.h"

extern const tutti_object ghost_batch_norm2d_object;

#endif
