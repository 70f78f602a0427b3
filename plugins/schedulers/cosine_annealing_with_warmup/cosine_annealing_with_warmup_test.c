/* cosine_annealing_with_warmup_test.c - the schedule through its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../warmup_check.h"

static void settings(test_settings *g)
{
    test_settings_float(g, "alpha_f", 0.2);
}

static const warmup_case schedule = {
    .name = "cosine_annealing_with_warmup",
    .settings = settings,
    .points =
        {{0, 0.0}, {50, 0.5}, {100, 1.0}, {400, 0.8}, {550, 0.6}, {1000, 0.2}, {1200, 0.2}},
    .npoints = 7,
    .has_end = 1,
    .scaled = {{25, 0.5}, {50, 1.0}, {75, 0.2 + 0.4 * (1.0 + 0.98480775301220806)}},
    .unscaled = 0.75,
    .bare = 1.0,
};

WARMUP_TEST_MAIN
