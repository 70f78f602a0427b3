/* backwards_test.c - the pass, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/pass.h"

START_TEST(the_order_is_reversed)
{
    const char *const names[] = {"a", "b", "c"};
    uint32_t order[3], count = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_PASS, "backwards", NULL, NULL, &err),
                 err);
    const tutti_pass_v1 *table = (const tutti_pass_v1 *)subject_query(&s, TUTTI_PASS_V1);
    ck_assert_ok(table->order(s.self, TUTTI_EVENT_BATCH_END, names, 3, order, &count, &err),
                 err);
    ck_assert(count == 3 && order[0] == 2 && order[1] == 1 && order[2] == 0);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backwards");
    TCase *t = tcase_create("backwards");
    tcase_add_test(t, the_order_is_reversed);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
