/* conv2d_reference.c - the definition of convolution and its gradients, in f64 and in f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d.h"

#define REAL double
#define PLAIN(name) name##_f64
#include "conv2d/conv2d_plain.h"
#undef REAL
#undef PLAIN

#define REAL float
#define PLAIN(name) name##_f32
#include "conv2d/conv2d_plain.h"
