/* host_memory_test.c - how much memory control groups leave, of both versions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/host_memory.h"
#include "group_check.h"

START_TEST(the_tightest_group_on_the_way_up_counts)
{
    group_put("memory.max", "max\n");
    group_put("a/memory.max", "1000\n");
    group_put("a/memory.current", "700\n");
    group_put("a/memory.stat", "anon 500\ninactive_file 100\nactive_file 100\n");
    group_put("a/b/memory.max", "5000\n");
    group_put("a/b/memory.current", "300\n");
    ck_assert_uint_eq(host_memory_left_in_groups(group_root, "0::/a/b\n"), 400);
    group_put("a/b/memory.max", "350\n");
    ck_assert_uint_eq(host_memory_left_in_groups(group_root, "0::/a/b\n"), 50);
}
END_TEST

START_TEST(the_first_version_has_a_tree_of_its_own_for_memory)
{
    group_put("memory/job/memory.limit_in_bytes", "4096\n");
    group_put("memory/job/memory.usage_in_bytes", "5000\n");
    group_put("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
    group_put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    group_put("memory/memory.usage_in_bytes", "1\n");
    ck_assert_uint_eq(host_memory_left_in_groups(
                          group_root, "9:cpuset:/other\n4:memory,hugetlb:/job\n0::/x\n"),
                      96);
}
END_TEST

START_TEST(no_limit_is_no_limit)
{
    group_put("a/memory.max", "max\n");
    group_put("a/memory.current", "700\n");
    ck_assert(host_memory_left_in_groups(group_root, "0::/a\n") == UINT64_MAX);
    ck_assert(host_memory_left_in_groups(group_root, "0::/not/there\n") == UINT64_MAX);
    ck_assert(host_memory_left_in_groups(group_root, "") == UINT64_MAX);
    ck_assert(host_memory_left_in_groups(group_root, "nonsense\n") == UINT64_MAX);
}
END_TEST

START_TEST(this_machine_has_some)
{
    ck_assert_uint_gt(host_memory_available(), 1u << 20);
}
END_TEST

/* The allocator may hand out again what was given back. */
START_TEST(memory_is_zeros_however_often_it_is_taken)
{
    static const uint64_t sizes[] = {1000, (2u << 20) + 1, 40u << 20};
    for (int round = 0; round < 3; round++) {
        unsigned char *p = host_memory_alloc(sizes[_i]);
        ck_assert_ptr_nonnull(p);
        if (round == 1)
            host_memory_prefault(p, sizes[_i], 2);
        for (uint64_t k = 0; k < sizes[_i]; k++)
            if (p[k])
                ck_abort_msg("byte %llu of %llu is %d in round %d", (unsigned long long)k,
                             (unsigned long long)sizes[_i], p[k], round);
        memset(p, 255, sizes[_i]);
        free(p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, group_make_root, group_remove_root);
    tcase_add_test(tc, the_tightest_group_on_the_way_up_counts);
    tcase_add_test(tc, the_first_version_has_a_tree_of_its_own_for_memory);
    tcase_add_test(tc, no_limit_is_no_limit);
    tcase_add_test(tc, this_machine_has_some);
    tcase_add_loop_test(tc, memory_is_zeros_however_often_it_is_taken, 0, 3);
    return tutti_run(suite);
}
