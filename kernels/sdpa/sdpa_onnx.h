/* sdpa_onnx.h - attention as operators of ONNX. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_ONNX_H
#define KERNELS_SDPA_SDPA_ONNX_H

#include "common/onnx.h"
#include "sdpa/sdpa.h"

/* q (B, H, Tq, D), k and v (B, H, Tk, D) -> y (B, H, Tq, D); bias 0: there is none. */
tutti_value sdpa_onnx_of(const tutti_onnx *o, const tutti_value *qkv, tutti_value bias);

#endif
