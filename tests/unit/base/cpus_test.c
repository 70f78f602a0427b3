/* cpus_test.c - quotas of CPU time in control groups of both versions, and this machine's own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"
#include "group_check.h"

#include <limits.h>
#include <sched.h>

START_TEST(a_quota_is_some_cpus)
{
    group_put("a/cpu.max", "200000 100000\n");
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/a\n"), 2);
    group_put("a/cpu.max", "150000 100000\n");
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/a\n"), 2); /* a part of one is one */
    group_put("a/cpu.max", "1000 100000\n");
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/a\n"), 1);
}
END_TEST

START_TEST(the_tightest_group_on_the_way_up_counts)
{
    group_put("cpu.max", "800000 100000\n"); /* as a container sees its own */
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/\n"), 8);
    group_put("a/cpu.max", "300000 100000\n");
    group_put("a/b/cpu.max", "max 100000\n");
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/a/b\n"), 3);
    group_put("a/b/cpu.max", "50000 50000\n");
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/a/b\n"), 1);
}
END_TEST

START_TEST(the_first_version_has_a_tree_of_its_own_for_the_cpu)
{
    group_put("cpu/job/cpu.cfs_quota_us", "400000\n");
    group_put("cpu/job/cpu.cfs_period_us", "100000\n");
    group_put("cpu/cpu.cfs_quota_us", "-1\n");
    group_put("cpu/cpu.cfs_period_us", "100000\n");
    group_put("memory/job/cpu.cfs_quota_us", "100000\n");
    group_put("memory/job/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(
        cpus_in_groups(group_root, "9:memory:/job\n8:cpuset:/x\n4:cpu,cpuacct:/job\n0::/y\n"),
        4);
    /* In a container the host's path is not there; the folder above it is the container's. */
    group_put("cpu/cpu.cfs_quota_us", "700000\n");
    ck_assert_int_eq(cpus_in_groups(group_root, "4:cpu,cpuacct:/docker/1f2e\n"), 7);
}
END_TEST

START_TEST(no_quota_is_no_limit)
{
    group_put("a/cpu.max", "max 100000\n");
    group_put("b/cpu.max", "nonsense\n");
    group_put("c/cpu.max", "100000 0\n");
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/a\n"), INT_MAX);
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/b\n"), INT_MAX);
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/c\n"), INT_MAX);
    ck_assert_int_eq(cpus_in_groups(group_root, "0::/not/there\n"), INT_MAX);
    ck_assert_int_eq(cpus_in_groups(group_root, "nonsense\n"), INT_MAX);
    ck_assert_int_eq(cpus_in_groups(group_root, ""), INT_MAX);
}
END_TEST

START_TEST(affinity_counts_too)
{
    cpu_set_t before, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    ck_assert_int_ge(cpus_available(), 1);
    ck_assert_int_le(cpus_available(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int k = 0; k < CPU_SETSIZE && CPU_COUNT(&one) == 0; k++)
        if (CPU_ISSET(k, &before))
            CPU_SET(k, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(cpus_available(), 1);
    ck_assert_int_eq(sched_setaffinity(0, sizeof before, &before), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpus");
    TCase *t = tcase_create("cpus");
    tcase_add_checked_fixture(t, group_make_root, group_remove_root);
    tcase_add_test(t, a_quota_is_some_cpus);
    tcase_add_test(t, the_tightest_group_on_the_way_up_counts);
    tcase_add_test(t, the_first_version_has_a_tree_of_its_own_for_the_cpu);
    tcase_add_test(t, no_quota_is_no_limit);
    tcase_add_test(t, affinity_counts_too);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
