/* plugin.c - multilabel_jaccard_index: tp / (tp + fp + fn). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_jaccard_index"
#include "../labels_counts.h"

static labels_parts labels_ratio(const double *n)
{
    const labels_parts r = {n[LABELS_TP], n[LABELS_TP] + n[LABELS_FP] + n[LABELS_FN]};
    return r;
}
