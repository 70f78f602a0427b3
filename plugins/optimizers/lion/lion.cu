/* lion.cu - the step on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lion_step.h"

#include "../elementwise_cuda.h"

ELEMENTWISE_CUDA(lion);
