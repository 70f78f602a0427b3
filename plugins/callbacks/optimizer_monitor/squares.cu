/* squares.cu - sums of squares on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/squares_cuda.h"
