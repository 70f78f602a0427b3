/* machine_text.h - what of a machine decides the bits of a run, as text. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_MACHINE_TEXT_H
#define HOST_TRAIN_CONTEXT_MACHINE_TEXT_H

#include "train/context/run_context.h"

/* Enough for each. */
enum { MACHINE_TEXT = 768 };

/* "cpu, Intel(R) Xeon(R) ..., kernels for v4, fma avx avx2 ..., oneDNN up to AVX2", of a run with a model. */
TUTTI_NODISCARD tutti_status machine_text(const run_context *run, char *text, size_t size,
                                          tutti_error *err);

#endif
