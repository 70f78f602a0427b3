/* batch_mix_step.h - one number of a blend of two samples, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_BATCH_MIX_STEP_H
#define PLUGIN_BATCH_MIX_STEP_H

#include "soft_targets.h"

TUTTI_SHARED float batch_mix_blended(float own, float other, float a, float b)
{
    return a * own + b * other;
}

/* Number k of targets as probabilities, `width` numbers a sample. */
TUTTI_SHARED float batch_mix_target_at(const void *targets, const uint32_t *perm, float a,
                                       float b, int32_t kind, int64_t classes, int64_t width,
                                       int64_t k)
{
    const int64_t sample = k / width, at = k % width, rows = width / classes;
    const int64_t row = at / classes, c = at % classes;
    return batch_mix_blended(
        soft_at(targets, kind, sample * rows + row, c, classes),
        soft_at(targets, kind, (int64_t)perm[sample] * rows + row, c, classes), a, b);
}

#endif
