/* plugin.c - accuracy: share of samples whose largest logit is the target's. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "accuracy"
#include "../accuracy_row.h"
