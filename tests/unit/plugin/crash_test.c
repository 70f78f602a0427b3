/* crash_test.c - a crash names the plugin, the call, the event and the step, and is still a crash. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* Runs `die` in a child.  Returns what it wrote to stderr and sets *ret_signal. */
static const char *run_child(void (*die)(void), int *ret_signal)
{
    static char text[1024];
    int fds[2], status = 0;
    size_t used = 0;
    ssize_t got;
    ck_assert_int_eq(pipe(fds), 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)dup2(fds[1], STDERR_FILENO);
        (void)close(fds[0]);
        (void)close(fds[1]);
        crash_handler_install();
        die();
        _exit(0);
    }
    (void)close(fds[1]);
    while ((got = read(fds[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    (void)close(fds[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    *ret_signal = WTERMSIG(status);
    return text;
}

static void die_in_apply(void)
{
    instance *i = NULL;
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = registry_over(FIXTURES "/crash");
    const object *o = find(r, "algorithm", "crash");
    if (instance_open(o, "mine", NULL, NULL, NULL, &i, &err))
        _exit(1);
    const tutti_event event = {.struct_size = sizeof event,
                               .id = TUTTI_EVENT_BEFORE_LOSS,
                               .name = "before_loss",
                               .step = 12};
    crash_breadcrumb = (breadcrumb){.plugin = "org.fixture.crash",
                                    .object = "mine",
                                    .call = "apply",
                                    .event = "before_loss",
                                    .step = 12};
    (void)instance_calls(i)->apply(instance_self(i), &event, &code, &err);
}

static void die_outside(void)
{
    (void)raise(SIGFPE);
}

static void die_by_abort(void)
{
    crash_breadcrumb =
        (breadcrumb){.plugin = "org.fixture.crash", .object = "mine", .call = "open"};
    abort();
}

static volatile int bottom;
static int fall(int depth)
{
    volatile char room[4096];
    room[depth % 4096] = (char)depth;
    return bottom ? depth : fall(depth + 1) + room[0];
}

static void die_by_overflow(void)
{
    crash_breadcrumb = (breadcrumb){.plugin = "org.fixture.crash",
                                    .object = "mine",
                                    .call = "match",
                                    .event = "init",
                                    .step = 3};
    (void)fall(0);
}

/* A file of three pages that has become shorter, mapped; its path goes to `path`. */
static const char *lost_pages(char path[64], size_t page)
{
    (void)strcpy(path, "/tmp/tutti_crash_XXXXXX");
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, 3 * (off_t)page), 0);
    ck_assert_int_eq(pwrite(fd, "a", 1, 0), 1);
    const char *data = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(data, MAP_FAILED);
    ck_assert_int_eq(ftruncate(fd, 1), 0);
    (void)close(fd);
    (void)unlink(path);
    return data;
}

static void die_behind_a_refuge(void)
{
    char path[64];
    const char *data = lost_pages(path, (size_t)sysconf(_SC_PAGESIZE));
    crash_refuge_enter();
    (void)!crash_refuge_leave();
    _exit(data[(size_t)sysconf(_SC_PAGESIZE)]);
}

static const struct {
    void (*die)(void);
    int signal;
    const char *text;
} crashes[] = {
    {die_in_apply, SIGSEGV,
     "tutti: plugin org.fixture.crash crashed: mine, call apply, event before_loss, step 12: "
     "SIGSEGV\n"},
    {die_outside, SIGFPE, "tutti: crashed outside of any plugin: SIGFPE\n"},
    {die_behind_a_refuge, SIGBUS, "tutti: crashed outside of any plugin: SIGBUS\n"},
    {die_by_abort, SIGABRT,
     "tutti: plugin org.fixture.crash crashed: mine, call open, step 0: SIGABRT\n"},
    {die_by_overflow, SIGSEGV,
     "tutti: plugin org.fixture.crash crashed: mine, call match, event init, step 3: "
     "SIGSEGV\n"},
};

static void *leave_beside(void *ctx)
{
    crash_refuge_enter();
    *(bool *)ctx = crash_refuge_leave();
    return NULL;
}

START_TEST(a_lost_page_reads_as_zeros_and_is_told)
{
    char path[64];
    bool beside = false;
    tutti_error lost = TUTTI_ERROR_INIT;
    pthread_t thread;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const char *data = lost_pages(path, page);
    crash_handler_install();
    crash_refuge_enter();
    crash_refuge_enter();
    ck_assert_int_eq(data[0], 'a');
    ck_assert(!crash_refuge_leave());
    ck_assert_int_eq(data[2 * page + 5], 0);
    ck_assert_int_eq(data[page], 0);
    ck_assert(crash_refuge_leave());
    ck_assert_int_eq(crash_lost_file(&lost), TUTTI_E_IO);
    ck_assert_msg(strstr(lost.text, path), "%s", lost.text);
    ck_assert_int_eq(pthread_create(&thread, NULL, leave_beside, &beside), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert(beside);
    crash_expect_exit();
}
END_TEST

START_TEST(a_crash_is_attributed_and_kills)
{
    int number = 0;
    ck_assert_str_eq(run_child(crashes[_i].die, &number), crashes[_i].text);
    ck_assert_int_eq(number, crashes[_i].signal);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crash");
    TCase *t = tcase_create("crash");
    tcase_add_loop_test(t, a_crash_is_attributed_and_kills, 0,
                        sizeof crashes / sizeof *crashes);
    tcase_add_test(t, a_lost_page_reads_as_zeros_and_is_told);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
