/* constant_with_warmup_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../warmup_check.h"

static void settings(test_settings *g)
{
    test_settings_float(g, "alpha", 0.5);
}

static const warmup_case schedule = {
    .name = "constant_with_warmup",
    .settings = settings,
    .points = {{0, 0.0}, {50, 0.25}, {100, 0.5}, {1000, 0.5}},
    .npoints = 4,
    .has_end = 1,
    .scaled = {{25, 0.25}, {50, 0.5}, {75, 0.5}},
    .unscaled = 0.375,
    .bare = 0.5,
};

WARMUP_TEST_MAIN
