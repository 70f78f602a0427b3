/* profile_settings.c - "profiler" of a run file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_members.h"
#include "engine/profile/profiler.h"

enum { MAX_COUNT = 1000000000 };

static const json_member schedule_rows[] = {
    {.name = "skip_first",
     .type = MEMBER_INT,
     .min = 0,
     .max = MAX_COUNT,
     MEMBER_AT(profile_schedule, skip_first)},
    {.name = "wait",
     .type = MEMBER_INT,
     .min = 0,
     .max = MAX_COUNT,
     MEMBER_AT(profile_schedule, wait)},
    {.name = "warmup",
     .type = MEMBER_INT,
     .min = 0,
     .max = MAX_COUNT,
     MEMBER_AT(profile_schedule, warmup)},
    {.name = "active",
     .type = MEMBER_INT,
     .min = 1,
     .max = MAX_COUNT,
     MEMBER_AT(profile_schedule, active)},
    {.name = "repeat",
     .type = MEMBER_INT,
     .min = 0,
     .max = MAX_COUNT,
     MEMBER_AT(profile_schedule, repeat)},
    {.name = NULL},
};

static const json_member profiler_rows[] = {
    {.name = "schedule"},
    {.name = "folder", .type = MEMBER_STRING, MEMBER_AT(profiler_options, folder)},
    {.name = "filename", .type = MEMBER_STRING, MEMBER_AT(profiler_options, filename)},
    {.name = "merged_trace_filename",
     .type = MEMBER_STRING,
     MEMBER_AT(profiler_options, merged_trace_filename)},
    {.name = "num_traces_to_keep",
     .type = MEMBER_INT,
     .min = -1,
     .max = MAX_COUNT,
     MEMBER_AT(profiler_options, num_traces_to_keep)},
    {.name = "overwrite", .type = MEMBER_BOOL, MEMBER_AT(profiler_options, overwrite)},
    {.name = "sys_prof_cpu", .type = MEMBER_BOOL, MEMBER_AT(profiler_options, sys_prof_cpu)},
    {.name = "sys_prof_memory",
     .type = MEMBER_BOOL,
     MEMBER_AT(profiler_options, sys_prof_memory)},
    {.name = NULL},
};

void profiler_read(const json_node *node, profiler_options *ret_options, faults *f)
{
    const json_node *schedule = json_get(node, "schedule");
    *ret_options = (profiler_options){.schedule = {.warmup = 1, .active = 4, .repeat = 1},
                                      .folder = "traces",
                                      .filename = "ep{epoch}-ba{batch}-rank{rank}.json",
                                      .merged_trace_filename = "merged_trace.json",
                                      .num_traces_to_keep = -1,
                                      .sys_prof_cpu = true};
    if (json_object_read(node, "an object", profiler_rows, ret_options, f) && schedule)
        (void)json_object_read(schedule, "an object such as {\"active\": 4}", schedule_rows,
                               &ret_options->schedule, f);
}
