/* plugin.c - perplexity: exp of the mean of -log softmax(outputs) at the next token. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "perplexity"
#define METRIC_OF_MEAN(mean) exp(mean)
#include "../cross_entropy_row.h"
