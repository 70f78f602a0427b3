/* plugin.c - language_cross_entropy: mean of -log softmax(outputs) at the next token. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "language_cross_entropy"
#include "../cross_entropy_row.h"
