/* load_rules.h - whether what a run file leaves out of a file stands in that file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_PRETRAINED_LOAD_RULES_H
#define HOST_TRAIN_PRETRAINED_LOAD_RULES_H

#include "train/pretrained/load_report.h"
#include "train/run_file/run_file.h"

/* Warns of patterns of load_ignore_keys that match no name of the file at `path` and no weight of the report, and
 * of names of load_exclude_algorithms that no algorithm of the file has.  [control] */
void load_rules_check(const run_checkpoints *rules, const char *path, const checkpoint *c,
                      const load_report *report, run_log *log);

#endif
