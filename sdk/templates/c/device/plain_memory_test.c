/* plain_memory_test.c - the device, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/device.h"

START_TEST(memory_is_zero_aligned_and_keeps_what_is_copied)
{
    tutti_device_info about = {.struct_size = sizeof about};
    tutti_error err = TUTTI_ERROR_INIT;
    const char text[] = "text";
    char back[sizeof text];
    void *device = NULL;
    void *at = NULL;
    subject s;
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_DEVICE, "plain_memory", NULL, NULL, &err),
        err);
    const tutti_device_v1 *t = (const tutti_device_v1 *)subject_query(&s, TUTTI_DEVICE_V1);
    ck_assert_uint_eq(t->count(s.self), 1);
    ck_assert_ok(t->describe(s.self, 0, &about, &err), err);
    ck_assert_ok(t->open(s.self, 0, &device, &err), err);
    ck_assert_ok(t->alloc(device, 100, &at, &err), err);
    ck_assert_uint_eq((uintptr_t)at % about.alignment, 0);
    ck_assert_int_eq(((const char *)at)[99], 0);
    ck_assert_ok(t->copy(device, NULL, at, text, sizeof text, TUTTI_COPY_TO_DEVICE, &err), err);
    ck_assert_ok(t->copy(device, NULL, back, at, sizeof text, TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    ck_assert_str_eq(back, text);
    ck_assert_int_eq(t->describe(s.self, 1, &about, &err), TUTTI_E_RANGE);
    t->release(device, at);
    t->close(device);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plain_memory");
    TCase *t = tcase_create("plain_memory");
    tcase_add_test(t, memory_is_zero_aligned_and_keeps_what_is_copied);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
