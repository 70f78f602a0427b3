/* clip_quantile_test.c - the algorithm in C++, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/state.h"

static float x[] = {1, -2, 3, -4, 100};
static tutti_tensor input = {x, {{5}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};

static tutti_status get(void *ctx, const char *name, tutti_tensor *ret_view, tutti_error *err)
{
    (void)ctx;
    (void)name;
    (void)err;
    *ret_view = input;
    return TUTTI_OK;
}

static const tutti_state_v1 state = {.struct_size = sizeof state, .get = get};
static const service services[] = {{TUTTI_STATE_V1, &state}, {NULL, NULL}};
static const tutti_event event = {.struct_size = sizeof event, .name = "after_dataloader"};

static void open_clip(subject *s)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "share", 0.75);
    ck_assert_ok(
        subject_open(s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "clip_quantile", &g, services, &err),
        err);
}

START_TEST(the_largest_is_clipped)
{
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    open_clip(&s);
    ck_assert_int_eq(s.calls->match(s.self, &event), 1);
    ck_assert_ok(s.calls->apply(s.self, &event, &code, &err), err);
    ck_assert(x[0] == 1.0f && x[3] == -4.0f && x[4] == 4.0f);
    subject_close(&s);
}
END_TEST

START_TEST(an_exception_is_an_error)
{
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    open_clip(&s);
    input.desc.dtype = TUTTI_U8;
    ck_assert_int_eq(s.calls->apply(s.self, &event, &code, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "a tensor is U8, want F32");
    ck_assert_int_eq(s.calls->apply(s.self, &event, &code, NULL), TUTTI_E_ARG);
    subject_close(&s);
}
END_TEST

START_TEST(a_host_without_state_is_refused)
{
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "clip_quantile", NULL,
                           TUTTI_E_UNSUPPORTED, "this host has no tutti.state/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clip_quantile");
    TCase *t = tcase_create("clip_quantile");
    tcase_add_test(t, the_largest_is_clipped);
    tcase_add_test(t, an_exception_is_an_error);
    tcase_add_test(t, a_host_without_state_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
