/* sound.h - whether a tensor holds a NaN or what overflowed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_SOUND_H
#define HOST_GRAPH_IR_SOUND_H

#include "tutti/tensor.h"

#include <stdbool.h>

/* Whether no element of `t`, on the host, is NaN or plus infinity.  Minus infinity is what masks are made
 * of.  [any] */
bool tensor_is_sound(const tutti_tensor *t);

#endif
