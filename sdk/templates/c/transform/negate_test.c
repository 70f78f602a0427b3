/* negate_test.c - the transform, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/transform.h"

START_TEST(the_input_is_negated)
{
    float from[] = {1, -2}, to[2] = {0};
    const tutti_tensor in = {from, {{2}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    tutti_tensor out = {to, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
    const tutti_sample sample = {.struct_size = sizeof sample, .ncolumns = 1, .columns = &in};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "share", 1.0);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "negate", &g, NULL, &err),
                 err);
    const tutti_transform_v1 *table =
        (const tutti_transform_v1 *)subject_query(&s, TUTTI_TRANSFORM_V1);
    ck_assert_int_eq(table->apply(s.self, &sample, 0, &in, &out, &err), 1);
    ck_assert(to[0] == -1.0f && to[1] == 2.0f && out.desc.dim[0] == 2);
    ck_assert_int_eq(table->apply(s.self, &sample, 1, &in, &out, &err), 0);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("negate");
    TCase *t = tcase_create("negate");
    tcase_add_test(t, the_input_is_negated);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
