/* smooth.h - one number of a smoothed target, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LABEL_SMOOTHING_SMOOTH_H
#define LABEL_SMOOTHING_SMOOTH_H

#include "../soft_targets.h"

TUTTI_SHARED float smooth_at(const void *targets, float keep, float add, int32_t kind,
                             int64_t classes, int64_t k)
{
    const float y = soft_at(targets, kind, k / classes, k % classes, classes) * keep;
    return soft_counts(targets, kind, k / classes, classes) ? y + add : y;
}

#endif
