/* cuda_errors_test.c - what a machine can lack, and what can go wrong on a GPU, each in its sentence. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_check.h"

#include <pthread.h>

/* Rows: the stand-in's settings, the device asked for. */
START_TEST(what_a_machine_lacks_is_told)
{
    static const struct {
        const char *settings;
        uint32_t index;
        tutti_status status;
        const char *text;
    } rows[] = {
        {"driver=0", 0, TUTTI_E_NOTFOUND,
         "cuda: there is no NVIDIA driver, the runtime of CUDA 13.0 wants one"},
        {"driver=12020", 0, TUTTI_E_UNSUPPORTED,
         "cuda: the NVIDIA driver is made for CUDA 12.2, too old for the runtime of CUDA 13.0"},
        {"devices=0", 0, TUTTI_E_NOTFOUND, "cuda: there is no GPU in this machine"},
        {"devices=2", 2, TUTTI_E_RANGE, "there is no device 2, this machine has 2"},
        {"capability=75", 0, TUTTI_E_UNSUPPORTED,
         "cuda:0: Stand-in GPU has compute capability 7.5, want 8.0 or newer"},
    };
    tutti_device d;
    tutti_error err = TUTTI_ERROR_INIT;
    stand_in(rows[_i].settings);
    ck_assert_int_eq(tutti_device_open(tutti_device_cuda(), NULL, rows[_i].index, &d, &err),
                     rows[_i].status);
    ck_assert_str_eq(err.text, rows[_i].text);
    (void)unlink(trace_path);
}
END_TEST

START_TEST(a_runtime_that_is_not_there_or_too_old_is_told)
{
    static const char *const texts[] = {
        "cuda: TUTTI_CUDART: /nowhere/libcudart.so: cannot open shared object file: No such "
        "file or directory",
        "cuda: libm.so.6 has no cudaGetErrorName, want CUDA 12.8 or newer"};
    tutti_device d;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(setenv("TUTTI_CUDART", _i ? "libm.so.6" : "/nowhere/libcudart.so", 1), 0);
    ck_assert_int_eq(tutti_device_open(tutti_device_cuda(), NULL, 0, &d, &err),
                     _i ? TUTTI_E_VERSION : TUTTI_E_IO);
    ck_assert_str_eq(err.text, texts[_i]);
    ck_assert_uint_eq(tutti_device_cuda()->count(NULL), 0);
}
END_TEST

START_TEST(out_of_memory_says_how_much)
{
    tutti_device d = open_cuda("memory=16777216,leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    void *memory = &d;
    uint64_t unused = 0, total = 0;
    ck_assert_ok(d.table->memory(d.device, &unused, &total, &err), err);
    ck_assert_int_eq(d.table->alloc(d.device, 64 << 20, &memory, &err), TUTTI_E_NOMEM);
    ck_assert_ptr_eq(memory, &d);
    ck_assert_str_eq(err.text, "cuda:0: 64.0 MiB are wanted, 16.0 MiB of 16.0 MiB are free");
    for (int k = 0; k < 10; k++) /* released memory serves again */
        d.table->release(d.device, take(&d, 10 << 20));
    close_cuda(&d);
}
END_TEST

/* Tells the device that `mark` found a number out of range, as a kernel does. */
static tutti_status run_fault(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const tutti_device *d = state;
    const uint32_t mark = c->cuda->mark;
    return d->table->copy(d->device, NULL, c->cuda->fault, &mark, sizeof mark,
                          TUTTI_COPY_TO_DEVICE, NULL);
}

static tutti_status run_bad_launch(void *state, const tutti_op_call *c, const void *const *in,
                                   void *const *out, void *scratch)
{
    const tutti_cuda_v1 *cuda = c->cuda;
    uint64_t nothing = 0;
    void *const args[] = {&nothing, &nothing, &nothing};
    const tutti_cuda_launch l = {.struct_size = sizeof l,
                                 .grid = {1, 1, 1},
                                 .block = {4096, 1, 1},
                                 .function = *(void **)state,
                                 .args = args};
    return cuda->launch(cuda->ctx, &l);
}

static tutti_status run_refuse(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    return TUTTI_E_NUMERIC;
}

typedef tutti_status (*runner)(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch);

static tutti_status launch(const tutti_device *d, runner run, const void *state,
                           const char *name, const char *where, tutti_error *err)
{
    static const tutti_desc desc = {{1}, 1, TUTTI_F32};
    static const tutti_step now = {.struct_size = sizeof now};
    const tutti_op_call call = {
        sizeof call, 0, 0, 1, &desc, &desc, NULL, &now, d->table->cuda(d->device), NULL};
    const tutti_launch l = {sizeof l, 0,    name, run,  (void *)(uintptr_t)state,
                            &call,    NULL, NULL, NULL, where};
    return d->table->launch(d->device, NULL, &l, err);
}

/* Row: found by waiting, or by a later step. */
START_TEST(a_number_out_of_range_is_told_with_its_kernel)
{
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_status s = TUTTI_OK;
    ck_assert_ok(launch(&d, run_fault, &d, "gather", "encoder.tokens", &err), err);
    if (_i)
        for (int k = 0; k < 3 && !s; k++) {
            s = d.table->step(d.device, &err);
            ck_assert_ok(d.table->copy(d.device, NULL, &k, d.table->cuda(d.device)->fault, 0,
                                       TUTTI_COPY_FROM_DEVICE, NULL),
                         err);
            uint32_t word; /* lets the stand-in work */
            move(&d, &word, d.table->cuda(d.device)->fault, sizeof word,
                 TUTTI_COPY_FROM_DEVICE);
        }
    else
        s = d.table->synchronise(d.device, NULL, &err);
    ck_assert_int_eq(s, TUTTI_E_RANGE);
    ck_assert_str_eq(err.text,
                     "encoder.tokens: gather: a class or an index is out of range (E_RANGE)");
    wait_for(&d); /* it was told once */
    close_cuda(&d);
}
END_TEST

START_TEST(a_launch_that_cannot_be_is_told_at_once)
{
    static const tutti_cuda_image own = {NULL, 0, "host/device"};
    tutti_device d = open_cuda("leaks=1");
    const tutti_cuda_v1 *cuda = d.table->cuda(d.device);
    tutti_error err = TUTTI_ERROR_INIT;
    void *f = NULL;
    ck_assert_ok(
        cuda->function(cuda->ctx, &own, "own_add", (const uint32_t[]){8, 8, 8}, 3, &f, &err),
        err);
    ck_assert_int_eq(launch(&d, run_bad_launch, &f, "add", "block.1", &err), TUTTI_E_FAIL);
    ck_assert_str_eq(err.text,
                     "cuda:0: own_add: invalid configuration argument "
                     "(cudaErrorInvalidConfiguration); grid 1 x 1 x 1, block 4096 x 1 x 1, 0 "
                     "bytes shared");
    wait_for(&d);
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(launch(&d, run_refuse, NULL, "add", NULL, &err), TUTTI_E_NUMERIC);
    ck_assert_str_eq(err.text, "cuda:0: kernel add failed (E_NUMERIC)");
    close_cuda(&d);
}
END_TEST

static tutti_status run_nothing(void *state, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    return TUTTI_OK;
}

START_TEST(an_error_that_stays_names_what_was_launched_last)
{
    tutti_device d = open_cuda("fail_launch=2,fail_code=700");
    tutti_error err = TUTTI_ERROR_INIT;
    float *x = take(&d, 64);
    ck_assert_ok(d.table->add(d.device, NULL, x, x, 4, &err), err);
    ck_assert_ok(launch(&d, run_nothing, NULL, "matmul", "block.3.fc", &err), err);
    ck_assert_ok(d.table->add(d.device, NULL, x, x, 4, &err), err);
    ck_assert_int_eq(d.table->synchronise(d.device, NULL, &err), TUTTI_E_FAIL);
    ck_assert_str_eq(err.text,
                     "cuda:0: an illegal memory access was encountered "
                     "(cudaErrorIllegalAddress); launched last: own_add (own_add of "
                     "host/device), block.3.fc: matmul, own_add (own_add of host/device)");
    d.table->release(d.device, x);
    close_cuda(&d);
}
END_TEST

static tutti_status run_refused(void *state, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    return TUTTI_E_FAIL;
}

/* As a library does when the context is broken.  Whoever refuses by himself is named. */
START_TEST(a_kernel_that_fails_behind_another_is_not_blamed_for_it)
{
    tutti_device d = open_cuda("fail_launch=1,fail_code=700");
    tutti_error err = TUTTI_ERROR_INIT;
    float *x = take(&d, 64);
    ck_assert_int_eq(launch(&d, run_refused, NULL, "matmul", "block.3.fc", &err), TUTTI_E_FAIL);
    ck_assert_str_eq(err.text, "cuda:0: kernel matmul failed (E_FAIL)");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(d.table->add(d.device, NULL, x, x, 4, &err), err);
    ck_assert_int_eq(launch(&d, run_refused, NULL, "matmul", "block.3.fc", &err), TUTTI_E_FAIL);
    ck_assert_str_eq(err.text,
                     "cuda:0: an illegal memory access was encountered "
                     "(cudaErrorIllegalAddress); launched last: block.3.fc: matmul, own_add "
                     "(own_add of host/device), block.3.fc: matmul");
    d.table->release(d.device, x);
    close_cuda(&d);
}
END_TEST

/* As tutti.kernel/1 launches: not from within a launch of the device's. */
static tutti_status launch_own(const tutti_device *d, float *x, uint64_t n)
{
    static const tutti_cuda_image own = {NULL, 0, "host/device"};
    const tutti_cuda_v1 *cuda = d->table->cuda(d->device);
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_cuda_launch l = {.struct_size = sizeof l, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    void *const args[] = {&x, &x, &n};
    ck_assert_ok(cuda->function(cuda->ctx, &own, "own_add", (const uint32_t[]){8, 8, 8}, 3,
                                &l.function, &err),
                 err);
    l.args = args;
    return cuda->launch(cuda->ctx, &l);
}

START_TEST(a_plugins_own_launch_is_named_too)
{
    tutti_device d = open_cuda("fail_launch=1,fail_code=716");
    tutti_error err = TUTTI_ERROR_INIT;
    float *x = take(&d, 64);
    ck_assert_ok(launch(&d, run_nothing, NULL, "matmul", "block.3.fc", &err), err);
    ck_assert_int_eq(launch_own(&d, x, 4), TUTTI_OK);
    ck_assert_int_eq(d.table->synchronise(d.device, NULL, &err), TUTTI_E_FAIL);
    ck_assert_str_eq(err.text, "cuda:0: misaligned address (cudaErrorMisalignedAddress); "
                               "launched last: a plugin's kernel (own_add of host/device), "
                               "block.3.fc: matmul");
    d.table->release(d.device, x);
    close_cuda(&d);
}
END_TEST

static tutti_device second;
static float *second_memory;

static void *launch_elsewhere(void *ret_status)
{
    const tutti_status s = launch_own(&second, second_memory, 4);
    memcpy(ret_status, &s, sizeof s);
    return NULL;
}

START_TEST(a_thread_that_comes_anew_works_on_the_right_gpu)
{
    tutti_error err = TUTTI_ERROR_INIT;
    pthread_t thread;
    tutti_status s = TUTTI_E_FAIL;
    stand_in("devices=2,leaks=1");
    ck_assert_ok(tutti_device_open(tutti_device_cuda(), NULL, 1, &second, &err), err);
    second_memory = take(&second, 64);
    ck_assert_int_eq(pthread_create(&thread, NULL, launch_elsewhere, &s), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(s, TUTTI_OK);
    ck_assert_ok(second.table->synchronise(second.device, NULL, &err), err);
    second.table->release(second.device, second_memory);
    close_cuda(&second);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_errors");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_runtime_that_is_not_there_or_too_old_is_told, 0, 2);
    tcase_add_loop_test(tc, a_number_out_of_range_is_told_with_its_kernel, 0, 2);
    tcase_add_test(tc, a_launch_that_cannot_be_is_told_at_once);
    if (!on_a_gpu()) { /* what the stand-in lacks or does on request */
        tcase_add_loop_test(tc, what_a_machine_lacks_is_told, 0, 5);
        tcase_add_test(tc, out_of_memory_says_how_much);
        tcase_add_test(tc, an_error_that_stays_names_what_was_launched_last);
        tcase_add_test(tc, a_kernel_that_fails_behind_another_is_not_blamed_for_it);
        tcase_add_test(tc, a_plugins_own_launch_is_named_too);
        tcase_add_test(tc, a_thread_that_comes_anew_works_on_the_right_gpu);
    }
    return tutti_run(suite);
}
