/* plugin.c - cross_entropy: mean of -log softmax(outputs) at the target. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "cross_entropy"
#include "../cross_entropy_row.h"
