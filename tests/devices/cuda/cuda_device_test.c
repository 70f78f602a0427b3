/* cuda_device_test.c - what every device keeps, kept by the CUDA backend; its own promises. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_check.h"
#include "tutti/rng.h"

#include <stdbool.h>

#define N 1000

static float numbers[N];

static void fill_numbers(void)
{
    for (int k = 0; k < N; k++)
        numbers[k] = (float)k - 300.0f;
}

START_TEST(it_tells_its_devices_and_no_more)
{
    tutti_device d = open_cuda("devices=2,leaks=1"), other;
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t unused = 0, total = 0;
    ck_assert_str_eq(d.info.name, "Stand-in GPU");
    ck_assert_str_eq(d.info.kernels, "cuda");
    ck_assert_uint_eq(d.info.flags, TUTTI_DEVICE_ASYNC | TUTTI_DEVICE_ADDS | TUTTI_DEVICE_SUMS |
                                        TUTTI_DEVICE_MASKS | TUTTI_DEVICE_HALVES |
                                        TUTTI_DEVICE_GROUPS | TUTTI_DEVICE_HALF_RESULTS |
                                        TUTTI_DEVICE_LOSS_GRADS);
    ck_assert_int_eq(d.number, 0);
    ck_assert_ok(d.table->memory(d.device, &unused, &total, &err), err);
    ck_assert_uint_le(unused, total);
    ck_assert_uint_eq(total, UINT64_C(2) << 30);
    ck_assert_ok(tutti_device_open(tutti_device_cuda(), NULL, 1, &other, &err), err);
    ck_assert_int_eq(other.number, 1);
    ck_assert_int_eq(other.table->cuda(other.device)->capability, 90);
    tutti_device_close(&other);
    close_cuda(&d);
}
END_TEST

START_TEST(memory_is_zeroed_and_what_goes_in_comes_out)
{
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    float got[N];
    unsigned char *a = take(&d, sizeof numbers), *c = take(&d, sizeof numbers);
    void *empty = take(&d, 0);
    move(&d, got, a, sizeof got, TUTTI_COPY_FROM_DEVICE);
    for (int k = 0; k < N; k++)
        ck_assert(got[k] == 0.0f);
    fill_numbers();
    move(&d, a, numbers, sizeof numbers, TUTTI_COPY_TO_DEVICE);
    memset(numbers, 0, sizeof numbers); /* a blocking copy has its own */
    move(&d, c, a, sizeof numbers, TUTTI_COPY_ON_DEVICE);
    ck_assert_ok(d.table->fill(d.device, NULL, a, 0xff, 4, &err), err);
    move(&d, got, c, sizeof got, TUTTI_COPY_FROM_DEVICE);
    fill_numbers();
    ck_assert_mem_eq(got, numbers, sizeof got);
    move(&d, got, a, sizeof got, TUTTI_COPY_FROM_DEVICE);
    ck_assert_mem_eq(got, "\xff\xff\xff\xff", 4);
    ck_assert_mem_eq(got + 1, numbers + 1, sizeof got - 4);
    d.table->release(d.device, a);
    d.table->release(d.device, c);
    d.table->release(d.device, empty);
    d.table->release(d.device, NULL);
    close_cuda(&d);
}
END_TEST

/* Around the size of the pieces in which blocking copies go: 1 MiB. */
START_TEST(large_copies_go_piece_by_piece)
{
    static const uint64_t sizes[] = {(1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 12345};
    const uint64_t bytes = sizes[_i];
    tutti_device d = open_cuda("leaks=1");
    unsigned char *here = malloc(bytes), *back = calloc(1, bytes), *there = take(&d, bytes);
    ck_assert(here && back);
    for (uint64_t k = 0; k < bytes; k++)
        here[k] = (unsigned char)(k * 2654435761u >> 13);
    move(&d, there, here, bytes, TUTTI_COPY_TO_DEVICE);
    move(&d, back, there, bytes, TUTTI_COPY_FROM_DEVICE);
    ck_assert_mem_eq(here, back, bytes);
    d.table->release(d.device, there);
    free(here);
    free(back);
    close_cuda(&d);
}
END_TEST

START_TEST(pinned_memory_goes_both_ways_without_waiting)
{
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    void *pinned = NULL;
    ck_assert_ok(d.table->host_alloc(d.device, sizeof numbers, &pinned, &err), err);
    float *p = pinned, *x = take(&d, sizeof numbers);
    fill_numbers();
    memcpy(p, numbers, sizeof numbers);
    const int waits = traced("wait");
    move(&d, x, p, sizeof numbers, TUTTI_COPY_TO_DEVICE | TUTTI_COPY_NON_BLOCKING);
    ck_assert_ok(d.table->add(d.device, NULL, x, x, N, &err), err);
    move(&d, p, x, sizeof numbers, TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING);
    ck_traced("wait", waits);
    wait_for(&d);
    for (int k = 0; k < N; k++)
        ck_assert(p[k] == 2.0f * numbers[k]);
    d.table->release(d.device, x);
    d.table->host_release(d.device, pinned);
    close_cuda(&d);
}
END_TEST

/* What is asked for before them is not done for their sake; then more than there are places, on two streams. */
START_TEST(many_numbers_go_there_without_waiting)
{
    enum { MANY = 240, ALL = 800 };
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    void *pinned = NULL, *stream = NULL;
    float got[ALL], *x = take(&d, sizeof got);
    ck_assert_ok(d.table->host_alloc(d.device, sizeof(float), &pinned, &err), err);
    ck_assert_ok(d.table->stream_create(d.device, &stream, &err), err);
    float *p = pinned;
    *p = -1.0f;
    move(&d, p, x, sizeof *p, TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING);
    for (int k = 0; k < ALL; k++) {
        const float number = (float)k;
        ck_assert_ok(d.table->copy(d.device, k % 7 && k > MANY ? stream : NULL, x + k, &number,
                                   sizeof number, TUTTI_COPY_TO_DEVICE, &err),
                     err);
        ck_assert(k > MANY || on_a_gpu() || *p == -1.0f); /* a GPU does not wait to be asked */
    }
    ck_assert_ok(d.table->synchronise(d.device, NULL, &err), err);
    d.table->stream_destroy(d.device, stream);
    move(&d, got, x, sizeof got, TUTTI_COPY_FROM_DEVICE);
    for (int k = 0; k < ALL; k++)
        ck_assert(got[k] == (float)k);
    d.table->release(d.device, x);
    d.table->host_release(d.device, pinned);
    close_cuda(&d);
}
END_TEST

START_TEST(draws_are_those_of_the_host)
{
    tutti_device d = open_cuda("leaks=1");
    const tutti_device_draw draw = {sizeof draw, TUTTI_RNG_PLUGIN, 17, 3, 5};
    tutti_error err = TUTTI_ERROR_INIT;
    float got[10];
    float *x = take(&d, sizeof got);
    ck_assert_ok(d.table->random(d.device, NULL, x, 10, &draw, &err), err);
    move(&d, got, x, sizeof got, TUTTI_COPY_FROM_DEVICE);
    for (uint32_t k = 0; k < 10; k++) {
        const tutti_rng4 four = tutti_rng(17, TUTTI_RNG_PLUGIN, 3, 5 + k / 4);
        ck_assert(got[k] == tutti_uniform_f32(four.v[k % 4]));
    }
    d.table->release(d.device, x);
    close_cuda(&d);
}
END_TEST

START_TEST(events_tell_when_a_streams_work_is_done)
{
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    void *stream = NULL, *event = NULL;
    float got[N], *x = take(&d, sizeof numbers);
    fill_numbers();
    ck_assert_ok(d.table->stream_create(d.device, &stream, &err), err);
    ck_assert_ok(d.table->event_create(d.device, &event, &err), err);
    ck_assert_int_eq(d.table->event_done(d.device, event), 1);
    ck_assert_ok(d.table->copy(d.device, stream, x, numbers, sizeof numbers,
                               TUTTI_COPY_TO_DEVICE | TUTTI_COPY_NON_BLOCKING, &err),
                 err);
    ck_assert_ok(d.table->event_record(d.device, event, stream, &err), err);
    ck_assert_ok(d.table->event_wait(d.device, NULL, event, &err), err);
    ck_assert_ok(d.table->add(d.device, NULL, x, x, N, &err), err);
    move(&d, got, x, sizeof got, TUTTI_COPY_FROM_DEVICE);
    for (int k = 0; k < N; k++)
        ck_assert(got[k] == 2.0f * numbers[k]);
    ck_assert_ok(d.table->synchronise(d.device, stream, &err), err);
    ck_assert_int_eq(d.table->event_done(d.device, event), 1);
    d.table->event_destroy(d.device, event);
    d.table->event_destroy(d.device, NULL);
    d.table->stream_destroy(d.device, stream);
    d.table->stream_destroy(d.device, NULL);
    d.table->release(d.device, x);
    close_cuda(&d);
}
END_TEST

/* Row: the guard; sizes that are whole words and not. */
START_TEST(a_guard_of_zero_clears_what_it_guards)
{
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    const float guard = _i % 2 ? 1.0f : 0.0f;
    const uint64_t bytes = _i < 2 ? 400 : 402;
    unsigned char got[404];
    float *g = take(&d, sizeof guard);
    void *x = take(&d, sizeof got);
    move(&d, g, &guard, sizeof guard, TUTTI_COPY_TO_DEVICE);
    ck_assert_ok(d.table->fill(d.device, NULL, x, 7, sizeof got, &err), err);
    ck_assert_ok(d.table->clear_unless(d.device, NULL, g, x, bytes, &err), err);
    move(&d, got, x, sizeof got, TUTTI_COPY_FROM_DEVICE);
    for (uint64_t k = 0; k < sizeof got; k++)
        ck_assert_uint_eq(got[k], k < bytes && guard == 0.0f ? 0 : 7);
    d.table->release(d.device, x);
    d.table->release(d.device, g);
    close_cuda(&d);
}
END_TEST

/* ---- launches ---- */

/* y = x + x, and the step's number goes to y[0]. */
static tutti_status run_double(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    const tutti_device *d = state;
    float *y = out[0];
    const uint64_t bytes = tutti_nbytes(&c->in[0]);
    tutti_status s =
        d->table->copy(d->device, NULL, y, in[0], bytes, TUTTI_COPY_ON_DEVICE, NULL);
    if (!s)
        s = d->table->add(d->device, NULL, y, y, (uint64_t)tutti_numel(&c->in[0]), NULL);
    return s ? s
             : d->table->copy(d->device, NULL, y, &c->cuda->step->step, sizeof c->step->step,
                              TUTTI_COPY_ON_DEVICE, NULL);
}

static void launch_double(const tutti_device *d, const float *x, float *y, uint64_t number)
{
    static const tutti_desc desc = {{N}, 1, TUTTI_F32};
    tutti_step now = {.struct_size = sizeof now, .step = number};
    const tutti_op_call call = {
        sizeof call, 1, 1, 1, &desc, &desc, NULL, &now, d->table->cuda(d->device), NULL};
    const void *in[] = {x};
    void *out[] = {y};
    const tutti_launch l = {sizeof l, 0,  "double", run_double, (void *)(uintptr_t)d,
                            &call,    in, out,      NULL,       "block.0"};
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->launch(d->device, NULL, &l, &err), err);
    now.step = 1000; /* a launch keeps its own */
}

static void check_double(const tutti_device *d, const float *y, uint64_t number)
{
    float got[N];
    uint64_t step;
    move(d, got, y, sizeof got, TUTTI_COPY_FROM_DEVICE);
    memcpy(&step, got, sizeof step);
    ck_assert_uint_eq(step, number);
    for (int k = 2; k < N; k++)
        ck_assert(got[k] == 2.0f * numbers[k]);
}

START_TEST(launches_read_the_step_that_they_were_told)
{
    tutti_device d = open_cuda("leaks=1");
    float *x = take(&d, sizeof numbers), *y = take(&d, sizeof numbers);
    fill_numbers();
    move(&d, x, numbers, sizeof numbers, TUTTI_COPY_TO_DEVICE);
    for (uint64_t step = 1; step < 40; step++) { /* more than are under way at once */
        launch_double(&d, x, y, step);
        if (step % 13 == 0)
            check_double(&d, y, step);
    }
    check_double(&d, y, 39);
    d.table->release(d.device, x);
    d.table->release(d.device, y);
    close_cuda(&d);
}
END_TEST

START_TEST(a_graph_does_it_again_with_another_step)
{
    tutti_device d = open_cuda("leaks=1");
    tutti_error err = TUTTI_ERROR_INIT;
    void *graph = NULL;
    float *x = take(&d, sizeof numbers), *y = take(&d, sizeof numbers);
    fill_numbers();
    move(&d, x, numbers, sizeof numbers, TUTTI_COPY_TO_DEVICE);
    ck_assert_ok(d.table->capture_begin(d.device, NULL, &err), err);
    launch_double(&d, x, y, 5);
    ck_assert_ok(d.table->capture_end(d.device, NULL, &graph, &err), err);
    for (uint64_t step = 6; step < 9; step++) {
        const tutti_step now = {.struct_size = sizeof now, .step = step};
        ck_assert_ok(d.table->fill(d.device, NULL, y, 0, sizeof numbers, &err), err);
        ck_assert_ok(d.table->replay(d.device, NULL, graph, &now, &err), err);
        check_double(&d, y, step);
    }
    ck_traced("launch graph", 3);
    ck_assert_ok(d.table->capture_begin(d.device, NULL, &err), err); /* and nothing of it */
    launch_double(&d, x, y, 5);
    ck_assert_ok(d.table->capture_end(d.device, NULL, NULL, &err), err);
    check_double(&d, y, 8);
    d.table->graph_destroy(d.device, graph);
    d.table->graph_destroy(d.device, NULL);
    d.table->release(d.device, x);
    d.table->release(d.device, y);
    close_cuda(&d);
}
END_TEST

static tutti_device open_with(const tutti_cuda_settings *settings)
{
    tutti_device d;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_cuda_settings own = *settings;
    stand_in("memory=16777216,leaks=1");
    ck_assert_ok(tutti_device_open(tutti_device_cuda(), &own, 0, &d, &err), err);
    return d;
}

static void ck_graphs(const tutti_device *d, bool there)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(d->table->capture_begin(d->device, NULL, &err),
                     there ? TUTTI_OK : TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, there ? "" : "cuda:0: no graphs are wanted");
    if (there)
        ck_assert_ok(d->table->capture_end(d->device, NULL, NULL, &err), err);
}

/* Whom the environment or the run asks; the run's own word comes first. */
START_TEST(graphs_and_liberties_are_what_is_asked_for)
{
    const tutti_cuda_settings as_is = {.graphs = -1, .tf32 = -1, .unordered = -1},
                              own = {.graphs = 1, .tf32 = 0, .unordered = 1};
    if (_i) {
        ck_assert_int_eq(setenv("TUTTI_CUDA_GRAPHS", "0", 1), 0);
        ck_assert_int_eq(setenv("TUTTI_CUDA_ALLOW", "tf32", 1), 0);
    }
    tutti_device d = open_with(&as_is);
    ck_graphs(&d, !_i);
    ck_assert_uint_eq(d.table->cuda(d.device)->allow, _i ? TUTTI_CUDA_TF32 : 0);
    close_cuda(&d);
    d = open_with(&own);
    ck_graphs(&d, true);
    ck_assert_uint_eq(d.table->cuda(d.device)->allow, TUTTI_CUDA_UNORDERED);
    close_cuda(&d);
}
END_TEST

START_TEST(a_limit_of_memory_is_kept)
{
    const tutti_cuda_settings s = {.memory_limit = 1 << 20, .graphs = -1};
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t unused = 0, total = 0, before = 0;
    tutti_device d = open_with(&s);
    void *memory = NULL, *more = NULL;
    ck_assert_ok(d.table->memory(d.device, &before, &total, &err), err);
    ck_assert_uint_eq(total, 1 << 20);
    ck_assert_ok(d.table->alloc(d.device, 1000 << 10, &memory, &err), err);
    ck_assert_ok(d.table->memory(d.device, &unused, &total, &err), err);
    ck_assert_uint_eq(unused, before - (1000 << 10));
    ck_assert_int_eq(d.table->alloc(d.device, 64 << 10, &more, &err), TUTTI_E_NOMEM);
    ck_assert_str_eq(err.text, "cuda:0: 64.0 KiB are wanted, 23.8 KiB of 1.0 MiB that the run "
                               "may take are free");
    ck_assert_ptr_null(more);
    d.table->release(d.device, memory);
    d.table->release(d.device, take(&d, 1000 << 10));
    close_cuda(&d);
}
END_TEST

/* ---- what kernels get ---- */

static int destroyed;

static tutti_status make(const tutti_cuda_v1 *cuda, void **ret_object, tutti_error *err)
{
    static int made;
    made++;
    *ret_object = &made;
    return TUTTI_OK;
}

static void destroy(void *object)
{
    destroyed += *(int *)object;
}

START_TEST(an_object_of_the_device_is_made_once_and_goes_with_it)
{
    static const char key;
    tutti_device d = open_cuda("leaks=1");
    const tutti_cuda_v1 *cuda = d.table->cuda(d.device);
    tutti_error err = TUTTI_ERROR_INIT;
    void *a = NULL, *b = NULL;
    ck_assert_ok(cuda->object(cuda->ctx, &key, make, destroy, &a, &err), err);
    ck_assert_ok(cuda->object(cuda->ctx, &key, make, destroy, &b, &err), err);
    ck_assert_ptr_eq(a, b);
    ck_assert_int_eq(destroyed, 0);
    close_cuda(&d);
    ck_assert_int_eq(destroyed, 1);
}
END_TEST

START_TEST(functions_of_nvidias_libraries_are_found_or_named)
{
    tutti_device d = open_cuda("leaks=1");
    const tutti_cuda_v1 *cuda = d.table->cuda(d.device);
    tutti_error err = TUTTI_ERROR_INIT;
    void *found = NULL;
    ck_assert_ok(cuda->symbol(cuda->ctx, "cudart", "cudaMalloc", &found, &err), err);
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(cuda->symbol(cuda->ctx, "cudart", "cudaNonsense", &found, &err),
                     TUTTI_E_NOTFOUND);
    ck_assert_str_eq(err.text, "libcudart.so.13 has no cudaNonsense");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(cuda->symbol(cuda->ctx, "nonsense", "f", &found, &err), TUTTI_E_NOTFOUND);
    ck_assert_str_eq(err.text,
                     "there is no library nonsense, want cudart, cublasLt, cudnn or nvrtc");
    close_cuda(&d);
}
END_TEST

static const tutti_cuda_image own = {NULL, 0, "host/device"}, none = {NULL, 0, "nobody/knows"};

START_TEST(a_function_is_held_to_its_arguments)
{
    static const struct {
        const tutti_cuda_image *image;
        const char *entry;
        uint32_t sizes[4], nargs;
        tutti_status status;
        const char *text;
    } rows[] = {
        {&own, "own_add", {8, 8, 8}, 3, TUTTI_OK, ""},
        {&own,
         "own_add",
         {8, 4, 8},
         3,
         TUTTI_E_ARG,
         "cuda:0: argument 1 of own_add of host/device has 8 bytes, not 4"},
        {&own,
         "own_add",
         {8, 8},
         2,
         TUTTI_E_ARG,
         "cuda:0: own_add of host/device takes more arguments than 2"},
        {&own,
         "own_add",
         {8, 8, 8, 8},
         4,
         TUTTI_E_ARG,
         "cuda:0: own_add of host/device takes fewer arguments than 4"},
        {&own,
         "nonsense",
         {8},
         1,
         TUTTI_E_NOTFOUND,
         "cuda:0: host/device has no function nonsense"},
        {&none,
         "f",
         {8},
         1,
         TUTTI_E_UNSUPPORTED,
         "cuda:0: nobody/knows has no device code for compute capability 9.0"},
    };
    tutti_device d = open_cuda("leaks=1");
    const tutti_cuda_v1 *cuda = d.table->cuda(d.device);
    tutti_error err = TUTTI_ERROR_INIT;
    for (int again = 0; again < 2; again++) {
        void *f = NULL;
        err = (tutti_error)TUTTI_ERROR_INIT;
        ck_assert_int_eq(cuda->function(cuda->ctx, rows[_i].image, rows[_i].entry,
                                        rows[_i].sizes, rows[_i].nargs, &f, &err),
                         rows[_i].status);
        ck_assert_str_eq(err.text, rows[_i].text);
        ck_assert_int_eq(f != NULL, rows[_i].status == TUTTI_OK);
    }
    close_cuda(&d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_device");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    if (!on_a_gpu())
        tcase_add_test(tc, it_tells_its_devices_and_no_more);
    tcase_add_test(tc, memory_is_zeroed_and_what_goes_in_comes_out);
    tcase_add_loop_test(tc, large_copies_go_piece_by_piece, 0, 4);
    tcase_add_test(tc, pinned_memory_goes_both_ways_without_waiting);
    tcase_add_test(tc, many_numbers_go_there_without_waiting);
    tcase_add_test(tc, draws_are_those_of_the_host);
    tcase_add_test(tc, events_tell_when_a_streams_work_is_done);
    tcase_add_loop_test(tc, a_guard_of_zero_clears_what_it_guards, 0, 4);
    tcase_add_test(tc, launches_read_the_step_that_they_were_told);
    tcase_add_test(tc, a_graph_does_it_again_with_another_step);
    tcase_add_loop_test(tc, graphs_and_liberties_are_what_is_asked_for, 0, 2);
    tcase_add_test(tc, a_limit_of_memory_is_kept);
    tcase_add_test(tc, an_object_of_the_device_is_made_once_and_goes_with_it);
    tcase_add_test(tc, functions_of_nvidias_libraries_are_found_or_named);
    tcase_add_loop_test(tc, a_function_is_held_to_its_arguments, 0, on_a_gpu() ? 5 : 6);
    return tutti_run(suite);
}
