/* square_output_test.c - the metric, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/metric.h"

START_TEST(it_is_the_mean_of_all_batches)
{
    float x[] = {1, 2, 2, 5};
    const tutti_tensor outputs = {x, {{2, 2}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_metric_input in = {
        .struct_size = sizeof in, .noutputs = 1, .outputs = &outputs, .samples = 2};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_METRIC, "square_output", NULL, NULL, &err),
        err);
    const tutti_metric_v1 *metric = (const tutti_metric_v1 *)subject_query(&s, TUTTI_METRIC_V1);
    metric->reset(s.self);
    ck_assert(isnan(metric->compute(s.self)));
    for (int batch = 0; batch < 2; batch++)
        ck_assert_ok(metric->update(s.self, &in, &err), err);
    ck_assert(metric->compute(s.self) == 8.5);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("square_output");
    TCase *t = tcase_create("square_output");
    tcase_add_test(t, it_is_the_mean_of_all_batches);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
