/* kernel_check.h - the kernels of a plugin under test, called on the CPU as its manifest declares them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNEL_CHECK_H
#define KERNEL_CHECK_H

#include "tutti/kernel.h"

/* The table is good until the process ends.  What is wrong ends the test.  Tests of plugins with CUDA
 * are linked with it. */
const tutti_kernel_v1 *kernel_check_open(const char *library, const char *manifest);

#endif
