/* plugin.c - multilabel_accuracy: (tp + tn) / (tp + fp + fn + tn). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_accuracy"
#include "../labels_counts.h"

static labels_parts labels_ratio(const double *n)
{
    const labels_parts r = {n[LABELS_TP] + n[LABELS_TN],
                            n[LABELS_TP] + n[LABELS_FP] + n[LABELS_FN] + n[LABELS_TN]};
    return r;
}
