/* run_duration.c - what only a training run's file has: how long it lasts, and how far it repeats. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

static const char *const repeats[] = {[RUN_REPEATS_RUN] = "run",
                                      [RUN_REPEATS_MACHINE] = "machine",
                                      [RUN_REPEATS_ANYWHERE] = "anywhere",
                                      NULL};

const json_member run_training_rows[] = {
    {.name = "model", .flags = MEMBER_REQUIRED, .want = "an object with the name of a model"},
    {.name = "train", .flags = MEMBER_REQUIRED, .want = "an object with a dataset"},
    {.name = "optimizer",
     .flags = MEMBER_REQUIRED,
     .want = "an object with the name of an optimizer"},
    {.name = "seed", .type = MEMBER_INT, .max = INT64_MAX, MEMBER_AT(run_file, seed)},
    {.name = "max_duration",
     .type = MEMBER_TIME,
     .flags = MEMBER_REQUIRED,
     MEMBER_AT(run_file, length.max_duration)},
    {.name = "iteration_length",
     .type = MEMBER_TIME,
     MEMBER_AT(run_file, length.iteration_length)},
    {.name = "scale_schedule_ratio",
     .type = MEMBER_REAL,
     .flags = MEMBER_ABOVE,
     .max = INT64_MAX,
     MEMBER_AT(run_file, length.scale_schedule_ratio)},
    {.name = "deterministic",
     .type = MEMBER_CHOICE,
     .words = repeats,
     MEMBER_AT(run_file, numerics.deterministic)},
    {.name = NULL},
};

void run_check_duration(run_reader *r, const json_node *root)
{
    const tutti_time max = r->run->length.max_duration,
                     length = r->run->length.iteration_length;
    if (max.unit == TUTTI_UNIT_DURATION)
        faults_add(r->faults, json_get(root, "max_duration"),
                   "is in dur, want ep, ba, sp, tok or sec");
    else if (max.unit != TUTTI_UNIT_NONE && max.count < 0)
        faults_add(r->faults, json_get(root, "max_duration"),
                   "is %lld, want at least 1, or 0 to evaluate alone", (long long)max.count);
    if (max.unit != TUTTI_UNIT_NONE && max.count == 0 && r->run->nevals == 0)
        faults_add(r->faults, json_get(root, "max_duration"),
                   "is 0, which evaluates, and there is no \"eval\"");
    const bool countable = length.unit == TUTTI_UNIT_EPOCH || length.unit == TUTTI_UNIT_TOKEN;
    if (length.unit != TUTTI_UNIT_NONE && (!countable || length.count <= 0))
        faults_add(r->faults, json_get(root, "iteration_length"), "want at least 1ep or 1tok");
}
