/* multistep_with_warmup_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../warmup_check.h"

static void settings(test_settings *g)
{
    const tutti_time milestones[] = {{50, 0.0, TUTTI_UNIT_BATCH, 0},
                                     {200, 0.0, TUTTI_UNIT_BATCH, 0}};
    test_settings_times(g, "milestones", milestones, 2);
    test_settings_float(g, "gamma", 0.5);
}

static const warmup_case schedule = {
    .name = "multistep_with_warmup",
    .settings = settings,
    .points = {{0, 0.0}, {50, 0.5}, {99, 0.99}, {100, 0.5}, {200, 0.25}},
    .npoints = 5,
    .has_end = 0,
    .scaled = {{25, 0.5}, {50, 0.5}, {75, 0.5}},
    .unscaled = 0.75,
    .bare = 1.0,
};

WARMUP_TEST_MAIN
