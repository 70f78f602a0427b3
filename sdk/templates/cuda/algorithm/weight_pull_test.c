/* weight_pull_test.c - the algorithm with device code, met through its entry function; its kernel on the CPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/device_view.h"
#include "tutti/kernel.h"

static float trained[] = {1.0f, -2.0f, 0.0f, 8.0f}, running[] = {3.0f};
static void (*pull)(float *w, float rate, int64_t n);

static uint32_t spans(void *ctx)
{
    (void)ctx;
    return 2;
}

static tutti_status span(void *ctx, uint32_t k, tutti_span *ret_span, tutti_error *err)
{
    (void)ctx;
    (void)err;
    ret_span->w = k ? running : trained;
    ret_span->g = k ? NULL : trained;
    ret_span->n = k ? 1 : 4;
    return TUTTI_OK;
}

/* The one kernel of the manifest. */
static tutti_status find(void *ctx, const char *name, uint32_t *ret_kernel, tutti_error *err)
{
    void *library = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL);
    (void)ctx;
    (void)err;
    ck_assert_str_eq(name, "pull");
    ck_assert_ptr_nonnull(library);
    *(void **)&pull = dlsym(library, "weight_pull_cpu");
    ck_assert_ptr_nonnull(*(void **)&pull);
    *ret_kernel = 0;
    return TUTTI_OK;
}

static tutti_status launch(void *ctx, uint32_t kernel, void *const *args, uint32_t nargs,
                           tutti_error *err)
{
    (void)ctx;
    (void)err;
    ck_assert(kernel == 0 && nargs == 3);
    pull(*(float *const *)args[0], *(const float *)args[1], *(const int64_t *)args[2]);
    return TUTTI_OK;
}

static const tutti_device_view_v1 view = {
    .struct_size = sizeof view, .spans = spans, .span = span};
static const tutti_kernel_v1 kernels = {
    .struct_size = sizeof kernels, .find = find, .launch = launch};
static const service services[] = {
    {TUTTI_DEVICE_VIEW_V1, &view}, {TUTTI_KERNEL_V1, &kernels}, {NULL, NULL}};

START_TEST(trained_weights_go_towards_zero_and_others_stay)
{
    const tutti_event event = {
        .struct_size = sizeof event, .id = TUTTI_EVENT_BATCH_END, .name = "batch_end"};
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "rate", 0.25);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "weight_pull", &g, services, &err),
        err);
    ck_assert_int_eq(s.calls->match(s.self, &event), 1);
    ck_assert_ok(s.calls->apply(s.self, &event, &code, &err), err);
    ck_assert(trained[0] == 0.75f && trained[1] == -1.5f && trained[2] == 0.0f &&
              trained[3] == 6.0f);
    ck_assert(running[0] == 3.0f);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weight_pull");
    TCase *t = tcase_create("pull");
    tcase_add_test(t, trained_weights_go_towards_zero_and_others_stay);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
