/* launcher_test.c - how many processes mpirun and srun say that they have started, and ending them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launcher.h"
#include "tutti_check.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void clear(void)
{
    static const char *const variables[] = {"TUTTI_RANK",
                                            "TUTTI_WORLD_SIZE",
                                            "PMIX_RANK",
                                            "OMPI_COMM_WORLD_SIZE",
                                            "PMI_SIZE",
                                            "PMI_FD",
                                            "PMI_JOBID",
                                            "MV2_COMM_WORLD_SIZE",
                                            "SLURM_STEP_NUM_TASKS"};
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++)
        ck_assert_int_eq(unsetenv(variables[k]), 0);
}

static void want(int count, const char *name)
{
    int n = 0;
    const char *who = "";
    tutti_error e = TUTTI_ERROR_INIT;
    ck_assert_ok(launcher_processes(&n, &who, &e), e);
    ck_assert_int_eq(n, count);
    ck_assert_pstr_eq(who, name);
}

static void want_fault(const char *text)
{
    int n = 0;
    const char *who = "";
    tutti_error e = TUTTI_ERROR_INIT;
    ck_assert_int_eq(launcher_processes(&n, &who, &e), TUTTI_E_ARG);
    ck_assert_str_eq(e.text, text);
    ck_assert_int_eq(n, 0);
}

START_TEST(without_a_launcher_there_is_one_process)
{
    want(1, NULL);
}
END_TEST

START_TEST(a_launcher_is_known_by_its_variable)
{
    ck_assert_int_eq(setenv("SLURM_STEP_NUM_TASKS", "4", 1), 0);
    want(4, "Slurm's srun");
    ck_assert_int_eq(setenv("OMPI_COMM_WORLD_SIZE", "2", 1), 0);
    ck_assert_int_eq(setenv("PMIX_RANK", "1", 1), 0);
    want(2, "Open MPI's mpirun");
    ck_assert_int_eq(setenv("TUTTI_WORLD_SIZE", "1", 1), 0);
    want(1, "whoever set TUTTI_WORLD_SIZE");
}
END_TEST

START_TEST(what_is_no_number_is_no_launcher)
{
    const char *const texts[] = {"", "0", "-1", "2x", "99999999999999999999"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        ck_assert_int_eq(setenv("PMI_SIZE", texts[k], 1), 0);
        want(1, NULL);
    }
}
END_TEST

START_TEST(what_is_set_by_hand_is_a_number)
{
    ck_assert_int_eq(setenv("TUTTI_WORLD_SIZE", "0", 1), 0);
    want_fault("TUTTI_WORLD_SIZE is \"0\", want a number of processes from 1 on");
    ck_assert_int_eq(setenv("TUTTI_WORLD_SIZE", "", 1), 0);
    want_fault("TUTTI_WORLD_SIZE is \"\", want a number of processes from 1 on");
    ck_assert_int_eq(unsetenv("TUTTI_WORLD_SIZE"), 0);
    ck_assert_int_eq(setenv("TUTTI_RANK", "1", 1), 0);
    want_fault("TUTTI_RANK is set and TUTTI_WORLD_SIZE is not, want both or neither");
}
END_TEST

START_TEST(several_that_nobody_counts_are_refused)
{
    ck_assert_int_eq(setenv("PMIX_RANK", "0", 1), 0);
    want_fault("PMIX_RANK is set: a launcher has started this process, and nothing says how "
               "many others; want TUTTI_WORLD_SIZE too, 1 where each of them is a run of its "
               "own");
}
END_TEST

/* What launcher_end_job writes to the launcher where `name` is `value` too. */
static void want_request(const char *name, const char *value, const char *text)
{
    int ends[2];
    char fd[16], got[64] = "";
    clear();
    ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
    (void)snprintf(fd, sizeof fd, "%d", ends[1]);
    ck_assert_int_eq(setenv("PMI_FD", fd, 1), 0);
    ck_assert_int_eq(setenv("PMI_SIZE", "2", 1), 0);
    ck_assert_int_eq(setenv(name, value, 1), 0);
    launcher_end_job(2);
    (void)!read(ends[0], got, sizeof got - 1);
    ck_assert_str_eq(got, text);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

START_TEST(mpichs_launcher_is_told_to_end_the_job)
{
    want_request("PMI_RANK", "1", "cmd=abort exitcode=2\n");
    want_request("PMI_SIZE", "1", "");         /* alone */
    want_request("TUTTI_WORLD_SIZE", "1", ""); /* a run of its own */
    want_request("PMI_JOBID", "1.0", "");      /* Slurm's */
    want_request("PMI_FD", "none", "");
}
END_TEST

/* Like MPICH's proxy with two ranks: it hears stderr and requests; the child says why, then ends the job. */
static pid_t begin_rank(int said[2], int asked[2])
{
    static const char why[] = "why";
    char fd[16];
    ck_assert_int_eq(pipe(said), 0);
    ck_assert_int_eq(pipe(asked), 0);
    (void)snprintf(fd, sizeof fd, "%d", asked[1]);
    ck_assert_int_eq(setenv("PMI_FD", fd, 1), 0);
    ck_assert_int_eq(setenv("PMI_SIZE", "2", 1), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(said[1], STDERR_FILENO);
        if (write(STDERR_FILENO, why, strlen(why)) == (ssize_t)strlen(why))
            launcher_end_job(2);
        _exit(0);
    }
    ck_assert_int_gt(child, 0);
    return child;
}

static bool comes(int fd, int ms)
{
    struct pollfd one = {fd, POLLIN, 0};
    return poll(&one, 1, ms) == 1;
}

START_TEST(what_was_said_is_read_before_the_job_ends)
{
    int said[2], asked[2];
    char got[64];
    const pid_t child = begin_rank(said, asked);
    ck_assert(comes(said[0], 20000));
    ck_assert(!comes(asked[0], 300)); /* not while nobody has read it */
    ck_assert_int_eq(read(said[0], got, sizeof got), 3);
    ck_assert(comes(asked[0], 20000));
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(who_reads_nothing_is_not_waited_for_for_ever)
{
    int said[2], asked[2];
    const pid_t child = begin_rank(said, asked);
    ck_assert(comes(asked[0], 60000));
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("launcher");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, clear, NULL);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, without_a_launcher_there_is_one_process);
    tcase_add_test(t, a_launcher_is_known_by_its_variable);
    tcase_add_test(t, what_is_no_number_is_no_launcher);
    tcase_add_test(t, what_is_set_by_hand_is_a_number);
    tcase_add_test(t, several_that_nobody_counts_are_refused);
    tcase_add_test(t, mpichs_launcher_is_told_to_end_the_job);
    tcase_add_test(t, what_was_said_is_read_before_the_job_ends);
    tcase_add_test(t, who_reads_nothing_is_not_waited_for_for_ever);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
