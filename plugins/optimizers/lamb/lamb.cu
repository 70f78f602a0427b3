/* lamb.cu - the step on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lamb_step.h"

#include "../trust_cuda.h"

TRUST_CUDA(lamb);
