/* soft_sign_test.c - the algorithm in Rust, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/state.h"

static float x[] = {1, -3, 0};
static tutti_tensor input = {x, {{3}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};

static tutti_status get(void *ctx, const char *name, tutti_tensor *ret_view, tutti_error *err)
{
    (void)ctx;
    (void)err;
    ck_assert_str_eq(name, "input");
    *ret_view = input;
    return TUTTI_OK;
}

static const tutti_state_v1 state = {.struct_size = sizeof state, .get = get};
static const service services[] = {{TUTTI_STATE_V1, &state}, {NULL, NULL}};

START_TEST(numbers_are_squeezed)
{
    const tutti_event event = {.struct_size = sizeof event, .name = "after_dataloader"};
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "scale", 1.0);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "soft_sign", &g, services, &err),
        err);
    ck_assert_int_eq(s.calls->match(s.self, &event), 1);
    ck_assert_ok(s.calls->apply(s.self, &event, &code, &err), err);
    ck_assert(x[0] == 0.5f && x[1] == -0.75f && x[2] == 0.0f);
    input.desc.dtype = TUTTI_U8;
    ck_assert_int_eq(s.calls->apply(s.self, &event, &code, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "soft_sign: the input is not F32");
    subject_close(&s);
}
END_TEST

START_TEST(a_host_without_state_is_refused)
{
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "soft_sign", NULL,
                           TUTTI_E_UNSUPPORTED, "soft_sign: this host has no tutti.state/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("soft_sign");
    TCase *t = tcase_create("soft_sign");
    tcase_add_test(t, numbers_are_squeezed);
    tcase_add_test(t, a_host_without_state_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
