/* plugin.c - multilabel_average_precision: the area under a curve over thresholds. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_average_precision"
#include "../average_precision_area.h"
