/* plugin.c - auroc: area under the curve of true over false positives, of each class against all others. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "auroc"
#define LABELS_OF_CLASSES
#include "../auroc_area.h"
