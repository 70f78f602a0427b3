/* launcher_test.c - how many processes mpirun and srun say that they have started. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launcher.h"
#include "tutti_check.h"

#include <stdlib.h>

static void clear(void)
{
    static const char *const variables[] = {
        "TUTTI_RANK", "TUTTI_WORLD_SIZE",    "PMIX_RANK",           "OMPI_COMM_WORLD_SIZE",
        "PMI_SIZE",   "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
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

int main(void)
{
    Suite *s = suite_create("launcher");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, clear, NULL);
    tcase_add_test(t, without_a_launcher_there_is_one_process);
    tcase_add_test(t, a_launcher_is_known_by_its_variable);
    tcase_add_test(t, what_is_no_number_is_no_launcher);
    tcase_add_test(t, what_is_set_by_hand_is_a_number);
    tcase_add_test(t, several_that_nobody_counts_are_refused);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
