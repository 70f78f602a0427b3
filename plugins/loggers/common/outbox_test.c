/* outbox_test.c - destinations that are slow, down, choosy or gone for good, and disks that are full. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_check.h"
#include "outbox.h"
#include "tutti/tutti.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKS, FAILS, HANGS, REFUSES_B };

/* What the outbox sends to.  The lock guards all of it. */
static struct destination {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int mode;
    uint32_t tries;
    uint32_t received;
    char text[1 << 16]; /* records, a space behind each */
    outbox *outbox;
} there = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static char folder[FOLDER_SIZE];
static char path[FOLDER_SIZE + 16];
static char said[4096];

static void hear(void *ctx, int32_t level, const char *text)
{
    const size_t used = strlen(said);
    (void)ctx;
    (void)snprintf(said + used, sizeof said - used, "%d %s\n", level, text);
}

static const tutti_log_v1 ears = {.struct_size = sizeof ears, .write = hear};

static tutti_status take_one(const outbox_record *r, tutti_error *err)
{
    const size_t used = strlen(there.text);
    if (there.mode == FAILS)
        return tutti_fail(err, TUTTI_E_IO, "post: nobody is there");
    if (there.mode == REFUSES_B && r->data[0] == 'b')
        return tutti_fail(err, TUTTI_E_ARG, "post: %.*s is not wanted", (int)r->size, r->data);
    ck_assert_uint_lt(used + r->size + 2, sizeof there.text);
    memcpy(there.text + used, r->data, r->size);
    memcpy(there.text + used + r->size, " ", 2);
    there.received++;
    return TUTTI_OK;
}

static tutti_status post(void *ctx, const outbox_record *records, uint32_t n,
                         uint32_t *ret_sent, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    (void)ctx;
    (void)pthread_mutex_lock(&there.lock);
    there.tries++;
    (void)pthread_cond_broadcast(&there.changed);
    const bool hangs = there.mode == HANGS;
    outbox *o = there.outbox;
    (void)pthread_mutex_unlock(&there.lock);
    while (hangs && outbox_wait(o, 1000))
        ;
    (void)pthread_mutex_lock(&there.lock);
    for (; !hangs && *ret_sent < n && s == TUTTI_OK; *ret_sent += s == TUTTI_OK)
        s = take_one(&records[*ret_sent], err);
    (void)pthread_cond_broadcast(&there.changed);
    (void)pthread_mutex_unlock(&there.lock);
    return s;
}

static void set_mode(int mode)
{
    (void)pthread_mutex_lock(&there.lock);
    there.mode = mode;
    (void)pthread_mutex_unlock(&there.lock);
}

static void wait_for(const uint32_t *what, uint32_t least)
{
    (void)pthread_mutex_lock(&there.lock);
    while (*what < least)
        (void)pthread_cond_wait(&there.changed, &there.lock);
    (void)pthread_mutex_unlock(&there.lock);
}

static void happens(outbox *o, int32_t event)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_event e = {.struct_size = sizeof e, .id = event, .name = "event"};
    ck_assert_ok(outbox_event(o, &e, &err), err);
}

/* With `memory` bytes and a limit for the end, before its thread starts. */
static outbox *make(size_t memory, int64_t limit_ms)
{
    tutti_error err = TUTTI_ERROR_INIT;
    outbox *o = NULL;
    const outbox_config c = {.who = "post",
                             .path = path,
                             .log = &ears,
                             .memory = memory,
                             .limit_ms = limit_ms,
                             .send = post};
    ck_assert_ok(outbox_create(&c, &o, &err), err);
    (void)pthread_mutex_lock(&there.lock);
    there.outbox = o;
    (void)pthread_mutex_unlock(&there.lock);
    happens(o, TUTTI_EVENT_INIT);
    return o;
}

static void put(outbox *o, const char *text)
{
    outbox_put(o, text, strlen(text));
}

/* a<first>, a<first + 1>, ... */
static void put_numbers(outbox *o, int first, int end)
{
    char text[16];
    for (int k = first; k < end; k++) {
        (void)snprintf(text, sizeof text, "a%d", k);
        put(o, text);
    }
}

static void check_numbers(int end)
{
    char text[16];
    const char *at = there.text;
    for (int k = 0; k < end; k++) {
        const int n = snprintf(text, sizeof text, "a%d ", k);
        ck_assert_msg(strncmp(at, text, (size_t)n) == 0, "want %s at %.40s", text, at);
        at += n;
    }
    ck_assert_str_eq(at, "");
}

static void setup(void)
{
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/waiting", folder);
}

static void teardown(void)
{
    folder_remove(folder);
}

#define LONG_MS 100000 /* is not reached */

START_TEST(records_arrive_in_order)
{
    outbox *o = make(1 << 16, LONG_MS);
    put_numbers(o, 0, 500);
    happens(o, TUTTI_EVENT_FIT_START);
    wait_for(&there.received, 500);
    put_numbers(o, 500, 1000);
    outbox_destroy(o);
    check_numbers(1000);
    ck_assert_str_eq(said, "");
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(what_memory_does_not_hold_goes_to_the_file_and_stays_in_order)
{
    outbox *o = make(256, LONG_MS);
    set_mode(FAILS);
    put_numbers(o, 0, 10);
    happens(o, TUTTI_EVENT_FIT_START);
    wait_for(&there.tries, 1);
    put_numbers(o, 10, 400);
    ck_assert_int_eq(access(path, F_OK), 0);
    char *large = malloc(1001);
    memset(large, 'x', 1000);
    large[1000] = '\0';
    set_mode(WORKS);
    wait_for(&there.received, 400);
    put(o, large);
    wait_for(&there.received, 401);
    char *at = strchr(there.text, 'x');
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strspn(at, "x"), 1000);
    *at = '\0';
    free(large);
    outbox_destroy(o);
    check_numbers(400);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(trouble_is_told_once_and_so_is_its_end)
{
    outbox *o = make(1 << 16, LONG_MS);
    set_mode(FAILS);
    put_numbers(o, 0, 3);
    happens(o, TUTTI_EVENT_FIT_START);
    wait_for(&there.tries, 3);
    happens(o, TUTTI_EVENT_BATCH_END);
    ck_assert_str_eq(said, "2 post: nobody is there; what is logged is kept and sent when it "
                           "can be\n");
    set_mode(WORKS);
    wait_for(&there.received, 3);
    outbox_destroy(o);
    ck_assert_str_eq(said, "2 post: nobody is there; what is logged is kept and sent when it "
                           "can be\n1 post: can send again\n");
    check_numbers(3);
}
END_TEST

START_TEST(a_record_that_is_refused_for_good_holds_up_nothing)
{
    outbox *o = make(1 << 16, LONG_MS);
    set_mode(REFUSES_B);
    happens(o, TUTTI_EVENT_FIT_START);
    put(o, "a0");
    put(o, "bad");
    put(o, "a1");
    put(o, "bad");
    put(o, "a2");
    outbox_destroy(o);
    check_numbers(3);
    ck_assert_str_eq(said, "2 post: bad is not wanted; that record is left out\n"
                           "2 post: 2 records were refused and left out\n");
}
END_TEST

START_TEST(what_is_left_at_the_end_waits_for_the_next_run)
{
    char want[256];
    outbox *o = make(1 << 16, 0);
    set_mode(_i);
    put_numbers(o, 0, 3);
    happens(o, TUTTI_EVENT_FIT_START);
    wait_for(&there.tries, 1);
    put_numbers(o, 3, 5);
    outbox_destroy(o); /* does not hang */
    (void)snprintf(want, sizeof want,
                   "2 post: 5 records were not sent within 0 s; they wait in %s for the next "
                   "run in its folder\n",
                   path);
    ck_assert_ptr_nonnull(strstr(said, want));
    set_mode(WORKS);
    o = make(1 << 16, LONG_MS);
    put_numbers(o, 5, 8);
    outbox_destroy(o); /* no event came: it sends all the same */
    check_numbers(8);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(what_was_synced_survives_a_kill)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        outbox *o = make(1 << 16, LONG_MS);
        set_mode(FAILS);
        happens(o, TUTTI_EVENT_FIT_START);
        put_numbers(o, 0, 7);
        outbox_sync(o);
        put_numbers(o, 7, 9); /* of no checkpoint */
        (void)kill(getpid(), SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    outbox *o = make(1 << 16, LONG_MS);
    outbox_destroy(o);
    check_numbers(7);
}
END_TEST

/* The file of a run that could not send `n` records. */
static void leave_file(int n)
{
    outbox *o = make(1 << 16, 0);
    set_mode(FAILS);
    put_numbers(o, 0, n);
    outbox_destroy(o);
    set_mode(WORKS);
    said[0] = there.text[0] = '\0';
}

START_TEST(half_a_record_is_left_out)
{
    char want[256];
    leave_file(3);
    FILE *f = fopen(path, "ae");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite("\4\0\0\0garbage", 1, 11, f), 11);
    (void)fclose(f);
    outbox_destroy(make(1 << 16, LONG_MS));
    (void)snprintf(want, sizeof want,
                   "2 post: the last 11 bytes of %s are no whole record and are left out\n",
                   path);
    ck_assert_str_eq(said, want);
    check_numbers(3);
}
END_TEST

START_TEST(another_file_of_that_name_is_not_touched)
{
    char want[256];
    tutti_error err = TUTTI_ERROR_INIT;
    outbox *o = make(1 << 16, LONG_MS);
    FILE *f = fopen(path, "we");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs("a novel of many pages", f), 0);
    (void)fclose(f);
    const tutti_event e = {.struct_size = sizeof e, .id = TUTTI_EVENT_INIT, .name = "init"};
    (void)snprintf(want, sizeof want, "post: %s is not a file of waiting records", path);
    ck_assert_int_eq(outbox_event(o, &e, &err), TUTTI_E_FORMAT);
    ck_assert_error(err, TUTTI_E_FORMAT, want);
    outbox_destroy(o);
    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_second_process_has_a_file_of_its_own)
{
    leave_file(2);
    set_mode(FAILS);
    outbox *first = make(1 << 16, LONG_MS);
    outbox *second = make(64, 0); /* as another process: the lock is the file's */
    put_numbers(second, 0, 20);
    outbox_destroy(second);
    ck_assert_ptr_nonnull(strstr(said, "2 post: 20 records are lost\n"));
    set_mode(WORKS);
    outbox_destroy(first);
    check_numbers(2);
}
END_TEST

START_TEST(an_attempt_without_a_checkpoint_is_set_aside)
{
    char text[64] = "", aside[FOLDER_SIZE + 32];
    tutti_error err = TUTTI_ERROR_INIT;
    leave_file(3);
    outbox *o = make(1 << 16, LONG_MS);
    put(o, "a0");
    ck_assert_ok(outbox_begin_again(o, &err), err);
    outbox_destroy(o);
    check_numbers(1);
    (void)snprintf(aside, sizeof aside, "%s.undone", path);
    FILE *f = fopen(aside, "re");
    ck_assert_ptr_nonnull(f);
    (void)!fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    ck_assert_str_eq(text, "a0\na1\na2\n");
}
END_TEST

START_TEST(a_full_disk_is_told_once_and_memory_still_serves)
{
    const struct rlimit small = {64, 64};
    (void)signal(SIGXFSZ, SIG_IGN);
    outbox *o = make(128, LONG_MS);
    set_mode(FAILS);
    happens(o, TUTTI_EVENT_FIT_START);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    put_numbers(o, 0, 10); /* of 10 bytes each with their frame: memory holds 12 */
    for (int k = 0; k < 10; k++)
        put(o, "bcdefghijklmnopqrstuvwxyz");
    ck_assert_ptr_nonnull(strstr(said, "cannot write "));
    ck_assert_ptr_nonnull(strstr(said, "; what memory does not hold is lost until it can\n"));
    ck_assert_ptr_null(strstr(strstr(said, "cannot write ") + 1, "cannot write "));
    set_mode(WORKS);
    outbox_destroy(o);
    check_numbers(10);
    ck_assert_ptr_nonnull(strstr(said, "2 post: 10 records are lost\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outbox");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, records_arrive_in_order);
    tcase_add_test(tc, what_memory_does_not_hold_goes_to_the_file_and_stays_in_order);
    tcase_add_test(tc, trouble_is_told_once_and_so_is_its_end);
    tcase_add_test(tc, a_record_that_is_refused_for_good_holds_up_nothing);
    tcase_add_loop_test(tc, what_is_left_at_the_end_waits_for_the_next_run, FAILS, HANGS + 1);
    tcase_add_test(tc, what_was_synced_survives_a_kill);
    tcase_add_test(tc, half_a_record_is_left_out);
    tcase_add_test(tc, another_file_of_that_name_is_not_touched);
    tcase_add_test(tc, a_second_process_has_a_file_of_its_own);
    tcase_add_test(tc, an_attempt_without_a_checkpoint_is_set_aside);
    tcase_add_test(tc, a_full_disk_is_told_once_and_memory_still_serves);
    return tutti_run(suite);
}
