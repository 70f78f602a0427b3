/* sign_descent_test.c - the optimizer, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/optimizer.h"

START_TEST(weights_go_against_the_sign)
{
    float w[] = {1, 1, 1};
    const float g[] = {3, -0.5f, 0};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings values;
    test_settings_init(&values);
    test_settings_float(&values, "lr", 0.25);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, "sign_descent", &values,
                              NULL, &err),
                 err);
    const tutti_optimizer_v1 *table =
        (const tutti_optimizer_v1 *)subject_query(&s, TUTTI_OPTIMIZER_V1);
    const tutti_update u = {
        .struct_size = sizeof u, .n = 3, .w = w, .g = g, .lr = table->lr, .step = 1};
    table->update(s.self, &u);
    ck_assert(w[0] == 0.75f && w[1] == 1.25f && w[2] == 1.0f);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sign_descent");
    TCase *t = tcase_create("sign_descent");
    tcase_add_test(t, weights_go_against_the_sign);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
