/* crash_test.c - a crash names the plugin, the call, the event and the step, and is still a crash. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <signal.h>
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

static const struct {
    void (*die)(void);
    int signal;
    const char *text;
} crashes[] = {
    {die_in_apply, SIGSEGV,
     "tutti: plugin org.fixture.crash crashed: mine, call apply, event before_loss, step 12: "
     "SIGSEGV\n"},
    {die_outside, SIGFPE, "tutti: crashed outside of any plugin: SIGFPE\n"},
    {die_by_abort, SIGABRT,
     "tutti: plugin org.fixture.crash crashed: mine, call open, step 0: SIGABRT\n"},
    {die_by_overflow, SIGSEGV,
     "tutti: plugin org.fixture.crash crashed: mine, call match, event init, step 3: "
     "SIGSEGV\n"},
};

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
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
