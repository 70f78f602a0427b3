/* launcher_test.c - how many processes mpirun and srun say that they have started. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launcher.h"
#include "tutti_check.h"

#include <stdlib.h>

static void clear(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                            "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++)
        ck_assert_int_eq(unsetenv(variables[k]), 0);
}

START_TEST(without_a_launcher_there_is_one_process)
{
    const char *name = "";
    ck_assert_int_eq(launcher_processes(&name), 1);
    ck_assert_ptr_null(name);
}
END_TEST

START_TEST(a_launcher_is_known_by_its_variable)
{
    const char *name = NULL;
    ck_assert_int_eq(setenv("SLURM_STEP_NUM_TASKS", "4", 1), 0);
    ck_assert_int_eq(launcher_processes(&name), 4);
    ck_assert_str_eq(name, "Slurm's srun");
    ck_assert_int_eq(setenv("OMPI_COMM_WORLD_SIZE", "2", 1), 0);
    ck_assert_int_eq(launcher_processes(&name), 2);
    ck_assert_str_eq(name, "Open MPI's mpirun");
}
END_TEST

START_TEST(what_is_no_number_is_no_launcher)
{
    const char *const texts[] = {"", "0", "-1", "2x", "99999999999999999999"};
    const char *name = "";
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        ck_assert_int_eq(setenv("PMI_SIZE", texts[k], 1), 0);
        ck_assert_int_eq(launcher_processes(&name), 1);
        ck_assert_ptr_null(name);
    }
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
    suite_add_tcase(s, t);
    return tutti_run(s);
}
