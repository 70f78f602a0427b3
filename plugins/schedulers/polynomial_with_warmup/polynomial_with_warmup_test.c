/* polynomial_with_warmup_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../warmup_check.h"

static void settings(test_settings *g)
{
    test_settings_float(g, "power", 2.0);
    test_settings_float(g, "alpha_f", 0.2);
}

static const warmup_case schedule = {
    .name = "polynomial_with_warmup",
    .settings = settings,
    .points = {{0, 0.0}, {50, 0.5}, {100, 1.0}, {550, 0.4}, {1000, 0.2}, {1200, 0.2}},
    .npoints = 6,
    .has_end = 1,
    .scaled = {{25, 0.5}, {50, 1.0}, {75, 0.2 + 0.8 * (425.0 / 450.0) * (425.0 / 450.0)}},
    .unscaled = 0.75,
    .bare = 1.0,
};

WARMUP_TEST_MAIN
