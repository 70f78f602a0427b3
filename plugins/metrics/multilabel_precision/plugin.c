/* plugin.c - multilabel_precision: tp / (tp + fp). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_precision"
#include "../labels_counts.h"

static labels_parts labels_ratio(const double *n)
{
    const labels_parts r = {n[LABELS_TP], n[LABELS_TP] + n[LABELS_FP]};
    return r;
}
