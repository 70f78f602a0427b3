/* metric_set.h - the metric objects of one data source. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_METRIC_SET_H
#define HOST_TRAIN_DATA_METRIC_SET_H

#include "train/context/run_context.h"
#include "tutti/metric.h"

typedef struct metric_set {
    instance **instances;
    const tutti_metric_v1 **tables;
    size_t count;
    bool updated; /* since the last reset */
} metric_set;

TUTTI_NODISCARD tutti_status metric_set_open(run_context *run, metric_set *m, run_parts *parts,
                                             tutti_error *err);
void metric_set_reset(metric_set *m);
TUTTI_NODISCARD tutti_status metric_set_update(metric_set *m, const tutti_metric_input *in,
                                               tutti_error *err);
/* Logs "metrics/<label>/<name>" for each, as of batch `step`; nothing when there was no update. */
void metric_set_log(run_log *l, metric_set *m, const char *label, uint64_t step);
void metric_set_close(metric_set *m);

#endif
