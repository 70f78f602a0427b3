/* blurpool.h - the layers that the algorithm puts in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_BLURPOOL_H
#define PLUGIN_BLURPOOL_H

#include "tutti/tutti.h"

extern const tutti_object blur_conv2d_object, blur_max_pool2d_object;

#endif
