/* block.h - the two kinds of residual block. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_RESNET_BLOCK_H
#define PLUGIN_RESNET_BLOCK_H

#include "tutti/tutti.h"

enum { BASIC_EXPANSION = 1, BOTTLENECK_EXPANSION = 4 }; /* channels out over width */

extern const tutti_object basic_block, bottleneck_block;

#endif
