/* standin_test.c - the libcudart of the tests: late work, memory out of reach, graphs, faults. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin_check.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

static int first_int(const void *device)
{
    int x = -1;
    ok(cudaMemcpyAsync(&x, device, sizeof x, CUDART_TO_HOST, make_stream()));
    return x;
}

#ifndef STANDIN_ASAN /* which tells of it in its own way */
START_TEST(the_host_cannot_read_device_memory)
{
    set_up("");
    const volatile int *p = take(64);
    (void)unlink(trace_path);
    printf("%d\n", *p);
}
END_TEST
#endif

START_TEST(work_is_done_when_somebody_waits_and_in_its_order)
{
    set_up("");
    int *there = take(256), *here = pin(4);
    stream *s = make_stream();
    ok(cudaMemsetAsync(there, 0, 256, s));
    ok(launch("count_all", 64, there, s));
    ok(cudaMemcpyAsync(here, there, 4, CUDART_TO_HOST, s));
    ck_assert_int_eq(*here, -1); /* its poison */
    ok(cudaStreamSynchronize(s));
    ck_assert_int_eq(*here, 1);
    (void)unlink(trace_path);
}
END_TEST

START_TEST(pageable_memory_is_read_at_once_and_pinned_memory_late)
{
    set_up("");
    int *there = take(8), *pinned = pin(4), own = 1;
    stream *s = make_stream();
    *pinned = 1;
    ok(cudaMemcpyAsync(there, &own, 4, CUDART_TO_DEVICE, s));
    ok(cudaMemcpyAsync(there + 1, pinned, 4, CUDART_TO_DEVICE, s));
    own = *pinned = 2;
    ok(cudaStreamSynchronize(s));
    ck_assert_int_eq(first_int(there), 1);
    ck_assert_int_eq(first_int(there + 1), 2);
    (void)unlink(trace_path);
}
END_TEST

/* Without the event the second stream's copy would find what was there before. */
START_TEST(an_event_makes_another_stream_wait)
{
    set_up(_i ? "seed=5" : "seed=0");
    int *there = take(256), *here = pin(4);
    stream *a = make_stream(), *b = make_stream();
    struct CUevent_st *e = NULL;
    ok(cudaEventCreateWithFlags(&e, CUDART_EVENT_NO_TIMING));
    ok(cudaEventQuery(e));
    ok(cudaMemsetAsync(there, 0, 256, a));
    ok(launch("count_all", 64, there, a));
    ok(cudaEventRecord(e, a));
    ok(cudaStreamWaitEvent(b, e, 0));
    ok(cudaMemcpyAsync(here, there, 4, CUDART_TO_HOST, b));
    ck_assert_uint_eq(cudaEventQuery(e), CUDART_NOT_READY);
    ok(cudaStreamSynchronize(b));
    ck_assert_int_eq(*here, 1);
    ok(cudaEventQuery(e));
    (void)unlink(trace_path);
}
END_TEST

START_TEST(copies_are_held_to_their_memory)
{
    set_up("");
    char *there = take(64), here[128] = {0};
    stream *s = make_stream();
    ck_assert_uint_eq(cudaMemcpyAsync(there, here, 65, CUDART_TO_DEVICE, s), INVALID_VALUE);
    ck_assert_uint_eq(cudaMemcpyAsync(there + 60, here, 5, CUDART_TO_DEVICE, s), INVALID_VALUE);
    ck_assert_uint_eq(cudaMemcpyAsync(here, there, 4, CUDART_TO_DEVICE, s),
                      INVALID_MEMCPY_DIRECTION);
    ck_assert_uint_eq(cudaMemsetAsync(here, 0, 4, s), INVALID_VALUE);
    ck_assert_uint_eq(cudaGetLastError(), INVALID_VALUE);
    ok(cudaGetLastError());
    (void)unlink(trace_path);
}
END_TEST

static struct CUgraphExec_st *gather_count(int *there, stream *s)
{
    struct CUgraph_st *graph = NULL;
    struct CUgraphExec_st *exec = NULL;
    bring("count_all");
    ok(cudaStreamBeginCapture(s, CUDART_CAPTURE_THREAD_LOCAL));
    ok(launch("count_all", 64, there, s));
    ok(launch("count_all", 64, there, s));
    ok(cudaStreamEndCapture(s, &graph));
    ok(cudaGraphInstantiate(&exec, graph, 0));
    ok(cudaGraphDestroy(graph));
    return exec;
}

/* As with lazy loading, which is the default. */
START_TEST(a_kernel_that_was_never_loaded_cannot_be_gathered)
{
    set_up("");
    struct CUgraph_st *graph = NULL;
    int *there = take(256);
    stream *s = make_stream();
    (void)kernel("count_all");
    ok(cudaStreamBeginCapture(s, CUDART_CAPTURE_THREAD_LOCAL));
    ck_assert_uint_eq(launch("count_all", 64, there, s), CAPTURE_UNSUPPORTED);
    ck_assert_uint_eq(cudaStreamEndCapture(s, &graph), CAPTURE_INVALIDATED);
    (void)unlink(trace_path);
}
END_TEST

START_TEST(a_graph_does_what_was_gathered_each_time)
{
    set_up("");
    int *there = take(256);
    stream *s = make_stream();
    ok(cudaMemsetAsync(there, 0, 256, s));
    struct CUgraphExec_st *exec = gather_count(there, s);
    ok(cudaStreamSynchronize(s));
    ck_assert_int_eq(first_int(there), 0);
    for (int k = 0; k < 3; k++)
        ok(cudaGraphLaunch(exec, s));
    ok(cudaGraphExecDestroy(exec));
    ok(cudaStreamSynchronize(s));
    ck_assert_int_eq(first_int(there), 6);
    (void)unlink(trace_path);
}
END_TEST

/* Calls that NVIDIA holds to be unsafe while the calling thread gathers. */
static void *take_early, *pin_early;
enum { FORBIDDEN = 10 };
static unsigned forbidden(int which, stream *gathering, stream *other)
{
    void *p = NULL;
    struct CUlib_st *library = NULL;
    static struct CUevent_st *event;
    switch (which) {
    case 0:
        return cudaStreamSynchronize(gathering);
    case 1:
        return cudaStreamSynchronize(other);
    case 2:
        return cudaDeviceSynchronize();
    case 3:
        return cudaMalloc(&p, 4);
    case 4:
        return cudaFree(take_early);
    case 5:
        return cudaMallocHost(&p, 4);
    case 6:
        return cudaFreeHost(pin_early);
    case 7:
        return cudaLibraryLoadData(&library, "test", NULL, NULL, 0, NULL, NULL, 0);
    default:
        ok(cudaEventCreateWithFlags(&event, CUDART_EVENT_NO_TIMING));
        return which == 8 ? cudaEventQuery(event) : cudaEventSynchronize(event);
    }
}

START_TEST(waiting_or_allocating_while_a_graph_is_gathered_spoils_it)
{
    set_up("");
    struct CUgraph_st *graph = NULL;
    stream *s = make_stream(), *other = make_stream();
    take_early = take(4);
    pin_early = pin(4);
    ok(cudaStreamBeginCapture(s, CUDART_CAPTURE_THREAD_LOCAL));
    ck_assert_uint_eq(forbidden(_i, s, other), CAPTURE_UNSUPPORTED);
    ck_assert_uint_eq(cudaStreamEndCapture(s, &graph), CAPTURE_INVALIDATED);
    ck_assert_ptr_null(graph);
    ok(cudaStreamSynchronize(s));
    (void)unlink(trace_path);
}
END_TEST

static struct CUgraph_st *ended;
static unsigned end_code, asked, allocated;

static void *end_it(void *s)
{
    void *p = NULL;
    struct CUevent_st *e = NULL;
    allocated = cudaMalloc(&p, 4);
    ok(cudaEventCreateWithFlags(&e, CUDART_EVENT_NO_TIMING));
    ok(cudaEventRecord(e, s));
    asked = cudaEventQuery(e);
    end_code = cudaStreamEndCapture(s, &ended);
    return NULL;
}

/* Gathering is one thread's: another may allocate, but not end it, nor ask for what is in it. */
START_TEST(another_thread_works_on_while_one_gathers)
{
    set_up("");
    pthread_t other;
    stream *s = make_stream();
    ok(cudaStreamBeginCapture(s, CUDART_CAPTURE_THREAD_LOCAL));
    ck_assert_int_eq(pthread_create(&other, NULL, end_it, s), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_uint_eq(allocated, OK);
    ck_assert_uint_eq(asked, CAPTURED_EVENT);
    ck_assert_uint_eq(end_code, CAPTURE_WRONG_THREAD);
    ok(cudaStreamEndCapture(s, &ended));
    (void)unlink(trace_path);
}
END_TEST

START_TEST(a_launch_wants_a_stream_of_the_threads_device)
{
    set_up("devices=2");
    void *x = take(64);
    stream *s = make_stream();
    ok(cudaSetDevice(1));
    ck_assert_uint_eq(launch("count_all", 16, x, s), INVALID_RESOURCE_HANDLE);
    ok(cudaSetDevice(0));
    ok(launch("count_all", 16, x, s));
    (void)unlink(trace_path);
}
END_TEST

START_TEST(an_event_is_recorded_on_its_own_device)
{
    set_up("devices=2");
    struct CUevent_st *e = NULL;
    stream *s = make_stream();
    ok(cudaSetDevice(1));
    ok(cudaEventCreateWithFlags(&e, CUDART_EVENT_NO_TIMING));
    ck_assert_uint_eq(cudaEventRecord(e, s), INVALID_RESOURCE_HANDLE);
    ok(cudaStreamWaitEvent(s, e, 0));
    (void)unlink(trace_path);
}
END_TEST

START_TEST(a_graph_outlives_no_memory)
{
    set_up("");
    struct CUgraph_st *graph = NULL;
    struct CUgraphExec_st *exec = NULL;
    stream *s = make_stream();
    void *p = take(64);
    ok(cudaStreamBeginCapture(s, CUDART_CAPTURE_THREAD_LOCAL));
    ok(cudaMemsetAsync(p, 0, 64, s));
    ok(cudaStreamEndCapture(s, &graph));
    ok(cudaGraphInstantiate(&exec, graph, 0));
    ok(cudaFree(p));
    ok(cudaGraphLaunch(exec, s));
    ck_assert_uint_eq(cudaStreamSynchronize(s), ILLEGAL_ADDRESS);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
    (void)unlink(trace_path);
}
END_TEST

START_TEST(a_fault_in_a_kernel_stays_and_says_what_it_was)
{
    set_up("seed=0");
    stream *s = make_stream();
    float *x = take(256);
    ok(launch("some_leave", 64, x, s));
    ck_assert_uint_eq(cudaStreamSynchronize(s), LAUNCH_FAILURE);
    ck_assert_uint_eq(cudaStreamSynchronize(s), LAUNCH_FAILURE);
    ck_assert_uint_eq(cudaGetLastError(), LAUNCH_FAILURE);
    ck_assert_str_eq(
        cudaGetErrorString(LAUNCH_FAILURE),
        "unspecified launch failure (some_leave, block (0, 0, 0): thread (41, 0, 0) leaves the "
        "kernel while thread (0, 0, 0) waits in __syncthreads at good_and_bad.cu:100)");
    (void)unlink(trace_path);
}
END_TEST

#ifndef STANDIN_ASAN /* which tells of it in its own way */
START_TEST(a_kernel_that_touches_what_is_not_there_is_told)
{
    set_up("seed=0");
    stream *s = make_stream();
    ok(launch("count_all", 64, (void *)(uintptr_t)64, s));
    ck_assert_uint_eq(cudaStreamSynchronize(s), ILLEGAL_ADDRESS);
    ck_assert_str_eq(cudaGetErrorString(ILLEGAL_ADDRESS),
                     "an illegal memory access was encountered (count_all, block (0, 0, 0), "
                     "thread (0, 0, 0): it touched 0x40, where nothing is)");
    (void)unlink(trace_path);
}
END_TEST
#endif

#ifndef STANDIN_SANITIZED /* which tells of it in its own way */
START_TEST(a_load_from_between_is_told)
{
    set_up("seed=0");
    stream *s = make_stream();
    char *x = take(64);
    ok(cudaMemsetAsync(x, 0, 64, s));
    ok(launch("load_four", 1, x + 16, s));
    ok(cudaStreamSynchronize(s));
    ok(launch("load_four", 1, x + 4, s));
    ck_assert_uint_eq(cudaStreamSynchronize(s), MISALIGNED_ADDRESS);
    ck_assert_str_eq(cudaGetErrorString(MISALIGNED_ADDRESS),
                     "misaligned address (load_four, block (0, 0, 0), thread (0, 0, 0): it "
                     "touched no multiple of what it took)");
    (void)unlink(trace_path);
}
END_TEST
#endif

static const struct lack {
    const char *settings;
    unsigned count, alloc;
} lacks[] = {
    {"devices=0", NO_DEVICE, OK},
    {"driver=11040", INSUFFICIENT_DRIVER, OK},
    {"memory=1048576", OK, MEMORY_ALLOCATION},
};

START_TEST(what_a_machine_lacks_can_be_asked_for)
{
    int count = -1;
    void *p = NULL;
    set_up(lacks[_i].settings);
    ck_assert_uint_eq(cudaGetDeviceCount(&count), lacks[_i].count);
    ck_assert_int_eq(count, lacks[_i].count ? 0 : 1);
    if (!lacks[_i].count)
        ck_assert_uint_eq(cudaMalloc(&p, 1 << 20), lacks[_i].alloc);
    (void)unlink(trace_path);
}
END_TEST

START_TEST(the_launch_that_is_asked_for_fails)
{
    set_up("fail_launch=3,fail_code=700");
    int *there = take(256);
    stream *s = make_stream();
    ok(launch("count_all", 64, there, s));
    ok(launch("count_all", 64, there, s));
    ok(cudaStreamSynchronize(s));
    ok(launch("count_all", 64, there, s));
    ck_assert_uint_eq(cudaStreamSynchronize(s), ILLEGAL_ADDRESS);
    (void)unlink(trace_path);
}
END_TEST

START_TEST(launches_are_held_to_what_a_device_can)
{
    set_up("");
    void *x = take(64);
    stream *s = make_stream();
    ck_assert_uint_eq(launch("count_all", 1025, x, s), INVALID_CONFIGURATION);
    ck_assert_uint_eq(cudaLaunchKernel(kernel("count_all"), (struct dim3){1, 1, 1},
                                       (struct dim3){32, 1, 1}, (void *[]){&x}, 50000, s),
                      INVALID_VALUE);
    ok(cudaFuncSetAttribute(kernel("count_all"), CUDART_FUNC_DYNAMIC_SHARED, 50000));
    ok(cudaLaunchKernel(kernel("count_all"), (struct dim3){1, 1, 1}, (struct dim3){16, 1, 1},
                        (void *[]){&x}, 50000, s));
    (void)unlink(trace_path);
}
END_TEST

/* A child that ends with a stream left. */
START_TEST(what_leaked_makes_a_process_fail_when_that_is_wanted)
{
    set_up("leaks=1");
    int status = 0;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)make_stream();
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 97);
    (void)unlink(trace_path);
}
END_TEST

START_TEST(every_call_is_in_the_trace)
{
    char text[4096];
    set_up("");
    int *there = take(256), own = 7;
    stream *a = make_stream(), *b = make_stream();
    struct CUevent_st *e = NULL;
    ok(cudaEventCreateWithFlags(&e, CUDART_EVENT_NO_TIMING));
    ok(cudaMemsetAsync(there, 0, 256, a));
    ok(cudaMemcpyAsync(there + 2, &own, 4, CUDART_TO_DEVICE, a));
    struct CUgraphExec_st *exec = gather_count(there, a);
    ok(cudaGraphLaunch(exec, a));
    ok(cudaEventRecord(e, a));
    ok(cudaStreamWaitEvent(b, e, 0));
    ok(cudaStreamSynchronize(b));
    ok(cudaGraphExecDestroy(exec));
    ok(cudaEventDestroy(e));
    ok(cudaStreamDestroy(b));
    ok(cudaFree(there));
    read_trace(text, sizeof text);
    ck_assert_str_eq(text, "malloc 256 = m1\n"
                           "stream 1\n"
                           "stream 2\n"
                           "event 1\n"
                           "fill 256 bytes m1 with 0 stream 1\n"
                           "copy 4 bytes host -> m1+8 stream 1\n"
                           "load test\n"
                           "capture begins stream 1\n"
                           "launch count_all grid 1 block 64 stream 1\n"
                           "launch count_all grid 1 block 64 stream 1\n"
                           "capture ends stream 1: graph 1 of 2\n"
                           "instantiate graph 1\n"
                           "launch graph 1 stream 1\n"
                           "record event 1 stream 1\n"
                           "wait event 1 stream 2\n"
                           "wait for stream 2\n"
                           "graph destroy 1\n"
                           "event destroy 1\n"
                           "stream destroy 2\n"
                           "free m1\n");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("standin");
    TCase *t = tcase_create("runtime");
#ifndef STANDIN_ASAN
    tcase_add_test_raise_signal(t, the_host_cannot_read_device_memory, 11);
    tcase_add_test(t, a_kernel_that_touches_what_is_not_there_is_told);
#endif
#ifndef STANDIN_SANITIZED
    tcase_add_test(t, a_load_from_between_is_told);
#endif
    tcase_add_test(t, another_thread_works_on_while_one_gathers);
    tcase_add_test(t, a_launch_wants_a_stream_of_the_threads_device);
    tcase_add_test(t, work_is_done_when_somebody_waits_and_in_its_order);
    tcase_add_test(t, pageable_memory_is_read_at_once_and_pinned_memory_late);
    tcase_add_loop_test(t, an_event_makes_another_stream_wait, 0, 2);
    tcase_add_test(t, copies_are_held_to_their_memory);
    tcase_add_test(t, a_kernel_that_was_never_loaded_cannot_be_gathered);
    tcase_add_test(t, a_graph_does_what_was_gathered_each_time);
    tcase_add_loop_test(t, waiting_or_allocating_while_a_graph_is_gathered_spoils_it, 0,
                        FORBIDDEN);
    tcase_add_test(t, an_event_is_recorded_on_its_own_device);
    tcase_add_test(t, a_graph_outlives_no_memory);
    tcase_add_test(t, a_fault_in_a_kernel_stays_and_says_what_it_was);
    tcase_add_loop_test(t, what_a_machine_lacks_can_be_asked_for, 0,
                        (int)(sizeof lacks / sizeof *lacks));
    tcase_add_test(t, the_launch_that_is_asked_for_fails);
    tcase_add_test(t, launches_are_held_to_what_a_device_can);
    tcase_add_test(t, what_leaked_makes_a_process_fail_when_that_is_wanted);
    tcase_add_test(t, every_call_is_in_the_trace);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
