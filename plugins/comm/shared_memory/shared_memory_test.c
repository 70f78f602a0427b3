/* shared_memory_test.c - ranks as processes: every operation against its definition, and ranks that do not come. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/collectives.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SIZE = 3,
    ODD = 1000003
}; /* more than one mailbox of 1 MiB, and no multiple of anything */

typedef struct member {
    subject subject;
    const tutti_collectives_v1 *table;
    tutti_world_info info;
} member;

static tutti_status join(member *m, uint64_t run, uint32_t timeout_ms, tutti_error *err)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "mailbox_mib", 1);
    ck_assert_ok(
        subject_open(&m->subject, PLUGIN_PATH, TUTTI_KIND_COMM, "shared_memory", &g, NULL, err),
        *err);
    m->table = subject_query(&m->subject, TUTTI_COLLECTIVES_V1);
    m->info.struct_size = sizeof m->info;
    const tutti_join how = {sizeof how, timeout_ms, run};
    return m->table->join(m->subject.self, &how, &m->info, err);
}

/* Runs `body` as every rank of a world, and the statuses that they exit with. */
static void world(int size, void (*body)(int rank), int *ret_status)
{
    pid_t ranks[SIZE];
    char text[16];
    (void)snprintf(text, sizeof text, "%d", size);
    ck_assert_int_eq(setenv("TUTTI_WORLD_SIZE", text, 1), 0);
    for (int k = 0; k < size; k++) {
        (void)snprintf(text, sizeof text, "%d", k);
        ck_assert_int_eq(setenv("TUTTI_RANK", text, 1), 0);
        ranks[k] = fork();
        ck_assert_int_ge(ranks[k], 0);
        if (ranks[k] == 0) {
            (void)alarm(20);
            body(k);
            _exit(0);
        }
    }
    for (int k = 0; k < size; k++)
        ck_assert_int_eq(waitpid(ranks[k], &ret_status[k], 0), ranks[k]);
}

static void want(int condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "wrong: %s\n", what);
        _exit(1);
    }
}

static void want_ok(tutti_status s, const tutti_error *err)
{
    want(s == TUTTI_OK, err->text);
}

static float element(int from, int to, uint64_t i)
{
    return (float)(from * 100 + to * 10) + (float)(i % 7);
}

/* Rank r sends (r + k + 1) * ODD / 5 numbers to rank k; to itself none. */
static uint64_t sent(int from, int to)
{
    return from == to ? 0 : (uint64_t)(from + to + 1) * ODD / 5;
}

/* What is sent lies `gap` numbers apart, and begins behind as many. */
static void check_all_to_all(member *m, uint64_t gap)
{
    const int me = m->info.rank;
    uint64_t out[SIZE], out_bytes[SIZE], in[SIZE], in_bytes[SIZE], request;
    uint64_t out_end = gap, in_end = 0;
    for (int k = 0; k < SIZE; k++) {
        out[k] = out_end * sizeof(float);
        in[k] = in_end * sizeof(float);
        out_bytes[k] = sent(me, k) * sizeof(float);
        in_bytes[k] = sent(k, me) * sizeof(float);
        out_end += sent(me, k) + gap;
        in_end += sent(k, me);
    }
    float *send = calloc(out_end, sizeof *send), *receive = malloc(in_end * sizeof *receive);
    for (int k = 0; k < SIZE; k++)
        for (uint64_t i = 0; i < sent(me, k); i++)
            send[out[k] / sizeof(float) + i] = element(me, k, i);
    const tutti_parts from = {sizeof from, 0, send, out, out_bytes};
    const tutti_parts to = {sizeof to, 0, receive, in, in_bytes};
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(m->table->all_to_all(m->subject.self, &from, &to, &request, &err), &err);
    want_ok(m->table->wait(m->subject.self, request, &err), &err);
    for (int k = 0; k < SIZE; k++)
        for (uint64_t i = 0; i < sent(k, me); i++)
            want(receive[in[k] / sizeof(float) + i] == element(k, me, i), "all_to_all");
    free(send);
    free(receive);
}

static void check_all_gather(member *m)
{
    uint64_t offsets[SIZE], bytes[SIZE], request, end = 0;
    for (int k = 0; k < SIZE; k++) {
        offsets[k] = end;
        bytes[k] = k == 1 ? 0 : (uint64_t)(k + 1) * ODD;
        end += bytes[k];
    }
    char *data = calloc(end, 1);
    memset(data + offsets[m->info.rank], 'a' + m->info.rank, bytes[m->info.rank]);
    const tutti_parts parts = {sizeof parts, 0, data, offsets, bytes};
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(m->table->all_gather(m->subject.self, &parts, &request, &err), &err);
    want_ok(m->table->wait(m->subject.self, request, &err), &err);
    for (int k = 0; k < SIZE; k++)
        for (uint64_t i = 0; i < bytes[k]; i++)
            want(data[offsets[k] + i] == 'a' + k, "all_gather");
    free(data);
}

static void operations(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    want_ok(join(&m, 1, 10000, &err), &err);
    want(m.info.rank == rank && m.info.size == SIZE && m.info.local_size == SIZE, "the world");
    for (int round = 0; round < 3; round++) {
        int64_t mine = rank * 10 + round, all[SIZE], word = rank == 2 ? 77 + round : 0;
        want_ok(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &err), &err);
        for (int k = 0; k < SIZE; k++)
            want(all[k] == k * 10 + round, "exchange");
        want_ok(m.table->broadcast(m.subject.self, &word, sizeof word, 2, &err), &err);
        want(word == 77 + round, "broadcast");
        check_all_to_all(&m, 0);
        check_all_to_all(&m, round == 2 ? 3 * ODD : 7);
        check_all_gather(&m);
    }
    m.table->leave(m.subject.self, 0);
    subject_close(&m.subject);
}

/* Of MPICH's launcher, which starts each rank in a session of its own. */
static void has_a_session(int rank)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", rank);
    want(setsid() > 0 && !setenv("PMI_RANK", text, 1) && !setenv("PMI_SIZE", "3", 1) &&
             !unsetenv("TUTTI_RANK") && !unsetenv("TUTTI_WORLD_SIZE") && !unsetenv("TUTTI_JOB"),
         "the environment");
    operations(rank);
}

START_TEST(ranks_with_sessions_of_their_own_find_each_other)
{
    int status[SIZE];
    world(SIZE, has_a_session, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k], 0);
}
END_TEST

START_TEST(operations_do_what_their_definition_says)
{
    int status[SIZE];
    world(SIZE, operations, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k], 0);
}
END_TEST

static void one_is_killed(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t mine = 0, all[SIZE];
    want_ok(join(&m, 2, 10000, &err), &err);
    const tutti_progress now = {.step = 41, .since_ns = 1, .phase = "computing"};
    m.table->tell(m.subject.self, &now);
    want_ok(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &err), &err);
    if (rank == 1)
        (void)raise(SIGKILL);
    want(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &err) == TUTTI_E_STATE,
         "a rank is missing");
    want(strstr(err.text, "rank 1 (process ") &&
             strstr(err.text, "has ended; it was last seen at step 41, computing"),
         err.text);
    tutti_error again = TUTTI_ERROR_INIT;
    want(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &again) == TUTTI_E_STATE,
         "for good");
    subject_close(&m.subject);
}

START_TEST(a_rank_that_is_killed_is_named)
{
    int status[SIZE];
    world(SIZE, one_is_killed, status);
    ck_assert_int_eq(status[0], 0);
    ck_assert(WIFSIGNALED(status[1]));
    ck_assert_int_eq(status[2], 0);
}
END_TEST

/* Rank 1 has nothing to gather from anybody; the others have, or expect, four bytes of rank 0. */
static void one_gathers_nothing(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    char data[4] = {0};
    uint64_t offsets[SIZE] = {0}, bytes[SIZE] = {rank == 1 ? 0 : sizeof data}, request = 0;
    const tutti_parts parts = {sizeof parts, 0, data, offsets, bytes};
    want_ok(join(&m, 8, 2000, &err), &err);
    const tutti_status s = m.table->all_gather(m.subject.self, &parts, &request, &err);
    if (rank == 1) {
        want(s == TUTTI_E_ARG, "rank 1 expects too little");
        want(strstr(err.text, "rank 0 gives 4 bytes, of which rank 1 expects 0") != NULL,
             err.text);
    }
    subject_close(&m.subject);
}

START_TEST(a_rank_that_gathers_nothing_does_not_go_on)
{
    int status[SIZE];
    world(SIZE, one_gathers_nothing, status);
    ck_assert_int_eq(status[1], 0);
}
END_TEST

static void one_leaves(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t mine = 0, all[SIZE];
    want_ok(join(&m, 3, 10000, &err), &err);
    if (rank == 2) {
        m.table->leave(m.subject.self, 0);
        (void)sleep(2);
        subject_close(&m.subject);
        return;
    }
    want(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &err) == TUTTI_E_STATE,
         "a rank has left");
    want(strstr(err.text, "has left the run") != NULL, err.text);
    subject_close(&m.subject);
}

static void one_is_late(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t mine = 0, all[SIZE];
    want_ok(join(&m, 4, 10000, &err), &err);
    m.table->set_timeout(m.subject.self, 300);
    if (rank == 0) {
        (void)sleep(2);
        return;
    }
    want(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &err) == TUTTI_E_STATE,
         "a rank is late");
    want(strstr(err.text, "rank 0 (process ") && strstr(err.text, "has not come in 0.3 s"),
         err.text);
    subject_close(&m.subject);
}

static void one_is_killed_waiting(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t mine = 0, all[SIZE];
    want_ok(join(&m, 6, 10000, &err), &err);
    if (rank == 1) { /* for whom the others wait */
        (void)sleep(3);
        return;
    }
    if (rank == 0) {
        (void)signal(SIGALRM, SIG_DFL);
        (void)alarm(1);
    }
    want(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &err) == TUTTI_E_STATE,
         "a rank is killed");
    want(strstr(err.text, "rank 0 (process ") && strstr(err.text, "has ended"), err.text);
    subject_close(&m.subject);
}

/* The last rank is killed while it waits, which ranks see and leave; rank 1 then comes as the last that was missing. */
static void one_leaves_for_another(int rank)
{
    member m;
    char expected[32];
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t mine = 0, all[SIZE];
    want_ok(join(&m, 7, 10000, &err), &err);
    if (rank == SIZE - 1) {
        (void)signal(SIGALRM, SIG_DFL);
        (void)ualarm(200000, 0);
    } else if (rank == 1) {
        (void)sleep(1);
    }
    want(m.table->exchange(m.subject.self, &mine, all, sizeof mine, &err) == TUTTI_E_STATE,
         "a rank is killed");
    (void)snprintf(expected, sizeof expected, "rank %d (process ", SIZE - 1);
    want(strstr(err.text, expected) && strstr(err.text, "has ended"), err.text);
    subject_close(&m.subject);
}

START_TEST(a_rank_that_leaves_for_another_is_not_named)
{
    int status[SIZE];
    world(SIZE, one_leaves_for_another, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k] != 0, k == SIZE - 1);
}
END_TEST

START_TEST(a_rank_that_is_killed_while_it_waits_is_named)
{
    int status[SIZE];
    world(SIZE, one_is_killed_waiting, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k] != 0, k == 0);
}
END_TEST

START_TEST(a_rank_that_leaves_or_is_late_is_named)
{
    int status[SIZE];
    world(SIZE, one_leaves, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k], 0);
    world(SIZE, one_is_late, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k], 0);
}
END_TEST

static void nobody_comes(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    if (rank == 0)
        return;
    want(join(&m, 5, 300, &err) == TUTTI_E_STATE, "rank 0 is missing");
    want(strstr(err.text, "rank 0 has not come in 0.3 s") != NULL, err.text);
    subject_close(&m.subject);
}

START_TEST(a_world_that_is_not_whole_is_refused)
{
    int status[SIZE];
    world(SIZE, nobody_comes, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k], 0);
}
END_TEST

START_TEST(without_a_launcher_there_is_one_rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t mine = 5, all = 0;
    (void)unsetenv("TUTTI_RANK");
    (void)unsetenv("TUTTI_WORLD_SIZE");
    ck_assert_ok(join(&m, 6, 1000, &err), err);
    ck_assert_int_eq(m.info.size, 1);
    ck_assert_ok(m.table->exchange(m.subject.self, &mine, &all, sizeof mine, &err), err);
    ck_assert_int_eq(all, 5);
    subject_close(&m.subject);
}
END_TEST

START_TEST(a_rank_outside_the_world_is_refused)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(setenv("TUTTI_WORLD_SIZE", "2", 1), 0);
    ck_assert_int_eq(setenv("TUTTI_RANK", "2", 1), 0);
    ck_assert_int_eq(join(&m, 7, 1000, &err), TUTTI_E_ARG);
    ck_assert_str_eq(
        err.text,
        "shared_memory: TUTTI_WORLD_SIZE is 2, but TUTTI_RANK is no rank from 0 to 1");
    subject_close(&m.subject);
}
END_TEST

START_TEST(what_is_no_number_of_ranks_is_refused)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(setenv("TUTTI_WORLD_SIZE", "0", 1), 0);
    ck_assert_int_eq(join(&m, 8, 1000, &err), TUTTI_E_ARG);
    ck_assert_str_eq(
        err.text, "shared_memory: TUTTI_WORLD_SIZE is \"0\", want a number of ranks from 1 on");
    subject_close(&m.subject);
}
END_TEST

/* Rank 1 takes an exchange to be shorter than the others do. */
static void one_is_short(int rank)
{
    member m;
    tutti_error err = TUTTI_ERROR_INIT;
    int64_t mine[2] = {rank, rank}, all[2 * SIZE];
    want_ok(join(&m, 9, 10000, &err), &err);
    want(m.table->exchange(m.subject.self, mine, all, rank == 1 ? 8 : 16, &err) == TUTTI_E_ARG,
         "a part is short");
    want(strstr(err.text, rank == 1 ? "rank 0 gives 16 bytes, of which rank 1 expects 8"
                                    : "rank 1 gives 8 bytes, of which rank") != NULL,
         err.text);
    subject_close(&m.subject);
}

START_TEST(parts_of_unequal_length_are_named)
{
    int status[SIZE];
    world(SIZE, one_is_short, status);
    for (int k = 0; k < SIZE; k++)
        ck_assert_int_eq(status[k], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared_memory");
    TCase *c = tcase_create("shared_memory");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, ranks_with_sessions_of_their_own_find_each_other);
    tcase_add_test(c, operations_do_what_their_definition_says);
    tcase_add_test(c, a_rank_that_gathers_nothing_does_not_go_on);
    tcase_add_test(c, a_rank_that_is_killed_is_named);
    tcase_add_test(c, a_rank_that_is_killed_while_it_waits_is_named);
    tcase_add_test(c, a_rank_that_leaves_for_another_is_not_named);
    tcase_add_test(c, a_rank_that_leaves_or_is_late_is_named);
    tcase_add_test(c, a_world_that_is_not_whole_is_refused);
    tcase_add_test(c, without_a_launcher_there_is_one_rank);
    tcase_add_test(c, a_rank_outside_the_world_is_refused);
    tcase_add_test(c, what_is_no_number_of_ranks_is_refused);
    tcase_add_test(c, parts_of_unequal_length_are_named);
    return tutti_run(suite);
}
