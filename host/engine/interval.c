/* interval.c - "every interval", with sentences for what it cannot answer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/training_time.h"

tutti_status interval_due(tutti_interval *v, int32_t event, const tutti_timestamp *now,
                          const tutti_timestamp *previous, tutti_time max_duration,
                          int64_t dataloader_len, bool *ret_due, tutti_error *err)
{
    const int due = tutti_interval_due(v, event, now, previous, &max_duration, dataloader_len);
    if (due < 0 && max_duration.unit == TUTTI_UNIT_EPOCH)
        return tutti_fail(err, TUTTI_E_ARG,
                          "an interval in dur needs to know the number of batches in an epoch, "
                          "and the data has no length");
    if (due < 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "an interval in dur needs a maximum duration in ep, ba, sp or tok");
    *ret_due = due;
    return TUTTI_OK;
}
