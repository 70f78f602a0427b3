/* loss_test.c - the metric through its entry function, against a mean worked out by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../metric_check.h"

START_TEST(batches_weigh_as_many_samples_as_they_have)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_metric_input in = {.struct_size = (uint32_t)sizeof in};
    test_settings g;
    gauge m;
    test_settings_init(&g);
    gauge_open(&m, "loss", &g);
    in.loss = 2.0;
    in.samples = 3;
    ck_assert_ok(m.table->update(m.subject.self, &in, &err), err);
    in.loss = 6.0;
    in.samples = 1;
    ck_assert_ok(m.table->update(m.subject.self, &in, &err), err);
    ck_assert_close(gauge_read(&m), 3.0, 0.0);
    m.table->reset(m.subject.self);
    ck_assert(isnan(gauge_read(&m)));
    subject_close(&m.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loss");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, batches_weigh_as_many_samples_as_they_have);
    return tutti_run(suite);
}
