/* background_test.c - the order of operations beside the caller is the same however long each of them takes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/background.h"

#include "tutti_check.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a rank does: pieces by letter, of which the latest two are not over before another one comes or the caller waits. */
typedef struct rank {
    background beside;
    char order[256];
    uint64_t begun, done;
    unsigned seed[2];  /* of the thread, of the caller */
    char fails;        /* this piece; 0: none */
    uint64_t waited;   /* pieces that were waited for, in their order */
    uint64_t idle;     /* of these because nothing else was there to do */
    uint64_t asked;    /* calls of poll */
    uint64_t slice_ns; /* the thread's, as Linux says */
    int nice;
} rank;

static void rest(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    if (*seed >> 30)
        (void)usleep(*seed >> 21);
}

static void note(rank *r, char what, uint64_t number)
{
    const size_t n = strlen(r->order);
    ck_assert_uint_lt(n + 3, sizeof r->order);
    (void)snprintf(r->order + n, sizeof r->order - n, "%c%c", what, (char)('a' + number));
}

static void end_one(rank *r, uint64_t *done)
{
    note(r, '-', r->done++);
    ++*done;
}

/* Of the calling thread; 0: this Linux does not say, or does not let it choose. */
static uint64_t slice_of_thread(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } a = {.size = sizeof a};
    const bool chooses = syscall(SYS_sched_getattr, 0, &a, (uint32_t)sizeof a, 0) == 0 &&
                         (a.policy == SCHED_OTHER || a.policy == SCHED_BATCH);
    a.size = sizeof a;
    return chooses && syscall(SYS_sched_setattr, 0, &a, 0) == 0 ? a.runtime_ns : 0;
}

static tutti_status begin(void *ctx, const world_piece *one, uint64_t *done, tutti_error *err)
{
    rank *r = ctx;
    (void)one;
    r->slice_ns = slice_of_thread();
    r->nice = getpriority(PRIO_PROCESS, 0);
    rest(&r->seed[0]);
    if (r->fails == (char)('a' + r->begun))
        return tutti_fail(err, TUTTI_E_IO, "%c fails", r->fails);
    note(r, '+', r->begun++);
    if (r->begun - r->done > 2)
        end_one(r, done);
    rest(&r->seed[0]);
    return TUTTI_OK;
}

static tutti_status flush(void *ctx, uint64_t *done, tutti_error *err)
{
    rank *r = ctx;
    (void)err;
    rest(&r->seed[0]);
    while (r->done < r->begun)
        end_one(r, done);
    return TUTTI_OK;
}

/* The order of operations is that of what begins: an operation that is waited for is none. */
static tutti_status wait_for_one(void *ctx, bool *ret_more, tutti_error *err)
{
    rank *r = ctx;
    (void)err;
    rest(&r->seed[0]);
    r->waited = r->waited < r->done ? r->done : r->waited;
    r->idle += r->waited < r->begun;
    r->waited += r->waited < r->begun;
    *ret_more = r->waited < r->begun;
    return TUTTI_OK;
}

static tutti_status ask(void *ctx, bool *ret_more, tutti_error *err)
{
    rank *r = ctx;
    r->asked++;
    return wait_for_one(ctx, ret_more, err);
}

static const background_work work = {
    .begin = begin, .flush = flush, .wait = wait_for_one, .poll = ask};

static void start(rank *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const world_piece piece = {.n = 1};
    rest(&r->seed[1]);
    ck_assert_ok(background_start(&r->beside, &work, r, &piece, &err), err);
}

/* The caller: waits for a piece that may long be over, for all, and begins more. */
static void run(rank *r, unsigned seed)
{
    tutti_error err = TUTTI_ERROR_INIT;
    *r = (rank){.seed = {seed, ~seed}};
    background_init(&r->beside);
    for (int k = 0; k < 4; k++)
        start(r);
    background_wait(&r->beside, 1);
    start(r);
    background_wait(&r->beside, 5);
    background_wait(&r->beside, 2);
    start(r);
    start(r);
    rest(&r->seed[1]);
    background_drain(&r->beside);
    for (int k = 0; k < 3; k++)
        start(r);
    ck_assert_ok(background_finish(&r->beside, &err), err);
    ck_assert_uint_eq(r->beside.done, 10);
    ck_assert(!background_stop(&r->beside));
    background_fini(&r->beside);
}

START_TEST(the_order_is_that_of_the_caller)
{
    static const char want[] = "+a+b+c-a+d-b-c-d+e-e+f+g-f-g+h+i+j-h-i-j";
    rank r;
    run(&r, (unsigned)_i);
    ck_assert_str_eq(r.order, want);
}
END_TEST

/* Which it gets since Linux 6.12; no other thread does, and none is nicer or less nice. */
START_TEST(the_thread_asks_for_short_slices)
{
    rank r;
    const uint64_t own = slice_of_thread();
    ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 5), 0);
    run(&r, 1);
    ck_assert_int_eq(r.nice, 5);
    ck_assert_uint_eq(slice_of_thread(), own);
    if (own)
        ck_assert_uint_eq(r.slice_ns, BACKGROUND_SLICE_NS);
    else
        tutti_skip("a thread cannot choose its slices here");
}
END_TEST

START_TEST(after_an_error_all_is_over)
{
    tutti_error err = TUTTI_ERROR_INIT;
    rank r = {.fails = 'c'};
    background_init(&r.beside);
    for (int k = 0; k < 5; k++)
        start(&r);
    ck_assert_int_eq(background_finish(&r.beside, &err), TUTTI_E_IO);
    ck_assert_str_eq(err.text, "c fails");
    ck_assert_uint_eq(r.beside.done, 5);
    ck_assert_str_eq(r.order, "+a+b");
    ck_assert_uint_eq(r.waited, 2); /* their memory is the caller's */
    const uint64_t asked = r.asked;
    for (int k = 0; k < 3; k++)
        start(&r);
    ck_assert_int_eq(background_finish(&r.beside, &err), TUTTI_E_IO);
    ck_assert(!background_stop(&r.beside));
    ck_assert_uint_eq(r.asked, asked); /* for what follows nobody is asked */
    background_fini(&r.beside);
    ck_assert_str_eq(r.order, "+a+b");
}
END_TEST

/* Two are under way: nobody has said that no other one follows. */
START_TEST(what_is_under_way_is_waited_for_where_no_other_piece_comes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    rank r = {0};
    background_init(&r.beside);
    for (int k = 0; k < 2; k++)
        start(&r);
    for (bool under_way = true; under_way; (void)usleep(100)) {
        (void)pthread_mutex_lock(&r.beside.lock);
        under_way = r.beside.count > 0 || r.beside.asks;
        (void)pthread_mutex_unlock(&r.beside.lock);
    }
    ck_assert_uint_eq(r.idle, 2);
    ck_assert_uint_eq(r.beside.done, 0); /* they have their place in the order of ends */
    start(&r);
    ck_assert_ok(background_finish(&r.beside, &err), err);
    ck_assert_str_eq(r.order, "+a+b+c-a-b-c");
    ck_assert(!background_stop(&r.beside));
    background_fini(&r.beside);
}
END_TEST

START_TEST(pieces_that_are_left_are_waited_for_where_the_thread_ends)
{
    rank r = {.seed = {(unsigned)_i, ~(unsigned)_i}};
    background_init(&r.beside);
    for (int k = 0; k < 2; k++)
        start(&r);
    ck_assert(background_stop(&r.beside));
    ck_assert_uint_eq(r.waited, r.begun);
    background_fini(&r.beside);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("background");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, the_order_is_that_of_the_caller, 0, 40);
    tcase_add_test(t, the_thread_asks_for_short_slices);
    tcase_add_test(t, after_an_error_all_is_over);
    tcase_add_test(t, what_is_under_way_is_waited_for_where_no_other_piece_comes);
    tcase_add_test(t, pieces_that_are_left_are_waited_for_where_the_thread_ends);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
