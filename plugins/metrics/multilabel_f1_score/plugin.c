/* plugin.c - multilabel_f1_score: 2 tp / (2 tp + fp + fn). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_f1_score"
#include "../labels_counts.h"

static labels_parts labels_ratio(const double *n)
{
    const labels_parts r = {2.0 * n[LABELS_TP],
                            2.0 * n[LABELS_TP] + n[LABELS_FP] + n[LABELS_FN]};
    return r;
}
