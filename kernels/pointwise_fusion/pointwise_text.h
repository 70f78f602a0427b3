/* pointwise_text.h - the text of pointwise_fusion.cu and of all that it includes, which the build collects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_POINTWISE_TEXT_H
#define KERNELS_POINTWISE_TEXT_H

#include "common/cuda/libraries/nvrtc.h"

/* Headers of the C library and of the SDK are "": nvrtc_prelude.cuh stands for them. */
extern const nvrtc_header pointwise_text[];
extern const uint32_t pointwise_text_count;

#endif
