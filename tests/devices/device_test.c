/* device_test.c - what every device keeps: memory, copies, order, draws, launches, errors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device_check.h"
#include "tutti/rng.h"

#define N 1000

static float numbers[N];

static void fill_numbers(void)
{
    for (int k = 0; k < N; k++)
        numbers[k] = (float)k - 300.0f;
}

static void *take(const tutti_device *d, uint64_t bytes)
{
    void *memory = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->alloc(d->device, bytes, &memory, &err), err);
    ck_assert_ptr_nonnull(memory);
    ck_assert_uint_eq((uintptr_t)memory % d->info.alignment, 0);
    return memory;
}

static void copy(const tutti_device *d, void *to, const void *from, uint64_t bytes, int32_t how)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->copy(d->device, NULL, to, from, bytes, how, &err), err);
}

static tutti_status run_double(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    for (int64_t k = 0; k < tutti_numel(&c->in[0]); k++)
        y[k] = 2.0f * x[k] + (float)c->step->step;
    return *(const int *)state ? TUTTI_E_RANGE : TUTTI_OK;
}

static tutti_status double_on(const tutti_device *d, const float *x, float *y, int *fails,
                              tutti_error *err)
{
    static const tutti_desc desc = {{N}, 1, TUTTI_F32};
    static tutti_op_call call = {sizeof call, 1, 1, 1, &desc, &desc, NULL, NULL, NULL, NULL};
    tutti_step now = {.struct_size = sizeof now, .step = 7};
    const void *in[] = {x};
    void *out[] = {y};
    const tutti_launch l = {sizeof l, 0,  "double", run_double, fails,
                            &call,    in, out,      NULL,       NULL};
    call.step = &now;
    const tutti_status s = d->table->launch(d->device, NULL, &l, err);
    now.step = 1000; /* a launch keeps its own */
    in[0] = NULL;
    return s;
}

START_TEST(a_backend_tells_its_devices_and_no_more)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t unused = 0, total = 0;
    tutti_device none;
    void *self = b.instance ? instance_self(b.instance) : NULL;
    ck_assert_str_eq(d->info.name, _i == CPU ? "CPU" : "shadow 0");
    ck_assert_str_eq(d->info.kernels, "cpu");
    ck_assert_int_eq(d->number, _i == CPU || _i == UNIFIED ? TUTTI_DEVICE_CPU : 0);
    ck_assert_ok(d->table->memory(d->device, &unused, &total, &err), err);
    ck_assert_uint_le(unused, total);
    ck_assert_uint_eq(total, d->info.bytes);
    ck_assert_int_eq(tutti_device_open(d->table, self, 9, &none, &err), TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, _i == CPU ? "there is no device 9, this machine has 1"
                                         : "there is no device 9, this machine has 2");
    close_kind(&b);
}
END_TEST

START_TEST(memory_is_zeroed_and_what_goes_in_comes_out)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    float got[N];
    unsigned char *a = take(d, sizeof numbers), *c = take(d, sizeof numbers);
    void *empty = take(d, 0);
    memset(got, 1, sizeof got);
    copy(d, got, a, sizeof got, TUTTI_COPY_FROM_DEVICE);
    for (int k = 0; k < N; k++)
        ck_assert(got[k] == 0.0f);
    fill_numbers();
    copy(d, a, numbers, sizeof numbers, TUTTI_COPY_TO_DEVICE);
    memset(numbers, 0, sizeof numbers); /* a blocking copy has its own */
    copy(d, c, a, sizeof numbers, TUTTI_COPY_ON_DEVICE);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->fill(d->device, NULL, a, 0xff, 4, &err), err);
    copy(d, got, c, sizeof got, TUTTI_COPY_FROM_DEVICE);
    fill_numbers();
    ck_assert_mem_eq(got, numbers, sizeof got);
    copy(d, got, a, sizeof got, TUTTI_COPY_FROM_DEVICE);
    ck_assert_mem_eq(got, "\xff\xff\xff\xff", 4);
    ck_assert_mem_eq(got + 1, numbers + 1, sizeof got - 4);
    d->table->release(d->device, a);
    d->table->release(d->device, c);
    d->table->release(d->device, empty);
    d->table->release(d->device, NULL);
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(more_memory_than_there_is_is_refused)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    void *memory = &b;
    ck_assert_int_eq(d->table->alloc(d->device, UINT64_MAX, &memory, &err), TUTTI_E_NOMEM);
    ck_assert_ptr_eq(memory, &b);
    if (_i != CPU)
        ck_assert_str_eq(err.text,
                         "shadow: 18446744073709551615 bytes are wanted, 16777216 are free");
    for (int k = 0; k < 100; k++) { /* released memory serves again */
        void *most = take(d, 10 << 20);
        d->table->release(d->device, most);
    }
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(launches_follow_copies_in_order_and_keep_what_they_were_told)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    float got[N];
    int fails = 0;
    float *x = take(d, sizeof numbers), *y = take(d, sizeof numbers);
    fill_numbers();
    copy(d, x, numbers, sizeof numbers, TUTTI_COPY_TO_DEVICE | TUTTI_COPY_NON_BLOCKING);
    ck_assert_ok(double_on(d, x, y, &fails, &err), err);
    copy(d, got, y, sizeof got, TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING);
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    for (int k = 0; k < N; k++)
        ck_assert(got[k] == 2.0f * numbers[k] + 7.0f);
    d->table->release(d->device, x);
    d->table->release(d->device, y);
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(a_kernel_that_fails_is_named_once)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    int fails = 1;
    float *x = take(d, sizeof numbers);
    tutti_status s = double_on(d, x, x, &fails, &err);
    if (!s) {
        ck_assert(d->info.flags & TUTTI_DEVICE_ASYNC);
        s = d->table->synchronise(d->device, NULL, &err);
    }
    ck_assert_int_eq(s, TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, _i == CPU ? "cpu: kernel double failed (E_RANGE)"
                                         : "shadow: kernel double failed (E_RANGE)");
    d->table->release(d->device, x);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(draws_are_those_of_the_host)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    const tutti_device_draw draw = {sizeof draw, TUTTI_RNG_PLUGIN, 17, 3, 5};
    tutti_error err = TUTTI_ERROR_INIT;
    float got[10];
    float *x = take(d, sizeof got);
    ck_assert_ok(d->table->random(d->device, NULL, x, 10, &draw, &err), err);
    copy(d, got, x, sizeof got, TUTTI_COPY_FROM_DEVICE);
    for (uint32_t k = 0; k < 10; k++) {
        const tutti_rng4 four = tutti_rng(17, TUTTI_RNG_PLUGIN, 3, 5 + k / 4);
        ck_assert(got[k] == tutti_uniform_f32(four.v[k % 4]));
    }
    d->table->release(d->device, x);
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(events_tell_when_a_streams_work_is_done)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    void *stream = NULL, *event = NULL;
    float *x = take(d, sizeof numbers);
    ck_assert_ok(d->table->stream_create(d->device, &stream, &err), err);
    ck_assert_ok(d->table->event_create(d->device, &event, &err), err);
    ck_assert_int_eq(d->table->event_done(d->device, event), 1);
    ck_assert_ok(d->table->fill(d->device, stream, x, 0, sizeof numbers, &err), err);
    ck_assert_ok(d->table->event_record(d->device, event, stream, &err), err);
    ck_assert_ok(d->table->event_wait(d->device, NULL, event, &err), err);
    if (d->info.flags & TUTTI_DEVICE_STEPS) { /* nobody has asked for the work */
        ck_assert_int_eq(d->table->event_done(d->device, event), 0);
        ck_assert_ok(d->table->step(d->device, &err), err);
        ck_assert_uint_eq(counts_of(&b)->steps, 1);
    }
    ck_assert_ok(d->table->synchronise(d->device, stream, &err), err);
    ck_assert_int_eq(d->table->event_done(d->device, event), 1);
    d->table->event_destroy(d->device, event);
    d->table->stream_destroy(d->device, stream);
    d->table->release(d->device, x);
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    close_kind(&b);
}
END_TEST

START_TEST(the_hosts_reach_is_what_the_flags_say)
{
    backend b = open_kind(_i);
    const tutti_device *d = &b.device;
    tutti_error err = TUTTI_ERROR_INIT;
    int fails = 0;
    float *x = take(d, sizeof numbers);
    ck_assert_int_eq(is_readable(x), tutti_device_is_host(d));
    if (!tutti_device_is_host(d)) { /* nor does the device take the host's pointers */
        ck_assert_int_eq(double_on(d, numbers, x, &fails, &err), TUTTI_E_ARG);
        ck_assert_str_eq(err.text, "shadow: a kernel's input is not in the device's memory");
    }
    d->table->release(d->device, x);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->synchronise(d->device, NULL, &err), err);
    close_kind(&b);
}
END_TEST

/* ---- what a backend may not say ---- */

static tutti_device_info claimed;

static tutti_status claim(void *self, uint32_t index, tutti_device_info *ret, tutti_error *err)
{
    *ret = claimed;
    return TUTTI_OK;
}

START_TEST(a_device_that_cannot_be_is_refused)
{
    static const struct {
        tutti_device_info info;
        const char *text;
    } rows[] = {
        {{.name = "", .alignment = 64, .kernels = "cpu"}, "a device has no proper name"},
        {{.name = "a", .alignment = 48, .kernels = "cpu"},
         "device a: alignment is 48, want a power of two from 64 up"},
        {{.name = "a", .alignment = 64, .kernels = "cpu", .flags = TUTTI_DEVICE_STEPS},
         "device a gathers work, but has no step"},
        {{.name = "a", .alignment = 64}, "device a has no kernels at all"},
    };
    tutti_device_v1 table = *tutti_device_cpu();
    tutti_device d;
    tutti_error err = TUTTI_ERROR_INIT;
    table.describe = claim;
    claimed = rows[_i].info;
    ck_assert_int_eq(tutti_device_open(&table, NULL, 0, &d, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, rows[_i].text);
    table.copy = NULL;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(tutti_device_open(&table, NULL, 0, &d, &err), TUTTI_E_VERSION);
    ck_assert_str_eq(err.text, "the table of tutti.device/1 lacks calls");
}
END_TEST

START_TEST(a_backend_without_the_device_asked_for_is_closed_again)
{
    tutti_params *params = shadow_params("{}");
    backend b;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(backend_open(shadow_object(), "shadow", &params, 2, NULL, NULL, &b, &err),
                     TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, "device shadow: there is no device 2, this machine has 2");
    ck_assert_ptr_null(params);
}
END_TEST

static void end(void)
{
    registry_destroy(plugins);
}

int main(void)
{
    Suite *suite = suite_create("device");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_backend_tells_its_devices_and_no_more, 0, NKINDS);
    tcase_add_loop_test(tc, memory_is_zeroed_and_what_goes_in_comes_out, 0, NKINDS);
    tcase_add_loop_test(tc, more_memory_than_there_is_is_refused, 0, NKINDS);
    tcase_add_loop_test(tc, launches_follow_copies_in_order_and_keep_what_they_were_told, 0,
                        NKINDS);
    tcase_add_loop_test(tc, a_kernel_that_fails_is_named_once, 0, NKINDS);
    tcase_add_loop_test(tc, draws_are_those_of_the_host, 0, NKINDS);
    tcase_add_loop_test(tc, events_tell_when_a_streams_work_is_done, 0, NKINDS);
    tcase_add_loop_test(tc, the_hosts_reach_is_what_the_flags_say, 0, NKINDS);
    tcase_add_loop_test(tc, a_device_that_cannot_be_is_refused, 0, 4);
    tcase_add_test(tc, a_backend_without_the_device_asked_for_is_closed_again);
    tcase_add_checked_fixture(tc, NULL, end);
    return tutti_run(suite);
}
