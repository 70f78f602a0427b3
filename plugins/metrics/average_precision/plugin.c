/* plugin.c - average_precision: area under the curve of precision over recall, of each class against all others. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "average_precision"
#define LABELS_OF_CLASSES
#include "../average_precision_area.h"
