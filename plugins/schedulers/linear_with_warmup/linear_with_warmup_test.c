/* linear_with_warmup_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../warmup_check.h"

/* That alpha_0 is 0 without being set is the conformance test's. */
static void settings(test_settings *g)
{
    test_settings_float(g, "alpha_0", 0.2);
    test_settings_float(g, "alpha_i", 1.0);
    test_settings_float(g, "alpha_f", 0.1);
}

static const warmup_case schedule = {
    .name = "linear_with_warmup",
    .settings = settings,
    .points = {{0, 0.2}, {50, 0.6}, {100, 1.0}, {550, 0.55}, {1000, 0.1}, {1200, 0.1}},
    .npoints = 6,
    .has_end = 1,
    .scaled = {{25, 0.6}, {50, 1.0}, {75, 0.95}},
    .unscaled = 0.8,
    .bare = 1.0,
};

WARMUP_TEST_MAIN
