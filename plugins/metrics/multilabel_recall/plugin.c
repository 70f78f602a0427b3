/* plugin.c - multilabel_recall: tp / (tp + fn). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_recall"
#include "../labels_counts.h"

static labels_parts labels_ratio(const double *n)
{
    const labels_parts r = {n[LABELS_TP], n[LABELS_TP] + n[LABELS_FN]};
    return r;
}
