/* plugin.c - multilabel_auroc: the area under a curve over thresholds. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_auroc"
#include "../auroc_area.h"
