/* weight_pull_test.c - the template with device code, met through its entry function; kernels on the CPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_check.h"
#include "plugin_check.h"
#include "tutti/device_view.h"

static float trained[] = {1.0f, -2.0f, 0.0f, 8.0f}, running[] = {3.0f};

static uint32_t spans(void *ctx)
{
    return 2;
}

static tutti_status span(void *ctx, uint32_t k, tutti_span *ret_span, tutti_error *err)
{
    ret_span->w = k ? running : trained;
    ret_span->g = k ? NULL : trained;
    ret_span->n = k ? 1 : 4;
    return TUTTI_OK;
}

static const tutti_device_view_v1 view = {
    .struct_size = sizeof view, .spans = spans, .span = span};

static subject opened(double rate)
{
    service services[] = {{TUTTI_DEVICE_VIEW_V1, &view}, {TUTTI_KERNEL_V1, NULL}, {NULL, NULL}};
    services[1].table = kernel_check_open(PLUGIN_PATH, PLUGIN_FOLDER "/plugin.json");
    subject s;
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_float(&g, "rate", rate);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "weight_pull", &g, services, &err),
        err);
    return s;
}

START_TEST(trained_weights_go_towards_zero_and_others_stay)
{
    const tutti_event event = {
        .struct_size = sizeof event, .id = TUTTI_EVENT_BATCH_END, .name = "batch_end"};
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s = opened(0.25);
    ck_assert_int_eq(s.calls->match(s.self, &event), 1);
    ck_assert_ok(s.calls->apply(s.self, &event, &code, &err), err);
    ck_assert(trained[0] == 0.75f && trained[1] == -1.5f && trained[2] == 0.0f &&
              trained[3] == 6.0f);
    ck_assert(running[0] == 3.0f);
    subject_close(&s);
}
END_TEST

START_TEST(a_rate_of_zero_never_acts)
{
    const tutti_event event = {
        .struct_size = sizeof event, .id = TUTTI_EVENT_BATCH_END, .name = "batch_end"};
    subject s = opened(0.0);
    ck_assert_int_eq(s.calls->match(s.self, &event), 0);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weight_pull");
    TCase *t = tcase_create("pull");
    tcase_add_test(t, trained_weights_go_towards_zero_and_others_stay);
    tcase_add_test(t, a_rate_of_zero_never_acts);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
