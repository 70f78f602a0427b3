/* nccl_test.c - the plugin nccl on stand-ins for CUDA and NCCL: ranks as processes, a device each. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#include "nccl_ranks.h"

enum { NUMBERS = 5000 };

static float element(int from, int to, uint64_t k)
{
    return (float)(from * 100 + to * 10) + (float)(k % 7);
}

/* Numbers that go from one rank to another: another count for each pair, none from rank 1 to rank 0. */
static uint64_t sent(int from, int to)
{
    return from == 1 && to == 0 ? 0 : (uint64_t)(1 + from + 2 * to) * NUMBERS;
}

/* Where the parts of a rank lie, one behind the other; returns bytes in all. */
static uint64_t lay_out(int me, int size, int receives, uint64_t *offsets, uint64_t *bytes)
{
    uint64_t end = 0;
    for (int r = 0; r < size; r++) {
        offsets[r] = end;
        bytes[r] = (receives ? sent(r, me) : sent(me, r)) * sizeof(float);
        end += bytes[r];
    }
    return end;
}

static void wait_for_stream(member *m)
{
    void *event;
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_device_v1 *t = m->device.table;
    want_ok(t->event_create(m->device.device, &event, &err), &err);
    want_ok(t->event_record(m->device.device, event, m->stream, &err), &err);
    while (t->event_done(m->device.device, event) == 0)
        ;
    t->event_destroy(m->device.device, event);
}

/* What the stream was given before, two operations in a row, and what it is given behind them; nobody waits between. */
static void check_all_to_all(member *m)
{
    uint64_t out[SIZE], out_bytes[SIZE], in[SIZE], in_bytes[SIZE], request = 0;
    const uint64_t out_end = lay_out(m->rank, m->size, 0, out, out_bytes);
    const uint64_t in_end = lay_out(m->rank, m->size, 1, in, in_bytes);
    float *host = malloc(out_end > in_end ? out_end : in_end);
    for (int r = 0; r < m->size; r++)
        for (uint64_t k = 0; k < sent(m->rank, r); k++)
            host[out[r] / sizeof(float) + k] = element(m->rank, r, k);
    char *send = take(m, out_end), *receive = take(m, in_end), *copy = take(m, in_end);
    put(m, send, host, out_end);
    const tutti_parts from = {sizeof from, 0, send, out, out_bytes};
    const tutti_parts to = {sizeof to, 0, receive, in, in_bytes};
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(m->table->all_to_all(m->subject.self, &from, &to, &request, &err), &err);
    want_ok(m->table->order(m->subject.self, request, &err), &err);
    want_ok(m->device.table->copy(m->device.device, m->stream, copy, receive, in_end,
                                  TUTTI_COPY_ON_DEVICE, &err),
            &err);
    wait_for_stream(m); /* before anybody asks for the operation's end */
    want_ok(m->table->finish(m->subject.self, &err), &err);
    fetch(m, host, copy, in_end);
    for (int r = 0; r < m->size; r++)
        for (uint64_t k = 0; k < sent(r, m->rank); k++)
            want(host[in[r] / sizeof(float) + k] == element(r, m->rank, k), "all_to_all");
    give_back(m, send);
    give_back(m, receive);
    give_back(m, copy);
    free(host);
}

static void check_all_gather(member *m, int even)
{
    uint64_t offsets[SIZE], bytes[SIZE], request, end = 0;
    for (int r = 0; r < m->size; r++) {
        offsets[r] = end;
        bytes[r] = even ? 4 * NUMBERS : r == 1 ? 0 : (uint64_t)(r + 1) * NUMBERS;
        end += bytes[r];
    }
    unsigned char *host = malloc(end);
    char *data = take(m, end);
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(m->device.table->fill(m->device.device, m->stream, data + offsets[m->rank],
                                  (uint8_t)('a' + m->rank), bytes[m->rank], &err),
            &err);
    const tutti_parts parts = {sizeof parts, 0, data, offsets, bytes};
    want_ok(m->table->all_gather(m->subject.self, &parts, &request, &err), &err);
    want_ok(m->table->finish(m->subject.self, &err), &err);
    fetch(m, host, data, end);
    for (int r = 0; r < m->size; r++)
        for (uint64_t k = 0; k < bytes[r]; k++)
            want(host[offsets[r] + k] == 'a' + r, "all_gather");
    give_back(m, data);
    free(host);
}

static void operations(int rank, int size)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(join(&m, rank, size, rank, 20000, &err), &err);
    for (int round = 0; round < 2; round++) {
        check_all_to_all(&m);
        check_all_gather(&m, 1);
        check_all_gather(&m, 0);
    }
    want(m.table->order(m.subject.self, 1, &err) == TUTTI_E_ARG, "no request is left");
    part(&m, 0);
}

START_TEST(operations_do_what_their_definition_says)
{
    world(SIZE, operations, "devices=3,leaks=1", "");
    for (int r = 0; r < SIZE; r++)
        ck_assert_golden("operations", r);
    clean_up(SIZE);
}
END_TEST

START_TEST(operations_follow_the_stream_that_they_are_given)
{
    own_stream = 1;
    world(SIZE, operations, "devices=3,leaks=1", "");
    own_stream = 0;
    for (int r = 0; r < SIZE; r++)
        ck_assert_golden("operations", r);
    clean_up(SIZE);
}
END_TEST

START_TEST(one_rank_is_a_world)
{
    world(1, operations, "devices=1,leaks=1", "");
    ck_assert_golden("alone", 0);
    clean_up(1);
}
END_TEST

/* The last rank does not take part in the second operation. */
static void one_is_late(int rank, int size)
{
    member m;
    uint64_t offsets[SIZE], bytes[SIZE], request;
    tutti_error err = TUTTI_ERROR_INIT, again = TUTTI_ERROR_INIT;
    want_ok(join(&m, rank, size, rank, 20000, &err), &err);
    char *data = take(&m, SIZE * 64);
    for (int r = 0; r < size; r++) {
        offsets[r] = (uint64_t)r * 64;
        bytes[r] = 64;
    }
    const tutti_parts parts = {sizeof parts, 0, data, offsets, bytes};
    want_ok(m.table->all_gather(m.subject.self, &parts, &request, &err), &err);
    want_ok(m.table->finish(m.subject.self, &err), &err);
    m.table->set_timeout(m.subject.self, 300);
    const tutti_progress now = {
        .step = 41, .since_ns = 1, .phase = "summing gradients, bucket 2"};
    m.table->tell(m.subject.self, &now);
    if (rank < size - 1) {
        want_ok(m.table->all_gather(m.subject.self, &parts, &request, &err), &err);
        want(m.table->finish(m.subject.self, &err) == TUTTI_E_STATE, "a rank is missing");
        want(strcmp(err.text,
                    "nccl: all-gather of step 41, summing gradients, bucket 2, has not "
                    "ended in 0.3 s: a rank does not take part, or nothing moves "
                    "between two of them") == 0,
             err.text);
        want(m.table->all_gather(m.subject.self, &parts, &request, &again) == TUTTI_E_STATE &&
                 strcmp(again.text, err.text) == 0,
             "for good");
    }
    /* Nothing on the device waits any more. */
    want_ok(m.device.table->synchronise(m.device.device, NULL, &(tutti_error)TUTTI_ERROR_INIT),
            &err);
    give_back(&m, data);
    part(&m, 1);
}

START_TEST(what_hangs_is_given_up_in_time_and_says_where)
{
    world(2, one_is_late, "devices=2,leaks=1", "");
    for (int r = 0; r < 2; r++)
        ck_assert_golden("late", r);
    clean_up(2);
}
END_TEST

static void engine_fails(int rank, int size)
{
    member m;
    uint64_t offsets[SIZE] = {0, 64}, bytes[SIZE] = {64, 64}, request;
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(join(&m, rank, size, rank, 20000, &err), &err);
    char *data = take(&m, 128);
    const tutti_parts parts = {sizeof parts, 0, data, offsets, bytes};
    if (rank == 0) {
        want_ok(m.table->all_gather(m.subject.self, &parts, &request, &err), &err);
        want(m.table->finish(m.subject.self, &err) == TUTTI_E_STATE, "NCCL has failed");
        want(strstr(err.text, "nccl: all-gather: remote process exited or there was a network "
                              "error; this rank is at step 0, joining") != NULL,
             err.text);
    }
    give_back(&m, data);
    part(&m, 1);
}

START_TEST(an_error_of_the_engine_is_told_at_once)
{
    world(2, engine_fails, "devices=2,leaks=1", "fail_call=1");
    clean_up(2);
}
END_TEST

static void one_device_for_two(int rank, int size)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    want(join(&m, rank, size, 0, 20000, &err) == TUTTI_E_STATE, "two ranks on a GPU");
    want(strstr(err.text,
                "nccl: ncclCommInitRankConfig: invalid usage: Duplicate GPU detected : "
                "rank ") != NULL,
         err.text);
    part(&m, 1);
}

START_TEST(two_ranks_on_one_gpu_are_refused)
{
    world(2, one_device_for_two, "devices=1,leaks=1", "");
    clean_up(2);
}
END_TEST

static void one_has_no_library(int rank, int size)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    library = rank == 1 ? "/nowhere/libnccl.so.2" : "libnccl.so.2";
    want(join(&m, rank, size, rank, 20000, &err) == TUTTI_E_NOTFOUND, "no library");
    want(strstr(err.text, rank == 1
                              ? "nccl: NCCL is not installed: /nowhere/libnccl.so.2"
                              : "[rank 1] nccl: NCCL is not installed: /nowhere/") == err.text,
         err.text);
    part(&m, 1);
}

START_TEST(a_rank_without_the_library_is_named_by_all)
{
    world(2, one_has_no_library, "devices=2,leaks=1", "");
    clean_up(2);
}
END_TEST

static void old_library(int rank, int size)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    want(join(&m, rank, size, rank, 20000, &err) == TUTTI_E_VERSION, "an old library");
    want(strcmp(err.text, "nccl: libnccl.so.2 is older than 2.14, want NCCL 2.14 or newer") ==
             0,
         err.text);
    part(&m, 1);
}

START_TEST(an_old_library_is_refused)
{
    world(1, old_library, "devices=1,leaks=1", "version=21303");
    clean_up(1);
}
END_TEST

static void on_a_cpu(int rank, int size)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    on_cpu = 1;
    want(join(&m, rank, size, 0, 20000, &err) == TUTTI_E_UNSUPPORTED, "a CPU");
    want(strcmp(err.text, "nccl: moves memory of NVIDIA's GPUs, the run's device is another") ==
             0,
         err.text);
    part(&m, 1);
}

START_TEST(a_cpu_is_refused)
{
    world(1, on_a_cpu, "devices=1,leaks=1", "");
    clean_up(1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nccl");
    TCase *c = tcase_create("nccl");
    suite_add_tcase(suite, c);
    tcase_add_test(c, operations_do_what_their_definition_says);
    tcase_add_test(c, operations_follow_the_stream_that_they_are_given);
    tcase_add_test(c, one_rank_is_a_world);
    tcase_add_test(c, what_hangs_is_given_up_in_time_and_says_where);
    tcase_add_test(c, an_error_of_the_engine_is_told_at_once);
    tcase_add_test(c, two_ranks_on_one_gpu_are_refused);
    tcase_add_test(c, a_rank_without_the_library_is_named_by_all);
    tcase_add_test(c, an_old_library_is_refused);
    tcase_add_test(c, a_cpu_is_refused);
    return tutti_run(suite);
}
