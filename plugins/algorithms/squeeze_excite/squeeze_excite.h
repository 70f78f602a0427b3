/* squeeze_excite.h - the layer that the algorithm puts around convolutions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SQUEEZE_EXCITE_H
#define PLUGIN_SQUEEZE_EXCITE_H

#include "tutti/tutti.h"

/* "squeeze_excite_conv2d": weights squeeze (latent, C) and excite (C, latent), child "conv". */
extern const tutti_object squeeze_excite_conv2d_object;

#endif
