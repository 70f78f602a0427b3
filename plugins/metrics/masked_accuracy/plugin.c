/* plugin.c - masked_accuracy: share of the tokens that count whose largest logit is the target's. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "masked_accuracy"
#include "../accuracy_row.h"
